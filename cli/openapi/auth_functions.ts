import {
  type AuthRoute,
  findUnknownPatterns,
  isRouteMounted,
} from "../../auth/better_auth/auth_routes.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { Place } from "../sources/source_positions.ts";

/** A function that `createAuthHandler` creates, as described by its source file. */
export interface AuthFunction extends Place {
  readonly fn: FunctionFile;
  /** The option `routes`; omitted to mount every route. */
  readonly routes?: readonly string[];
  /** True if the option `errorBody` changes the form of error bodies. */
  readonly hasErrorBody: boolean;
}

/** A route of better-auth with the function that serves it. */
export interface MountedRoute<R> {
  readonly route: R;
  readonly mount: AuthFunction;
  /** Path in the API: `/auth/reset-password/{token}`. */
  readonly path: string;
}

/** The routes of a project's auth functions. */
export interface MountedRoutes<R> {
  readonly mounted: readonly MountedRoute<R>[];
  /** Functions and patterns that serve no route. */
  readonly unknown: readonly { readonly mount: AuthFunction; readonly message: string }[];
}

/**
 * Assigns routes of better-auth to the functions that serve them. A file for the route has priority
 * over a file for the rest of a path.
 *
 * @param routes The routes of the configuration, with paths such as `/reset-password/:token`.
 */
export function mountRoutes<R extends AuthRoute>(
  functions: readonly AuthFunction[],
  routes: readonly R[],
): MountedRoutes<R> {
  const basePath = findBasePath(functions, routes);
  const sorted = [...functions].sort((one, other) =>
    Number(takesRest(one.fn)) - Number(takesRest(other.fn))
  );
  const mounted = routes.flatMap((route) => {
    const mount = sorted.find((each) => serves(each, basePath, route));
    const path = `${basePath}${route.path.replace(/:(\w+)/g, "{$1}")}`;
    return mount === undefined ? [] : [{ route, mount, path }];
  });
  const unknown = functions.flatMap((mount) => listUnknown(mount, basePath, routes));
  return { mounted, unknown };
}

function listUnknown(mount: AuthFunction, basePath: string, routes: readonly AuthRoute[]) {
  const patterns = findUnknownPatterns(mount.routes ?? [], routes);
  if (patterns.length > 0) {
    return [{
      mount,
      message:
        `routes has ${patterns.join(", ")}, which the configuration does not serve: remove ` +
        "it, or add the plugin",
    }];
  }
  if (routes.some((route) => serves(mount, basePath, route))) return [];
  return [{
    mount,
    message:
      `the configuration serves no route at ${mount.fn.method} ${mount.fn.path}: better-auth ` +
      "has the routes of its options and plugins",
  }];
}

/**
 * Finds the path below which the functions serve routes: the shortest one with which each function
 * serves a route. The configuration has it too, but there it may contain the stage of an API.
 */
function findBasePath(functions: readonly AuthFunction[], routes: readonly AuthRoute[]): string {
  const [first] = functions;
  if (first === undefined) return "";
  const segments = first.fn.path!.split("/").slice(1);
  const candidates = segments.map((_, at) =>
    segments.slice(0, at).map((segment) => `/${segment}`).join("")
  );
  const scores = candidates.map((candidate) =>
    functions.filter((each) => routes.some((route) => serves(each, candidate, route))).length
  );
  return candidates[scores.indexOf(Math.max(...scores))] ?? "";
}

function serves({ fn, routes }: AuthFunction, basePath: string, route: AuthRoute): boolean {
  if (fn.method !== "ANY" && route.method !== "*" && fn.method !== route.method) return false;
  const path = `${basePath}${route.path}`;
  const own = fn.path!;
  const isServed = takesRest(fn)
    ? path.startsWith(own.slice(0, own.lastIndexOf("/") + 1))
    : own.replace(/\{\w+\}/g, ":") === path.replace(/:\w+/g, ":");
  return isServed && isRouteMounted(routes, route.path);
}

function takesRest({ path }: FunctionFile): boolean {
  return path!.endsWith("+}");
}
