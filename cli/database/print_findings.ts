import type { PlanFinding } from "../../database/migrations/plan_finding.ts";
import type { Output } from "../output.ts";

/**
 * Prints what planning found, on standard error: the place and the rule, the statement's beginning, and what to do
 * instead. Prints nothing with `--json`, where the findings are part of the result.
 *
 * @param output Where it goes.
 * @param findings What was found.
 * @param folder The path that is put before the names of the files.
 */
export function printFindings(output: Output, findings: readonly PlanFinding[], folder = ""): void {
  if (output.isJson) return;
  for (const { severity, file, line, column, message, rule, statement, advice } of findings) {
    const head = severity === "error" ? output.red("error") : output.yellow("warning");
    const path = file === undefined ? "" : `${folder === "" ? "" : `${folder}/`}${file}`;
    const place = line === undefined ? path : `${path}:${line}:${column}:`;
    output.note(`${head} ${place === "" ? "" : `${place} `}${message} (${rule})`);
    if (statement !== undefined) output.note(`    ${statement}`);
    output.note(`    ${advice}`);
  }
}

/**
 * Counts findings for a summary: `2 refused, 1 warning`.
 *
 * @param findings What was found.
 */
export function countFindings(findings: readonly PlanFinding[]): string {
  const refused = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.length - refused;
  const parts = refused === 0 ? [] : [`${refused} refused`];
  if (warnings > 0) parts.push(warnings === 1 ? "1 warning" : `${warnings} warnings`);
  return parts.join(", ");
}

/** Whether a finding stops the run. */
export function hasErrors(findings: readonly PlanFinding[]): boolean {
  return findings.some(({ severity }) => severity === "error");
}
