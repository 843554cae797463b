import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { AuthDatabase } from "./better_auth_types.ts";
import { AUTH_SESSION_COLUMNS, AUTH_USER_COLUMNS } from "./columns.ts";
import type { AuthSettings } from "./config.ts";
import { getDefaultSessionQuery } from "./default_session_query.ts";
import { cacheByClient } from "./query_cache.ts";
import type { AuthSchema } from "./resolve_schema.ts";
import type { SessionTimes } from "./session_length.ts";

/** Result of the session query. */
export interface SessionRow extends SessionTimes {
  id: string;
  token: string;
  userId: string;
  email: string;
  name: string | null;
  image: string | null;
  emailVerified: boolean;
  /** Columns added by the application and plugins. */
  userFields?: Record<string, unknown>;
  sessionFields?: Record<string, unknown>;
  /** Columns of joined tables. */
  joined?: Record<string, unknown>;
}

/** A prepared query of a session with its user. */
export interface SessionQuery {
  /** Finds the session of a stored token. */
  execute(values: { token: string }): Promise<SessionRow[]>;
}

/** Tables that a query reads besides the session and its user. */
export interface SessionJoins {
  /** The columns to read, by property name. */
  readonly columns: Readonly<Record<string, PgColumn>>;
  /** The tables with their conditions. A session without matching rows is found, too. */
  readonly tables: readonly { readonly table: PgTable; readonly on: SQL }[];
}

let lastQuery = 0;

/** Returns the prepared query of a client and a configuration. */
export const getSessionQuery: (db: AuthDatabase, settings: AuthSettings) => SessionQuery =
  cacheByClient((db, settings) =>
    getDefaultSessionQuery(db, settings.schema, () => prepareSessionQuery(db, settings))
  );

/**
 * Prepares the query of a session with its user.
 *
 * @param db The client.
 * @param settings The configuration.
 * @param joins Further tables.
 * @returns The query.
 */
export function prepareSessionQuery(
  db: AuthDatabase,
  { schema, library }: AuthSettings,
  joins?: SessionJoins,
): SessionQuery {
  const { session, user } = schema;
  const userFields = findAddedColumns(user, AUTH_USER_COLUMNS, library.user?.additionalFields);
  const sessionFields = findAddedColumns(
    session,
    AUTH_SESSION_COLUMNS,
    library.session?.additionalFields,
  );
  // column of better-auth's admin plugin
  const { impersonatedBy } = getTableColumns(session) as { impersonatedBy?: typeof session.token };
  const query = db.select({
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
    ...(joins && { joined: joins.columns }),
  }).from(session).innerJoin(user, eq(user.id, session.userId)).$dynamic();
  for (const { table, on } of joins?.tables ?? []) query.leftJoin(table, on);
  // without LIMIT, which drizzle passes as a parameter: PostgreSQL would plan the query again each time
  return query.where(eq(session.token, sql.placeholder("token")))
    // a distinct name for each statement, because a connection keeps one statement per name
    .prepare(`trellis_find_session_${++lastQuery}`) as unknown as SessionQuery;
}

/** Lists the columns beside the built-in ones, except those with `returned: false`. */
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
