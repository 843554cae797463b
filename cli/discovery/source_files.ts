import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";

/** The end of a source file's name. */
export const SOURCE: RegExp = /\.(?:ts|tsx|mts|js|mjs)$/;

const IGNORED = /(?:[._]test|\.spec|\.d)\.[a-z]+$/;
const PARAMETER = /^\[(\.\.\.)?([A-Za-z_][A-Za-z0-9_]*)\]$/;

/**
 * Names go into comments of generated SQL and Terraform, where a line break would begin a statement; a backslash is taken
 * for the end of a folder's name by some that read paths; the rest makes a text be shown in another order than it has.
 */
const UNFIT = /[\p{Cc}\\\u2028-\u202e\u2066-\u2069]/u;

/**
 * The source files of a folder and of those in it. Files and folders that begin with `_` or a dot, tests and declarations
 * are left out; links are not followed.
 *
 * @param folder The folder.
 * @returns Paths, sorted.
 * @throws {ConfigurationError} When a name has a backslash, a line break or another control character.
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
    `${JSON.stringify(unfit)} has a backslash or a control character in its name: rename the file`,
  );
}

/**
 * A path parameter: `[noteId]`, or `[...proxy]` for the rest of a path.
 *
 * @param segment A part of a file's path.
 * @returns The name and whether it takes the rest; `undefined` when the part is fixed.
 */
export function readParameter(segment: string): { name: string; takesRest: boolean } | undefined {
  const found = PARAMETER.exec(segment);
  return found === null ? undefined : { name: found[2], takesRest: found[1] !== undefined };
}

/**
 * A function's name by the parts of its path: `files`, `[fileId]` is `FilesByFileId`.
 *
 * @param segments The parts.
 */
export function nameOfSegments(segments: readonly string[]): string {
  return segments.map((segment) => {
    const parameter = readParameter(segment);
    return parameter === undefined ? pascal(segment) : `By${pascal(parameter.name)}`;
  }).join("");
}

/**
 * A text as a part of a name: `sign-up` is `SignUp`.
 *
 * @param text The text.
 */
export function pascal(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).filter(Boolean).map((word) =>
    word[0].toUpperCase() + word.slice(1)
  ).join("");
}
