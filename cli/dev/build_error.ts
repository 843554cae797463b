import type { Message, PartialMessage } from "esbuild";
import { relative } from "node:path";

/** A word of a stack that may be a place. */
const WORD = /[^\s()]+/g;

/** Where a source is at fault. */
export interface BuildFault {
  readonly message: string;
  /** Relative to the project. */
  readonly file?: string;
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** The line's text. */
  readonly source?: string;
}

/** A function's sources that cannot be built or loaded. */
export class BuildError extends Error {
  /** Always `BuildError`, also in minified code. */
  override readonly name: string = "BuildError";
  /** What is wrong, where that is known. */
  readonly faults: readonly BuildFault[];

  /**
   * @param functionName The function.
   * @param faults What is wrong.
   * @param options The cause.
   */
  constructor(
    readonly functionName: string,
    faults: readonly BuildFault[],
    options?: ErrorOptions,
  ) {
    super(faults.map(describeFault).join("\n"), options);
    this.faults = faults;
  }
}

/**
 * A fault as one line: `src/notes.ts:12:5: Expected ";"`.
 *
 * @param fault The fault.
 */
export function describeFault({ message, file, line, column }: BuildFault): string {
  return file === undefined ? message : `${file}:${line}:${column}: ${message}`;
}

/**
 * A fault with the line that it is in and a mark below the place.
 *
 * @param fault The fault.
 */
export function renderFault(fault: BuildFault): string {
  const { source, column = 1 } = fault;
  if (source === undefined || source.length > 200) return describeFault(fault);
  const text = source.replaceAll("\t", " ");
  return `${describeFault(fault)}\n    ${text}\n    ${" ".repeat(Math.max(0, column - 1))}^`;
}

/**
 * Reads what esbuild says.
 *
 * @param functionName The function that was built.
 * @param error What esbuild threw.
 */
export function toBuildError(functionName: string, error: unknown): BuildError {
  const { errors } = error as { errors?: (Message | PartialMessage)[] };
  const faults = errors?.map(({ text, location }): BuildFault => ({
    message: text ?? "",
    ...(location && {
      file: location.file,
      line: location.line,
      column: (location.column ?? 0) + 1,
      source: location.lineText,
    }),
  }));
  return new BuildError(
    functionName,
    faults?.length ? faults : [{ message: (error as Error).message }],
    {
      cause: error,
    },
  );
}

/**
 * What a module threw while it was loaded, with the place in the project's sources where its stack tells one.
 *
 * @param functionName The function.
 * @param error What was thrown.
 * @param root Absolute path of the project.
 */
export function toLoadError(functionName: string, error: unknown, root: string): BuildError {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const words = String((error as Error)?.stack ?? "").match(WORD) ?? [];
  for (const { path, line, column } of words.flatMap(readPlace)) {
    const file = relative(root, path);
    if (file.startsWith("..") || file.includes("node_modules") || file.startsWith(".trellis")) {
      continue;
    }
    return new BuildError(functionName, [{ message, file, line, column }], {
      cause: error,
    });
  }
  return new BuildError(functionName, [{ message }], { cause: error });
}

/** `/project/src/a.ts:3:14`, `C:\project\src\a.ts:3:14`, or the address of such a file: a path, a line and a column. */
function readPlace(word: string): { path: string; line: number; column: number }[] {
  const [column, line, ...rest] = word.split(":").reverse();
  const path = rest.reverse().join(":").replace(/^file:\/\//, "");
  const isPlace = /^\d+$/.test(column) && /^\d+$/.test(line ?? "") &&
    /^(?:\/|[A-Za-z]:[\\/])/.test(path);
  return isPlace ? [{ path, line: Number(line), column: Number(column) }] : [];
}
