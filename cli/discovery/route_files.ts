import { relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
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

/**
 * Finds the HTTP functions of a folder by their files: `user/login.post.ts` is `POST /user/login`
 * and `UserLogin`, `files/[fileId]/index.delete.ts` is `DELETE /files/{fileId}` and
 * `FilesByFileIdDelete`, and `[...proxy]` matches the rest of a path. Files and folders whose names
 * begin with `_` or a dot are ignored, and so are tests.
 *
 * @param folder The folder, such as `src/functions/api`.
 * @returns The routes, the most specific first, so that the first match is the right one.
 * @throws {ConfigurationError} If a file name has no known method, or two files define the same
 * route or name.
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
          `Two files define the ${what} ${key}: ${other.file} and ${route.file}. Rename one`,
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
      `${file} has no HTTP method in its name: rename it to ${
        last.slice(0, dot < 1 ? undefined : dot)
      }.get.ts, or use ${ROUTE_METHODS.slice(1).join(", ")}`,
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

/** Returns a sort key: fixed segments before parameters, parameters before the rest of a path. */
function specificity(path: string): string {
  return path.split("/").map((part) =>
    part.endsWith("+}") ? "2" : part.startsWith("{") ? "1" : `0${part}`
  ).join("/");
}
