import type { PartialMessage } from "esbuild";
import { getInstallCommand } from "../terminal/optional_packages.ts";
import { isInsideFolder, toPortablePath } from "../files/inside_folder.ts";
import { getPackageName } from "./package_specifier.ts";

/** A word of a stack trace that may contain a location. */
const WORD = /[^\s()]+/g;

/** An error in a source file. */
export interface SourceError {
  readonly message: string;
  /** Relative to the project. */
  readonly file?: string;
  readonly line?: number;
  /** 1-based. */
  readonly column?: number;
  /** The text of the line. */
  readonly source?: string;
}

/** Thrown if a function cannot be built or loaded. */
export class BuildError extends Error {
  /** Always `BuildError`, also in minified code. */
  override readonly name: string = "BuildError";
  /** The source errors. */
  readonly errors: readonly SourceError[];

  /** @param options The cause. */
  constructor(
    readonly functionName: string,
    errors: readonly SourceError[],
    options?: ErrorOptions,
  ) {
    super(errors.map(formatSourceError).join("\n"), options);
    this.errors = errors;
  }
}

/** Formats a source error as one line: `src/notes.ts:12:5: Expected ";"`. */
export function formatSourceError({ message, file, line, column }: SourceError): string {
  return file === undefined ? message : `${file}:${line}:${column}: ${message}`;
}

/** Formats a source error with its line and a caret below the column. */
export function renderSourceError(error: SourceError): string {
  const { source, column = 1 } = error;
  if (source === undefined || source.length > 200) return formatSourceError(error);
  const text = source.replaceAll("\t", " ");
  return `${formatSourceError(error)}\n    ${text}\n    ${" ".repeat(Math.max(0, column - 1))}^`;
}

/**
 * Converts an error of esbuild.
 *
 * @param functionName The function that was built.
 */
export function toBuildError(functionName: string, error: unknown): BuildError {
  const { errors } = error as { errors?: PartialMessage[] };
  const sourceErrors = errors?.map(toSourceError);
  return new BuildError(
    functionName,
    sourceErrors?.length ? sourceErrors : [{ message: (error as Error).message }],
    {
      cause: error,
    },
  );
}

/** Converts a message of esbuild, with advice on what to do about it. */
export function toSourceError({ text = "", location, notes = [] }: PartialMessage): SourceError {
  const explained = explainMessage(text);
  const note = explained === text && notes.length > 0
    ? `. ${notes.map((each) => each.text).join(" ")}`
    : "";
  return {
    message: `${explained}${note}`,
    ...location && {
      file: location.file,
      line: location.line,
      column: (location.column ?? 0) + 1,
      source: location.lineText,
    },
  };
}

/** Adds to a message of esbuild what to do about it. */
function explainMessage(text: string): string {
  const [, missing = ""] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  const install = getInstallCommand(getPackageName(missing));
  if (install !== undefined) return `${text}. Install it: ${install}`;
  const [, extension, file] = /^No loader is configured for "([^"]*)" files: (.*)$/.exec(text) ??
    [];
  if (extension === undefined) return text;
  if (extension === ".node") {
    const [, ...below] = file.split(/node_modules[/\\]/);
    const name = /^(?:@[^/\\]+[/\\])?[^/\\]+/.exec(below.at(-1) ?? "")?.[0];
    return `${text}. ${explainNative(name ?? "This file")}`;
  }
  return `${text}. Import it with { type: "text" } or { type: "bytes" }, as in import page from ` +
    `"./page${extension}" with { type: "text" }, or read it with ` +
    `readFileSync(new URL("./page${extension}", import.meta.url))`;
}

/** Returns the error message for a package with native code. */
export function explainNative(name: string): string {
  return `${name} loads native code, which is not bundled: provide its package in a layer or the ` +
    "image, and name it in build.external of trellis.config.ts";
}

/**
 * Converts an error that a module threw while it was loaded. The location comes from the stack
 * trace, if it contains a file of the project.
 */
export function toLoadError(functionName: string, error: unknown, root: string): BuildError {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const [, missing = ""] = /(?:package|module) ['"]([^'"]+)['"]/.exec(text) ?? [];
  const install = getInstallCommand(getPackageName(missing));
  const message = install === undefined ? text : `${text}. Install it: ${install}`;
  const words = String((error as Error)?.stack ?? "").match(WORD) ?? [];
  for (const { path, line, column } of words.flatMap(readPlace)) {
    const file = toPortablePath(root, path);
    if (
      !isInsideFolder(root, path) || file.includes("node_modules") || file.startsWith(".trellis")
    ) continue;
    return new BuildError(functionName, [{ message, file, line, column }], {
      cause: error,
    });
  }
  return new BuildError(functionName, [{ message }], { cause: error });
}

/** Parses `/project/src/a.ts:3:14`, `C:\project\src\a.ts:3:14` or the same as a file URL. */
function readPlace(word: string): { path: string; line: number; column: number }[] {
  const [column, line, ...rest] = word.split(":").reverse();
  const path = rest.reverse().join(":").replace(/^file:\/\//, "");
  const isPlace = /^\d+$/.test(column) && /^\d+$/.test(line ?? "") &&
    /^(?:\/|[A-Za-z]:[\\/])/.test(path);
  return isPlace ? [{ path, line: Number(line), column: Number(column) }] : [];
}
