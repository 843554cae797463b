import type { ServerContext } from "./server_context.ts";
import { SqlError } from "./sql_error.ts";
import type { Statement } from "./syntax/statements.ts";
import { child, findNodes, getText } from "./syntax/syntax_tree.ts";

/** Types with values over 1 MiB, which cannot be stored (LIM 2026-10), by OID. */
const LONG_TYPES = new Map([[25, "text"], [1043, "character varying"], [3802, "jsonb"], [
  114,
  "json",
], [17, "bytea"]]);
/** Maximum size of a value. */
const MAX_VALUE_BYTES = 1_048_576;

function longValueError(type: string): SqlError {
  return new SqlError(
    "0A000",
    `datatype limit greater than ${MAX_VALUE_BYTES} bytes not supported for ${type}`,
  );
}

/**
 * Checks the size of the literals of a statement that writes.
 *
 * @throws {SqlError} If one is too long.
 */
export function checkLiterals(statement: Statement): void {
  if (statement.kind !== "write" || statement.sql.length <= MAX_VALUE_BYTES) return;
  const isLong = findNodes(statement.node, "A_Const").some((constant) =>
    new TextEncoder().encode(getText(child(constant, "sval"), "sval")).length > MAX_VALUE_BYTES
  );
  if (isLong) throw longValueError("text");
}

/** Checks whether any bound value may be too long for its type. */
export function hasLongValue(values: readonly (Uint8Array | null)[]): boolean {
  return values.some((value) => value && value.length > MAX_VALUE_BYTES);
}

/**
 * Checks the size of the bound values of a statement that writes.
 *
 * @param values The values.
 * @param types OIDs of their types.
 * @throws {SqlError} If one is too long.
 */
export function checkValues(
  values: readonly (Uint8Array | null)[],
  types: readonly number[],
): void {
  values.forEach((value, index) => {
    const type = LONG_TYPES.get(types[index]);
    if (value && value.length > MAX_VALUE_BYTES && type) throw longValueError(type);
  });
}

/**
 * Checks whether the database behind the server can read data of the client.
 *
 * @throws {SqlError} If it cannot.
 */
export function checkCopy(statement: Statement, { isConcurrent }: ServerContext): void {
  if (statement.type === "CopyStmt" && statement.node.is_from && !isConcurrent) {
    throw new SqlError("0A000", "COPY FROM STDIN needs a real PostgreSQL behind the stand-in");
  }
}
