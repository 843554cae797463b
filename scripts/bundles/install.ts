import { join } from "node:path";
import { VERSIONS } from "../../cli/init/versions.ts";

/** Packages of an application with accounts, as `name@version`. Exact, so that sizes are too. */
export const DATABASE_PACKAGES: readonly string[] = [
  ...(["better-auth", "drizzle-orm", "postgres", "zod"] as const).map((name) =>
    `${name}@${VERSIONS[name].replace("^", "")}`
  ),
];

/** Packages that `trellis build` uses. */
export const BUILD_PACKAGES: readonly string[] = [
  `acorn@${VERSIONS.acorn}`,
  `esbuild@${VERSIONS.esbuild}`,
];

/**
 * Packs a build and installs it in a new folder, with the packages that the functions use.
 *
 * @param built The build.
 * @returns The folder.
 */
export async function installBuild(built: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "trellis-bundles-" });
  await Deno.writeTextFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await npm(folder, ["pack", built, "--silent"]);
  const [archive] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".tgz"));
  await npm(folder, [
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    `./${archive.name}`,
    ...DATABASE_PACKAGES,
    ...BUILD_PACKAGES,
  ]);
  return folder;
}

async function npm(cwd: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("npm", {
    args,
    cwd,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`npm ${args.join(" ")} failed:\n${new TextDecoder().decode(stderr)}`);
  }
}
