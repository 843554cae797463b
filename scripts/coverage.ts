// deno-lint-ignore-file no-console
/**
 * Prints the test coverage of each area from the output of
 * `DENO_COVERAGE_DIR=folder deno task test`, including child processes. Fails below 95 % of lines
 * or 90 % of branches.
 *
 *   deno run -A scripts/coverage.ts <folder>
 */
import { fileURLToPath } from "node:url";
import { runProgram } from "./program.ts";

const AREAS = [
  "errors",
  "core",
  "auth",
  "validation",
  "distsql",
  "sql",
  "database/migrations",
  "database/permissions",
] as const;
const LINES_AT_LEAST = 95;
const BRANCHES_AT_LEAST = 90;

interface Counts {
  lines: number;
  linesRun: number;
  branches: number;
  branchesRun: number;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const [folder] = Deno.args;
if (folder === undefined) {
  console.error("Which folder? deno run -A scripts/coverage.ts <folder of DENO_COVERAGE_DIR>");
  Deno.exit(2);
}
const { stdout } = await runProgram(Deno.execPath(), ["coverage", "--lcov", folder], { cwd: ROOT });
const counts = readLcov(stdout);
let isEnough = true;
console.log("| area | lines | branches |\n| --- | ---: | ---: |");
for (const area of AREAS) {
  const { lines, linesRun, branches, branchesRun } = sum(area);
  const line = percent(linesRun, lines);
  const branch = percent(branchesRun, branches);
  const isShort = line < LINES_AT_LEAST || branch < BRANCHES_AT_LEAST;
  if (isShort) isEnough = false;
  console.log(
    `| ${area} | ${line.toFixed(1)} % | ${branch.toFixed(1)} % |${
      isShort ? " below the mark" : ""
    }`,
  );
}
console.log(`Minimum: ${LINES_AT_LEAST} % of lines, ${BRANCHES_AT_LEAST} % of branches`);
Deno.exit(isEnough ? 0 : 1);

/** Returns the records of an lcov file by source. */
function readLcov(text: string): Map<string, Counts> {
  const files = new Map<string, Counts>();
  for (const record of text.split("end_of_record")) {
    const file = /^SF:(.+)$/m.exec(record)?.[1];
    if (file === undefined || !file.startsWith(ROOT)) continue;
    const lines = [...record.matchAll(/^DA:\d+,(\d+)/gm)];
    const branches = [...record.matchAll(/^BRDA:\d+,\d+,\d+,(\d+|-)/gm)];
    const wasRun = ([, times]: RegExpMatchArray): boolean => times !== "0" && times !== "-";
    files.set(file.slice(ROOT.length), {
      lines: lines.length,
      linesRun: lines.filter(wasRun).length,
      branches: branches.length,
      branchesRun: branches.filter(wasRun).length,
    });
  }
  return files;
}

function sum(area: string): Counts {
  const total: Counts = { lines: 0, linesRun: 0, branches: 0, branchesRun: 0 };
  for (const [file, each] of counts) {
    if (!file.startsWith(`${area}/`)) continue;
    for (const key of Object.keys(total) as (keyof Counts)[]) total[key] += each[key];
  }
  // an area that no test loads has no coverage
  return total.lines === 0 ? { ...total, lines: 1 } : total;
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 100 : 100 * part / whole;
}
