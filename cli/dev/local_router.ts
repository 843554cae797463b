import { existsSync } from "node:fs";
import { MethodNotAllowedError, NotFoundError } from "../../errors/http_errors.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import { createRouteTable, type LocalRoute, type RouteMatch } from "./http/route_table.ts";

/** The function for a request. */
export interface LocalMatch {
  readonly fn: FunctionFile;
  /** Values of the route's parameters. */
  readonly parameters: Record<string, string> | null;
}

/**
 * Creates a router that also finds functions whose files were just added.
 *
 * @returns Finds a function; throws `NotFoundError` or `MethodNotAllowedError` if there is none.
 */
export function createLocalRouter(
  store: FunctionStore,
): (method: string, path: string) => Promise<LocalMatch> {
  let builtFrom: readonly FunctionFile[] | undefined;
  let match: (method: string, path: string) => RouteMatch;
  let functions: Map<LocalRoute, FunctionFile>;

  function lookUp(method: string, path: string): LocalMatch | { readonly allowed: string[] } {
    const routes = store.routes();
    if (builtFrom !== routes) {
      builtFrom = routes;
      functions = new Map(routes.map((fn) => [toLocalRoute(fn), fn]));
      match = createRouteTable([...functions.keys()]);
    }
    const found = match(method, path);
    return "route" in found
      ? { fn: functions.get(found.route)!, parameters: found.parameters }
      : found;
  }

  return async function findFunction(method, path): Promise<LocalMatch> {
    let found = lookUp(method, path);
    // scanning is slow, so it runs only if no function was found or its file is gone
    if ((!("fn" in found) || !existsSync(found.fn.file)) && await store.scan()) {
      found = lookUp(method, path);
    }
    if ("fn" in found) return found;
    throw found.allowed.length > 0
      ? new MethodNotAllowedError(found.allowed)
      : new NotFoundError("No such route");
  };
}

function toLocalRoute({ method, path, name }: FunctionFile): LocalRoute {
  return {
    method: method!,
    path: path!,
    name,
    handler: () => Promise.reject(new Error("handlers are loaded by the store")),
  };
}
