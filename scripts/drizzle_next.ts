/**
 * Runs tests with the release candidate of drizzle 1.0 instead of 0.45, in a copy of the checkout.
 *
 *   deno run -A scripts/drizzle_next.ts                      the suites that use drizzle
 *   deno run -A scripts/drizzle_next.ts tests/database/queries
 *
 * @module
 */
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRunFolder } from "./test_folders.ts";
import { runOrThrow } from "./program.ts";

/** The version of drizzle 1.0 that the tests use. */
export const NEXT_DRIZZLE = "1.0.0-rc.5";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The tests whose code uses drizzle. */
export const SUITES: readonly string[] = [
  ...["auth", "concurrency", "database", "idempotency", "jobs", "mail", "workflows"],
  ...["cli/commands/generate_auth_schema_test.ts", "cli/grants", "cli/schema_migration"],
].map((name) => `tests/${name}`);

/** Copies the files of the checkout, with the other version in `deno.json`. */
async function copyCheckout(folder: string): Promise<void> {
  const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await runOrThrow("git", listed, { cwd: ROOT });
  for (const file of stdout.split("\0").filter((name) => name !== "" && name !== "deno.lock")) {
    const target = join(folder, file);
    await Deno.mkdir(dirname(target), { recursive: true });
    // a deleted file is still listed
    await Deno.copyFile(join(ROOT, file), target).catch(() => {});
  }
  const path = join(folder, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(path));
  config.imports["drizzle-orm"] = `npm:drizzle-orm@${NEXT_DRIZZLE}`;
  // in its global cache Deno resolves the peers of several packages to copies that do not exist
  config.nodeModulesDir = "auto";
  await Deno.writeTextFile(path, JSON.stringify(config));
}

if (import.meta.main) {
  const folder = await createRunFolder(tmpdir());
  try {
    await copyCheckout(folder);
    const tests = Deno.args.length > 0 ? Deno.args : SUITES;
    const args = ["test", "-A", "--quiet", "--no-check"];
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [...args, "--ignore=**/*_system_test.ts", ...tests],
      cwd: folder,
    }).spawn().status;
    Deno.exitCode = code;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
