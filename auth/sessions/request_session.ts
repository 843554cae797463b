import type { ApiEvent } from "../../core/http/lambda.ts";
import { type BetterAuthInstance, getInternals } from "../accounts/instance.ts";
import type { AuthSettings } from "../config/config.ts";
import { readSessionCredential } from "./session_credential.ts";
import type { SessionQuery } from "./session_statements.ts";
import { type CheckedSession, checkSession } from "./sessions.ts";

/** The checked session of a request. */
export interface RequestSession extends CheckedSession {
  /** The `Set-Cookie` header that renews the session cookie, if it is to be renewed. */
  readonly setCookie?: string;
}

/**
 * Checks the session of a request by its bearer token or its cookie.
 *
 * @param auth The instance.
 * @param event The event.
 * @param query The query, if it reads more than the session and its user.
 * @returns The session.
 * @throws {UnauthorizedError} If there is no valid session.
 * @throws {ForbiddenError} If a request with a cookie does not come from a trusted origin.
 */
export async function checkRequestSession(
  auth: BetterAuthInstance,
  event: ApiEvent,
  query?: SessionQuery,
): Promise<RequestSession> {
  const { settings } = getInternals(auth);
  const { token, cookie, isUnremembered } = await readSessionCredential(event, settings);
  const checked = await checkSession(auth, token, { query, isFixed: isUnremembered });
  if (!checked.isExtended || cookie === undefined) return checked;
  return { ...checked, setCookie: renewSessionCookie(settings, cookie) };
}

interface CookieAttributes {
  readonly domain?: string | undefined;
  readonly path?: string | undefined;
  readonly maxAge?: number | undefined;
  readonly httpOnly?: boolean | undefined;
  readonly secure?: boolean | undefined;
  readonly sameSite?: string | undefined;
  readonly partitioned?: boolean | undefined;
}

/**
 * Builds the `Set-Cookie` header that renews the session cookie of a browser, with the attributes
 * that better-auth gives it. Without it, a browser would drop the cookie at the end that the session
 * had when its user signed in.
 *
 * @param settings The checked configuration.
 * @param value The cookie's value, as the browser sent it.
 * @returns The header's value.
 */
export function renewSessionCookie(settings: AuthSettings, value: string): string {
  const { advanced } = settings.library;
  const crossSubDomain = advanced?.crossSubDomainCookies;
  const attributes: CookieAttributes = {
    secure: settings.useSecureCookies,
    sameSite: "lax",
    path: "/",
    httpOnly: true,
    domain: crossSubDomain?.enabled
      ? crossSubDomain.domain || new URL(settings.baseURL).hostname
      : undefined,
    ...advanced?.defaultCookieAttributes,
    maxAge: settings.sessionExpiresIn,
    ...advanced?.cookies?.session_token?.attributes,
  };
  return serialize(settings.sessionCookie, value, attributes);
}

function serialize(name: string, value: string, attributes: CookieAttributes): string {
  const { maxAge, domain, path, httpOnly, secure, sameSite, partitioned } = attributes;
  return [
    `${name}=${value}`,
    maxAge !== undefined && `Max-Age=${Math.floor(maxAge)}`,
    domain && `Domain=${domain}`,
    path && `Path=${path}`,
    httpOnly && "HttpOnly",
    secure && "Secure",
    sameSite && `SameSite=${sameSite[0].toUpperCase()}${sameSite.slice(1)}`,
    partitioned && "Partitioned",
  ].filter(Boolean).join("; ");
}
