import { getHeader, getMethod, getPath } from "../../core/http/api_event.ts";
import { requireBearerToken } from "../../core/http/bearer_token.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { refuseCredential } from "../../core/http/refuse_credential.ts";
import { ForbiddenError } from "../../errors/http_errors.ts";
import type { AuthSettings } from "../config/config.ts";
import { getCookieName } from "../config/resolve_config.ts";
import { readCookieHeader } from "../../core/http/cookies.ts";
import { findSessionCookie } from "../cookies/session_cookies.ts";
import { isTrustedOrigin } from "./trusted_origin.ts";

/** Safe methods (RFC 9110, section 9.2.1). */
const SAFE_METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/**
 * Checks that a request has a session credential, before anything is loaded or connected.
 *
 * @throws {UnauthorizedError} If it has neither a bearer token nor a cookie.
 */
export function requireCredential(event: ApiEvent): void {
  if (!hasBearer(event) && readCookieHeader(event) === undefined) {
    requireBearerToken(getHeader(event, "Authorization", "authorization"));
  }
}

/** The credential of a request. */
export interface SessionCredential {
  /** The token, as `validateSession` takes it. */
  readonly token: string;
  /** The value of the session cookie, if the token came with it. */
  readonly cookie?: string;
  /** True if the browser was signed in with `rememberMe: false`. */
  readonly isUnremembered?: boolean;
}

/**
 * Returns the session token of a request: the bearer token, or without one the session cookie. An
 * invalid bearer token does not fall back to the cookie. With a cookie, an unsafe request must come
 * from a trusted origin, because browsers also send cookies with requests of other sites.
 *
 * @param event The event.
 * @param settings The validated configuration.
 * @returns The credential.
 * @throws {UnauthorizedError} If there is no credential, or the cookie's signature is invalid.
 * @throws {ForbiddenError} If a request with a cookie does not come from a trusted origin.
 */
export async function readSessionCredential(
  event: ApiEvent,
  settings: AuthSettings,
): Promise<SessionCredential> {
  const cookies = hasBearer(event) ? undefined : readCookieHeader(event);
  if (cookies !== undefined) return await readCookieCredential(event, cookies, settings);
  return { token: requireBearerToken(getHeader(event, "Authorization", "authorization")) };
}

async function readCookieCredential(
  event: ApiEvent,
  cookies: string,
  settings: AuthSettings,
): Promise<SessionCredential> {
  if (!SAFE_METHODS.includes(getMethod(event))) await checkOrigin(event, settings);
  const found = await findSessionCookie(cookies, settings.sessionCookie, settings.secret);
  if (found === undefined) {
    const reason = hasSessionCookie(event, settings) ? "bad signature" : "no credential";
    throw refuseCredential(reason, "The session cookie is missing or not valid");
  }
  const { library, useSecureCookies } = settings;
  const mark = getCookieName(library, useSecureCookies, "dont_remember");
  const unremembered = await findSessionCookie(cookies, mark, settings.secret);
  return { token: found.token, cookie: found.value, isUnremembered: unremembered !== undefined };
}

/**
 * Returns whether a request has a session cookie without a bearer token. Its signature is not
 * checked.
 */
export function hasSessionCookie(event: ApiEvent, { sessionCookie }: AuthSettings): boolean {
  const cookies = hasAuthorization(event) ? undefined : readCookieHeader(event);
  return cookies?.split(";").some((pair) => pair.split("=", 1)[0].trim() === sessionCookie) ??
    false;
}

/** Returns whether a request has an `Authorization` header, of any scheme. */
export function hasAuthorization(event: ApiEvent): boolean {
  return getHeader(event, "Authorization", "authorization") !== undefined;
}

function hasBearer(event: ApiEvent): boolean {
  return /^bearer\b/i.test(getHeader(event, "Authorization", "authorization") ?? "");
}

/**
 * Checks the origin like better-auth, and accepts `Sec-Fetch-Site: same-origin` without an origin.
 */
async function checkOrigin(event: ApiEvent, settings: AuthSettings): Promise<void> {
  const origin = getHeader(event, "Origin", "origin") ?? getHeader(event, "Referer", "referer");
  if (origin === undefined && getHeader(event, "Sec-Fetch-Site") === "same-origin") return;
  if (origin !== undefined && isTrustedOrigin(origin, await listTrustedOrigins(event, settings))) {
    return;
  }
  throw new ForbiddenError("A request with a session cookie must come from a trusted origin");
}

/**
 * Lists the trusted origins for a request: the origin of `baseURL`, and `trustedOrigins`.
 *
 * @param event The event.
 * @param settings The validated configuration.
 */
export async function listTrustedOrigins(
  event: ApiEvent,
  { baseURL, trustedOrigins }: AuthSettings,
): Promise<string[]> {
  const given = typeof trustedOrigins === "function"
    ? await trustedOrigins(toOriginRequest(event, baseURL))
    : trustedOrigins;
  const isText = (origin: string | null | undefined): origin is string => Boolean(origin);
  return [new URL(baseURL).origin, ...given.filter(isText)];
}

/**
 * Builds the request for a `trustedOrigins` function: URL, method and headers, without the body.
 */
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
