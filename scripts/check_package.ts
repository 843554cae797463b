// deno-lint-ignore-file no-console
/**
 * Checks the npm package: its files, that two builds give the same bytes, and that publint and
 * are-the-types-wrong report nothing. docs/decisions/package.md explains the accepted findings.
 *
 *   deno run -A scripts/check_package.ts [--package <folder with a build>] [--engine dnt|deno-pack]
 *
 * @module
 */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { buildNpm, parseEngine } from "./build_npm.ts";
import { listFiles } from "./list_files.ts";
import { runOrThrow, runProgram } from "./program.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Allowed paths of files in the package. */
const EXPECTED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  /^(mod|(auth|cli|client|core|database|distsql|env|errors|idempotency|jobs|mail|observability|realtime|router|sql|streaming|testing|triggers|uploads|validation|workflows)\/[\w/-]+)\.(js|d\.ts)$/,
  /^cli\/dev\/page\/\w+\.(html|css)$/,
  /^(docs\/[\w/]+\.md|llms\.txt)$/,
  /^modules\/[\w/-]+\.(tf|mjs)$/,
];

/** Text that must not be in a JavaScript or declaration file, and why. */
const FORBIDDEN: readonly [RegExp, string][] = [
  [/\bDeno\.(?!customInspect)\w+/, "uses Deno's own API"],
  [/^\/\/# sourceMappingURL/m, "names a source map that is not shipped"],
  [/(?:\bfrom|\bimport\(?)\s*["'](?:jsr|npm):/, "imports by a specifier that only Deno supports"],
  // lines with a margin are files of new projects, or their changes
  [/^(?![+-]?\|).*\busing\s+\w+\s*=/m, "declares with `using`, a syntax error on Node 20 and 22"],
];

interface Manifest {
  version: string;
  exports: Record<string, string | Record<string, string>>;
  bin: Record<string, string>;
  scripts?: unknown;
  dependencies?: unknown;
}

/**
 * Checks the files of a built package.
 *
 * @returns A line for each fault.
 */
export async function findFaults(folder: string): Promise<string[]> {
  const faults: string[] = [];
  const files = listFiles(folder);
  const machine = [ROOT, homedir() + "/", "file:///"];
  for (const file of files) {
    if (!EXPECTED.some((pattern) => pattern.test(file))) {
      faults.push(`${file}: does not belong into the package`);
    }
    const text = await Deno.readTextFile(join(folder, file));
    for (const place of machine) {
      if (/\.(js|ts|json)$/.test(file) && text.includes(place)) {
        faults.push(`${file}: names a place on this machine, ${place}`);
      }
    }
    if (!/\.(js|d\.ts)$/.test(file)) continue;
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "");
    for (const [pattern, why] of FORBIDDEN) if (pattern.test(code)) faults.push(`${file}: ${why}`);
  }
  return [...faults, ...await findManifestFaults(folder, files)];
}

async function findManifestFaults(folder: string, files: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  const manifest: Manifest = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  const config = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  if (manifest.version !== config.version) {
    faults.push(`package.json: version ${manifest.version}, deno.json says ${config.version}`);
  }
  if (manifest.scripts !== undefined) {
    faults.push("package.json: has scripts, which would run where it is installed");
  }
  if (manifest.dependencies !== undefined) {
    faults.push("package.json: has dependencies, which everybody would install");
  }
  const missing = Object.keys(config.exports).filter((entry) =>
    manifest.exports[entry] === undefined
  );
  faults.push(...missing.map((entry) => `package.json: the entry point ${entry} is missing`));
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target)
  );
  for (const target of [...targets, ...Object.values(manifest.bin)]) {
    if (!files.includes(target.replace(/^\.\//, ""))) {
      faults.push(`package.json: names ${target}, which is not there`);
    }
  }
  for (const program of Object.values(manifest.bin)) {
    const text = await Deno.readTextFile(join(folder, program)).catch(() => "");
    if (!text.startsWith("#!/usr/bin/env node\n")) {
      faults.push(`${program}: its first line does not start Node`);
    }
  }
  const changelog = await Deno.readTextFile(join(folder, "CHANGELOG.md"));
  if (!changelog.includes(`\n## ${manifest.version}`)) {
    faults.push(`CHANGELOG.md: says nothing of ${manifest.version}`);
  }
  return faults;
}

/** Returns a hash of names and bytes, which is equal for identical packages. */
export async function hashPackage(folder: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of listFiles(folder)) {
    hash.update(`${file}\0`).update(await Deno.readFile(join(folder, file))).update("\0");
  }
  return hash.digest("hex");
}

/** The tools at exact versions, with their arguments for an archive. */
const TOOLS: readonly { specifier: string; args(archive: string): string[] }[] = [
  { specifier: "publint@0.3.25", args: (archive) => ["publint", "run", archive, "--strict"] },
  {
    specifier: "@arethetypeswrong/cli@0.18.5",
    args: (
      archive,
    ) => ["attw", archive, "--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm"],
  },
];

async function runTool(
  cwd: string,
  specifier: string,
  args: readonly string[],
): Promise<string | undefined> {
  const call = ["exec", "--yes", `--package=${specifier}`, "--", ...args];
  const { code, stdout, stderr } = await runProgram("npm", call, { cwd });
  return code === 0 ? undefined : stdout + stderr;
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { package: { type: "string" }, engine: { type: "string" } },
  });
  const engine = parseEngine(values.engine);
  const work = await Deno.makeTempDir({ prefix: "trellis-package-" });
  try {
    const first = values.package ?? join(work, "first");
    if (values.package === undefined) await buildNpm({ out: first, engine });
    const faults = await findFaults(first);
    await buildNpm({ out: join(work, "second"), engine });
    const [hash, again] = [await hashPackage(first), await hashPackage(join(work, "second"))];
    if (hash !== again) faults.push(`two builds differ: ${hash} and ${again}`);

    const pack = ["pack", await Deno.realPath(first), "--silent"];
    const archive = (await runOrThrow("npm", pack, { cwd: work })).stdout.trim().split("\n").at(
      -1,
    )!;
    const { size } = await Deno.stat(join(work, archive));
    for (const { specifier, args } of TOOLS) {
      const found = await runTool(work, specifier, args(archive));
      if (found !== undefined) faults.push(`${specifier} finds:\n${found}`);
    }
    for (const fault of faults) console.error(fault);
    console.log(
      `npm package: ${listFiles(first).length} files, ${
        (size / 1000).toFixed(0)
      } KB packed, sha256 ${hash.slice(0, 16)}`,
    );
    if (faults.length > 0) Deno.exitCode = 1;
    else console.log("the files, two builds, publint and are-the-types-wrong are in order");
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}
