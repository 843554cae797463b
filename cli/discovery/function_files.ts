import { existsSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { findRouteFiles } from "./route_files.ts";
import { nameOfSegments, SOURCE, sourceFiles } from "./source_files.ts";

/** The folders of a functions folder: what starts the functions in them. */
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

/** What starts a function. */
export type FunctionKind = typeof FUNCTION_KINDS[number];

/** A function, found by its file. */
export interface FunctionFile {
  /** What starts it. */
  readonly kind: FunctionKind;
  /** The function's name: `NotesByNoteIdDelete`, `SendMail`. */
  readonly name: string;
  /** Absolute path of the file. */
  readonly file: string;
  /** `api`: the method in upper case; `ANY` for all. */
  readonly method?: string;
  /** `api`: `/notes/{noteId}`. */
  readonly path?: string;
  /** `websocket`: `$connect`, `sendMessage`. */
  readonly routeKey?: string;
}

/**
 * Finds the functions of a project by their files: `api/` holds routes as `findRouteFiles` reads them, the other folders one
 * function for each file, named after its path: `queue/send-mail.ts` is `SendMail`, `queue/orders/index.ts` is `Orders`,
 * `websocket/$connect.ts` serves the route `$connect`. Files and folders that begin with `_` or a dot, and tests, are
 * left out.
 *
 * @param folder Absolute path of the folder, such as `src/functions`.
 * @returns The functions, by name.
 * @throws {ConfigurationError} When the folder is missing, a file is in none of the known folders, an API file names no
 * method, or two files have one name or one route.
 */
export function findFunctionFiles(folder: string): FunctionFile[] {
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      `There is no folder ${folder}: set functionsDir in trellis.config.ts to where the functions are`,
    );
  }
  refuseStrays(folder);
  const functions = FUNCTION_KINDS.filter((kind) => existsSync(join(folder, kind))).flatMap((
    kind,
  ) =>
    kind === "api"
      ? findRouteFiles(join(folder, kind)).map((route): FunctionFile => ({ kind, ...route }))
      : sourceFiles(join(folder, kind)).map((file) => readFile(kind, join(folder, kind), file))
  );
  const seen = new Map<string, FunctionFile>();
  for (const fn of functions) {
    // names become names of resources, which some systems compare without case
    const key = fn.name.toLowerCase();
    const other = seen.get(key);
    if (other !== undefined) {
      throw new ConfigurationError(
        `Two files stand for the name ${fn.name}: ${other.file} and ${fn.file}. Rename one`,
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
      `${file} gives a function no name: begin the file's name with a letter`,
    );
  }
  return { kind, name, file, ...(kind === "websocket" ? { routeKey: segments.join("/") } : {}) };
}

function refuseStrays(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (/^[._]/.test(entry.name) || (FUNCTION_KINDS as readonly string[]).includes(entry.name)) {
      continue;
    }
    const path = join(folder, entry.name);
    const [stray] = entry.isDirectory() ? sourceFiles(path) : SOURCE.test(entry.name) ? [path] : [];
    if (stray === undefined) continue;
    throw new ConfigurationError(
      `${stray} is in none of the folders that say what starts a function: ${
        FUNCTION_KINDS.join(", ")
      }. ` +
        "Move it into one, or begin its name with _ when it is no function",
    );
  }
}
