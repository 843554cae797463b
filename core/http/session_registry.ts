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
  /** True if the email address was confirmed. */
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

/** The active organization of a session, with better-auth's organization plugin. */
export interface ActiveOrganization {
  /** Id of the organization. */
  id: string;
  /** Display name. */
  name: string;
  /** Unique short name. */
  slug: string;
  /** Id of the user's membership. */
  memberId: string;
  /** The user's role in the organization. Several roles are separated by commas. */
  role: string;
}

/** Requirements of a handler for the caller's membership in their active organization. */
export interface OrganizationRule {
  /** Roles of which the member needs one. Without it, any member may call. */
  readonly role?: string | readonly string[];
}

/** Parameter of a handler's option `authorize`. */
export interface AuthorizeParams {
  /** The session and its user. */
  session: SessionResult;
  /** The active organization, if the handler has the option `organization`. */
  organization: ActiveOrganization | undefined;
  /** The gateway's event. */
  event: ApiEvent;
}

/** Decides whether a caller is allowed. A string refuses them too and is logged as the reason. */
export type Authorize<TParams = AuthorizeParams> = (
  params: TParams,
) => boolean | string | Promise<boolean | string>;

/** Requirements of a handler for a session besides its validity. */
export interface SessionAccess {
  /** Admits requests without a session. */
  readonly optional?: boolean;
  /** Roles of better-auth's admin plugin, of which the user needs one. */
  readonly roles?: readonly string[];
  /** The required membership in the active organization. */
  readonly organization?: OrganizationRule;
  /** Seconds since the sign-in within which the session may be used. */
  readonly freshWithin?: number;
  /** Requires that the session notes a second factor. */
  readonly twoFactor?: "required";
  /** Decides last. */
  readonly authorize?: Authorize;
}

/** Result of the check of a request's credential. */
export interface AuthenticatedSession {
  /** The session; `undefined` for an anonymous request to a handler with the option `optional`. */
  readonly session: SessionResult | undefined;
  /** The active organization, if the handler has the option `organization`. */
  readonly organization?: ActiveOrganization;
  /** The `Set-Cookie` header that renews the session cookie, if it is to be renewed. */
  readonly setCookie?: string;
}

/**
 * Checks the credential of a request.
 * Throws `UnauthorizedError` at once if it is missing, so that the response needs no promise. Rejects with it if the
 * credential is malformed, unknown or expired, and with `ForbiddenError` or the codes `SESSION_NOT_FRESH` and `SECOND_FACTOR_REQUIRED` if the handler
 * asks for more than the session has.
 */
export type SessionAuthenticator = (
  event: ApiEvent,
  access?: SessionAccess,
) => Promise<AuthenticatedSession>;

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
