import { rawSql } from "../plain_sql.ts";
import type { DrizzleClient, Row } from "../providers/provider.ts";
import { withDistSqlRetry } from "../retry.ts";
import { runSqlRows } from "../run_sql.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { temporaryName } from "./sql_text.ts";
import { qualify, quoteLiteral } from "../sql/quote.ts";

/**
 * Runs one statement and returns its rows. Retries it after a conflict, since it is its own
 * transaction.
 */
export function runSql(db: DrizzleClient, text: string): Promise<Row[]> {
  return withDistSqlRetry(() => runSqlRows(db, rawSql(text)), { maxRetries: 8 });
}

/** Returns the name of the work table, which stores the plan and the progress of the copy. */
export function workTable(schema: string | undefined, name: string): string {
  return qualify(schema, temporaryName(name, "work"));
}

/** Returns the statement that creates the work table. */
export function createWorkTableSql(schema: string | undefined, name: string): string {
  return `CREATE TABLE ${workTable(schema, name)} (key text PRIMARY KEY, value text NOT NULL)`;
}

/** Returns the oid of a relation, if it exists. */
export async function relationOid(
  db: DrizzleClient,
  qualified: string,
): Promise<string | undefined> {
  const [row] = await runSql(
    db,
    `SELECT to_regclass(${quoteLiteral(qualified)})::oid::text AS oid`,
  );
  return row?.oid === null || row?.oid === undefined ? undefined : String(row.oid);
}

/** Reads an entry; `undefined` if the table or entry does not exist. */
export async function readWork<T>(
  db: DrizzleClient,
  schema: string | undefined,
  name: string,
  key: "plan" | "copy",
): Promise<T | undefined> {
  const table = workTable(schema, name);
  if (await relationOid(db, table) === undefined) return undefined;
  const [row] = await runSql(db, `SELECT value FROM ${table} WHERE key = ${quoteLiteral(key)}`);
  return row === undefined ? undefined : JSON.parse(String(row.value)) as T;
}

/** Writes an entry. */
export async function writeWork(
  db: DrizzleClient,
  plan: Pick<RecreationPlan, "schema" | "table">,
  key: "plan" | "copy",
  value: unknown,
): Promise<void> {
  await runSql(
    db,
    `INSERT INTO ${workTable(plan.schema, plan.table)} (key, value) VALUES ` +
      `(${quoteLiteral(key)}, ${quoteLiteral(JSON.stringify(value))}) ` +
      "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value",
  );
}
