import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { AuthDatabase } from "./better_auth_types.ts";
import { COLUMN_NAMES } from "./column_names.ts";
import type { AuthSettings } from "./config.ts";
import type { AuthSchema } from "./resolve_schema.ts";
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
  { schema, library }: Pick<AuthSettings, "schema" | "library">,
  joins?: SessionJoins,
): SessionQuery {
  const { session, user } = schema;
  const userFields = findAddedColumns(user, COLUMN_NAMES.user, library.user?.additionalFields);
  const sessionFields = findAddedColumns(
    session,
    COLUMN_NAMES.session,
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
  builtIn: readonly string[],
  additionalFields: Readonly<Record<string, { returned?: boolean | undefined }>> = {},
): Record<string, PgColumn> | undefined {
  const added = Object.entries<PgColumn>(getTableColumns(table)).filter(([name]) =>
    !builtIn.includes(name) && additionalFields[name]?.returned !== false
  );
  return added.length === 0 ? undefined : Object.fromEntries(added);
}
