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
export interface OrganizationRule<TRole extends string = string> {
  /** Roles of which the member needs one. Without it, any member may call. */
  readonly role?: TRole | readonly TRole[];
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

/** What a handler asks of a session besides its validity. */
export interface SessionNeeds {
  /** Admits requests without a session. */
  readonly optional?: boolean;
  /** Roles of better-auth's admin plugin, of which the user needs one. */
  readonly roles?: readonly string[];
  /** The required membership in the active organization. */
  readonly organization?: OrganizationRule;
  /** Seconds since the sign-in within which the session may be used. */
  readonly freshWithinSeconds?: number;
  /** Requires that the session notes a second factor. */
  readonly twoFactor?: "required";
  /** Decides last. */
  readonly authorize?: Authorize;
}

/** Identity of the caller with auth `session`. */
export interface SessionIdentity {
  /** The user's id; `undefined` for an anonymous request to a handler with the option `optional`. */
  userId: string | undefined;
  /** The session; `undefined` for an anonymous request. */
  session: SessionResult | undefined;
  /** The active organization, if the handler has the option `organization`. */
  organization?: ActiveOrganization;
}
