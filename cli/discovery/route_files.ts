import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { ConfigurationError } from "../../errors/mod.ts";

/** Methods that a file's name may end with. */
export const ROUTE_METHODS = ["get", "post", "put", "patch", "delete", "head", "options", "any"] as const;

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

const SOURCE = /\.(?:ts|tsx|mts|js|mjs)$/;
const IGNORED = /(?:[._]test|\.spec|\.d)\.[a-z]+$/;
const PARAMETER = /^\[(\.\.\.)?([A-Za-z_][A-Za-z0-9_]*)\]$/;

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
      const key = what === "name" ? route.name : `${route.method} ${route.path.replace(/\{[^}]*\}/g, "{}")}`;
      const other = seen.get(key);
      if (other !== undefined) {
        throw new ConfigurationError(
          `Two files stand for the ${what} ${key}: ${other.file} and ${route.file}. Rename one`,
        );
      }
      seen.set(key, route);
    }
  }
  return routes.sort((a, b) => specificity(a.path).localeCompare(specificity(b.path)) || a.name.localeCompare(b.name));
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && SOURCE.test(entry.name) && !IGNORED.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).split(sep).some((part) => /^[._]/.test(part)))
    .sort();
}

function readRouteFile(folder: string, file: string): RouteFile {
  const parts = relative(folder, file).replace(SOURCE, "").split(sep);
  const last = parts.pop()!;
  const dot = last.lastIndexOf(".");
  const method = last.slice(dot + 1).toLowerCase();
  if (dot < 1 || !(ROUTE_METHODS as readonly string[]).includes(method)) {
    throw new ConfigurationError(
      `${file} names no method: call it ${last.slice(0, dot < 1 ? undefined : dot)}.get.ts, or with ${
        ROUTE_METHODS.slice(1).join(", ")
      }`,
    );
  }
  const base = last.slice(0, dot);
  const segments = base === "index" ? parts : [...parts, base];
  const name = segments.map(nameOf).join("") + (base === "index" ? pascal(method) : "");
  return { file, method: method.toUpperCase(), path: `/${segments.map(toPathSegment).join("/")}`, name };
}

function toPathSegment(segment: string): string {
  const parameter = PARAMETER.exec(segment);
  return parameter === null ? segment : `{${parameter[2]}${parameter[1] ? "+" : ""}}`;
}

function nameOf(segment: string): string {
  const parameter = PARAMETER.exec(segment);
  return parameter === null ? pascal(segment) : `By${pascal(parameter[2])}`;
}

function pascal(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).filter(Boolean).map((word) => word[0].toUpperCase() + word.slice(1)).join("");
}

/** Sorts fixed segments before parameters, and these before the rest of a path. */
function specificity(path: string): string {
  return path.split("/").map((part) => part.endsWith("+}") ? "2" : part.startsWith("{") ? "1" : `0${part}`).join("/");
}
