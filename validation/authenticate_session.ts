import type { ApiEvent, ProxyResult } from "../core/http/lambda.ts";
import { getSessionAuthenticator, type SessionResult } from "../core/http/session_registry.ts";

/** The `Set-Cookie` headers of sessions whose cookie is to be renewed. */
const renewedCookies: WeakMap<SessionResult, string> = new WeakMap();

/**
 * Authenticates the caller of a handler with auth `session`.
 *
 * @param event The event.
 * @returns The session and its user's id.
 * @throws {UnauthorizedError} When there is no valid session.
 */
export async function authenticateSession(
  event: ApiEvent,
): Promise<{ userId: string; session: SessionResult }> {
  const { session, setCookie } = await getSessionAuthenticator()(event);
  if (setCookie !== undefined) renewedCookies.set(session, setCookie);
  return { userId: session.user.id, session };
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
