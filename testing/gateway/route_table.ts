import type { ApiEvent, LambdaContext, ProxyResult } from "../../core/http/lambda.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";
import { decodePercent } from "../../core/http/percent_encoding.ts";

/** A function and its route. */
export interface LocalRoute {
  /** Method in upper case; `ANY` matches all methods. */
  readonly method: string;
  /** `/notes/{noteId}`; `{proxy+}` matches the rest of a path. */
  readonly path: string;
  /** The function's name. */
  readonly name: string;
  /** The Lambda handler. */
  readonly handler: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
  /** The operation that `defineApiHandler` registered. */
  readonly operation?: RegisteredOperation;
}

/** The matching route, or the methods that the path allows. */
export type RouteMatch<R> =
  | { readonly route: R; readonly parameters: Record<string, string> | null }
  | { readonly allowed: string[] };

/**
 * Matches requests like a REST API: a fixed segment before a parameter, a parameter before the rest
 * of a path.
 *
 * @param routes The functions, the most specific routes first.
 * @param hasHeadRoutes True if each GET route answers HEAD too, unless the path has a route for it.
 * @returns Finds the route for a method and a path; `allowed` contains the methods of the path and
 * is empty if the path is unknown.
 */
export function createRouteTable<R extends Pick<LocalRoute, "method" | "path">>(
  routes: readonly R[],
  hasHeadRoutes = false,
): (method: string, path: string) => RouteMatch<R> {
  const table = routes.map((route) => ({ route, ...toPattern(route.path) }));
  function find(method: string, path: string): RouteMatch<R> {
    const allowed: string[] = [];
    for (const { route, pattern, names } of table) {
      const found = pattern.exec(path);
      if (found === null) continue;
      if (route.method !== method && route.method !== "ANY") {
        allowed.push(route.method);
        continue;
      }
      const parameters = names.map((name, i) => [name, decodePercent(found[i + 1])]);
      return { route, parameters: parameters.length === 0 ? null : Object.fromEntries(parameters) };
    }
    return { allowed };
  }

  return function match(method, path): RouteMatch<R> {
    const found = find(method, path);
    if (!hasHeadRoutes || "route" in found) return found;
    if (method === "HEAD") return find("GET", path);
    return found.allowed.includes("GET") ? { allowed: [...found.allowed, "HEAD"] } : found;
  };
}

function toPattern(path: string): { pattern: RegExp; names: string[] } {
  const names: string[] = [];
  const source = path.split("/").map((segment) => {
    const parameter = /^\{([^}+]+)(\+?)\}$/.exec(segment);
    if (parameter === null) return segment.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    names.push(parameter[1]);
    return parameter[2] ? "(.+)" : "([^/]+)";
  }).join("/");
  return { pattern: new RegExp(`^${source}/?$`), names };
}
