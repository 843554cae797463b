import type { Column, Table } from "drizzle-orm";
import { getColumns, getDataType, isKind } from "../../database/session/drizzle_table.ts";

/**
 * Describes the first value of an insert or update that does not fit its column, without the value.
 * better-auth passes fields of requests on without a check of their types: an object would be stored as
 * its text, and `null` in a required column would be an error of the database.
 *
 * @param table The table.
 * @param method The builder's method that takes the rows.
 * @param rows Its argument.
 * @returns The description, or `undefined` if all values fit.
 */
export function findRowProblem(
  table: Table,
  method: "values" | "set",
  rows: object | readonly object[],
): string | undefined {
  const all = [rows].flat() as object[];
  if (method === "set" && isEmpty(all[0])) return "[body] changes nothing";
  return all.map((row) => findProblem(table, row)).find(Boolean);
}

/** Checks for an update without values, which drizzle refuses with an error. */
function isEmpty(row: object): boolean {
  return Object.values(row).every((value) => value === undefined);
}

/** Describes the first value of a row that does not fit its column, without the value. */
function findProblem(table: Table, row: object): string | undefined {
  const columns = getColumns(table);
  for (const [name, value] of Object.entries(row)) {
    const column = columns[name];
    if (column === undefined || value === undefined || isKind(value, "SQL")) continue;
    if (value === null) {
      if (column.notNull) return `[body.${name}] must not be null`;
      continue;
    }
    const wanted = findMismatch(column, value);
    if (wanted !== undefined) return `[body.${name}] must be ${wanted}`;
  }
  return undefined;
}

const WHOLE_NUMBERS: Readonly<Record<string, number>> = {
  PgSmallInt: 2 ** 15,
  PgSmallSerial: 2 ** 15,
  PgInteger: 2 ** 31,
  PgSerial: 2 ** 31,
  PgBigInt53: Number.MAX_SAFE_INTEGER,
  PgBigSerial53: Number.MAX_SAFE_INTEGER,
};

/** Returns what a column takes, if the value is something else. */
function findMismatch(column: Column, value: unknown): string | undefined {
  switch (getDataType(column)) {
    case "string":
      return findTextMismatch(column, value);
    case "number": {
      const limit = WHOLE_NUMBERS[column.columnType];
      if (limit === undefined) return Number.isFinite(value) ? undefined : "a number";
      const fits = Number.isInteger(value) && Math.abs(value as number) < limit;
      return fits ? undefined : `a whole number below ${limit}`;
    }
    case "boolean":
      return typeof value === "boolean" ? undefined : "a boolean";
    case "date":
      return value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : "a date";
    case "array":
      return Array.isArray(value) ? undefined : "a list";
    default:
      // JSON and types of the application
      return undefined;
  }
}

/** Column types whose values are texts in JavaScript, too. */
const TEXT_TYPES: readonly string[] = ["PgText", "PgVarchar", "PgChar", "PgUUID", "PgEnumColumn"];

function findTextMismatch(column: Column, value: unknown): string | undefined {
  if (!TEXT_TYPES.includes(column.columnType)) {
    // times and decimal numbers as texts
    return typeof value === "object" && !(value instanceof Date) ? "a text" : undefined;
  }
  if (typeof value !== "string") return "a text";
  if (value.includes("\0")) return "a text without NUL";
  const { enumValues, length } = column as Column & { length?: number };
  if (enumValues?.length && !enumValues.includes(value)) return `one of ${enumValues.join(", ")}`;
  if (length !== undefined && [...value].length > length) return `at most ${length} characters`;
  return undefined;
}
