import { NAME } from "../../database/drizzle_table.ts";
import { loadDrizzle } from "../../database/precompiled/load_drizzle.ts";
import { definePrecompiledStatement } from "../../database/queries/precompiled_statement.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { listSessionFields } from "../session_fields.ts";
import type { SessionQuery } from "../session_row.ts";
import {
  describeTable,
  given as placeholder,
  join,
  listSelected,
  sql,
  type SqlPart,
  writeStatement,
} from "./statement_text.ts";
import { withCodecs } from "./builtin_tables.ts";
import { type AuthColumn, type AuthTable, loadTables } from "./table.ts";

/** Tables that a query reads besides the session and its user. */
export interface SessionJoins {
  /** The columns to read, by property name. */
  readonly columns: Readonly<Record<string, AuthColumn>>;
  /** The tables with their conditions. */
  readonly tables: readonly { readonly table: AuthTable; readonly on: SqlPart }[];
}

type Columns = Readonly<Record<string, AuthColumn>>;

let lastQuery = 0;

/** Prepares the query of a session with its user for tables of the application. */
export function prepareSessionQuery(
  db: AuthDatabase,
  given: AuthSettings,
  joins?: SessionJoins,
): SessionQuery {
  const settings = withCodecs(given);
  const { schema, library } = settings;
  const [session, user] = [schema.session, schema.user] as unknown as (AuthTable & Columns)[];
  const joined = joins?.tables ?? [];
  const selected = listSelected({
    ...listSessionFields(settings),
    ...(joins && { joined: joins.columns }),
  });
  const getStatement = definePrecompiledStatement({
    name: `trellis_find_session_lean_${++lastQuery}`,
    ...writeStatement(
      sql`select ${
        join(selected.map(({ column }) => column), ", ")
      } from ${session} inner join ${user} on ${user.id} = ${session.userId}${
        joined.map(({ table, on }) => sql` left join ${table} on ${on}`)
      } where ${session.token} = ${placeholder("token")}`,
    ),
    cells: selected.map(({ cell }) => cell),
    notNullable: {
      [session[NAME]]: true,
      [user[NAME]]: true,
      ...Object.fromEntries(joined.map(({ table }) => [table[NAME], false])),
    },
    metadata: {
      type: "select",
      tables: [session, user, ...joined.map(({ table }) => table)].map(describeTable),
    },
  });
  const name = joins === undefined ? "trellis:find_session" : "trellis:find_organization";
  return getStatement(
    db,
    () => loadDrizzle().statements[name](db, { library, schema: loadTables(schema) } as never),
  ) as SessionQuery;
}
