import type { PgTable } from "drizzle-orm/pg-core";
import { addKnownNames } from "../../errors/known_names.ts";
import { getColumnNames, getTableNames } from "../session/drizzle_table.ts";
import type { TableOperation, TablePermission } from "./table_permission.ts";
import { checkPermissions } from "./requires_table.ts";

/** Table of a query with its operations. */
export interface QueryTable {
  /** A drizzle table, or a table's name in the database. */
  table: PgTable | string;
  /** Operations of the query on the table. */
  operations: readonly TableOperation[];
}

/**
 * Checks the declared tables of a query, and registers their names for error messages.
 *
 * @param tables The declaration.
 * @throws {ConfigurationError} If the declaration is invalid.
 */
export function checkTables(tables: readonly QueryTable[]): TablePermission[] {
  const permissions = checkPermissions(
    tables.map(({ table, operations }) => ({
      table: typeof table === "string" ? table : getName(table),
      operations,
    })),
  );
  tables.forEach(({ table }) => declaredTables.add(table));
  return permissions;
}

function getName(table: PgTable): string {
  const { name, schema } = getTableNames(table);
  return schema === undefined ? name : `${schema}.${name}`;
}

/** Tables of declared queries, whose names may appear in error messages. */
const declaredTables: Set<string | PgTable> = new Set();
addKnownNames(() => [...declaredTables].flatMap(listNames));

/** Returns the names of a table and its columns. */
function listNames(table: string | PgTable): string[] {
  if (typeof table === "string") return table.split(".");
  return [getTableNames(table).name, ...getColumnNames(table)];
}
