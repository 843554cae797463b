/**
 * Access to drizzle's tables without its modules, for functions whose bundle does not contain them.
 * drizzle registers these symbols globally, so that several copies of it can share tables.
 */
import type { Column, Table } from "drizzle-orm";
import { ConfigurationError } from "../errors/http_errors.ts";
import { isKind } from "./entity_kind.ts";

/** Property with the name of a table. */
export const NAME: unique symbol = Symbol.for("drizzle:Name");
/** Property with the schema of a table. */
export const SCHEMA: unique symbol = Symbol.for("drizzle:Schema");
/** Property with the columns of a table. */
export const COLUMNS: unique symbol = Symbol.for("drizzle:Columns");

type TableParts = Record<symbol, unknown>;

/** Checks for a table, as drizzle's `is(value, Table)` does. */
export function isTable(value: unknown): value is Table {
  return isKind(value, "Table");
}

/** Returns the columns of a table by property name, as drizzle's `getTableColumns` does. */
export function getColumns(table: object): Readonly<Record<string, Column>> {
  return (table as TableParts)[COLUMNS] as Record<string, Column>;
}

/**
 * Returns the name of a table and of its schema, as drizzle's `getTableConfig` does.
 *
 * @throws {ConfigurationError} If the value is not a table.
 */
export function getTableNames(table: object): { name: string; schema: string | undefined } {
  const { [NAME]: name, [SCHEMA]: schema } = table as TableParts;
  if (typeof name === "string") return { name, schema: schema as string | undefined };
  throw new ConfigurationError("A declared table is neither a drizzle table nor a name");
}
