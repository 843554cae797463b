import { existsSync } from "node:fs";
import { MethodNotAllowedError, NotFoundError } from "../../errors/http_errors.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import { createRouteTable, type RouteMatch } from "../../testing/gateway/route_table.ts";

/** A function that serves a route. */
type RoutedFile = FunctionFile & Required<Pick<FunctionFile, "method" | "path">>;

/** The function for a request. */
export interface LocalMatch {
  readonly route: RoutedFile;
  /** Values of the route's parameters. */
  readonly parameters: Record<string, string> | null;
}

/**
 * Creates a router that also finds functions whose files were just added.
 *
 * @param hasHeadRoutes True if GET routes answer HEAD too.
 * @returns Finds a function; throws `NotFoundError` or `MethodNotAllowedError` if there is none.
 */
export function createLocalRouter(
  store: FunctionStore,
  hasHeadRoutes: boolean | undefined,
): (method: string, path: string) => Promise<LocalMatch> {
  let builtFrom: readonly FunctionFile[] | undefined;
  let match: (method: string, path: string) => RouteMatch<RoutedFile>;

  function lookUp(method: string, path: string): RouteMatch<RoutedFile> {
    const routes = store.routes();
    if (builtFrom !== routes) {
      match = createRouteTable(routes as readonly RoutedFile[], hasHeadRoutes);
    }
    builtFrom = routes;
    return match(method, path);
  }

  return async function findFunction(method, path): Promise<LocalMatch> {
    let found = lookUp(method, path);
    // scanning is slow, so it runs only if no function was found or its file is gone
    if ((!("route" in found) || !existsSync(found.route.file)) && await store.scan()) {
      found = lookUp(method, path);
    }
    if ("route" in found) return found;
    throw found.allowed.length > 0
      ? new MethodNotAllowedError(found.allowed)
      : new NotFoundError("No such route");
  };
}
