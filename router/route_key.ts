import { ConfigurationError } from "../errors/http_errors.ts";

/** The methods of routes; `ANY` matches all methods. */
export type RouteMethod =
  | "GET"
  | "POST"
  | "PUT"
  | "PATCH"
  | "DELETE"
  | "HEAD"
  | "OPTIONS"
  | "ANY";

/** Method and path of a route: `GET /notes/{noteId}`. */
export type RouteKey = `${RouteMethod} /${string}`;

/** A parsed {@link RouteKey}. */
export interface RoutePattern {
  /** `GET /notes/{noteId}` */
  readonly key: string;
  /** Method in upper case; `ANY` matches all methods. */
  readonly method: string;
  /** `/notes/{noteId}`; `{proxy+}` matches the rest of a path. */
  readonly path: string;
}

const KEY = /^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|ANY) (\/.*)$/;
const PARAMETER = /^\{([A-Za-z_][A-Za-z0-9_]*)(\+?)\}$/;

/** Fixed segments that API Gateway accepts (CreateResource, `pathPart`). */
const FIXED = /^[A-Za-z0-9._:~$-]+$/;

/** A parameter in a path. */
export interface PathParameter {
  readonly name: string;
  /** True for `{proxy+}`, which matches the rest of the path. */
  readonly takesRest: boolean;
}

/**
 * Parses a segment of a path.
 *
 * @param segment A segment such as `{noteId}`.
 * @returns The parameter; `undefined` for a fixed segment.
 */
export function parseParameter(segment: string): PathParameter | undefined {
  const found = PARAMETER.exec(segment);
  return found === null ? undefined : { name: found[1], takesRest: found[2] === "+" };
}

/**
 * Parses the key of a route.
 *
 * @param key Method and path, such as `GET /notes/{noteId}`.
 * @throws {ConfigurationError} If the method is unknown or API Gateway would refuse the path.
 */
export function parseRouteKey(key: string): RoutePattern {
  const found = KEY.exec(key);
  if (found === null) {
    throw new ConfigurationError(
      `The route ${
        JSON.stringify(key)
      } is invalid: write a method in upper case and a path, such as ` +
        '"GET /notes/{noteId}". ANY matches all methods',
    );
  }
  const [, method, path] = found;
  checkPath(key, path);
  return { key, method, path };
}

function checkPath(key: string, path: string): void {
  if (path === "/") return;
  const segments = path.slice(1).split("/");
  const names = new Set<string>();
  segments.forEach((segment, index) => {
    const parameter = parseParameter(segment);
    const problem = parameter === undefined
      ? describeFixed(segment)
      : parameter.takesRest && index < segments.length - 1
      ? `${segment} must be the last segment`
      : names.has(parameter.name)
      ? `the parameter ${parameter.name} occurs twice`
      : undefined;
    if (problem !== undefined) {
      throw new ConfigurationError(`The route ${key} is invalid: ${problem}`);
    }
    if (parameter !== undefined) names.add(parameter.name);
  });
}

function describeFixed(segment: string): string | undefined {
  if (segment === "") return "the path has an empty segment or ends with a slash";
  if (segment === "." || segment === "..") return `clients remove the segment ${segment} from URLs`;
  if (FIXED.test(segment)) return undefined;
  return `the segment "${segment}" has other characters than letters, digits and . _ : ~ $ -. ` +
    "Write parameters as {name} or {name+}";
}

/**
 * Orders routes so that the first match is the route that API Gateway selects: at the first different
 * segment a fixed one before a parameter, a parameter before the rest of a path; a method before `ANY`.
 *
 * @param one A route.
 * @param other Another route.
 * @returns Less than 0 if `one` comes first.
 */
export function compareRoutes(
  one: { readonly method: string; readonly path: string },
  other: { readonly method: string; readonly path: string },
): number {
  const ones = one.path.split("/"), others = other.path.split("/");
  for (let i = 0; i < Math.min(ones.length, others.length); i++) {
    const order = getRank(ones[i]) - getRank(others[i]) || compareTexts(ones[i], others[i]);
    if (order !== 0) return order;
  }
  return ones.length - others.length ||
    Number(one.method === "ANY") - Number(other.method === "ANY") ||
    compareTexts(one.method, other.method);
}

/** Returns 0 for a fixed segment, 1 for a parameter, 2 for the rest of a path. */
function getRank(segment: string): number {
  if (!segment.startsWith("{")) return 0;
  return segment.endsWith("+}") ? 2 : 1;
}

function compareTexts(one: string, other: string): number {
  if (one === other || (one.startsWith("{") && other.startsWith("{"))) return 0;
  return one < other ? -1 : 1;
}
