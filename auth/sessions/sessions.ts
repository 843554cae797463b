import { requireBearerToken } from "../../core/http/bearer_token.ts";
import { type RefusalReason, refuseCredential } from "../../core/http/refuse_credential.ts";
import type { SessionResult } from "../../core/http/session.ts";
import { withQueryMetrics } from "../../database/queries/query_metrics.ts";
import { isAppError } from "../../errors/app_error.ts";
import type { UnauthorizedError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthSettings } from "../config/config.ts";
import { type BetterAuthInstance, getInternals } from "../accounts/instance.ts";
import { isBanned } from "../config/ban.ts";
import { findExtendedEnd } from "./session_length.ts";
import {
  endSession,
  extendSession,
  getSessionQuery,
  type SessionQuery,
  type SessionRow,
} from "./session_statements.ts";
import { readSessionToken } from "../cookies/session_token.ts";

/**
 * Checks a session by its token with one query, and one update if the session is due for
 * an extension. The result equals that of better-auth's `getSession`, without loading it. Unlike
 * better-auth it keeps expired rows, and refuses users who are banned while they have a session.
 *
 * @param auth The instance of {@link createAuth}.
 * @param token The session's token, or the signed form in better-auth's cookie and its header
 * `set-auth-token`.
 * @returns The user and the session.
 * @throws {UnauthorizedError} If the token is missing, malformed, unknown or expired, or its user
 * was deleted.
 * @throws {DatabaseError} If the database does not answer.
 *
 * @example
 * ```ts
 * import { AUTH_MIGRATION_SQL, createAuth, validateSession } from "@trellis/fn/auth";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) await db.execute(sql.raw(statement));
 *
 * const auth = createAuth(db, { secret: crypto.randomUUID(), baseURL: "http://localhost:3000" });
 * try {
 *   const { user } = await validateSession(auth, "an unknown token");
 *   console.log(user.email);
 * } catch (error) {
 *   console.log((error as { code: string }).code); // UNAUTHORIZED
 * }
 * await close();
 * ```
 */
export async function validateSession(
  auth: BetterAuthInstance,
  token: string,
): Promise<SessionResult> {
  return (await checkSession(auth, token)).session;
}

/** A checked session. */
export interface CheckedSession {
  /** The user and the session. */
  readonly session: SessionResult;
  /** The stored session. */
  readonly row: SessionRow;
  /** True if the session was due to be extended. */
  readonly isExtended: boolean;
}

/** Options of {@link checkSession}. */
export interface SessionCheckOptions {
  /** The query, if it reads more than {@link getSessionQuery}'s. */
  readonly query?: SessionQuery;
  /** True if the session must not be extended. */
  readonly isFixed?: boolean;
}

/** Checks a session as {@link validateSession} does, and returns whether it was extended. */
export async function checkSession(
  auth: BetterAuthInstance,
  token: string,
  { query, isFixed }: SessionCheckOptions = {},
): Promise<CheckedSession> {
  const { db, settings } = getInternals(auth);
  const stored = await requireStoredToken(token, settings);
  const row = requireActive(await findSession(db, settings, stored, query));
  const nowMs = Date.now();
  const extendedMs = isFixed || isRefreshDisabled(settings)
    ? undefined
    : findExtendedEnd(row, settings, nowMs);
  if (extendedMs === undefined) return toChecked(row, row.expiresAt, false);
  return toChecked(row, await extend(db, settings, row, extendedMs, nowMs), true);
}

/** Returns the stored token for a client's value. */
async function requireStoredToken(token: string, { secret }: AuthSettings): Promise<string> {
  if (!token) throw refuseCredential("no credential", "The session token is missing");
  const stored = await readSessionToken(token, secret);
  if (stored === undefined) {
    throw invalidSession(token.includes(".") ? "bad signature" : "malformed");
  }
  return stored;
}

function toChecked(row: SessionRow, expiresAt: Date, isExtended: boolean): CheckedSession {
  const user: SessionResult["user"] = {
    id: row.userId,
    email: row.email,
    ...(row.name !== null && { name: row.name }),
    ...(row.image !== null && { image: row.image }),
    emailVerified: row.emailVerified,
    ...row.userFields,
  };
  const session = { id: row.id, token: row.token, expiresAt, ...row.sessionFields };
  return { session: { user, session }, row, isExtended };
}

/** With `deferSessionRefresh`, better-auth extends sessions only by `POST /get-session`. */
function isRefreshDisabled({ library: { session } }: AuthSettings): boolean | undefined {
  return session?.disableSessionRefresh || session?.deferSessionRefresh;
}

