import { TrieRouter } from "hono/router/trie-router";
import { ConfigurationError } from "../errors/http_errors.ts";
import { compareRoutes, parseParameter, type RoutePattern } from "./route_key.ts";
import { decodePercent, encodePercent } from "../core/http/percent_encoding.ts";

/** A route that matches a request. */
export interface RouteMatch<R> {
  readonly route: R;
  /** Values of the path's parameters, decoded; `null` without parameters. */
  readonly parameters: Readonly<Record<string, string>> | null;
}

/** Finds routes by method and path. */
export interface RouteMatcher<R> {
  /**
   * Returns the route of a request.
   *
   * @param method Method in upper case.
   * @param path The path of the request, still encoded.
   */
  find(method: string, path: string): RouteMatch<R> | undefined;
  /** Returns the methods of the routes that match a path. */
  listMethods(path: string): string[];
}

/** Where the values of a route's parameters are: the index of the segment by name. */
interface Target<R> {
  readonly route: R;
  readonly parameters: readonly { name: string; index: number; takesRest: boolean }[];
}

/**
 * Creates a matcher that selects routes like API Gateway. Fixed segments match in any encoding, and an encoded slash
 * does not split a segment.
 *
 * @param routes The routes, in any order.
 * @throws {ConfigurationError} If two routes match the same requests.
 */
export function createRouteMatcher<R extends RoutePattern>(
  routes: readonly R[],
): RouteMatcher<R> {
  const router = new TrieRouter<Target<R>>();
  const methods = new Set<string>();
  const seen = new Map<string, R>();
  // of several matches the router returns first what was added first
  for (const route of [...routes].sort(compareRoutes)) {
    const shape = `${route.method} ${route.path.replace(/\{[^{}+]*/g, "{")}`;
    const other = seen.get(shape);
    if (other !== undefined) {
      throw new ConfigurationError(
        `The routes ${other.key} and ${route.key} match the same requests: remove one`,
      );
    }
    seen.set(shape, route);
    methods.add(route.method);
    const method = route.method === "ANY" ? "ALL" : route.method;
    router.add(method, toRouterPath(route.path), toTarget(route));
  }

  function find(method: string, path: string): RouteMatch<R> | undefined {
    const segments = splitPath(path);
    const [matches] = router.match(method, `/${segments.map(encodeSegment).join("/")}`);
    for (const [target] of matches) {
      const match = readParameters(target, segments);
      if (match !== undefined) return match;
    }
    return undefined;
  }

  return {
    find,
    listMethods(path): string[] {
      return [...methods].filter((method) => find(method, path)?.route.method === method);
    },
  };
}

function toTarget<R extends RoutePattern>(route: R): Target<R> {
  const parameters = splitPath(route.path).flatMap((segment, index) => {
    const parameter = parseParameter(segment);
    return parameter === undefined ? [] : [{ ...parameter, index }];
  });
  return { route, parameters };
}

function toRouterPath(path: string): string {
  const segments = splitPath(path).map((segment, index) => {
    const parameter = parseParameter(segment);
    if (parameter === undefined) return encodeSegment(segment);
    return parameter.takesRest ? `:p${index}{.+}` : `:p${index}`;
  });
  return `/${segments.join("/")}`;
}

/** Splits a path; one slash at the end is ignored. */
function splitPath(path: string): string[] {
  const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length;
  return path.slice(path.startsWith("/") ? 1 : 0, end).split("/");
}

const PLAIN = /^[A-Za-z0-9._~-]*$/;

/** Encodes a segment in one defined way, so that fixed segments match in any encoding. */
function encodeSegment(segment: string): string {
  return PLAIN.test(segment) ? segment : encodePercent(decodePercent(segment));
}

function readParameters<R>(
  { route, parameters }: Target<R>,
  segments: readonly string[],
): RouteMatch<R> | undefined {
  if (parameters.length === 0) return { route, parameters: null };
  const values: Record<string, string> = {};
  for (const { name, index, takesRest } of parameters) {
    const value = takesRest ? segments.slice(index).join("/") : segments[index];
    if (value === "") return undefined;
    // own: a parameter may be called __proto__
    Object.defineProperty(values, name, { value: decodePercent(value), enumerable: true });
  }
  return { route, parameters: values };
}
