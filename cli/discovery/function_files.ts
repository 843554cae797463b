import { existsSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { findRouteFiles } from "./route_files.ts";
import { nameOfSegments, SOURCE, sourceFiles } from "./source_files.ts";

/** Subfolders of the functions folder; each is named after the trigger of its functions. */
export const FUNCTION_KINDS = [
  "api",
  "queue",
  "topic",
  "event",
  "schedule",
  "storage",
  "websocket",
  "authorizer",
  "standalone",
] as const;

/** The trigger of a function. */
export type FunctionKind = typeof FUNCTION_KINDS[number];

/** A function that was found by its file. */
export interface FunctionFile {
  /** The trigger. */
  readonly kind: FunctionKind;
  /** The function's name: `NotesByNoteIdDelete`, `SendMail`. */
  readonly name: string;
  /** Absolute path of the file. */
  readonly file: string;
  /** `api`: the method in upper case; `ANY` matches all methods. */
  readonly method?: string;
  /** `api`: `/notes/{noteId}`. */
  readonly path?: string;
  /** `websocket`: `$connect`, `sendMessage`. */
  readonly routeKey?: string;
}

/**
 * Finds the functions of a project. `api/` holds routes, see `findRouteFiles`. Each file in the
 * other folders is one function, named after its path: `queue/send-mail.ts` is `SendMail`,
 * `queue/orders/index.ts` is `Orders`, and `websocket/$connect.ts` serves the route `$connect`.
 * Files and folders whose names begin with `_` or a dot are ignored, and so are tests.
 *
 * @param folder Absolute path of the folder, such as `src/functions`.
 * @returns The functions, sorted by name.
 * @throws {ConfigurationError} If the folder is missing, a file is outside the known subfolders, an
 * API file has no method, or two files have the same name or route.
 */
export function findFunctionFiles(folder: string): FunctionFile[] {
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      `The folder ${folder} does not exist: set functionsDir in trellis.config.ts`,
    );
  }
  assertPlaced(folder);
  const functions = FUNCTION_KINDS.filter((kind) => existsSync(join(folder, kind))).flatMap((
    kind,
  ) =>
    kind === "api"
      ? findRouteFiles(join(folder, kind)).map((route): FunctionFile => ({ kind, ...route }))
      : sourceFiles(join(folder, kind)).map((file) => readFile(kind, join(folder, kind), file))
  );
  const seen = new Map<string, FunctionFile>();
  for (const fn of functions) {
    // resource names are derived from it, and some systems compare those case-insensitively
    const key = fn.name.toLowerCase();
    const other = seen.get(key);
    if (other !== undefined) {
      throw new ConfigurationError(
        `Two files define the function ${fn.name}: ${other.file} and ${fn.file}. Rename one`,
      );
    }
    seen.set(key, fn);
  }
  return functions.sort((a, b) => a.name < b.name ? -1 : 1);
}

function readFile(kind: FunctionKind, folder: string, file: string): FunctionFile {
  const parts = relative(folder, file).replace(SOURCE, "").split(sep);
  const segments = parts.at(-1) === "index" && parts.length > 1 ? parts.slice(0, -1) : parts;
  const name = nameOfSegments(segments);
  if (!/^[A-Za-z]/.test(name)) {
    throw new ConfigurationError(
      `${file}: no function name can be derived; the file name must begin with a letter`,
    );
  }
  return { kind, name, file, ...(kind === "websocket" ? { routeKey: segments.join("/") } : {}) };
}

function assertPlaced(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (/^[._]/.test(entry.name) || (FUNCTION_KINDS as readonly string[]).includes(entry.name)) {
      continue;
    }
    const path = join(folder, entry.name);
    const [misplaced] = entry.isDirectory()
      ? sourceFiles(path)
      : SOURCE.test(entry.name)
      ? [path]
      : [];
    if (misplaced === undefined) continue;
    throw new ConfigurationError(
      `${misplaced} is outside the folders that define triggers: ${FUNCTION_KINDS.join(", ")}. ` +
        "Move it into one of them, or begin its name with _ if it is not a function",
    );
  }
}
