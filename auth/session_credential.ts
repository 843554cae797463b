import { getHeader, getMethod, getPath } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { ForbiddenError, UnauthorizedError } from "../errors/http_errors.ts";
import type { AuthSettings } from "./config.ts";
import { readCookieHeader } from "./cookie_header.ts";
import { findSessionCookie } from "./session_cookies.ts";
import { requireBearerToken } from "./sessions.ts";
import { isTrustedOrigin } from "./trusted_origin.ts";

/** Methods that must not change anything (RFC 9110, section 9.2.1). */
const SAFE_METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/**
 * Checks that a request has a credential for a session, before anything is loaded or connected.
 *
 * @param event The event.
 * @throws {UnauthorizedError} When it has neither a bearer token nor a cookie.
 */
export function requireCredential(event: ApiEvent): void {
  if (!hasBearer(event) && readCookieHeader(event) === undefined) {
    requireBearerToken(getHeader(event, "Authorization", "authorization"));
  }
}

/**
 * Returns the session token of a request: the bearer token, or the session cookie when there is no
 * bearer token. A bad bearer token does not fall back to the cookie. With a cookie, a request that
 * may change something must come from a trusted origin, because browsers send cookies with requests
 * of other sites too.
 *
 * @param event The event.
 * @param settings The checked configuration.
 * @returns The token, as `validateSession` takes it.
 * @throws {UnauthorizedError} When there is no credential, or the cookie's signature is not good.
 * @throws {ForbiddenError} When a request with a cookie does not come from a trusted origin.
 */
export async function readSessionCredential(
  event: ApiEvent,
  settings: AuthSettings,
): Promise<string> {
  const cookies = hasBearer(event) ? undefined : readCookieHeader(event);
  if (cookies === undefined) {
    return requireBearerToken(getHeader(event, "Authorization", "authorization"));
  }
  if (!SAFE_METHODS.includes(getMethod(event))) await checkOrigin(event, settings);
  const token = await findSessionCookie(cookies, settings.sessionCookie, settings.secret);
  if (token === undefined) {
    throw new UnauthorizedError("The session cookie is missing or not valid");
  }
  return token;
}

function hasBearer(event: ApiEvent): boolean {
  return /^bearer\b/i.test(getHeader(event, "Authorization", "authorization") ?? "");
}

/** Follows better-auth's check of origins, and takes `Sec-Fetch-Site: same-origin` where there is no origin. */
async function checkOrigin(event: ApiEvent, settings: AuthSettings): Promise<void> {
  const origin = getHeader(event, "Origin", "origin") ?? getHeader(event, "Referer", "referer");
  if (origin === undefined && getHeader(event, "Sec-Fetch-Site") === "same-origin") return;
  if (origin !== undefined && isTrustedOrigin(origin, await listTrustedOrigins(event, settings))) {
    return;
  }
  throw new ForbiddenError("A request with a session cookie must come from a trusted origin");
}

async function listTrustedOrigins(
  event: ApiEvent,
  { baseURL, trustedOrigins }: AuthSettings,
): Promise<string[]> {
  const given = typeof trustedOrigins === "function"
    ? await trustedOrigins(toOriginRequest(event, baseURL))
    : trustedOrigins;
  const isText = (origin: string | null | undefined): origin is string => Boolean(origin);
  return [new URL(baseURL).origin, ...given.filter(isText)];
}

/** Builds the request that a `trustedOrigins` function gets: address, method and headers, without the body. */
function toOriginRequest(event: ApiEvent, baseURL: string): Request {
  const headers = new Headers();
  for (const name of ["Host", "Origin", "Referer", "User-Agent", "X-Forwarded-Host"]) {
    const value = getHeader(event, name);
    if (value !== undefined) headers.set(name, value);
  }
  const url = new URL(baseURL);
  url.pathname = getPath(event);
  return new Request(url, { method: getMethod(event), headers });
}
