import type { ApiEvent, ProxyResult } from "../core/http/lambda.ts";
import {
  type ActiveOrganization,
  type AuthenticatedSession,
  getSessionAuthenticator,
  type SessionAccess,
  type SessionResult,
} from "../core/http/session_registry.ts";

/** The `Set-Cookie` headers of sessions whose cookie must be renewed. */
const renewedCookies: WeakMap<SessionResult, string> = new WeakMap();

/** The options of a handler that need more than a valid session. */
const ACCESS_OPTIONS = [
  "authorize",
  "roles",
  "organization",
  "freshWithin",
  "twoFactor",
  "optional",
] as const;

/** Identity of the caller with auth `session`. */
export interface SessionIdentity {
  userId: string | undefined;
  session: SessionResult | undefined;
  organization?: ActiveOrganization;
}

/**
 * Creates the check of a handler with auth `session`.
 *
 * @param options The handler's options.
 * @returns The check. It throws `UnauthorizedError` if there is no valid session, and an error with
 * the status 403 if the session does not meet the options.
 */
export function createSessionCheck(
  options: SessionAccess,
): (event: ApiEvent) => Promise<SessionIdentity> {
  const access = ACCESS_OPTIONS.some((name) => options[name] !== undefined) ? options : undefined;
  return function authenticateSession(event) {
    return getSessionAuthenticator()(event, access).then(toIdentity);
  };
}

function toIdentity(
  { session, setCookie, organization }: AuthenticatedSession,
): SessionIdentity {
  if (setCookie !== undefined && session) renewedCookies.set(session, setCookie);
  const identity = { userId: session?.user.id, session };
  return organization === undefined ? identity : { ...identity, organization };
}

/**
 * Adds the renewed session cookie to a response, if there is one.
 *
 * @param result The handler's result.
 * @param session The session of the request.
 * @returns The result to send.
 */
export function addRenewedCookie(
  result: ProxyResult,
  session: SessionResult | undefined,
): ProxyResult {
  const cookie = session && renewedCookies.get(session);
  return cookie === undefined ? result : { ...result, cookies: [...result.cookies ?? [], cookie] };
}
