import { eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";
import { listSessionFields } from "./session_fields.ts";
import type { SessionQuery } from "./session_row.ts";

/** Tables that a query reads besides the session and its user. */
export interface SessionJoins {
  /** The columns to read, by property name. */
  readonly columns: Readonly<Record<string, PgColumn>>;
  /** The tables with their conditions. A session without matching rows is found, too. */
  readonly tables: readonly { readonly table: PgTable; readonly on: SQL }[];
}

let lastQuery = 0;

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
  settings: Pick<AuthSettings, "schema" | "library">,
  joins?: SessionJoins,
): SessionQuery {
  const { session, user } = settings.schema;
  const query = db.select({
    ...listSessionFields(settings),
    ...(joins && { joined: joins.columns }),
  }).from(session).innerJoin(user, eq(user.id, session.userId)).$dynamic();
  for (const { table, on } of joins?.tables ?? []) query.leftJoin(table, on);
  // without LIMIT, which drizzle passes as a parameter: PostgreSQL would plan the query again each time
  return query.where(eq(session.token, sql.placeholder("token")))
    // a distinct name for each statement, because a connection keeps one statement per name
    .prepare(`trellis_find_session_${++lastQuery}`) as unknown as SessionQuery;
}
