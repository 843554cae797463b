import type { ApiEvent } from "../../core/http/lambda.ts";
import { type BetterAuthInstance, getInternals } from "../accounts/instance.ts";
import { readSessionCredential, type SessionCredential } from "./session_credential.ts";
import { renewSessionCookie } from "./session_cookie_header.ts";
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
export function checkRequestSession(
  auth: BetterAuthInstance,
  event: ApiEvent,
  query?: SessionQuery,
): Promise<RequestSession> {
  const read = readSessionCredential(event, getInternals(auth).settings);
  // a bearer token was read without waiting
  if (!(read instanceof Promise)) return checkSession(auth, read.token, { query });
  return read.then((credential) => checkCookie(auth, credential, query));
}

async function checkCookie(
  auth: BetterAuthInstance,
  { token, cookie, isUnremembered }: SessionCredential,
  query: SessionQuery | undefined,
): Promise<RequestSession> {
  const checked = await checkSession(auth, token, { query, isFixed: isUnremembered });
  if (!checked.isExtended || cookie === undefined) return checked;
  return { ...checked, setCookie: renewSessionCookie(getInternals(auth).settings, cookie) };
}
