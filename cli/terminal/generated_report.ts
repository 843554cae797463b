import type { FileChange } from "../files/generated_files.ts";
import type { Output } from "./output.ts";

/** A source location with a message and the functions that it concerns. */
export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly message: string;
  readonly functions?: readonly string[];
}

/** Formats a diagnostic like a compiler: `src/a.ts:3: the message (FunctionName)`. */
export function formatDiagnostic({ file, line, message, functions = [] }: Diagnostic): string {
  return `${file}:${line}: ${message}${
    functions.length === 0 ? "" : ` (${summarizeList(functions)})`
  }`;
}

/** Joins the first entries of a list and appends how many were omitted. */
export function summarizeList(texts: readonly string[], most = 5): string {
  const omitted = texts.length - most;
  return texts.slice(0, most).join(", ") + (omitted > 0 ? ` and ${omitted} more` : "");
}

/**
 * Reports the changes of generated files, one line for each changed file.
 *
 * @param changes The planned changes.
 * @param isCheck True if nothing was written.
 * @param onKept Called for each file that was not generated and is therefore kept.
 */
export function reportChanges(
  output: Output,
  changes: readonly FileChange[],
  isCheck: boolean,
  onKept: (path: string) => void,
): void {
  const words = isCheck
    ? { created: "missing", updated: "stale", removed: "not needed any more" }
    : { created: "created", updated: "updated", removed: "removed" };
  for (const { path, change } of changes) {
    if (change === "kept") onKept(path);
    else if (change !== "unchanged") {
      output.line(`${isCheck ? output.red(words[change]) : words[change]} ${path}`);
    }
  }
}

/**
 * Formats a number of things: `1 operation`, `2 operations`.
 *
 * @param what The singular.
 * @param plural The plural, if it is not formed with an `s`.
 */
export function count(number: number, what: string, plural = `${what}s`): string {
  return `${number} ${number === 1 ? what : plural}`;
}
