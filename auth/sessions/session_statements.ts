import {
  columnSql,
  type Fields,
  listColumns,
  ReturnedColumns,
  type SqlColumn,
  tableSql,
  updateSql,
} from "../../database/session/column_sql.ts";
import { bindSql, type PlainSql, sql, type SqlValue } from "../../database/session/plain_sql.ts";
import { findSession } from "../../database/session/statement_session.ts";
import { type BanColumns, findBanColumns } from "../config/ban.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthSettings } from "../config/config.ts";
import type { SessionTimes } from "./session_length.ts";
import { COLUMN_NAMES, getSessionTables, type SessionTable } from "../config/session_tables.ts";

/** The settings on which the statements depend. */
export type SessionSettings = Pick<AuthSettings, "schema" | "library">;

/** Result of the session query. */
export interface SessionRow extends SessionTimes, Partial<BanColumns<unknown>> {
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

/** A query of a session with its user. */
export interface SessionQuery {
  /**
   * Finds the session of a stored token.
   *
   * @param db The client, or a client of its transactions.
   * @param token The token.
   */
  find(db: AuthDatabase, token: string): Promise<SessionRow[]>;
}

/** Tables that a query reads besides the session and its user. */
export interface SessionJoins {
  /** The columns to read, by property name. */
  readonly columns: Readonly<Record<string, SqlColumn>>;
  /** The tables with their conditions. A session without matching rows is found, too. */
  readonly tables: readonly { readonly table: object; readonly on: PlainSql }[];
}

/**
 * Returns a function that writes a query once for each client and configuration.
 *
 * @param write Writes the query. An error is not cached.
 */
export function cacheByClient<Query, Settings extends object>(
  write: (db: AuthDatabase, settings: Settings) => Query,
): (db: AuthDatabase, settings: Settings) => Query {
  const queries: WeakMap<object, WeakMap<Settings, Query>> = new WeakMap();
  return function getQuery(db, settings): Query {
    // the transactions of a client share its queries
    const client = findSession(db)?.statements ?? db;
    let ofClient = queries.get(client);
    if (ofClient === undefined) queries.set(client, ofClient = new WeakMap());
    let query = ofClient.get(settings);
    if (query === undefined) ofClient.set(settings, query = write(db, settings));
    return query;
  };
}

/** Returns the query of a client and a configuration. */
export const getSessionQuery: (db: AuthDatabase, settings: SessionSettings) => SessionQuery =
  /* @__PURE__ */ cacheByClient((db, settings: SessionSettings) => writeSessionQuery(db, settings));

/**
 * Writes the query of a session with its user.
 *
 * @param db The client.
 * @param settings The configuration.
 * @param joins Further tables.
 * @returns The query.
 */
export function writeSessionQuery(
  db: AuthDatabase,
  settings: SessionSettings,
  joins?: SessionJoins,
): SessionQuery {
  const { session, user } = getSessionTables(settings.schema);
  const returned = new ReturnedColumns(db, {
    ...listSessionFields(settings),
    ...(joins && { joined: joins.columns }),
  });
  let statement = sql`select ${returned.list} from ${tableSql(session)} inner join ${
    tableSql(user)
  } on ${columnSql(db, user.id)} = ${columnSql(db, session.userId)}`;
  for (const { table, on } of joins?.tables ?? []) {
    statement = sql`${statement} left join ${tableSql(table)} on ${on}`;
  }
  // without LIMIT: a token is unique
  statement = sql`${statement} where ${columnSql(db, session.token)} = ${
    bindSql("", session.token)
  }`;
  return {
    find(db, token) {
      const value = session.token.mapToDriverValue(token) as SqlValue;
      return returned.run(db, statement.with([value]), "trellis_find_session");
    },
  };
}

/** Lists the columns that a session check reads, by the properties of its row. */
function listSessionFields({ schema, library }: SessionSettings): Fields {
  const { session, user } = getSessionTables(schema);
  const userFields = findAddedColumns(user, COLUMN_NAMES.user, library.user?.additionalFields);
  const sessionFields = findAddedColumns(
    session,
    COLUMN_NAMES.session,
    library.session?.additionalFields,
  );
  // column of better-auth's admin plugin
  const { impersonatedBy } = listColumns(session);
  return {
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
    ...findBanColumns(user),
    ...(userFields && { userFields }),
    ...(sessionFields && { sessionFields }),
  };
}

/** Lists the columns beside the built-in ones, except those with `returned: false`. */
function findAddedColumns(
  table: object,
  builtIn: readonly string[],
  additionalFields: Readonly<Record<string, { returned?: boolean | undefined }>> = {},
): Record<string, SqlColumn> | undefined {
  const added = Object.entries(listColumns(table)).filter(([name]) =>
    !builtIn.includes(name) && additionalFields[name]?.returned !== false
  );
  return added.length === 0 ? undefined : Object.fromEntries(added);
}

type Tables = Pick<AuthSettings, "schema">;

/**
 * Ends a session that has not expired.
 *
 * @param db The client.
 * @param settings The tables.
 * @param token The stored token.
 * @param now The new expiry time.
 * @returns The id of the session; empty if there is none.
 */
export async function endSession(
  db: AuthDatabase,
  settings: Tables,
  token: string,
  now: Date,
): Promise<{ id: string }[]> {
  const { session } = getSessionTables(settings.schema);
  const isActive = sql`${columnSql(db, session.expiresAt)} > ${bindSql(now, session.expiresAt)}`;
  const changes = { expiresAt: now, updatedAt: now };
  return await updateSession(db, session, token, changes, isActive, { id: session.id });
}

/**
 * Extends a session if its expiry time is unchanged.
 *
 * @param db The client.
 * @param settings The tables.
 * @param found Token and expiry time of the session when it was read.
 * @param changes The new times.
 * @returns The new expiry time; empty if the session was changed.
 */
export async function extendSession(
  db: AuthDatabase,
  settings: Tables,
  found: { readonly token: string; readonly expiresAt: Date },
  changes: { readonly expiresAt: Date; readonly updatedAt: Date },
): Promise<{ expiresAt: Date }[]> {
  const { session } = getSessionTables(settings.schema);
  const { expiresAt } = session;
  // a Date has milliseconds, but the column has microseconds
  const isUnchanged = sql`date_trunc('milliseconds', ${columnSql(db, expiresAt)}) = ${
    bindSql(found.expiresAt, expiresAt)
  }`;
  return await updateSession(db, session, found.token, changes, isUnchanged, { expiresAt });
}

async function updateSession<Row>(
  db: AuthDatabase,
  session: SessionTable,
  token: string,
  changes: Readonly<Record<string, unknown>>,
  condition: PlainSql,
  fields: Fields,
): Promise<Row[]> {
  const returned = new ReturnedColumns(db, fields);
  const hasToken = sql`${columnSql(db, session.token)} = ${bindSql(token, session.token)}`;
  const where = [hasToken, condition];
  return await returned.run(
    db,
    updateSql(db, { table: session, changes, where, returning: returned.list }),
  );
}
