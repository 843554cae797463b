// deno-lint-ignore-file no-console
/**
 * Builds the npm package into `npm/`: dnt where it can be loaded (it lives on JSR), else `deno pack`, then one finishing step
 * for both: exact versions, the fields of package.json that neither writes, the Terraform modules as assets.
 *
 *   deno run -A scripts/build_npm.ts
 */
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = `${ROOT}npm`;

interface Config {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string>;
  imports: Record<string, string>;
}
const config: Config = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));

/** Packages that only some functions need: the file that needs one loads it and says how to install it. */
const OPTIONAL = [
  "@aws-sdk/client-rds-data",
  "@aws-sdk/dsql-signer",
  "@electric-sql/pglite",
  "@neondatabase/serverless",
  "libpg-query",
];
/** What the library's own code imports; the other entries of the import map belong to tests and scripts. */
const REQUIRED = ["better-auth", "drizzle-orm", "postgres", "typescript", "zod"];

await Deno.remove(OUT, { recursive: true }).catch(() => {});
const engine = await buildWithDnt() ? "dnt" : await buildWithDenoPack();
await finish();
console.log(`built ${config.name} ${config.version} into npm/ with ${engine}`);

async function buildWithDnt(): Promise<boolean> {
  // the name in a variable keeps the type checker from looking for a package that may be out of reach
  const name = "@deno/dnt";
  const dnt = await import(name).catch(() => undefined);
  if (dnt === undefined) return false;
  await dnt.build({
    entryPoints: Object.entries(config.exports).map(([entry, path]) => ({
      name: entry,
      path: `${ROOT}${path.slice(2)}`,
    })),
    outDir: OUT,
    shims: {},
    test: false,
    scriptModule: false,
    configFile: new URL("../deno.json", import.meta.url).href,
    package: { name: config.name, version: config.version, license: config.license },
  });
  return true;
}

async function buildWithDenoPack(): Promise<string> {
  await Deno.mkdir(OUT);
  const archive = `${OUT}/raw.tgz`;
  await run(Deno.execPath(), ["pack", "--allow-dirty", "--no-source-maps", "--ignore=deno.lock", "-o", archive]);
  await run("tar", ["xzf", archive, "--strip-components=1", "-C", OUT]);
  await Deno.remove(archive);
  return "deno pack";
}

async function finish(): Promise<void> {
  const path = `${OUT}/package.json`;
  const packed = JSON.parse(Deno.readTextFileSync(path));
  const version = (name: string): string => {
    const found = /^npm:(?:@[^/]+\/)?[^@]+@(.+)$/.exec(config.imports[name] ?? "")?.[1];
    if (found === undefined) throw new Error(`deno.json pins no version of ${name}`);
    return found;
  };
  const pins = (names: string[]) => Object.fromEntries(names.sort().map((name) => [name, version(name)]));
  const manifest = {
    name: config.name,
    version: config.version,
    description: "API backends out of functions: typed handlers, sessions, database and observability for AWS Lambda",
    keywords: ["lambda", "serverless", "api", "zod", "drizzle", "better-auth", "aurora-dsql", "openapi", "typescript"],
    license: config.license,
    repository: { type: "git", url: "git+https://github.com/trellis-fn/trellis.git" },
    type: "module",
    engines: { node: ">=20.19" },
    sideEffects: false,
    bin: { trellis: "./cli/main.js" },
    exports: packed.exports,
    dependencies: pins(REQUIRED),
    peerDependencies: pins(OPTIONAL),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL.sort().map((name) => [name, { optional: true }])),
  };
  for (const [entry, target] of Object.entries<Record<string, string>>(manifest.exports)) {
    if (typeof target !== "object") continue;
    const { types, import: esm, default: fallback } = target;
    manifest.exports[entry] = { types, import: esm ?? fallback, default: fallback ?? esm };
  }
  Deno.writeTextFileSync(path, JSON.stringify(manifest, null, 2) + "\n");
  for (const file of ["README.md", "LICENSE", "CHANGELOG.md"]) await Deno.copyFile(`${ROOT}${file}`, `${OUT}/${file}`);
  if (await exists(`${ROOT}modules`)) await run("cp", ["-R", "modules", `${OUT}/`]);
}

async function run(command: string, args: string[]): Promise<void> {
  const { success } = await new Deno.Command(command, { args, cwd: ROOT, stdout: "inherit", stderr: "inherit" })
    .output();
  if (!success) throw new Error(`${command} ${args.join(" ")} failed`);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
