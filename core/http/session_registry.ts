import { ConfigurationError } from "../../errors/http_errors.ts";

/** The user of a session, as handlers see it. */
export interface UserDetails {
  /** The user's id. */
  id: string;
  /** The user's email address. */
  email: string;
  /** Display name. */
  name?: string;
  /** Address of a picture. */
  image?: string;
  /** Whether the email address was confirmed. */
  emailVerified: boolean;
}

/** A session that was checked and is active. */
export interface SessionResult {
  /** Whose session it is. */
  user: UserDetails;
  /** The session itself. */
  session: {
    /** The session's id. */
    id: string;
    /** The token that stands for it. */
    token: string;
    /** When it ends. */
    expiresAt: Date;
  };
}

/**
 * Checks the value of an `Authorization` header.
 * Rejects with `UnauthorizedError` when it is missing, malformed, unknown or expired.
 */
export type SessionAuthenticator = (
  authorizationHeader: string | null | undefined,
) => Promise<SessionResult>;

let registered: SessionAuthenticator | undefined;

/**
 * Registers how handlers with auth `session` check a session. The one slot between `auth`, which fills it through
 * `configureSessionAuth`, and `validation`, which reads it: neither imports the other.
 *
 * @param authenticator The check, or `undefined` to empty the slot.
 */
export function setSessionAuthenticator(authenticator: SessionAuthenticator | undefined): void {
  registered = authenticator;
}

/**
 * The registered check.
 *
 * @returns What {@link setSessionAuthenticator} was given.
 * @throws {ConfigurationError} When nothing is registered.
 */
export function getSessionAuthenticator(): SessionAuthenticator {
  if (registered === undefined) {
    throw new ConfigurationError(
      "A handler has auth 'session' but no session auth is configured: call configureSessionAuth(getDb, config) from " +
        "@trellis/fn/auth at module scope, before the first request",
    );
  }
  return registered;
}
