import { and, eq, getTableColumns, gt, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { extractBearerToken } from "../core/http/bearer_token.ts";
import type { SessionResult } from "../core/http/session_registry.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { isAppError } from "../errors/app_error.ts";
import { UnauthorizedError } from "../errors/http_errors.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import { AUTH_SESSION_COLUMNS, AUTH_USER_COLUMNS } from "./columns.ts";
import type { AuthSettings } from "./config.ts";
import { type BetterAuthInstance, getInternals } from "./instance.ts";
import type { AuthSchema } from "./resolve_schema.ts";
import { findExtendedEnd, type SessionTimes } from "./session_length.ts";
import { readSessionToken } from "./session_token.ts";

/** What one look-up reads. */
interface SessionRow extends SessionTimes {
  id: string;
  token: string;
  userId: string;
  email: string;
  name: string | null;
  image: string | null;
  emailVerified: boolean;
  /** Columns that the application and plugins added. */
  userFields?: Record<string, unknown>;
  sessionFields?: Record<string, unknown>;
}

interface SessionQuery {
  execute(values: { token: string }): Promise<SessionRow[]>;
}

const queries: WeakMap<AuthDatabase, WeakMap<AuthSettings, SessionQuery>> = new WeakMap();
let lastQuery = 0;

/**
 * Checks a session by its token: one prepared query, and one update when the session is due to be extended. It gives what
 * better-auth's `getSession` gives, without loading it; unlike there, an expired row stays where it is.
 *
 * @param auth The instance of {@link createAuth}.
 * @param token The session's token, or the signed form that better-auth's cookie and its header `set-auth-token` carry.
 * @returns The user and the session.
 * @throws {UnauthorizedError} When the token is missing, malformed, unknown or expired, or its user is gone.
 * @throws {DatabaseError} When the database does not answer.
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
 *   const { user } = await validateSession(auth, "a token that nobody was given");
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
  const { db, settings } = getInternals(auth);
  if (!token) throw new UnauthorizedError("The session token is missing");
  let stored = readSessionToken(token, settings.secret);
  if (stored instanceof Promise) stored = await stored;
  if (stored === undefined) throw invalidSession();
  const row = await findActive(db, settings, stored);
  const nowMs = Date.now();
  const extendedMs = findExtendedEnd(row, settings, nowMs);
  const expiresAt = extendedMs === undefined
    ? row.expiresAt
    : await extend(db, settings, row, extendedMs, nowMs);
  return {
    user: {
      id: row.userId,
      email: row.email,
      ...(row.name !== null && { name: row.name }),
      ...(row.image !== null && { image: row.image }),
      emailVerified: row.emailVerified,
      ...row.userFields,
    },
    session: { id: row.id, token: row.token, expiresAt, ...row.sessionFields },
  };
}

/**
 * Checks a session by the value of an `Authorization` header.
 *
 * @param auth The instance of {@link createAuth}.
 * @param authorizationHeader `Bearer <token>`.
 * @returns The user and the session.
 * @throws {UnauthorizedError} When the header is missing or malformed, and as {@link validateSession} does.
 */
export async function validateSessionFromHeader(
  auth: BetterAuthInstance,
  authorizationHeader: string | null | undefined,
): Promise<SessionResult> {
  return await validateSession(auth, requireBearerToken(authorizationHeader));
}

/**
 * The token of an `Authorization` header that must have one.
 *
 * @param authorizationHeader `Bearer <token>`.
 * @returns The token.
 * @throws {UnauthorizedError} When the header is missing or malformed.
 */
export function requireBearerToken(authorizationHeader: string | null | undefined): string {
  const token = extractBearerToken(authorizationHeader);
  if (token === null) {
    throw new UnauthorizedError("The Authorization header must be: Bearer <token>");
  }
  return token;
}

/**
 * Ends a session now. The row stays, for audit, until a clean-up of yours removes it.
 *
 * @param auth The instance of {@link createAuth}.
 * @param token As for {@link validateSession}.
 * @param db The client to write with; a transaction is fine.
 * @throws {UnauthorizedError} When there is no such session, or it has expired already.
 * @throws {DatabaseError} When the database does not answer.
 */
export async function expireSession(
  auth: BetterAuthInstance,
  token: string,
  db: AuthDatabase,
): Promise<void> {
  const { settings } = getInternals(auth);
  if (!token) throw new UnauthorizedError("The session token is missing");
  const stored = await readSessionToken(token, settings.secret);
  if (stored === undefined) throw invalidSession();
  const { session } = settings.schema;
  const ended = await withQueryMetrics("expireSession", () => {
    // after a conflict it is later: another sign-out, which was first, counts
    const now = new Date();
    return db.update(session).set({ expiresAt: now, updatedAt: now })
      .where(and(eq(session.token, stored), gt(session.expiresAt, now)))
      .returning({ id: session.id });
  });
  if (ended.length === 0) throw invalidSession();
}

/**
 * When a session ends.
 *
 * @param session What {@link validateSession} gave.
 * @returns The instant in ISO 8601, in UTC.
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
 * Checks a session, which also extends it when it is due.
 *
 * @deprecated Use {@link validateSession}: the same thing.
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
 * @returns `false` when there is no such session or it has expired.
 * @throws {DatabaseError} When the database does not answer.
 */
export async function isSessionActive(auth: BetterAuthInstance, token: string): Promise<boolean> {
  const { db, settings } = getInternals(auth);
  return await findActive(db, settings, token).then(() => true, (error: unknown) => {
    if (isAppError(error, "UNAUTHORIZED")) return false;
    throw error;
  });
}

async function findActive(
  db: AuthDatabase,
  settings: AuthSettings,
  token: string,
): Promise<SessionRow> {
  const [row] = await withQueryMetrics(
    "findSession",
    () => getQuery(db, settings).execute({ token }),
  );
  if (row === undefined || !(row.expiresAt.getTime() > Date.now())) throw invalidSession();
  return row;
}

/**
 * Extends the session as it was read and no other state of it: a sign-out in between, by whichever clock, is not undone.
 * When another request changed it first, what that one left counts.
 */
async function extend(
  db: AuthDatabase,
  settings: AuthSettings,
  row: SessionRow,
  extendedMs: number,
  nowMs: number,
): Promise<Date> {
  const { session } = settings.schema;
  const [extended] = await withQueryMetrics("extendSession", () =>
    db.update(session)
      .set({ expiresAt: new Date(extendedMs), updatedAt: new Date(nowMs) })
      .where(and(
        eq(session.token, row.token),
        // a Date has milliseconds, the column microseconds
        eq(
          sql`date_trunc('milliseconds', ${session.expiresAt})`,
          sql.param(row.expiresAt, session.expiresAt),
        ),
      ))
      .returning({ expiresAt: session.expiresAt }));
  return extended?.expiresAt ?? (await findActive(db, settings, row.token)).expiresAt;
}

function getQuery(db: AuthDatabase, settings: AuthSettings): SessionQuery {
  let ofClient = queries.get(db);
  if (ofClient === undefined) queries.set(db, ofClient = new WeakMap());
  let query = ofClient.get(settings);
  if (query === undefined) ofClient.set(settings, query = prepareQuery(db, settings));
  return query;
}

function prepareQuery(db: AuthDatabase, { schema, library }: AuthSettings): SessionQuery {
  const { session, user } = schema;
  const userFields = findAddedColumns(user, AUTH_USER_COLUMNS, library.user?.additionalFields);
  const sessionFields = findAddedColumns(
    session,
    AUTH_SESSION_COLUMNS,
    library.session?.additionalFields,
  );
  // a column of better-auth's admin plugin
  const { impersonatedBy } = getTableColumns(session) as { impersonatedBy?: typeof session.token };
  return db.select({
    id: session.id,
    token: session.token,
    expiresAt: session.expiresAt,
    userId: user.id,
    email: user.email,
    name: user.name,
    image: user.image,
    emailVerified: user.emailVerified,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    ...(impersonatedBy && { impersonatedBy }),
    ...(userFields && { userFields }),
    ...(sessionFields && { sessionFields }),
  }).from(session).innerJoin(user, eq(user.id, session.userId)).where(
    eq(session.token, sql.placeholder("token")),
  )
    .limit(1)
    // a name of its own for each: a connection keeps one statement under one name
    .prepare(`trellis_find_session_${++lastQuery}`) as unknown as SessionQuery;
}

/** Finds the columns that a table has besides the built-in ones, without those that are never returned. */
function findAddedColumns(
  table: AuthSchema["user"] | AuthSchema["session"],
  builtIn: object,
  additionalFields: Readonly<Record<string, { returned?: boolean | undefined }>> = {},
): Record<string, PgColumn> | undefined {
  const added = Object.entries<PgColumn>(getTableColumns(table)).filter(([name]) =>
    !Object.hasOwn(builtIn, name) && additionalFields[name]?.returned !== false
  );
  return added.length === 0 ? undefined : Object.fromEntries(added);
}

/** One message for every reason, so that nobody learns which tokens exist. */
function invalidSession(): UnauthorizedError {
  return new UnauthorizedError("The session is invalid or has expired");
}
