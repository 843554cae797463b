import { relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { compareRoutes } from "../../router/route_key.ts";
import { nameOfSegments, pascal, readParameter, SOURCE, sourceFiles } from "./source_files.ts";

/** Methods that a file name may end with. */
export const ROUTE_METHODS = [
  "get",
  "post",
  "put",
  "patch",
  "delete",
  "head",
  "options",
  "any",
] as const;

/** The end of a file name whose function has several routes, which `defineRouter` declares. */
const ROUTER = "router";

/** An HTTP function that was found by its file. */
export interface RouteFile {
  /** Absolute path of the file. */
  readonly file: string;
  /** Method in upper case; `ANY` matches all methods. */
  readonly method: string;
  /** `/notes/{noteId}`; `{proxy+}` matches the rest of a path. */
  readonly path: string;
  /** The function's name: `NotesByNoteIdDelete`. */
  readonly name: string;
}

/** A function with several routes that was found by its file: `notes.router.ts`. */
export interface RouterFile {
  /** Absolute path of the file. */
  readonly file: string;
  /** The function's name: `Notes`. */
  readonly name: string;
  readonly isRouter: true;
}

/**
 * Finds the HTTP functions of a folder by their files: `user/login.post.ts` is `POST /user/login`
 * and `UserLogin`, `files/[fileId]/index.delete.ts` is `DELETE /files/{fileId}` and
 * `FilesByFileIdDelete`, and `[...proxy]` matches the rest of a path. If several methods of a path
 * have a file without `index`, the method is part of their names: `rooms/[roomId].get.ts` beside
 * `rooms/[roomId].delete.ts` is `RoomsByRoomIdGet`. Files and folders whose names begin with `_` or
 * a dot are ignored, and so are tests and routers (`notes.router.ts`).
 *
 * @param folder The folder, such as `src/functions/api`.
 * @returns The routes, the most specific first, so that the first match is the right one.
 * @throws {ConfigurationError} If a file name has no known method, or two files define the same
 * route or name.
 */
export function findRouteFiles(folder: string): RouteFile[] {
  const found = readRouteFiles(folder);
  const names = nameRouteFiles(found.routes);
  const routes = found.routes.map(({ shortName: _, ...route }) => ({
    ...route,
    name: names.get(route.file)!,
  }));
  assertDistinct(routes, "name", ({ name }) => name);
  assertDistinct(routes, "route", getRouteShape);
  return routes.sort(compareRoutes);
}

/** A route whose final name depends on the other files. */
export interface UnnamedRouteFile extends Omit<RouteFile, "name"> {
  /** The name if no other file has the same. */
  readonly shortName: string;
}

/**
 * Reads the HTTP functions of a folder.
 *
 * @param folder The folder, such as `src/functions/api`.
 * @throws {ConfigurationError} If a file name has no known method.
 */
export function readRouteFiles(
  folder: string,
): { readonly routes: UnnamedRouteFile[]; readonly routers: RouterFile[] } {
  const routes: UnnamedRouteFile[] = [];
  const routers: RouterFile[] = [];
  for (const file of sourceFiles(folder)) {
    const found = readRouteFile(folder, file);
    if ("isRouter" in found) routers.push(found);
    else routes.push(found);
  }
  return { routes, routers };
}

/**
 * Names the functions of routes: the short name, with the method if several files have the same.
 *
 * @param fixed Names from the configuration, by file.
 * @returns Names by file.
 */
export function nameRouteFiles(
  routes: readonly UnnamedRouteFile[],
  fixed: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const counts = new Map<string, number>();
  const getKey = ({ file, shortName }: UnnamedRouteFile) =>
    (fixed.get(file) ?? shortName).toLowerCase();
  for (const route of routes) counts.set(getKey(route), (counts.get(getKey(route)) ?? 0) + 1);
  return new Map(routes.map((route) => {
    const { file, method, shortName } = route;
    const isShared = counts.get(getKey(route))! > 1 && !isIndex(file);
    const suffix = isShared ? pascal(method.toLowerCase()) : "";
    return [file, fixed.get(file) ?? shortName + suffix];
  }));
}

/**
 * Derives the name of a route: `GET /notes/{noteId}` becomes `NotesByNoteIdGet`.
 *
 * @param method Method in upper case.
 */
export function nameRoute(method: string, path: string): string {
  const segments = path.split("/").filter(Boolean).map((segment) =>
    segment.replace(/^\{(.*?)\+?\}$/, "[$1]")
  );
  return nameOfSegments(segments) + pascal(method.toLowerCase());
}

/** Returns a text that is equal for routes that match the same requests. */
export function getRouteShape(
  { method, path }: { readonly method?: string; readonly path?: string },
): string {
  return `${method} ${path?.replace(/\{[^{}]*\}/g, "{}")}`;
}

/**
 * Refuses two files that define the same.
 *
 * @param what What the text is, for the message.
 * @param getText Returns what must be distinct.
 * @param toKey Returns the part of the text that is compared.
 * @param advice What to do besides renaming a file.
 * @throws {ConfigurationError} Naming both files.
 */
export function assertDistinct<F extends { readonly file: string }>(
  files: readonly F[],
  what: string,
  getText: (file: F) => string,
  toKey: (text: string) => string = (text) => text,
  advice = "",
): void {
  const seen = new Map<string, F>();
  for (const each of files) {
    const text = getText(each);
    const other = seen.get(toKey(text));
    if (other !== undefined) {
      throw new ConfigurationError(
        `Two files define the ${what} ${text}: ${other.file} and ${each.file}. Rename one${advice}`,
      );
    }
    seen.set(toKey(text), each);
  }
}

function readRouteFile(folder: string, file: string): UnnamedRouteFile | RouterFile {
  const parts = relative(folder, file).replace(SOURCE, "").split(sep);
  const last = parts.pop()!;
  const dot = last.lastIndexOf(".");
  const method = last.slice(dot + 1).toLowerCase();
  const base = dot < 1 ? last : last.slice(0, dot);
  const segments = base === "index" ? parts : [...parts, base];
  if (method === ROUTER && dot >= 1) {
    const suffix = base === "index" ? pascal(ROUTER) : "";
    return { file, name: nameOfSegments(segments) + suffix, isRouter: true };
  }
  if (dot < 1 || !(ROUTE_METHODS as readonly string[]).includes(method)) {
    throw new ConfigurationError(
      `${file} has no HTTP method in its name: rename it to ${base}.get.ts, or use ${
        ROUTE_METHODS.slice(1).join(", ")
      }, or ${ROUTER} for a function of defineRouter`,
    );
  }
  return {
    file,
    method: method.toUpperCase(),
    path: `/${segments.map(toPathSegment).join("/")}`,
    shortName: nameOfSegments(segments) + (base === "index" ? pascal(method) : ""),
  };
}

/** Checks for `index.get.ts`, whose short name contains the method. */
function isIndex(file: string): boolean {
  return /(?:^|[\\/])index\.[A-Za-z]+\.[a-z]+$/.test(file);
}

function toPathSegment(segment: string): string {
  const parameter = readParameter(segment);
  return parameter === undefined ? segment : `{${parameter.name}${parameter.takesRest ? "+" : ""}}`;
}
