/** Finding of the planner about a folder of migrations, before anything is run or written. */
export interface PlanFinding {
  /**
   * An `error` stops the run before it begins. A statement with a `warning` runs, but some behavior
   * differs.
   */
  severity: "error" | "warning";
  /**
   * Stable name of the rule: an entry of the registry (see `getIncompatibility`), or a rule of the
   * planner.
   */
  rule: string;
  /** Name of the file in the folder; omitted if the finding is not about a single file. */
  file?: string;
  /** Line of the statement's start, from 1. */
  line?: number;
  /** Column of the statement's start in characters, from 1. */
  column?: number;
  /** Beginning of the statement, without comments and values. */
  statement?: string;
  /** Table of the statement. */
  table?: string;
  /** Type or enum of the finding. */
  type?: string;
  /** Description of the problem, without the file's name. */
  message: string;
  /** Advice: the statement to write or the action to take instead. */
  advice: string;
}

/**
 * Formats a finding as one line: location, message, rule and advice.
 *
 * @param finding The finding.
 * @param folder Path to put before the file's name.
 * @returns The line.
 *
 * @example
 * ```ts
 * import { formatPlanFinding } from "@trellis/fn/database/migrate";
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

/** Formats a finding as a sentence, without rule and advice. */
export function describeFinding({ file, line, column, message }: PlanFinding): string {
  if (file === undefined) return message;
  return line === undefined ? `${file} ${message}` : `${file}:${line}:${column}: ${message}`;
}
