import { type DeclaredSchema, findObject } from "../../distsql/schema/declared_schema.ts";
import { compareText, type Finding } from "../project/findings.ts";
import type { FunctionPermissions } from "./permissions.ts";
import { printTable, type TableName } from "./table_name.ts";
import type { ColumnGrant } from "./table_needs.ts";

/**
 * Finds tables and columns that functions use but no migration creates: the first request that needs
 * one would fail.
 *
 * @param functions The functions with their tables.
 * @param declared What the migrations create.
 * @param folder The migrations folder, for messages.
 * @returns One finding for each table and column.
 */
export function findMissingTables(
  functions: readonly FunctionPermissions[],
  declared: DeclaredSchema,
  folder: string,
): Finding[] {
  const found = new Map<string, Finding & { functions: string[] }>();
  for (const { name, file, tables } of functions) {
    for (const { table, columns = [] } of tables) {
      for (const missing of describeMissing(declared, table, columns)) {
        const message = `no file in ${folder} creates ${missing}`;
        const finding = found.get(message) ?? { file, line: 1, message, functions: [] };
        finding.functions.push(name);
        found.set(message, finding);
      }
    }
  }
  return [...found.values()].sort((a, b) => compareText(a.message, b.message));
}

function describeMissing(
  declared: DeclaredSchema,
  table: TableName,
  columns: readonly ColumnGrant[],
): string[] {
  if (findObject(declared.views, table) !== undefined) return [];
  const found = findObject(declared.tables, table);
  if (found === undefined) return [`the table ${printTable(table)}`];
  if (!found.isComplete) return [];
  const present = new Set(found.columns.map(({ name }) => name));
  const needed = new Set(columns.flatMap((grant) => grant.columns));
  return [...needed].filter((name) => !present.has(name)).map((name) =>
    `the column ${name} of ${printTable(table)}`
  );
}
