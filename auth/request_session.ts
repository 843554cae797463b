import type { ApiEvent } from "../core/http/lambda.ts";
import { type BetterAuthInstance, getInternals } from "./instance.ts";
import { readSessionCredential } from "./session_credential.ts";
import { renewSessionCookie } from "./session_cookie_header.ts";
import type { SessionQuery } from "./session_row.ts";
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
  const read = readSessionCredential(event, settings);
  const { token, cookie, isUnremembered } = read instanceof Promise ? await read : read;
  const checked = await checkSession(auth, token, { query, isFixed: isUnremembered });
  if (!checked.isExtended || cookie === undefined) return checked;
  return { ...checked, setCookie: renewSessionCookie(settings, cookie) };
}
