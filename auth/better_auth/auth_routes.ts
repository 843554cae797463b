import { ConfigurationError } from "../../errors/http_errors.ts";

/** A route of better-auth, for the configured options and plugins. */
export interface AuthRoute {
  /** HTTP method in upper case, or `*` for every method. */
  readonly method: string;
  /** Path after the base path: `/sign-in/email`, `/reset-password/:token`. */
  readonly path: string;
  /** Validates the parsed body. */
  readonly body?: BodySchema;
}

/** A schema of the Standard Schema specification, which better-auth uses for bodies. */
export interface BodySchema {
  readonly "~standard": {
    validate(value: unknown): SchemaResult | Promise<SchemaResult>;
  };
}

interface SchemaResult {
  readonly issues?: readonly SchemaIssue[];
}

/** An invalid value. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly unknown[];
}

interface Endpoint {
  readonly path?: string;
  readonly options?: {
    readonly method?: string | readonly string[];
    readonly body?: BodySchema;
    readonly metadata?: { readonly SERVER_ONLY?: boolean };
  };
}

/** The options of better-auth that decide about its routes. */
interface RouteOptions {
  readonly disabledPaths?: readonly string[];
  readonly session?: { readonly deferSessionRefresh?: boolean };
}

/**
 * Lists the routes of an instance from its own endpoints.
 *
 * @param api better-auth's endpoints.
 * @param options The options of better-auth.
 * @returns One entry for each method of each path. Endpoints without a route are omitted.
 */
export function listAuthRoutes(
  api: object,
  { disabledPaths = [], session }: RouteOptions = {},
): AuthRoute[] {
  return (Object.values(api) as Endpoint[]).flatMap(({ path, options }) => {
    if (!path || !options || options.metadata?.SERVER_ONLY || disabledPaths.includes(path)) {
      return [];
    }
    // better-auth answers 405 without the option
    const isGetOnly = path === "/get-session" && session?.deferSessionRefresh !== true;
    const methods = isGetOnly ? ["GET"] : [options.method ?? "*"].flat();
    return methods.map((method) => ({ method, path, body: options.body }));
  });
}

const PATTERN = /^(?:\/(?:[\w.~-]+|:\w+))*(?:\/\*)?$/;

/**
 * Validates the option `routes` of `createAuthHandler`.
 *
 * @param patterns The option.
 * @throws {ConfigurationError} If it is empty, or an entry is not a path.
 */
export function checkRoutePatterns(patterns: readonly string[]): void {
  if (patterns.length === 0) {
    throw new ConfigurationError(
      "createAuthHandler's option routes is empty: omit it to mount every route",
    );
  }
  for (const pattern of patterns) {
    if (typeof pattern === "string" && pattern !== "" && PATTERN.test(pattern)) continue;
    throw new ConfigurationError(
      `createAuthHandler's option routes has ${JSON.stringify(pattern)}: ` +
        'write paths after the base path, such as "/sign-out", "/sign-in/*" or "/reset-password/:token"',
    );
  }
}

/**
 * Checks whether the path of a request is mounted.
 *
 * @param patterns The option `routes`; `undefined` mounts every route.
 * @param path The path after the base path.
 */
export function isMounted(patterns: readonly string[] | undefined, path: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matchesPath(pattern, path));
}

/**
 * Checks whether requests to a route can be mounted.
 *
 * @param patterns The option `routes`; `undefined` mounts every route.
 * @param route The path of the route: `/reset-password/:token`.
 */
export function isRouteMounted(patterns: readonly string[] | undefined, route: string): boolean {
  return patterns === undefined || patterns.some((pattern) => matchesRoute(pattern, route));
}

/**
 * Matches the path of a request with a pattern. `*` at the end matches one or more segments, and
 * `:name` matches one.
 *
 * @param pattern `/sign-in/*`
 * @param path `/sign-in/email`
 */
export function matchesPath(pattern: string, path: string): boolean {
  return matchSegments(pattern, path, (part, given) => part === given);
}

/** Matches the path of a route with a pattern. A parameter of the route can have any value. */
function matchesRoute(pattern: string, route: string): boolean {
  return matchSegments(pattern, route, (part, given) => part === given || given.startsWith(":"));
}

function matchSegments(
  pattern: string,
  path: string,
  isFixedMatch: (part: string, given: string) => boolean,
): boolean {
  const expected = pattern.split("/");
  const parts = path.split("/");
  const takesRest = expected.at(-1) === "*";
  if (takesRest) expected.pop();
  if (takesRest ? parts.length <= expected.length : parts.length !== expected.length) return false;
  return expected.every((part, at) =>
    part.startsWith(":") ? parts[at] !== "" : isFixedMatch(part, parts[at])
  );
}

/**
 * Returns the patterns that match no route.
 *
 * @param patterns The option `routes`.
 * @param routes The routes of the configuration.
 */
export function findUnknownPatterns(
  patterns: readonly string[],
  routes: readonly AuthRoute[],
): string[] {
  return patterns.filter((pattern) => !routes.some(({ path }) => matchesRoute(pattern, path)));
}

/**
 * Finds the route of a request.
 *
 * @param routes The routes of the configuration.
 * @param method HTTP method in upper case.
 * @param path Path after the base path.
 * @returns The route. A fixed path has priority over one with parameters.
 */
export function findAuthRoute(
  routes: readonly AuthRoute[],
  method: string,
  path: string,
): AuthRoute | undefined {
  const candidates = routes.filter((route) => route.method === method || route.method === "*");
  return candidates.find((route) => route.path === path) ??
    candidates.find((route) => matchesPath(route.path, path));
}

/**
 * Lists the methods of the routes of a path.
 *
 * @param routes The routes of the configuration.
 * @param path Path after the base path.
 * @returns The methods in order, without repetitions; empty if no route has the path.
 */
export function listMethods(routes: readonly AuthRoute[], path: string): string[] {
  const found = routes.filter((route) => matchesPath(route.path, path));
  return [...new Set(found.map(({ method }) => method))].sort();
}
