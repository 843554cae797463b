import { loadDrizzle } from "../../database/precompiled/load_drizzle.ts";
import { definePrecompiledStatement } from "../../database/queries/precompiled_statement.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { withCodecs } from "./builtin_tables.ts";
import { given, sql } from "./statement_text.ts";
import { type AuthColumn, type AuthTable, loadTables } from "./table.ts";
import { describeUpdate, type Update } from "./update_text.ts";

type Tables = Pick<AuthSettings, "schema">;
type SessionTable =
  & AuthTable
  & Readonly<Record<"id" | "token" | "expiresAt" | "updatedAt", AuthColumn>>;

/** A prepared write. */
interface Write<Row> {
  execute(values: Readonly<Record<string, unknown>>): Promise<Row[]>;
}

let lastWrite = 0;

const getEnd = /* @__PURE__ */ defineWrite<{ id: string }>("trellis:end_session", (session) => {
  const { id, token, expiresAt, updatedAt } = session;
  return {
    changes: { expiresAt: given("now", expiresAt), updatedAt: given("now", updatedAt) },
    where: [
      sql`${token} = ${given("token", token)}`,
      sql`${expiresAt} > ${given("now", expiresAt)}`,
    ],
    returning: { id },
  };
});

const getExtend = /* @__PURE__ */ defineWrite<{ expiresAt: Date }>(
  "trellis:extend_session",
  ({ token, expiresAt, updatedAt }) => ({
    changes: {
      expiresAt: given("expiresAt", expiresAt),
      updatedAt: given("updatedAt", updatedAt),
    },
    where: [
      sql`${token} = ${given("token", token)}`,
      // a Date has milliseconds, but the column has microseconds
      sql`date_trunc('milliseconds', ${expiresAt}) = ${given("found", expiresAt)}`,
    ],
    returning: { expiresAt },
  }),
);

/** Ends a session that has not expired, in a table of the application. */
export async function endSession(
  db: AuthDatabase,
  tables: Tables,
  token: string,
  now: Date,
): Promise<{ id: string }[]> {
  return await getEnd(db, tables).execute({ token, now });
}

/** Extends a session if its expiry time is unchanged, in a table of the application. */
export async function extendSession(
  db: AuthDatabase,
  tables: Tables,
  { token, expiresAt: found }: { readonly token: string; readonly expiresAt: Date },
  changes: { readonly expiresAt: Date; readonly updatedAt: Date },
): Promise<{ expiresAt: Date }[]> {
  return await getExtend(db, tables).execute({ token, found, ...changes });
}

/**
 * Creates a function that returns an update for a client. Its text is written once for each table.
 *
 * @param key The key of drizzle's form in the second file.
 * @param describe Returns the parts of the update.
 */
function defineWrite<Row>(
  key: string,
  describe: (session: SessionTable) => Pick<Update, "changes" | "where" | "returning">,
): (db: AuthDatabase, tables: Tables) => Write<Row> {
  const known = new WeakMap<object, ReturnType<typeof definePrecompiledStatement>>();
  return function getWrite(db, tables) {
    const { schema } = withCodecs(tables);
    const table = schema.session as unknown as SessionTable;
    let getStatement = known.get(table);
    if (getStatement === undefined) {
      const name = `trellis_write_session_lean_${++lastWrite}`;
      getStatement = definePrecompiledStatement(
        describeUpdate({ name, table, ...describe(table) }),
      );
      known.set(table, getStatement);
    }
    const load = () => loadDrizzle().statements[key](db, { schema: loadTables(schema) } as never);
    return getStatement(db, load) as Write<Row>;
  };
}
