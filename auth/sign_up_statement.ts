import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";

/** Values of a row by the properties of its table. */
export type Row = Readonly<Record<string, unknown>>;

/** A row to insert. */
export interface NewRow {
  readonly table: PgTable;
  readonly values: Row;
}

/** The rows that the database has stored. */
export interface StoredSignUp {
  readonly user: Row;
  readonly session: Row;
}

type Client = PgDatabase<PgQueryResultHKT>;

/** An inserted row in the statement: its name, and its columns by property. */
interface Inserted {
  readonly name: SQL;
  readonly columns: Readonly<Record<string, SQL>>;
}

/**
 * Inserts the rows of a sign-up by one statement, which stores all of them or none. The foreign keys
 * of the accounts and sessions are checked at its end, when the user exists.
 *
 * The statement fails with `division_by_zero` if a trigger replaces the user's id or leaves a row
 * out, or if the id has another notation in its column: better-auth has copied the id that it sent.
 *
 * @param db The client.
 * @param user The user, with an id.
 * @param others The account, and further rows.
 * @param session The session.
 * @returns The user and the session as they are stored.
 */
export async function insertSignUp(
  db: Client,
  user: NewRow,
  others: readonly NewRow[],
  session: NewRow,
): Promise<StoredSignUp> {
  const id = user.values.id;
  const inserted: Inserted[] = [];
  const inserts = [user, ...others, session].map((row, at) => {
    const name = `row_${at}`;
    const values = at === 0 ? row.values : copyId(row, user, inserted);
    inserted.push(describeRow(name, row.table));
    return db.$with(name, {}).as(db.insert(row.table).values(values).returning().getSQL());
  });
  const [newUser, newSession] = [inserted[0], inserted[inserted.length - 1]];
  // concat() writes an id as the server would send it
  const isStored = sql`concat(${newUser.columns.id}) = ${id}
    and concat(${newSession.columns.userId}) = ${id}`;
  const [row] = await db.with(...inserts).select({
    user: newUser.columns,
    session: newSession.columns,
    check: sql`1 / case when ${isStored} then 1 else 0 end`,
  }).from(
    sql`(select 1) as "one" left join ${newUser.name} on true left join ${newSession.name} on true`,
  );
  return row;
}

function describeRow(row: string, table: PgTable): Inserted {
  const name = sql`${sql.identifier(row)}`;
  const columns = Object.entries(getColumns(table)).map(([key, column]) =>
    [key, sql`${name}.${sql.identifier(column.name)}`.mapWith(column)] as const
  );
  return { name, columns: Object.fromEntries(columns) };
}

/**
 * Replaces the user's id in columns of its type by a query of the rows before. So the inserts run in
 * their order, and their triggers find these rows.
 */
function copyId({ table, values }: NewRow, user: NewRow, before: readonly Inserted[]): Row {
  const type = getColumns(user.table).id.getSQLType();
  const columns = getColumns(table);
  const from = sql.join(before.map(({ name }) => name), sql`, `);
  const copied = sql`(select ${before[0].columns.id} from ${from})`;
  const isCopied = (key: string) =>
    values[key] === user.values.id && columns[key].getSQLType() === type;
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, isCopied(key) ? copied : value]),
  );
}

function getColumns(table: PgTable): Readonly<Record<string, PgColumn>> {
  return getTableColumns(table) as Record<string, PgColumn>;
}
