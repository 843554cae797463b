import type { AuthMethod } from "../../core/http/auth_method.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import type {
  ActiveOrganization,
  AuthorizeParams,
  SessionIdentity,
  SessionNeeds,
  SessionResult,
} from "../../core/http/session.ts";
import { AppError, isAppError } from "../../errors/app_error.ts";
import { ConfigurationError, ForbiddenError } from "../../errors/http_errors.ts";
import { type BetterAuthInstance, getAuth, getInternals } from "../accounts/instance.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthConfig, AuthSettings } from "../config/config.ts";
import { checkRequestSession } from "./request_session.ts";
import { hasAuthorization, hasSessionCookie, requireCredential } from "./session_credential.ts";
import { findOrganization, getOrganizationQuery, hasRole } from "./session_organization.ts";
import type { SessionRow } from "./session_statements.ts";
import { getSessionTables, SECOND_FACTOR_FIELD } from "../config/session_tables.ts";

/** Result of the check of a request's credential. */
interface AuthenticatedSession {
  /** The session; `undefined` for an anonymous request to a handler with the option `optional`. */
  readonly session: SessionResult | undefined;
  /** The active organization, if the handler has the option `organization`. */
  readonly organization?: ActiveOrganization;
  /** The `Set-Cookie` header that renews the session cookie, if it is to be renewed. */
  readonly setCookie?: string;
}

type GetAuth = () => Promise<BetterAuthInstance>;

/**
 * Creates the check of sessions of one handler. It connects and loads nothing before the first request. One query reads
 * the user, the session, the active organization and the user's role in it.
 *
 * @param getDb Returns the database client.
 * @param config The configuration.
 * @param needs What the handler asks for besides a valid session.
 * @returns The check. It rejects with `UnauthorizedError` if the credential is missing, malformed, unknown or expired,
 * with `ForbiddenError` or the codes `SESSION_NOT_FRESH` and `SECOND_FACTOR_REQUIRED` if the session lacks what the
 * handler asks for, and with `ConfigurationError` if the tables lack what an option reads.
 */
export function createSessionCheck(
  getDb: () => Promise<AuthDatabase>,
  config: AuthConfig,
  needs: SessionNeeds,
): AuthMethod<SessionIdentity>["authenticate"] {
  const openAuth = () => getAuth(getDb, config);
  return async function authenticateSession(event, setCookie): Promise<SessionIdentity> {
    const found = needs.optional
      ? await authenticateOptional(event, openAuth)
      : await authenticate(event, needs, openAuth);
    if (found.setCookie !== undefined) setCookie?.(found.setCookie);
    const { session, organization } = found;
    const identity = { userId: session?.user.id, session };
    return organization === undefined ? identity : { ...identity, organization };
  };
}

async function authenticate(
  event: ApiEvent,
  needs: SessionNeeds,
  openAuth: GetAuth,
): Promise<AuthenticatedSession> {
  // runs first, so that requests without a credential do not reach the database
  requireCredential(event);
  const auth = await openAuth();
  const { db, settings } = getInternals(auth);
  if (needs.roles !== undefined) requireRoleColumn(settings);
  if (needs.twoFactor !== undefined) requireSecondFactorColumn(settings);
  const query = needs.organization && getOrganizationQuery(db, settings);
  const { session, row, setCookie } = await checkRequestSession(auth, event, query);
  if (needs.freshWithinSeconds !== undefined) checkFreshness(row, needs.freshWithinSeconds);
  if (needs.twoFactor !== undefined) checkSecondFactor(row);
  if (needs.roles !== undefined) checkRoles(session, needs.roles);
  const organization = needs.organization && findOrganization(row, needs.organization);
  if (needs.authorize !== undefined) {
    await checkAuthorized(needs.authorize, { session, organization, event });
  }
  return { session, organization, setCookie };
}

/**
 * Returns the session of a request, or none. A session cookie that is no longer valid counts as
 * none, as in better-auth: browsers send it until it expires. A bearer token is refused, because its
 * sender has to know that it is not valid.
 */
async function authenticateOptional(
  event: ApiEvent,
  openAuth: GetAuth,
): Promise<AuthenticatedSession> {
  const auth = await openAuth();
  if (hasAuthorization(event)) return await checkRequestSession(auth, event);
  if (!hasSessionCookie(event, getInternals(auth).settings)) return { session: undefined };
  try {
    return await checkRequestSession(auth, event);
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return { session: undefined };
    throw error;
  }
}

/**
 * Compares like better-auth's `freshAge`: the time since the creation of the session. In contrast
 * to better-auth, an impersonated session is never fresh, because its user has not signed in.
 */
function checkFreshness(
  { createdAt, impersonatedBy }: SessionRow,
  freshWithinSeconds: number,
): void {
  if (impersonatedBy) {
    throw new AppError(
      "SESSION_NOT_FRESH",
      "The user has not signed in: the session is impersonated",
    );
  }
  if (Date.now() - createdAt.getTime() < freshWithinSeconds * 1000) return;
  throw new AppError("SESSION_NOT_FRESH", "The sign-in was too long ago: sign in again");
}

function requireSecondFactorColumn({ schema }: AuthSettings): void {
  if (SECOND_FACTOR_FIELD in getSessionTables(schema).session) return;
  throw new ConfigurationError(
    `A handler has the option twoFactor, but sessions have no column ${SECOND_FACTOR_FIELD}: write the tables of better-auth's ` +
      "plugin twoFactor with `trellis generate auth-schema`, and pass them as AuthConfig.schema",
  );
}

/** Admits a session only if it notes a second factor. An impersonating admin has shown none. */
function checkSecondFactor({ sessionFields, impersonatedBy }: SessionRow): void {
  if (sessionFields?.[SECOND_FACTOR_FIELD] instanceof Date && !impersonatedBy) return;
  throw new AppError("SECOND_FACTOR_REQUIRED", "Show the second factor first");
}

function requireRoleColumn({ schema, library }: AuthSettings): void {
  const isReturned = library.user?.additionalFields?.role?.returned !== false;
  if (isReturned && "role" in getSessionTables(schema).user) return;
  throw new ConfigurationError(
    "A handler has the option roles, but sessions have no column user.role: add the column of better-auth's admin plugin to " +
      "your users table, and pass the table as AuthConfig.schema.user",
  );
}

function checkRoles({ user }: SessionResult, roles: readonly string[]): void {
  if (hasRole((user as { role?: unknown }).role, roles)) return;
  throw new ForbiddenError("The user has none of the required roles");
}

async function checkAuthorized(
  authorize: NonNullable<SessionNeeds["authorize"]>,
  params: AuthorizeParams,
): Promise<void> {
  const decision = await authorize(params);
  if (decision === true) return;
  const details = typeof decision === "string" ? { reason: decision } : undefined;
  throw new ForbiddenError(undefined, { details });
}
