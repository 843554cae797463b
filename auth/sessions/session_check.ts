import { LastFulfilled } from "../../core/async/last_fulfilled.ts";
import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { SessionIdentity, SessionNeeds } from "../../core/http/session.ts";
import { createAuth, getAuth } from "../accounts/instance.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthConfig } from "../config/config.ts";
import { checkRequestSession } from "./request_session.ts";
import { type AuthenticatedSession, authenticateWithNeeds } from "./session_access.ts";
import { requireCredential } from "./session_credential.ts";

/**
 * Creates the check of sessions of one handler. It connects and loads nothing before the first request.
 *
 * @param getDb Returns the database client.
 * @param config The configuration.
 * @param needs What the handler asks for besides a valid session.
 * @returns The check. It throws `UnauthorizedError` at once if the credential is missing, so that the response needs no
 * promise. It rejects with it if the credential is malformed, unknown or expired, and with `ForbiddenError` or the codes
 * `SESSION_NOT_FRESH` and `SECOND_FACTOR_REQUIRED` if the session lacks what the handler asks for.
 */
export function createSessionCheck(
  getDb: () => Promise<AuthDatabase>,
  config: AuthConfig,
  needs: SessionNeeds,
): AuthMethod<SessionIdentity>["authenticate"] {
  const client = new LastFulfilled<AuthDatabase>();
  const isPlain = Object.keys(needs).length === 0;

  function findSession(
    event: Parameters<typeof requireCredential>[0],
  ): Promise<AuthenticatedSession> {
    if (!isPlain) return authenticateWithNeeds(event, needs, () => getAuth(getDb, config));
    // runs first, so that requests without a credential do not reach the database
    requireCredential(event);
    return client.use(getDb(), (db) => checkRequestSession(createAuth(db, config), event));
  }

  return function authenticateSession(event, setCookie) {
    return findSession(event).then((found) => toIdentity(found, setCookie));
  };
}

function toIdentity(
  { session, organization, setCookie: cookie }: AuthenticatedSession,
  setCookie: ((cookie: string) => void) | undefined,
): SessionIdentity {
  if (cookie !== undefined) setCookie?.(cookie);
  const identity = { userId: session?.user.id, session };
  return organization === undefined ? identity : { ...identity, organization };
}
