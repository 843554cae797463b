import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";

/** Extensions of source files. */
export const SOURCE: RegExp = /\.(?:ts|tsx|mts|js|mjs)$/;

const IGNORED = /(?:[._]test|\.spec|\.d)\.[a-z]+$/;
const PARAMETER = /^\[(\.\.\.)?([A-Za-z_][A-Za-z0-9_]*)\]$/;

/**
 * Characters that a file name must not contain. Names are written into comments of generated SQL
 * and Terraform, where a line break would start a statement. Some tools treat a backslash as a path
 * separator. Bidirectional controls change the displayed order of text.
 */
const UNFIT = /[\p{Cc}\\\u2028-\u202e\u2066-\u2069]/u;

/**
 * Lists the source files of a folder, recursively. Files and folders whose names begin with `_` or
 * a dot, tests and declaration files are ignored. Links are not followed.
 *
 * @returns The sorted paths.
 * @throws {ConfigurationError} If a name contains a backslash, a line break or another control
 * character.
 */
export function sourceFiles(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name) && !IGNORED.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).split(sep).some((part) => /^[._]/.test(part)))
    .sort();
  const unfit = files.find((file) =>
    relative(folder, file).split(sep).some((part) => UNFIT.test(part))
  );
  if (unfit === undefined) return files;
  throw new ConfigurationError(
    `${JSON.stringify(unfit)} contains a backslash or a control character: rename the file`,
  );
}

/**
 * Parses a path parameter: `[noteId]`, or `[...proxy]` for the rest of a path.
 *
 * @param segment A segment of a file path.
 * @returns The parameter; `undefined` for a fixed segment.
 */
export function readParameter(segment: string): { name: string; takesRest: boolean } | undefined {
  const found = PARAMETER.exec(segment);
  return found === null ? undefined : { name: found[2], takesRest: found[1] !== undefined };
}

/**
 * Derives a function name from path segments: `files`, `[fileId]` becomes `FilesByFileId`.
 *
 * @param segments The parts.
 */
export function nameOfSegments(segments: readonly string[]): string {
  return segments.map((segment) => {
    const parameter = readParameter(segment);
    return parameter === undefined ? pascal(segment) : `By${pascal(parameter.name)}`;
  }).join("");
}

/** Converts a text to Pascal case: `sign-up` becomes `SignUp`. */
export function pascal(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).filter(Boolean).map((word) =>
    word[0].toUpperCase() + word.slice(1)
  ).join("");
}
