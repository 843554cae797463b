import { findSqlState } from "../../errors/driver_error.ts";
import type { ReadRows } from "./read_facts.ts";
import { getText, type RowChange } from "./row_change.ts";
import { MAX_ROWS } from "./row_limit.ts";
import type { ForeignKeyFacts, SchemaFacts, TableFacts } from "./schema_facts.ts";
import { quoteName } from "../../sql/quote.ts";

async function count(page: string, read: ReadRows, prefix = ""): Promise<number> {
  const [row] = await read(
    `${prefix}SELECT count(*)::int AS n FROM (${page} LIMIT ${MAX_ROWS + 1}) AS page`,
  );
  return Number(row?.n);
}

/** Counts the rows of a table, up to one more than a transaction can change. */
export async function countRows({ live }: TableFacts, read: ReadRows): Promise<number> {
  return live === undefined ? 0 : await count(`SELECT 1 FROM ${live}`, read);
}

/**
 * Counts the rows that match an UPDATE or DELETE, up to one more than a transaction can change.
 *
 * @param change The statement.
 * @param key Columns of a unique key. Without a key, a row that joins several others counts several
 * times.
 * @param read Runs a query.
 * @returns The number; `Infinity` if the server rejects the query because an object does not exist
 * yet.
 */
export function countMatching(
  change: RowChange,
  key: readonly string[],
  read: ReadRows,
): Promise<number> {
  const columns = key.length === 0 ? "1" : `DISTINCT ${keyColumns(change, key).join(", ")}`;
  return countWith(change, selectMatching(change, columns), read);
}

function selectMatching(change: RowChange, columns: string): string {
  return `SELECT ${columns} FROM ${fromList(change)} WHERE ${getCondition(change) ?? "true"}`;
}

async function countWith(change: RowChange, page: string, read: ReadRows): Promise<number> {
  const prefix = getText(change, change.with);
  try {
    return await count(page, read, prefix === "" ? "" : `${prefix} `);
  } catch (error) {
    if (findSqlState(error) !== undefined) return Infinity;
    throw error;
  }
}

/**
 * Counts the rows that foreign keys delete or change together with the rows of a DELETE.
 *
 * @param change The statement.
 * @param table Its table.
 * @param facts The foreign keys.
 * @param read Runs a query.
 * @returns The number; `Infinity` if it cannot be determined, as with a foreign key that cascades
 * within one table.
 */
export async function countReferencing(
  change: RowChange,
  table: TableFacts,
  facts: SchemaFacts,
  read: ReadRows,
): Promise<number> {
  let total = 0;
  const pending = [{ table, rows: selectMatching(change, `${change.reference}.*`), path: [table] }];
  for (const { table, rows, path } of pending) {
    for (const key of facts.foreignKeys) {
      if (key.target !== table || key.onDelete === "none") continue;
      const isCycle = key.onDelete === "cascade" && path.includes(key.table);
      if (isCycle || key.from.length === 0 || key.from.length !== key.columns.length) {
        return Infinity;
      }
      const referencing = selectReferencing(key.table, key.from, key.columns, rows);
      total += await countWith(change, referencing, read);
      if (total > MAX_ROWS) return total;
      if (key.onDelete === "cascade") {
        pending.push({ table: key.table, rows: referencing, path: [...path, key.table] });
      }
    }
  }
  return total;
}

/**
 * Finds a table whose rows would make a DELETE fail.
 *
 * @param change The statement.
 * @param keys Foreign keys to its table without an action for deleted rows.
 * @param read Runs a query.
 * @returns The table's name.
 */
export async function findBlocking(
  change: RowChange,
  keys: readonly ForeignKeyFacts[],
  read: ReadRows,
): Promise<string | undefined> {
  const rows = selectMatching(change, `${change.reference}.*`);
  for (const { table, columns, from } of keys) {
    const blocking = await countWith(change, selectReferencing(table, from, columns, rows), read);
    if (blocking > 0 && blocking !== Infinity) return table.name;
  }
  return undefined;
}

function selectReferencing(
  table: TableFacts,
  from: readonly string[],
  to: readonly string[],
  rows: string,
): string {
  const [sources, targets] = [from, to].map((columns) => columns.map(quoteName).join(", "));
  return `SELECT * FROM ${table.live} WHERE (${sources}) IN ` +
    `(SELECT ${targets} FROM (${rows}) AS gone)`;
}

/** Checks whether the server has row ids (`ctid`) for a table. */
export async function hasRowIds({ live }: TableFacts, read: ReadRows): Promise<boolean> {
  const page = `SELECT ctid FROM ${live} LIMIT ${MAX_ROWS + 1}`;
  try {
    const [row] = await read(
      `SELECT count(*) = count(DISTINCT ctid) AS differ FROM (${page}) AS page`,
    );
    return row?.differ === true;
  } catch (error) {
    if (findSqlState(error) !== undefined) return false;
    throw error;
  }
}

/**
 * Returns the qualified columns of a key, since a joined table may have columns of the same names.
 */
export function keyColumns(change: RowChange, key: readonly string[]): string[] {
  return key.map((column) => `${change.reference}.${quoteName(column)}`);
}

/** Returns the table and the joined tables as a FROM list. */
export function fromList(change: RowChange): string {
  const joined = getText(change, change.from);
  return joined === "" ? change.target : `${change.target}, ${joined}`;
}

/** Returns the condition in parentheses. */
export function getCondition(change: RowChange): string | undefined {
  const condition = getText(change, change.where);
  return condition === "" ? undefined : `(${condition})`;
}
