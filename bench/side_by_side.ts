/**
 * Webhooks, sessions, queries and migrations beside their peers, in Node, in one run: copies the harness of peers that lies
 * beside the project into a folder of its own, installs it once, puts the built npm package into it, and runs our suites.
 *
 *   deno task build:npm && deno run -A bench/side_by_side.ts
 *   deno run -A bench/side_by_side.ts sessions migrations --quick
 *   deno run -A bench/side_by_side.ts --node=/path/to/node24 --harness=/path/to/harness --package=/path/to/build
 *
 * It says so and ends when the harness or the package is not there.
 */
// deno-lint-ignore-file no-console
import { cp, mkdir, rm, stat } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITES = ["webhooks", "sessions", "queries", "migrations"];

function option(name: string): string | undefined {
  return Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (error !== undefined || status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed: ${error ?? status}`);
  }
}

/** The harness, installed, in a folder that may be written to. */
async function prepare(harness: string): Promise<string> {
  if (await exists(join(harness, "node_modules"))) return harness;
  const folder = join(tmpdir(), "trellis-bench");
  if (!await exists(join(folder, "node_modules"))) {
    await cp(harness, folder, { recursive: true });
    run("chmod", ["-R", "u+w", folder], folder);
    run("npm", ["ci", "--no-audit", "--no-fund"], folder);
  }
  return folder;
}

const harness = option("harness") ?? join(ROOT, "../shared/bench");
const wanted = Deno.args.filter((arg) => !arg.startsWith("--"));
const unknown = wanted.find((suite) => !SUITES.includes(suite));
if (unknown !== undefined) {
  console.error(`There is no suite ${unknown}; known are ${SUITES.join(", ")}`);
  Deno.exit(2);
}
if (!await exists(join(harness, "package.json"))) {
  console.error(`SKIPPED: no harness of peers at ${harness}. Nothing was measured.`);
  Deno.exit(0);
}
const built = option("package") ?? join(ROOT, "npm");
if (!await exists(join(built, "package.json"))) {
  console.error(
    "SKIPPED: the npm package is not built: deno task build:npm. Nothing was measured.",
  );
  Deno.exit(0);
}
const folder = await prepare(harness);
const installed = join(folder, "node_modules/@trellis/fn");
await rm(installed, { recursive: true, force: true });
await mkdir(join(folder, "node_modules/@trellis"), { recursive: true });
await cp(built, installed, { recursive: true });
await cp(join(ROOT, "bench/side_by_side"), join(folder, "trellis"), { recursive: true });
const suites = wanted.length > 0 ? wanted : SUITES;
const flags = Deno.args.includes("--quick") ? ["--quick"] : [];
run(option("node") ?? "node", ["trellis/run.mjs", ...suites, ...flags], folder);
