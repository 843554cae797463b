import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { isTableConstraint } from "./table_constraint.ts";

/** Passes of ALTER TABLE, in PostgreSQL's order. */
const PASS = { drop: 0, type: 1, column: 2, attribute: 3, key: 4, constraint: 5, misc: 6 } as const;

function columnPass(reader: StatementReader, at: number): number {
  if (reader.is(at, "TYPE") || reader.is(at, "SET", "DATA")) return PASS.type;
  if (reader.is(at, "SET", "DEFAULT") || reader.is(at, "ADD")) return PASS.constraint;
  return reader.is(at, "DROP") ? PASS.drop : PASS.attribute;
}

function addPass(reader: StatementReader, at: number): number {
  if (!isTableConstraint(reader, at)) return PASS.column;
  const body = reader.is(at, "CONSTRAINT") ? reader.nameEnd(at + 1) : at;
  if (reader.is(body, "NOT")) return PASS.attribute;
  return reader.is(body, "UNIQUE") || reader.is(body, "PRIMARY") ? PASS.key : PASS.constraint;
}

/**
 * Returns the pass in which PostgreSQL runs an action of ALTER TABLE: drops come first, independent
 * of the written order (PostgreSQL 15, ATPrepCmd in tablecmds.c).
 *
 * @param reader The statement.
 * @param from Start of the action.
 */
export function alterPass(reader: StatementReader, from: number): number {
  switch (reader.key(from)) {
    case "DROP":
      return PASS.drop;
    case "ADD":
      return addPass(reader, from + 1);
    case "ALTER":
      if (reader.is(from + 1, "CONSTRAINT")) return PASS.misc;
      return columnPass(reader, readName(reader, reader.skip(from + 1, "COLUMN")).end);
    default:
      return PASS.misc;
  }
}

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
