import { type DeclaredSchema, findObject } from "../schema/declared_schema.ts";
import { toTableSchema } from "../schema/to_table_schema.ts";
import { readObject } from "../schema/read_object.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { translateForDistSql } from "../translate/sanitize.ts";
import { applyAlter } from "./alter.ts";
import { buildCreateTableSql } from "./create_table.ts";
import { generateRecreationPlan, typeNames } from "./plan.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/**
 * Plans the recreation of a table from its declaration in the files, as the run will plan it from
 * the catalog. Changes nothing. Skips tables that the files do not declare.
 *
 * @param before Declarations before the statement.
 * @param sql The ALTER TABLE statement that requires the recreation.
 * @throws {RecreationError} If the change is impossible, or would break dependent objects.
 * @throws {UnsupportedStatementError} If the provider does not support the resulting table.
 */
export function simulateRecreation(before: DeclaredSchema, sql: string): void {
  const reader = parseStatement(sql);
  const written = readObject(reader, reader.alteredTableAt());
  const table = findObject(before.tables, written);
  if (table === undefined || !table.isComplete) return;
  const current = toTableSchema(table, before);
  if (!canHave(current)) return;
  generateRecreationPlan(current, applyAlter(current, sql, true), 0);
}

/**
 * Checks whether the provider supports the current table; if not, its CREATE TABLE is already
 * rejected.
 */
function canHave(current: TableSchema): boolean {
  const sql = buildCreateTableSql(current.name, current);
  return translateForDistSql(sql, { domains: typeNames(current) }).refusals.length === 0;
}
