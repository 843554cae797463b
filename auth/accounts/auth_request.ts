import { getMethod, getPath, getQueryString, readRawBody } from "../../core/http/api_event.ts";
import { type ClientAddressSource, getClientAddress } from "../../core/http/client_address.ts";
import type { ApiEvent, RestApiEvent } from "../../core/http/lambda.ts";
import { ValidationError } from "../../errors/http_errors.ts";
import { getClientAddressHeader } from "../better_auth/client_address_header.ts";
import type { AuthSettings } from "../config/config.ts";
import { readCookieHeader } from "../../core/http/cookies.ts";

const DEFAULT_BASE_PATH = "/api/auth";

/**
 * Returns the path below which better-auth serves its routes, without a slash at the end.
 *
 * @param settings The validated configuration.
 */
export function getBasePath({ baseURL, library }: AuthSettings): string {
  const { pathname } = new URL(baseURL);
  const path = pathname === "/" ? library.basePath ?? DEFAULT_BASE_PATH : pathname;
  return path.replace(/\/$/, "");
}

/**
 * Converts the event to a web request to `baseURL`.
 *
 * @param event The event.
 * @param settings The validated configuration.
 * @throws {ValidationError} If the method, path or headers are invalid, or there are too many headers.
 */
export function toAuthRequest(event: ApiEvent, settings: AuthSettings): Request {
  const { origin, pathname } = new URL(settings.baseURL);
  const query = getQueryString(event);
  const method = getMethod(event);
  const body = method === "GET" || method === "HEAD" ? undefined : readRawBody(event);
  const given = listHeaders(event);
  if (given.length > MAX_HEADERS) {
    throw new ValidationError(`The request has more than ${MAX_HEADERS} headers`);
  }
  try {
    return new Request(`${origin}${getRoutePath(event, pathname)}${query && `?${query}`}`, {
      // methods that requests of the web cannot have; no route has the method OPTIONS either, which is 405
      method: /^(?:CONNECT|TRACE|TRACK)$/i.test(method) ? "OPTIONS" : method,
      headers: readHeaders(event, given, settings.clientAddress),
      body: body?.byteLength ? body : undefined,
    });
  } catch (error) {
    throw new ValidationError("The request's method, path or headers are not valid", {
      cause: error,
    });
  }
}

/**
 * Returns the path including the stage, which a REST API omits from `path` although it is part of
 * the URL.
 */
function getRoutePath(event: ApiEvent, basePath: string): string {
  const path = getPath(event);
  const withStage = (event as RestApiEvent & { requestContext?: { path?: string } }).requestContext
    ?.path;
  const route = basePath !== "/" && !path.startsWith(basePath) && withStage?.startsWith(basePath)
    ? withStage
    : path;
  // an origin followed by `@example.com/` would be a request to another host
  return route.startsWith("/") ? route : `/${route}`;
}

/** More than any client sends. `Request` takes the square of the number of headers on Deno. */
const MAX_HEADERS = 500;

function listHeaders(event: ApiEvent): [name: string, value: unknown][] {
  const several = (event as RestApiEvent).multiValueHeaders;
  return Object.entries(several ?? event.headers ?? {}).flatMap(([name, value]) =>
    [value].flat().map((item): [string, unknown] => [name, item])
  );
}

function readHeaders(
  event: ApiEvent,
  given: readonly (readonly [name: string, value: unknown])[],
  source: ClientAddressSource,
): Headers {
  const headers = new Headers();
  for (const [name, value] of given) if (typeof value === "string") headers.append(name, value);
  const cookies = readCookieHeader(event);
  // `append` joins with commas, but cookies are separated by semicolons
  if (cookies !== undefined) headers.set("cookie", cookies);
  // hooks and plugins may read this header, so it must not be set by the client
  headers.delete("x-forwarded-for");
  const address = getClientAddress(event, source);
  if (address !== undefined) {
    headers.set("x-forwarded-for", address);
    headers.set(getClientAddressHeader(), address);
  }
  return headers;
}
