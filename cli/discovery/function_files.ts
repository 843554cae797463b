import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { compareRoutes } from "../../router/route_key.ts";
import type { FunctionKind } from "./function_kinds.ts";
import { type FunctionNaming, readFolders, readNames } from "./function_naming.ts";
import { assertDistinct, getRouteShape, nameRouteFiles, readRouteFiles } from "./route_files.ts";
import { nameOfSegments, SOURCE, sourceFiles } from "./source_files.ts";

/** A function that was found by its file. */
export interface FunctionFile {
  /** The trigger. */
  readonly kind: FunctionKind;
  /** The function's name: `NotesByNoteIdDelete`, `SendMail`. */
  readonly name: string;
  /** Absolute path of the file. */
  readonly file: string;
  /** `api`: the method in upper case; `ANY` matches all methods. A router has none. */
  readonly method?: string;
  /** `api`: `/notes/{noteId}`. A router has none. */
  readonly path?: string;
  /** `api`: true for a function with several routes (`notes.router.ts`). */
  readonly isRouter?: true;
  /** `api`: the name without the method, if another file has the same one. */
  readonly shortName?: string;
  /** `websocket`: `$connect`, `sendMessage`. */
  readonly routeKey?: string;
}

/**
 * Finds the functions of a project. `api/` holds routes, see `findRouteFiles`, and routers such as
 * `notes.router.ts`. Each file in the other folders is one function, named after its path:
 * `queue/send-mail.ts` is `SendMail`, `queue/orders/index.ts` is `Orders`, and
 * `websocket/$connect.ts` serves the route `$connect`. In a folder with an `index` file, the other
 * files are functions only if they export `handler`. Files and folders whose names begin with `_` or
 * a dot are ignored, and so are tests.
 *
 * @param folder Absolute path of the folder, such as `src/functions`.
 * @param naming More folders, and names that differ from those of the files.
 * @returns The functions, sorted by name.
 * @throws {ConfigurationError} If the folder is missing, a file is outside the known subfolders, an
 * API file has no method, or two files have the same name or route.
 */
export function findFunctionFiles(folder: string, naming: FunctionNaming = {}): FunctionFile[] {
  if (!existsSync(folder)) {
    throw new ConfigurationError(
      `The folder ${folder} does not exist: set functionsDir in trellis.config.ts`,
    );
  }
  const folders = readFolders(folder, naming);
  assertPlaced(folder, folders);
  const names = readNames(folder, naming);
  const present = [...folders].filter(([name]) => existsSync(join(folder, name)));
  const functions = [
    ...findApiFunctions(
      present.filter(([, kind]) => kind === "api").map(([name]) => join(folder, name)),
      names,
    ),
    ...present.filter(([, kind]) => kind !== "api").flatMap(([name, kind]) =>
      findKind(kind, join(folder, name), names)
    ),
  ];
  assertDistinct(
    functions,
    "function",
    ({ name }) => name,
    // resource names are derived from it, and some systems compare those case-insensitively
    (name) => name.toLowerCase(),
    ", or set functionNames in trellis.config.ts",
  );
  assertUsed(names, functions);
  return functions.sort((a, b) => a.name < b.name ? -1 : 1);
}

/**
 * Checks whether the file of a function may declare the routes of accounts. Others need not be loaded
 * to find them.
 */
