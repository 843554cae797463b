import { existsSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { FUNCTION_KINDS, type FunctionKind } from "./function_kinds.ts";
import { SOURCE } from "./source_files.ts";

/** How functions are found and named, besides the rules of `findFunctionFiles`. */
export interface FunctionNaming {
  /** Triggers of more subfolders: `{ sqs: "queue", s3: "storage", scheduled: "schedule" }`. */
  readonly folders?: Readonly<Record<string, string>>;
  /** Names of functions by file: `{ "api/rooms/[roomId].get.ts": "Room" }`. */
  readonly functionNames?: Readonly<Record<string, string>>;
}

/** Maximum length of a function name without a prefix (Lambda, CreateFunction). */
const MAX_NAME = 64;

/**
 * Returns the subfolders of functions with their triggers.
 *
 * @param naming The configuration.
 * @throws {ConfigurationError} If a trigger is unknown, or a folder is missing or has a trigger already.
 */
export function readFolders(
  folder: string,
  { folders = {} }: FunctionNaming,
): Map<string, FunctionKind> {
  const kinds = FUNCTION_KINDS as readonly string[];
  const found = new Map<string, FunctionKind>(FUNCTION_KINDS.map((kind) => [kind, kind]));
  for (const [name, kind] of Object.entries(folders)) {
    const problem = kinds.includes(name)
      ? `${name}/ always holds ${name} functions: remove the entry`
      : !kinds.includes(kind)
      ? `got ${JSON.stringify(kind)}: use ${FUNCTION_KINDS.join(", ")}`
      : /[\\/]|^[._]|^$/.test(name)
      ? "name a subfolder of functionsDir whose name does not begin with _ or a dot"
      : existsSync(join(folder, name))
      ? undefined
      : `the folder ${join(folder, name)} does not exist`;
    if (problem !== undefined) throw new ConfigurationError(`folders.${name}: ${problem}`);
    found.set(name, kind as FunctionKind);
  }
  return found;
}

/**
 * Returns the configured names of functions by absolute path.
 *
 * @param naming The configuration.
 * @throws {ConfigurationError} If a file is missing or a name is invalid.
 */
export function readNames(
  folder: string,
  { functionNames = {} }: FunctionNaming,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const [path, name] of Object.entries(functionNames)) {
    const file = resolve(folder, path.split("/").join(sep));
    const place = `functionNames[${JSON.stringify(path)}]`;
    if (!SOURCE.test(path) || !existsSync(file)) {
      throw new ConfigurationError(
        `${place}: ${file} does not exist. Write the path of a function's file below functionsDir`,
      );
    }
    if (
      typeof name !== "string" || !/^[A-Za-z][A-Za-z0-9]*$/.test(name) || name.length > MAX_NAME
    ) {
      throw new ConfigurationError(
        `${place} must be at most ${MAX_NAME} letters and digits, beginning with a letter, got ` +
          JSON.stringify(name),
      );
    }
    found.set(file, name);
  }
  return found;
}
