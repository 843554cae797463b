import type { ApiEvent, LambdaContext, ProxyResult } from "../../core/http/lambda.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";

/** A function at its route. */
export interface LocalRoute {
  /** Method in upper case; `ANY` for all. */
  readonly method: string;
  /** `/notes/{noteId}`; `{proxy+}` takes the rest of a path. */
  readonly path: string;
  /** The function's name. */
  readonly name: string;
  /** The function that Lambda would call. */
  readonly handler: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
  /** What `defineApiHandler` knows of it. */
  readonly operation?: RegisteredOperation;
}

/** What a request's path leads to. */
export type RouteMatch =
  | { readonly route: LocalRoute; readonly parameters: Record<string, string> | null }
  | { readonly allowed: string[] };

/**
 * Matches requests as a REST API does: a fixed segment before a parameter, a parameter before the rest of a path.
 *
 * @param routes The functions, the more specific ones first.
 * @returns Finds the route for a method and a path; `allowed` holds the methods that the path knows, none when there is
 * no such path.
 */
export function createRouteTable(
  routes: readonly LocalRoute[],
): (method: string, path: string) => RouteMatch {
  const table = routes.map((route) => ({ route, ...toPattern(route.path) }));
  return function match(method: string, path: string): RouteMatch {
    const allowed: string[] = [];
    for (const { route, pattern, names } of table) {
      const found = pattern.exec(path);
      if (found === null) continue;
      if (route.method !== method && route.method !== "ANY") {
        allowed.push(route.method);
        continue;
      }
      const parameters = names.map((name, i) => [name, decode(found[i + 1])]);
      return { route, parameters: parameters.length === 0 ? null : Object.fromEntries(parameters) };
    }
    return { allowed };
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

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
