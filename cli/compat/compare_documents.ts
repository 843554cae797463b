import { isDeepStrictEqual } from "node:util";
import { compareOperations } from "./compare_operations.ts";
import type { Change, OperationVersion } from "./operation_parts.ts";
import { type Json, resolvePointer } from "./schema_view.ts";

const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"] as const;

/**
 * Compares two OpenAPI documents. A change is breaking if a request of an old client may be refused
 * by the new server, or an answer of the new server may not fit what the old client expects.
 *
 * @returns The changes, in the order of the paths.
 */
export function compareDocuments(before: Json, after: Json): Change[] {
  const known = listOperations(before);
  const operations = listOperations(after);
  const changes = [...known].flatMap(([key, old]): Change[] => {
    const now = operations.get(key);
    if (now === undefined) return [describePresence(old, "removed")];
    return isDeepStrictEqual(listCompared(old), listCompared(now))
      ? []
      : compareOperations(old, now);
  });
  const added = [...operations].filter(([key]) => !known.has(key))
    .map(([, operation]) => describePresence(operation, "added"));
  return [...changes, ...added];
}

/** Lists the operations by method and path. Names of parameters do not count: requests have none. */
function listOperations(document: Json): Map<string, OperationVersion> {
  const paths = Object.entries((document.paths ?? {}) as Record<string, Json>);
  return new Map(paths.flatMap(([path, written]) => {
    const item: Json = typeof written.$ref === "string"
      ? { ...resolvePointer(document, written.$ref), ...written }
      : written;
    return METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const operation = item[method] as Json;
      const parameters = [item.parameters, operation.parameters]
        .flatMap((each) => (each ?? []) as Json[]);
      const name = `${method.toUpperCase()} ${path}`;
      const key = name.replaceAll(/\{[^{}/]*\}/g, "{}");
      return [key, { name, operation: { ...operation, parameters }, document }] as const;
    });
  }));
}

function describePresence({ name }: OperationVersion, change: "added" | "removed"): Change {
  return {
    operation: name,
    direction: "request",
    isBreaking: change === "removed",
    message: `the operation was ${change}`,
  };
}

/** Lists everything that an operation means: what is the same needs no comparison. */
function listCompared({ name, operation, document }: OperationVersion): unknown[] {
  return [name, operation, document.components, document.security];
}
