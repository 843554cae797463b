/** Something that planning found in a folder of migrations, before anything is run or written. */
export interface PlanFinding {
  /** An `error` stops the run before it begins. A statement with a `warning` runs, but something behaves differently. */
  severity: "error" | "warning";
  /** The stable name of the rule: an entry of the registry (see `getIncompatibility`), or a rule of the planner. */
  rule: string;
  /** The file's name in the folder; not given when the finding is about no single file. */
  file?: string;
  /** The line where the statement begins, from 1. */
  line?: number;
  /** The column where the statement begins, from 1, in characters. */
  column?: number;
  /** The beginning of the statement, without comments and without values. */
  statement?: string;
  /** The table that the statement is about. */
  table?: string;
  /** The type or enum that the finding is about. */
  type?: string;
  /** What was found, without the file's name. */
  message: string;
  /** What to write or do instead. */
  advice: string;
}

/**
 * Writes a finding as one line: its place, what was found, the rule, and what to do instead.
 *
 * @param finding The finding.
 * @param folder The path that is put before the file's name.
 * @returns The line.
 *
 * @example
 * ```ts
 * import { formatPlanFinding } from "@trellis/fn/database";
 *
 * const line = formatPlanFinding({
 *   severity: "warning",
 *   rule: "migration-unlisted",
 *   file: "0002_notes.sql",
 *   message: "is not listed in meta/_journal.json and is never run",
 *   advice: "Restore its entry, or delete the file.",
 * });
 * console.log(line.startsWith("0002_notes.sql is not listed")); // true
 * ```
 */
export function formatPlanFinding(finding: PlanFinding, folder = ""): string {
  const { file, line, column, message, rule, advice } = finding;
  const path = file === undefined ? "" : `${folder === "" ? "" : `${folder}/`}${file}`;
  const place = line === undefined ? path : `${path}:${line}:${column}:`;
  return `${place === "" ? "" : `${place} `}${message} (${rule}). ${advice}`;
}

/**
 * Writes what was found as a sentence, without rule and advice.
 *
 * @param finding The finding.
 */
export function describeFinding({ file, line, column, message }: PlanFinding): string {
  if (file === undefined) return message;
  return line === undefined ? `${file} ${message}` : `${file}:${line}:${column}: ${message}`;
}
