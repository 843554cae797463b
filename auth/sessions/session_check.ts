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
 * @returns The check. It rejects with `UnauthorizedError` if the credential is missing, malformed, unknown or expired, and
 * with `ForbiddenError` or the codes `SESSION_NOT_FRESH` and `SECOND_FACTOR_REQUIRED` if the session lacks what the handler
 * asks for.
 */
export function createSessionCheck(
  getDb: () => Promise<AuthDatabase>,
  config: AuthConfig,
  needs: SessionNeeds,
): AuthMethod<SessionIdentity>["authenticate"] {
  const isPlain = Object.keys(needs).length === 0;

  async function findSession(
    event: Parameters<typeof requireCredential>[0],
  ): Promise<AuthenticatedSession> {
    if (!isPlain) return await authenticateWithNeeds(event, needs, () => getAuth(getDb, config));
    // runs first, so that requests without a credential do not reach the database
    requireCredential(event);
    return await checkRequestSession(createAuth(await getDb(), config), event);
  }

  return async function authenticateSession(event, setCookie) {
    return toIdentity(await findSession(event), setCookie);
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
