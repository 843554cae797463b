import type { StatementReader } from "../../sql/statement_reader.ts";

/**
 * Returns the position of the new type in `ALTER COLUMN name [SET DATA] TYPE type`; -1 for another
 * action.
 *
 * @param reader The statement.
 * @param at Position after the column's name.
 */
export function findTypeChange(reader: StatementReader, at: number): number {
  if (reader.is(at, "TYPE")) return at + 1;
  return reader.is(at, "SET", "DATA", "TYPE") ? at + 3 : -1;
}
