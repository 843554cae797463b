import { findSqlState } from "../../errors/driver_error.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";
import type { IncomingForeignKey } from "../schema/table_schema.ts";
import { MAX_ROWS } from "./run_batches.ts";
import { getCondition, getText, type RowChange } from "./row_change.ts";

async function count(page: string, run: RunSql): Promise<number> {
  const [row] = await run(
    `SELECT count(*)::int AS n FROM (${page} LIMIT ${MAX_ROWS + 1}) AS page`,
  );
  return Number(row?.n);
}

/**
 * Counts the rows of a table, up to one more than a transaction can change.
 *
 * @param table The table as SQL; a missing table has no rows.
 * @param run Runs a query.
 */
export async function countRows(table: string, run: RunSql): Promise<number> {
  const [row] = await run(`SELECT to_regclass(${quoteLiteral(table)}) IS NOT NULL AS there`);
  return row?.there === true ? await count(`SELECT 1 FROM ${table}`, run) : 0;
}

/**
 * Counts the rows that an UPDATE or DELETE changes, up to one more than a transaction can change.
 *
 * @param change The statement.
 * @param run Runs a query.
 * @returns The number; `Infinity` if the server rejects the query because an object does not exist
 * yet.
 */
export function countMatching(change: RowChange, run: RunSql): Promise<number> {
  return countPage(selectMatching(change, "1"), run);
}

function selectMatching(change: RowChange, columns: string): string {
  const condition = getCondition(change) ?? "true";
  const joined = getText(change, change.from);
  // a row that joins several others is changed once
  const where = joined === "" ? condition : `EXISTS (SELECT FROM ${joined} WHERE ${condition})`;
  return `SELECT ${columns} FROM ${change.target} WHERE ${where}`;
}

async function countPage(page: string, run: RunSql): Promise<number> {
  try {
    return await count(page, run);
  } catch (error) {
    if (findSqlState(error) !== undefined) return Infinity;
    throw error;
  }
}

/**
 * Counts the rows of another table that a DELETE changes through a foreign key.
 *
 * @param change The statement.
 * @param key The foreign key.
 * @param run Runs a query.
 */
export function countReferencing(
  change: RowChange,
  { from, columns, references }: IncomingForeignKey,
  run: RunSql,
): Promise<number> {
  const list = (names: readonly string[] = []): string => names.map(quoteName).join(", ");
  return countPage(
    `SELECT 1 FROM ${qualify(from.schema, from.table)} WHERE (${list(columns)}) IN ` +
      `(SELECT ${list(references?.columns)} FROM ` +
      `(${selectMatching(change, `${change.reference}.*`)}) AS gone)`,
    run,
  );
}
