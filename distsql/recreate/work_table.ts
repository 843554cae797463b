import type { RunSql } from "../../sql/session.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import { qualify, quoteLiteral } from "../../sql/quote.ts";

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
  run: RunSql,
  qualified: string,
): Promise<string | undefined> {
  const [row] = await run(`SELECT to_regclass(${quoteLiteral(qualified)})::oid::text AS oid`);
  return row?.oid === null || row?.oid === undefined ? undefined : String(row.oid);
}

/** Reads an entry; `undefined` if the table or entry does not exist. */
export async function readWork<T>(
  run: RunSql,
  schema: string | undefined,
  name: string,
  key: "plan" | "copy",
): Promise<T | undefined> {
  const table = workTable(schema, name);
  if (await relationOid(run, table) === undefined) return undefined;
  const [row] = await run(`SELECT value FROM ${table} WHERE key = ${quoteLiteral(key)}`);
  return row === undefined ? undefined : JSON.parse(String(row.value)) as T;
}

/** Writes an entry. */
export async function writeWork(
  run: RunSql,
  plan: Pick<RecreationPlan, "schema" | "table">,
  key: "plan" | "copy",
  value: unknown,
): Promise<void> {
  await run(
    `INSERT INTO ${workTable(plan.schema, plan.table)} (key, value) VALUES ` +
      `(${quoteLiteral(key)}, ${quoteLiteral(JSON.stringify(value))}) ` +
      "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value",
  );
}
