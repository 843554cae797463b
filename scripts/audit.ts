#!/usr/bin/env -S deno run -A
// deno-lint-ignore-file no-console
/**
 * Checks the versions in deno.lock for known vulnerabilities with `deno audit`, or if that gets no
 * answer, with `npm audit` over the same direct dependencies. Exits with 1 if there are any. If the
 * registry does not answer, it prints a line and exits with 0.
 *
 *   deno run -A scripts/audit.ts
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { type ProgramResult, runProgram } from "./program.ts";

/** Result of one audit. */
export type Answer =
  | { kind: "clean" }
  | { kind: "found"; report: string }
  /** No answer, or an unknown one. */
  | { kind: "unasked"; reason: string };

/**
 * Reads the result of `deno audit`. Vulnerabilities and errors have the same exit code, so the text
 * decides.
 */
export function readDenoAudit({ code, stdout, stderr }: ProgramResult): Answer {
  const report = `${stdout}${stderr}`.trim();
  if (/\bFound [1-9]\d* vulnerabilit/i.test(report)) return { kind: "found", report };
  if (code === 0 && /\bNo known vulnerabilities/i.test(report)) return { kind: "clean" };
  return { kind: "unasked", reason: reasonIn(report) };
}

/** Reads the result of `npm audit --json`. */
export function readNpmAudit({ stdout, stderr }: ProgramResult): Answer {
  let answer: {
    metadata?: { vulnerabilities?: { total?: unknown } };
    message?: unknown;
    error?: { summary?: unknown };
  };
  try {
    answer = JSON.parse(stdout);
  } catch {
    return { kind: "unasked", reason: reasonIn(stderr || stdout) };
  }
  const total = answer?.metadata?.vulnerabilities?.total;
  if (total === 0) return { kind: "clean" };
  if (typeof total === "number") return { kind: "found", report: stdout.trim() };
  return {
    kind: "unasked",
    reason: reasonIn(String(answer?.message ?? answer?.error?.summary ?? "no totals")),
  };
}

/** Returns the first line about an error, without the address of the registry. */
function reasonIn(text: string): string {
  const lines = text.replace(/https?:\/\/[^\s)]+/g, "the registry").split("\n").map((line) =>
    line.trim()
  ).filter(
    Boolean,
  );
  return (lines.find((line) => /\berr(?:or)?\b/i.test(line)) ?? lines[0] ?? "no answer").slice(
    0,
    200,
  );
}

/** Output and exit code of the script. */
export interface Verdict {
  exitCode: 0 | 1;
  lines: string[];
}

/**
 * Runs the audits in order until one answers.
 *
 * @param programs Names and functions.
 */
export async function audit(
  programs: readonly (readonly [name: string, ask: () => Promise<Answer>])[],
): Promise<Verdict> {
  const reasons: string[] = [];
  for (const [name, ask] of programs) {
    const answer = await ask();
    if (answer.kind === "found") {
      return {
        exitCode: 1,
        lines: [answer.report, `${name}: there are known vulnerabilities, see above`],
      };
    }
    if (answer.kind === "clean") {
      return { exitCode: 0, lines: [`${name}: no known vulnerabilities`] };
    }
    reasons.push(`${name}: ${answer.reason}`);
  }
  return {
    exitCode: 0,
    lines: [`NOT AUDITED: the registry's advisories could not be asked (${reasons.join("; ")})`],
  };
}

async function run(command: string, args: string[], cwd: string): Promise<ProgramResult> {
  try {
    return await runProgram(command, args, { cwd, signal: AbortSignal.timeout(60_000) });
  } catch (error) {
    return { code: 1, stdout: "", stderr: error instanceof Error ? error.message : String(error) };
  }
}

/** Runs `npm audit` with a lock file in a temporary folder. */
async function askNpm(imports: Readonly<Record<string, string>>): Promise<Answer> {
  const folder = await Deno.makeTempDir();
  try {
    const direct = Object.values(imports).map((target) => /^npm:(@?[^@]+)@(.+)$/.exec(target))
      .filter((found) => found !== null);
    const dependencies = Object.fromEntries(direct.map(([, name, version]) => [name, version]));
    await Deno.writeTextFile(
      `${folder}/package.json`,
      JSON.stringify({ name: "audited", version: "0.0.0", dependencies }),
    );
    const locked = await run(
      "npm",
      [
        "install",
        "--package-lock-only",
        "--ignore-scripts",
        "--no-fund",
        "--no-audit",
        "--legacy-peer-deps",
      ],
      folder,
    );
    if (locked.code !== 0) return { kind: "unasked", reason: reasonIn(locked.stderr) };
    return readNpmAudit(await run("npm", ["audit", "--json"], folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const { imports } = JSON.parse(await Deno.readTextFile(`${root}deno.json`));
  const { exitCode, lines } = await audit([
    ["deno audit", async () => readDenoAudit(await run(Deno.execPath(), ["audit"], root))],
    ["npm audit", () => askNpm(imports)],
  ]);
  for (const line of lines) console.log(line);
  Deno.exit(exitCode);
}
