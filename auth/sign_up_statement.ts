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
type Columns = Readonly<Record<string, PgColumn>>;

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
  const inserted = [insertNamed(db, "new_user", user)];
  for (const [at, row] of [...others, session].entries()) {
    const values = copyId(row, user, inserted);
    inserted.push(insertNamed(db, `new_row_${at}`, { ...row, values }));
  }
  const [newUser, newSession] = [inserted[0], inserted[inserted.length - 1]];
  // concat() writes an id as the server would send it
  const isStored = sql`concat(${newUser.id}) = ${id} and concat(${newSession.userId}) = ${id}`;
  const [row] = await db.with(...inserted as never[]).select({
    user: selectAll(newUser, user.table),
    session: selectAll(newSession, session.table),
    check: sql`1 / case when ${isStored} then 1 else 0 end`,
  }).from(sql`(select 1) as "one"`)
    .leftJoin(newUser as never, sql`true`)
    .leftJoin(newSession as never, sql`true`);
  return row as unknown as StoredSignUp;
}

/** Returns an insert as a part of the statement, and the columns of its row. */
function insertNamed(db: Client, name: string, { table, values }: NewRow): Columns {
  return db.$with(name).as(db.insert(table).values(values).returning()) as unknown as Columns;
}

/**
 * Replaces the user's id in columns of its type by a query of the rows before. So the inserts run in
 * their order, and their triggers find these rows.
 */
function copyId({ table, values }: NewRow, user: NewRow, before: readonly Columns[]): Row {
  const { id: idColumn } = getColumns(user.table);
  const columns = getColumns(table);
  const from = sql.join(before as unknown as SQL[], sql`, `);
  const copied = sql`(select ${before[0].id} from ${from})`;
  const isCopied = (key: string) =>
    values[key] === user.values.id && columns[key].getSQLType() === idColumn.getSQLType();
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, isCopied(key) ? copied : value]),
  );
}

function selectAll(inserted: Columns, table: PgTable): Columns {
  return Object.fromEntries(Object.keys(getColumns(table)).map((key) => [key, inserted[key]]));
}

function getColumns(table: PgTable): Columns {
  return getTableColumns(table) as Columns;
}
