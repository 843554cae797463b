// deno-lint-ignore-file no-console
/**
 * Lists the files that `deno publish` would upload to JSR, and checks that there are no tests,
 * tools, local files, or imports that the registry cannot analyze. It uploads nothing.
 *
 *   deno run -A scripts/check_upload.ts
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { runProgram } from "./program.ts";

const ROOT = new URL("..", import.meta.url);

/** Allowed paths of uploaded files. */
const EXPECTED: readonly RegExp[] = [
  /^(deno\.json|mod\.ts|README\.md|LICENSE|CHANGELOG\.md)$/,
  /^(auth|cli|client|core|database|distsql|env|errors|idempotency|jobs|mail|observability|realtime|router|sql|streaming|testing|triggers|uploads|validation|workflows)\/[\w/]+\.ts$/,
  /^cli\/dev\/page\/\w+\.(html|css|js)$/,
  /^modules\/[\w/-]+\.(tf|md|mjs)$/,
];

/** Folders that only this repository needs. */
const FOREIGN = /(^|\/)(tests|examples|fixtures|bench|scripts)\//;

/** A finished dry run. */
export interface DryRun {
  readonly isDone: boolean;
  readonly output: string;
}

/**
 * Checks an upload.
 *
 * @param run The result of `deno publish --dry-run`.
 * @param root The URL that paths in the output start with.
 * @returns The uploaded files, and a line for each fault.
 */
export function findFaults(
  { isDone, output }: DryRun,
  root: string,
): { files: string[]; faults: string[] } {
  const files = [...output.matchAll(/^ {3}(file:\S+) \(/gm)].map(([, url]) =>
    url.slice(root.length)
  ).sort();
  const faults = files
    .filter((file) => FOREIGN.test(file) || !EXPECTED.some((pattern) => pattern.test(file)))
    .map((file) =>
      `${file}: is no part of the package; leave it out in deno.json, publish.exclude`
    );
  for (const [, code, place] of output.matchAll(/^warning\[([\w-]+)\][^]*?--> (\S+)/gm)) {
    faults.push(`${place}: ${code}`);
  }
  if (files.length === 0) faults.push("the dry run lists no files");
  if (!isDone) faults.push(`the dry run failed:\n${output}`);
  return { files, faults };
}

async function dryRun(): Promise<DryRun> {
  // `deno task check` checks the types
  const args = ["publish", "--dry-run", "--allow-dirty", "--no-check"];
  const { code, stdout, stderr } = await runProgram(Deno.execPath(), args, {
    cwd: fileURLToPath(ROOT),
  });
  // deno colors the names of warnings in spite of NO_COLOR
  return { isDone: code === 0, output: stripVTControlCharacters(stdout + stderr) };
}

if (import.meta.main) {
  const { files, faults } = findFaults(await dryRun(), ROOT.href);
  for (const file of files) console.log(file);
  for (const fault of faults) console.error(fault);
  console.log(`JSR: ${files.length} files would be uploaded, ${faults.length} faults`);
  if (faults.length > 0) Deno.exitCode = 1;
}
