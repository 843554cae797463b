import type { PlanFinding } from "../../sql/plan_finding.ts";
import { count } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";

/**
 * Prints the findings of a plan to standard error: location, rule, beginning of the statement, and
 * advice. Prints nothing with `--json`, where findings are part of the result.
 *
 * @param folder The folder of the files.
 */
export function printFindings(output: Output, findings: readonly PlanFinding[], folder = ""): void {
  if (output.isJson) return;
  for (const { severity, file, line, column, message, rule, statement, advice } of findings) {
    const head = severity === "error" ? output.red("error") : output.yellow("warning");
    const path = file === undefined ? "" : `${folder === "" ? "" : `${folder}/`}${file}`;
    const location = line === undefined ? path : `${path}:${line}:${column}:`;
    output.note(`${head} ${location === "" ? "" : `${location} `}${message} (${rule})`);
    if (statement !== undefined) output.note(`    ${statement}`);
    output.note(`    ${advice}`);
  }
}

/** Counts findings for a summary: `2 errors, 1 warning`. */
export function countFindings(findings: readonly PlanFinding[]): string {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.length - errors;
  const parts = [[errors, "error"], [warnings, "warning"]] as const;
  return parts.filter(([number]) => number > 0).map(([number, what]) => count(number, what))
    .join(", ");
}

/** Returns true if a finding prevents the run. */
export function hasErrors(findings: readonly PlanFinding[]): boolean {
  return findings.some(({ severity }) => severity === "error");
}
