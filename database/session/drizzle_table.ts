/**
 * Access to drizzle's objects without its modules, so that the statements of this package need none of
 * them. drizzle registers these symbols globally, so that several copies of it can share tables.
 */
import type { Column, Table } from "drizzle-orm";
import { ConfigurationError } from "../../errors/http_errors.ts";

/** Property of drizzle's classes with their name. */
export const ENTITY_KIND: unique symbol = Symbol.for("drizzle:entityKind");
/** Property with the name of a table. */
export const NAME: unique symbol = Symbol.for("drizzle:Name");
/** Property with the schema of a table. */
export const SCHEMA: unique symbol = Symbol.for("drizzle:Schema");
/** Property with the columns of a table. */
export const COLUMNS: unique symbol = Symbol.for("drizzle:Columns");
/** Property with the function that returns the keys and indexes of a table. */
const EXTRA_CONFIG: unique symbol = Symbol.for("drizzle:ExtraConfigBuilder");
/** Property with the columns that this function is called with. */
const EXTRA_CONFIG_COLUMNS: unique symbol = Symbol.for("drizzle:ExtraConfigColumns");

type Parts = Record<symbol, unknown>;

/**
 * Checks the class of an object of drizzle by its name, as drizzle's `is` does for objects of another
 * copy of drizzle.
 *
 * @param value Any value.
 * @param kind The name of a class of drizzle.
 */
export function isKind(value: unknown, kind: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  let type: unknown = Object.getPrototypeOf(value)?.constructor;
  while (typeof type === "function") {
    if ((type as object as Parts)[ENTITY_KIND] === kind) return true;
    type = Object.getPrototypeOf(type);
  }
  return false;
}

/** Checks for a table, as drizzle's `is(value, Table)` does. */
export function isTable(value: unknown): value is Table {
  return isKind(value, "Table");
}

/** Returns the columns of a table by property name, as drizzle's `getTableColumns` does. */
export function getColumns(table: object): Readonly<Record<string, Column>> {
  return (table as Parts)[COLUMNS] as Record<string, Column>;
}

/** Members of the columns of drizzle 1.0. */
interface NewColumn {
  readonly dataType: string;
  readonly codec?: string | undefined;
  readonly dimensions?: number;
  getSQLType(): string;
}

/** Returns the number of dimensions that drizzle 1.0 has beside the type of an array's items, else 0. */
function getDimensions({ codec, dimensions = 0, dataType }: NewColumn): number {
  // in 0.45 the columns of pgvector have dimensions, and arrays are another type
  return codec !== undefined || dataType.includes(" ") || dataType === "custom" ? dimensions : 0;
}

/**
 * Returns drizzle's type of a column's values in the words of 0.45: `string`, `number`, `date`, `array`.
 * drizzle 1.0 writes `string uuid`, `number int32` and `object date`.
 */
export function getDataType(column: NewColumn): string {
  if (getDimensions(column) > 0) return "array";
  const [type, detail] = column.dataType.split(" ");
  return type === "object" && detail !== undefined ? detail : type;
}

/** Returns the type of a column in the database, with the brackets of an array. */
export function getSqlType(column: NewColumn): string {
  return column.getSQLType() + "[]".repeat(getDimensions(column));
}

/** Returns the names of a table's columns in the database. */
export function getColumnNames(table: object): string[] {
  return Object.values((table as Parts)[COLUMNS] as Record<string, Column>).map(({ name }) => name);
}

/**
 * Returns the columns of a table's primary key, in its order; none if the table has no primary key.
 *
 * @param table The table.
 */
export function getPrimaryKey(table: object): readonly Column[] {
  const { [EXTRA_CONFIG]: build, [EXTRA_CONFIG_COLUMNS]: columns } = table as Parts;
  const parts: unknown[] = typeof build !== "function" ? [] : Object.values(build(columns)).flat();
  const key = parts.find((part) => isKind(part, "PgPrimaryKeyBuilder"));
  if (key !== undefined) return (key as { readonly columns: readonly Column[] }).columns;
  return Object.values(getColumns(table)).filter(({ primary }) => primary);
}

/**
 * Returns the name of a table and of its schema, as drizzle's `getTableConfig` does.
 *
 * @throws {ConfigurationError} If the value is not a table.
 */
export function getTableNames(table: object): { name: string; schema: string | undefined } {
  const { [NAME]: name, [SCHEMA]: schema } = table as Parts;
  if (typeof name === "string") return { name, schema: schema as string | undefined };
  throw new ConfigurationError("A declared table is neither a drizzle table nor a name");
}