export function mentionsAuth({ file }: Pick<FunctionFile, "file">): boolean {
  try {
    return /auth/i.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

/** Returns the routes of functions, the most specific first. Routers are not included. */
export function sortRoutes<F extends Pick<FunctionFile, "method" | "path">>(
  functions: readonly F[],
): F[] {
  return functions.filter(({ path }) => path !== undefined).sort((a, b) =>
    compareRoutes(
      { method: a.method ?? "", path: a.path! },
      { method: b.method ?? "", path: b.path! },
    )
  );
}

function findApiFunctions(
  folders: readonly string[],
  fixed: ReadonlyMap<string, string>,
): FunctionFile[] {
  const found = folders.map(readRouteFiles);
  const routes = found.flatMap(({ routes }) => routes);
  assertDistinct(routes, "route", getRouteShape);
  const names = nameRouteFiles(routes, fixed);
  return [
    ...routes.map(({ file, method, path, shortName }): FunctionFile => {
      const name = names.get(file)!;
      const isLonger = !fixed.has(file) && name !== shortName;
      return { kind: "api", file, method, path, name, ...isLonger && { shortName } };
    }),
    ...found.flatMap(({ routers }) => routers).map((router): FunctionFile => ({
      kind: "api",
      ...router,
      name: fixed.get(router.file) ?? router.name,
    })),
  ];
}

function findKind(
  kind: FunctionKind,
  folder: string,
  fixed: ReadonlyMap<string, string>,
): FunctionFile[] {
  const files = sourceFiles(folder);
  const owned = new Set(
    files.map((file) => dirname(file)).filter((each) =>
      each !== folder && files.some((file) => dirname(file) === each && isIndex(file))
    ),
  );
  return files
    .filter((file) => isIndex(file) || !isOwned(file, folder, owned) || exportsHandler(file))
    .map((file) => readFile(kind, folder, file, fixed.get(file)));
}

function isIndex(file: string): boolean {
  return /(?:^|[\\/])index\.[a-z]+$/.test(file);
}

/** Checks whether a folder above a file has an index file. */
function isOwned(file: string, root: string, owned: ReadonlySet<string>): boolean {
  for (let folder = dirname(file); folder !== root; folder = dirname(folder)) {
    if (owned.has(folder)) return true;
  }
  return false;
}

/** Checks for `export const handler`, `export function handler` and `export { handler }`. */
function exportsHandler(file: string): boolean {
  return readFileSync(file, "utf8").split("export").slice(1).some((text) => {
    const statement = text.trimStart();
    if (statement.startsWith("{")) {
      const names = statement.slice(1, statement.indexOf("}")).split(",");
      return names.some((name) => name.trim().split(" ").at(-1) === "handler");
    }
    const words = statement.slice(0, 100).split(/[^A-Za-z0-9_$]+/).filter(Boolean);
    return DECLARATIONS.includes(words[0]) && words.slice(1, 3).includes("handler");
  });
}

const DECLARATIONS = ["const", "let", "var", "function", "async"];

function readFile(
  kind: FunctionKind,
  folder: string,
  file: string,
  fixedName: string | undefined,
): FunctionFile {
  const parts = relative(folder, file).replace(SOURCE, "").split(sep);
  const segments = parts.at(-1) === "index" && parts.length > 1 ? parts.slice(0, -1) : parts;
  const name = fixedName ?? nameOfSegments(segments);
  if (!/^[A-Za-z]/.test(name)) {
    throw new ConfigurationError(
      `${file}: no function name can be derived; the file name must begin with a letter`,
    );
  }
  return { kind, name, file, ...(kind === "websocket" ? { routeKey: segments.join("/") } : {}) };
}

function assertUsed(
  names: ReadonlyMap<string, string>,
  functions: readonly FunctionFile[],
): void {
  const files = new Set(functions.map(({ file }) => file));
  const unused = [...names.keys()].find((file) => !files.has(file));
  if (unused === undefined) return;
  throw new ConfigurationError(
    `functionNames names ${unused}, which is not the file of a function: remove the entry`,
  );
}

function assertPlaced(folder: string, folders: ReadonlyMap<string, FunctionKind>): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (/^[._]/.test(entry.name) || folders.has(entry.name)) continue;
    const path = join(folder, entry.name);
    const [misplaced] = entry.isDirectory()
      ? sourceFiles(path)
      : SOURCE.test(entry.name)
      ? [path]
      : [];
    if (misplaced === undefined) continue;
    throw new ConfigurationError(
      `${misplaced} is outside the folders that define triggers: ${
        [...folders.keys()].join(", ")
      }. ` +
        "Move it into one of them, add its folder to folders in trellis.config.ts, or begin its " +
        "name with _ if it is not a function",
    );
  }
}