/**
 * Checks a session by the value of an `Authorization` header.
 *
 * @param auth The instance of {@link createAuth}.
 * @param authorizationHeader `Bearer <token>`.
 * @returns The user and the session.
 * @throws {UnauthorizedError} If the header is missing or malformed, and like
 * {@link validateSession}.
 */
export async function validateSessionFromHeader(
  auth: BetterAuthInstance,
  authorizationHeader: string | null | undefined,
): Promise<SessionResult> {
  return await validateSession(auth, requireBearerToken(authorizationHeader));
}

/**
 * Ends a session now. The row is kept until you delete it.
 *
 * @param auth The instance of {@link createAuth}.
 * @param token As for {@link validateSession}.
 * @param db The client for the update. It can be a transaction.
 * @throws {UnauthorizedError} If the session does not exist or has expired.
 * @throws {DatabaseError} If the database does not answer.
 */
export async function expireSession(
  auth: BetterAuthInstance,
  token: string,
  db: AuthDatabase,
): Promise<void> {
  const { settings } = getInternals(auth);
  const stored = await requireStoredToken(token, settings);
  const ended = await withQueryMetrics(
    "expireSession",
    // read again after a conflict, so that an earlier sign-out wins
    () => endSession(db, settings, stored, new Date()),
  );
  if (ended.length === 0) throw invalidSession("unknown");
}

/**
 * Returns the expiry time of a session.
 *
 * @param session The result of {@link validateSession}.
 * @returns The time in ISO 8601 and UTC.
 *
 * @example
 * ```ts
 * import { getSessionExpirationISO } from "@trellis/fn/auth";
 *
 * const session = { id: "s1", token: "t", expiresAt: new Date(Date.UTC(2030, 0, 1)) };
 * const user = { id: "u1", email: "ada@example.com", emailVerified: true };
 * console.log(getSessionExpirationISO({ user, session })); // 2030-01-01T00:00:00.000Z
 * ```
 */
export function getSessionExpirationISO(session: SessionResult): string {
  return session.session.expiresAt.toISOString();
}

/**
 * Checks a session and extends it if it is due.
 *
 * @deprecated Use {@link validateSession}, which is the same.
 * @param auth The instance of {@link createAuth}.
 * @param token As for {@link validateSession}.
 * @returns The user and the session.
 */
export function refreshSession(auth: BetterAuthInstance, token: string): Promise<SessionResult> {
  return validateSession(auth, token);
}

/**
 * Returns whether a session is active, without extending it.
 *
 * @param auth The instance of {@link createAuth}.
 * @param token The stored token.
 * @returns `false` if the session does not exist or has expired.
 * @throws {DatabaseError} If the database does not answer.
 */
export async function isSessionActive(auth: BetterAuthInstance, token: string): Promise<boolean> {
  const { db, settings } = getInternals(auth);
  const rows = await findSession(db, settings, token);
  try {
    requireActive(rows);
    return true;
  } catch (error) {
    if (isAppError(error, "UNAUTHORIZED")) return false;
    throw error;
  }
}

function findSession(
  db: AuthDatabase,
  settings: AuthSettings,
  token: string,
  query = getSessionQuery(db, settings),
): Promise<SessionRow[]> {
  return withQueryMetrics("findSession", () => query.find(db, token));
}

function requireActive([row]: SessionRow[]): SessionRow {
  const nowMs = Date.now();
  if (row === undefined) throw invalidSession("unknown");
  if (!(row.expiresAt.getTime() > nowMs)) throw invalidSession("expired");
  // better-auth deletes the sessions of a user when it bans them, but a sign-in at the same moment,
  // or a ban in SQL, leaves sessions behind
  if (isBanned(row, nowMs)) throw invalidSession("banned user");
  return row;
}

/**
 * Extends the session only if it is unchanged since it was read, so that a sign-out is not undone.
 * If another request has changed it, the stored state is returned.
 */
async function extend(
  db: AuthDatabase,
  settings: AuthSettings,
  row: SessionRow,
  extendedMs: number,
  nowMs: number,
): Promise<Date> {
  const [extended] = await withQueryMetrics(
    "extendSession",
    () =>
      extendSession(db, settings, row, {
        expiresAt: new Date(extendedMs),
        updatedAt: new Date(nowMs),
      }),
  );
  return extended?.expiresAt ?? requireActive(await findSession(db, settings, row.token)).expiresAt;
}

/** Uses one message for every reason, so that clients cannot find out which tokens exist. */
function invalidSession(reason: RefusalReason): UnauthorizedError {
  return refuseCredential(reason, "The session is invalid or has expired");
}
