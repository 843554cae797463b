import { qualify } from "../../sql/quote.ts";
import type { Row, RunSql } from "../../sql/session.ts";
import { tableQuery } from "../schema/catalog_queries.ts";
import { findTable, getParts, isOrdinary, readTable, whereNamed } from "../schema/read_table.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { RecreationError } from "./recreation_error.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import { readWork } from "./work_table.ts";

/**
 * Reads a table from the catalog. During an unfinished recreation this is the original table, so
 * that the same plan results and the recreation continues.
 *
 * @param run Runs a statement.
 * @param tableName Exact name of the table, or, if there is none of that name, its name as SQL.
 * @throws {RecreationError} If there is no such table, or it is a view, a partition or partitioned.
 */
export async function readTableSchema(run: RunSql, tableName: string): Promise<TableSchema> {
  const row = await findAny(run, tableName);
  const plan = await readWork<RecreationPlan>(run, String(row.schema), String(row.name), "plan");
  if (plan !== undefined) return plan.current;
  if (row.old !== undefined) {
    throw new RecreationError(
      `${tableName} was renamed by a recreation whose record is lost: rename ` +
        `${row.old} back to it`,
      { reason: "unfinished", table: tableName },
    );
  }
  return await readOrdinary(run, row);
}

/** Finds a table, also in the middle of a recreation; then `old` is its present name. */
async function findAny(run: RunSql, tableName: string): Promise<Row> {
  const found = await findTable(run, tableName) ?? await findUnfinished(run, tableName);
  if (found !== undefined) return found;
  throw new RecreationError(
    `Table ${JSON.stringify(tableName)} does not exist or is not visible ` +
      "to this role: check the name, and add its schema if it is not in the search path",
    { reason: "statement", table: tableName },
  );
}

/** Reads the current table, ignoring an unfinished recreation. */
export async function introspectLive(
  run: RunSql,
  oid: string,
): Promise<TableSchema | undefined> {
  const [row] = await run(tableQuery(`c.oid = ${oid}`));
  return row === undefined ? undefined : await readOrdinary(run, row);
}

async function readOrdinary(run: RunSql, row: Row): Promise<TableSchema> {
  if (isOrdinary(row)) return await readTable(run, row);
  throw new RecreationError(
    `${row.name} is not an ordinary table (a view, a partition, partitioned or foreign), so it ` +
      "cannot be recreated by copying its rows",
    { reason: "statement", table: String(row.name) },
  );
}

/** Finds a table in the middle of a recreation, when no table has its name. */
async function findUnfinished(run: RunSql, tableName: string): Promise<Row | undefined> {
  for (const parts of [[tableName], getParts(tableName) ?? []]) {
    const name = parts.at(-1);
    if (name === undefined) continue;
    const old = [...parts.slice(0, -1), temporaryName(name, "old")];
    const [row] = await run(tableQuery(whereNamed(old)));
    if (row !== undefined) return { ...row, name, old: qualify(String(row.schema), old.at(-1)!) };
  }
  return undefined;
}

/**
 * Returns the planner's estimate of the rows of a table, or their count if there is none.
 *
 * @param run Runs a statement.
 * @param tableName As for {@link readTableSchema}.
 */
export async function estimateRows(run: RunSql, tableName: string): Promise<number> {
  const found = await findAny(run, tableName);
  const [row] = await run(
    `SELECT reltuples::bigint::text AS rows FROM pg_class WHERE oid = ${found.oid}`,
  );
  const estimate = Number(row.rows);
  // never analyzed: -1 since PostgreSQL 14, 0 before
  if (estimate > 0) return estimate;
  const table = found.old ?? qualify(String(found.schema), String(found.name));
  const [counted] = await run(`SELECT count(*)::text AS rows FROM ${table}`);
  return Number(counted.rows);
}
