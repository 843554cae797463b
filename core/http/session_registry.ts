import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * The user of a session, as handlers see it. It includes the columns that the application or a plugin adds to the users table.
 * Declare their types once:
 *
 * ```ts ignore
 * declare module "@trellis/fn/auth" {
 *   interface UserDetails {
 *     plan: "free" | "pro";
 *   }
 * }
 * ```
 */
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

/**
 * A session, as handlers see it. It includes the columns that the application or a plugin adds to the sessions table; declare
 * their types as for {@link UserDetails}.
 */
export interface SessionDetails {
  /** The session's id. */
  id: string;
  /** The session's token, without its signature. */
  token: string;
  /** The time at which the session ends. */
  expiresAt: Date;
}

/** A session that was checked and is active, with its user. */
export interface SessionResult {
  /** The user. */
  user: UserDetails;
  /** The session. */
  session: SessionDetails;
}

/** What the check of a request's credential gives. */
export interface AuthenticatedSession {
  /** The session. */
  readonly session: SessionResult;
  /** The `Set-Cookie` header that renews the session cookie, if it is to be renewed. */
  readonly setCookie?: string;
}

/**
 * Checks the credential of a request.
 * Rejects with `UnauthorizedError` when it is missing, malformed, unknown or expired.
 */
export type SessionAuthenticator = (event: ApiEvent) => Promise<AuthenticatedSession>;

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
