import { relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { nameOfSegments, pascal, readParameter, SOURCE, sourceFiles } from "./source_files.ts";

/** Methods that a file's name may end with. */
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

/** A function that answers a route, found by its file. */
export interface RouteFile {
  /** Absolute path of the file. */
  readonly file: string;
  /** Method in upper case; `ANY` for all. */
  readonly method: string;
  /** `/notes/{noteId}`; `{proxy+}` takes the rest of a path. */
  readonly path: string;
  /** The function's name: `NotesByNoteIdDelete`. */
  readonly name: string;
}

/**
 * Finds the HTTP functions of a folder by their files: `user/login.post.ts` is `POST /user/login` and `UserLogin`,
 * `files/[fileId]/index.delete.ts` is `DELETE /files/{fileId}` and `FilesByFileIdDelete`, `[...proxy]` takes the rest of
 * a path. Files and folders that begin with `_` or a dot, and tests, are left out.
 *
 * @param folder The folder, such as `src/functions/api`.
 * @returns The routes, those without parameters first, so that the first that matches is the right one.
 * @throws {ConfigurationError} When a file has no known method, or two files stand for one route or one name.
 */
export function findRouteFiles(folder: string): RouteFile[] {
  const routes = sourceFiles(folder).map((file) => readRouteFile(folder, file));
  for (const what of ["name", "route"] as const) {
    const seen = new Map<string, RouteFile>();
    for (const route of routes) {
      const key = what === "name"
        ? route.name
        : `${route.method} ${route.path.replace(/\{[^{}]*\}/g, "{}")}`;
      const other = seen.get(key);
      if (other !== undefined) {
        throw new ConfigurationError(
          `Two files stand for the ${what} ${key}: ${other.file} and ${route.file}. Rename one`,
        );
      }
      seen.set(key, route);
    }
  }
  return routes.sort((a, b) =>
    specificity(a.path).localeCompare(specificity(b.path)) || a.name.localeCompare(b.name)
  );
}

function readRouteFile(folder: string, file: string): RouteFile {
  const parts = relative(folder, file).replace(SOURCE, "").split(sep);
  const last = parts.pop()!;
  const dot = last.lastIndexOf(".");
  const method = last.slice(dot + 1).toLowerCase();
  if (dot < 1 || !(ROUTE_METHODS as readonly string[]).includes(method)) {
    throw new ConfigurationError(
      `${file} names no method: call it ${
        last.slice(0, dot < 1 ? undefined : dot)
      }.get.ts, or with ${ROUTE_METHODS.slice(1).join(", ")}`,
    );
  }
  const base = last.slice(0, dot);
  const segments = base === "index" ? parts : [...parts, base];
  const name = nameOfSegments(segments) + (base === "index" ? pascal(method) : "");
  return {
    file,
    method: method.toUpperCase(),
    path: `/${segments.map(toPathSegment).join("/")}`,
    name,
  };
}

function toPathSegment(segment: string): string {
  const parameter = readParameter(segment);
  return parameter === undefined ? segment : `{${parameter.name}${parameter.takesRest ? "+" : ""}}`;
}

/** Sorts fixed segments before parameters, and these before the rest of a path. */
function specificity(path: string): string {
  return path.split("/").map((part) =>
    part.endsWith("+}") ? "2" : part.startsWith("{") ? "1" : `0${part}`
  ).join("/");
}
