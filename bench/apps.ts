/**
 * The notes application of apps/notes beside the same application by hand and on other stacks: cold starts, answer times,
 * round trips, many requests at once, install size. Copies the harness that lies beside the project, puts the built npm
 * package into it, and runs its suites; the harness checks every answer before it measures.
 *
 *   deno task build:npm && deno run -A bench/apps.ts
 *   deno run -A bench/apps.ts cold warm --quick
 *   deno run -A bench/apps.ts switches          # what features cost: API keys, jobs, idempotency, limits, …
 *   deno run -A bench/apps.ts --node=/path/to/node24 --harness=/path/to/harness --package=/path/to/build
 */
// deno-lint-ignore-file no-console
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Packages that `trellis build` needs and the harness does not have. */
const BUILD_TOOLS = ["acorn@8.19.0", "libpg-query@18.1.5"];

const harness = getOption("harness") ?? join(ROOT, "../shared/bench");
const built = getOption("package") ?? join(ROOT, "npm");
for (const [folder, what] of [[harness, "harness of peers"], [built, "npm package"]]) {
  if (!await exists(join(folder, "package.json"))) {
    console.error(`SKIPPED: no ${what} at ${folder}. Nothing was measured.`);
    Deno.exit(0);
  }
}

const folder = join(tmpdir(), "trellis-bench");
const apps = join(folder, "apps");
if (!await exists(join(apps, "node_modules"))) {
  await cp(harness, folder, { recursive: true });
  run("chmod", ["-R", "u+w", "."], folder);
  run("npm", ["ci", "--no-audit", "--no-fund"], folder);
  run("npm", ["ci", "--no-audit", "--no-fund"], apps);
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...BUILD_TOOLS], apps);
}
await replaceFolder(built, join(apps, "node_modules/@trellis/fn"));
await replaceFolder(join(ROOT, "bench/apps"), join(apps, "trellis"));
const peers = join(apps, "peers.mjs");
const list = await readFile(peers, "utf8");
if (!list.includes("'trellis'")) await writeFile(peers, list.replace("];", ", 'trellis'];"));
run("npm", ["pack", "--silent", "--pack-destination", apps, built], apps);
const { version } = JSON.parse(await readFile(join(built, "package.json"), "utf8"));
const passed = Deno.args.filter((arg) => !/^--(?:harness|package|node)=/.test(arg));
const program = passed[0] === "switches"
  ? ["trellis/switches.mjs", ...passed.slice(1)]
  : ["run.mjs", ...passed];
run(getOption("node") ?? "node", program, apps, {
  TRELLIS_TARBALL: `file:${join(apps, `trellis-fn-${version}.tgz`)}`,
});

function getOption(name: string): string | undefined {
  return Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

async function replaceFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  await cp(from, to, { recursive: true });
}

function run(command: string, args: readonly string[], cwd: string, env = {}): void {
  const options = { cwd, stdio: "inherit", env: { ...Deno.env.toObject(), ...env } } as const;
  const { status, error } = spawnSync(command, args, options);
  if (error !== undefined || status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed: ${error ?? status}`);
  }
}
