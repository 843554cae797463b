import { type Column, getTableColumns, is, SQL, type Table } from "drizzle-orm";
import type { BetterAuthLibrary } from "../better_auth/load_better_auth.ts";

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * Returns a client that inserts and updates only values that fit their columns. better-auth passes
 * fields of requests on without a check of their types: an object would be stored as its text, and
 * `null` in a required column would be an error of the database. The request is answered with 400.
 *
 * @param db The client of better-auth's adapter.
 * @param APIError better-auth's error, which its routes pass on.
 * @returns A view of the client.
 */
export function checkRows<T extends object>(
  db: T,
  APIError: BetterAuthLibrary["APIError"],
): T {
  return new Proxy(db, {
    get(target, key): unknown {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      const method = value as AnyFunction;
      if (key === "transaction") {
        return (run: AnyFunction, ...options: unknown[]) =>
          method.call(target, (tx: unknown) => run(checkRows(tx as object, APIError)), ...options);
      }
      if (key !== "insert" && key !== "update") return value;
      return (table: Table) => checkBuilder(method.call(target, table) as object, table, APIError);
    },
  });
}

/** Checks the rows of `insert(table).values(rows)` and `update(table).set(row)`. */
function checkBuilder(
  builder: object,
  table: Table,
  APIError: BetterAuthLibrary["APIError"],
): object {
  return new Proxy(builder, {
    get(target, key): unknown {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (key === "values" || key === "set") {
          const rows = [args[0]].flat() as object[];
          const problem = key === "set" && isEmpty(rows[0])
            ? "[body] changes nothing"
            : rows.map((row) => findProblem(table, row)).find(Boolean);
          if (problem !== undefined) {
            throw new APIError("BAD_REQUEST", { message: problem, code: "VALIDATION_ERROR" });
          }
        }
        return (value as AnyFunction).apply(target, args);
      };
    },
  });
}

/** Checks for an update without values, which drizzle refuses with an error. */
function isEmpty(row: object): boolean {
  return Object.values(row).every((value) => value === undefined);
}

/** Describes the first value of a row that does not fit its column, without the value. */
function findProblem(table: Table, row: object): string | undefined {
  const columns = getTableColumns(table);
  for (const [name, value] of Object.entries(row)) {
    const column = columns[name];
    if (column === undefined || value === undefined || is(value, SQL)) continue;
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
  switch (column.dataType) {
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
