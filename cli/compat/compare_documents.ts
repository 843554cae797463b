import { isDeepStrictEqual } from "node:util";
import { type Change, compareOperations } from "./compare_operations.ts";
import type { Json } from "./schema_view.ts";

const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"] as const;

/**
 * Compares two OpenAPI documents. A change is breaking if a request of an old client may be refused
 * by the new server, or an answer of the new server may not fit what the old client expects.
 *
 * @param before The old document.
 * @param after The new document.
 * @returns The changes, in the order of the paths.
 */
export function compareDocuments(before: Json, after: Json): Change[] {
  const oldPaths = (before.paths ?? {}) as Record<string, Json>;
  const newPaths = (after.paths ?? {}) as Record<string, Json>;
  const renamed = new Map(Object.keys(newPaths).map((path) => [normalizePath(path), path]));
  const known = new Set(Object.keys(oldPaths).map(normalizePath));
  const changes = Object.entries(oldPaths).flatMap(([path, item]) => {
    const other = newPaths[renamed.get(normalizePath(path)) ?? path];
    return METHODS.flatMap((method): Change[] => {
      const operation = `${method.toUpperCase()} ${path}`;
      const [old, now] = [item[method], other?.[method]];
      if (old === undefined && now === undefined) return [];
      const direction = "request";
      if (now === undefined) {
        return [{ operation, direction, isBreaking: true, message: "the operation was removed" }];
      }
      if (old === undefined) {
        return [{ operation, direction, isBreaking: false, message: "the operation was added" }];
      }
      if (isDeepStrictEqual([old, before.components], [now, after.components])) return [];
      return compareOperations(operation, old as Json, now as Json, { before, after });
    });
  });
  const added = Object.entries(newPaths).filter(([path]) => !known.has(normalizePath(path)))
    .flatMap(([path, item]) =>
      METHODS.filter((method) => method in item).map((method): Change => ({
        operation: `${method.toUpperCase()} ${path}`,
        direction: "request",
        isBreaking: false,
        message: "the operation was added",
      }))
    );
  return [...changes, ...added];
}

/** Removes the names of parameters: clients do not send them. */
function normalizePath(path: string): string {
  return path.split("/").map((part) => part.startsWith("{") ? "{}" : part).join("/");
}
