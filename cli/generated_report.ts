import type { FileChange } from "./generated_files.ts";
import type { Output } from "./output.ts";

/** A place in the sources, what is to be said of it, and the functions that it concerns. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly message: string;
  readonly functions?: readonly string[];
}

/**
 * A place as compilers write it: `src/a.ts:3: the message (FunctionName)`.
 *
 * @param place The place.
 */
export function describePlace({ file, line, message, functions = [] }: Place): string {
  return `${file}:${line}: ${message}${functions.length === 0 ? "" : ` (${getSome(functions)})`}`;
}

const MANY = 5;

/**
 * The first of a list, and how many more there are.
 *
 * @param texts The list.
 */
export function getSome(texts: readonly string[]): string {
  return texts.slice(0, MANY).join(", ") +
    (texts.length > MANY ? ` and ${texts.length - MANY} more` : "");
}

/**
 * Tells what became of generated files, a line for each that is not as it was.
 *
 * @param output Where to.
 * @param changes What was planned.
 * @param isCheck Whether nothing was written.
 * @param onKept Told of each file that is somebody else's.
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
