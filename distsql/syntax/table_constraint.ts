import { keywordSet } from "../../sql/list_words.ts";
import { type QualifiedName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { referencesEnd } from "./column_definition.ts";

/** Kind of a table constraint. */
export type TableConstraintKind =
  | "check"
  | "foreign_key"
  | "unique"
  | "primary_key"
  | "exclude"
  | "not_null"
  | "unknown";

/** Constraint of CREATE TABLE or ADD, by positions in the statement. */
export interface TableConstraint {
  /** Kind of constraint. */
  readonly kind: TableConstraintKind;
  /** Start, including CONSTRAINT. */
  readonly from: number;
  /** Position of its keyword. */
  readonly bodyFrom: number;
  /** Start of its attributes (DEFERRABLE, NOT VALID and similar). */
  readonly bodyTo: number;
  /** End of the constraint. */
  readonly to: number;
  /** Name after CONSTRAINT. */
  readonly name?: QualifiedName;
  /** Columns of a key; empty for CHECK. */
  readonly columns: readonly QualifiedName[];
  /** True for USING INDEX. */
  readonly usesIndex: boolean;
}

const ATTRIBUTE_STARTS: ReadonlySet<string> = keywordSet("NOT DEFERRABLE INITIALLY ENFORCED NO");
const KINDS: Readonly<Record<string, TableConstraintKind>> = {
  CHECK: "check",
  FOREIGN: "foreign_key",
  UNIQUE: "unique",
  PRIMARY: "primary_key",
  EXCLUDE: "exclude",
  NOT: "not_null",
};

/** Checks whether an element of CREATE TABLE or ADD is a constraint, not a column. */
export function isTableConstraint(reader: StatementReader, at: number): boolean {
  switch (reader.key(at)) {
    case "CONSTRAINT":
    case "CHECK":
    case "FOREIGN":
    case "UNIQUE":
    case "PRIMARY":
      return true;
    case "NOT":
      return reader.is(at + 1, "NULL");
    case "EXCLUDE":
      return reader.is(at + 1, "USING") || reader.is(at + 1, "(");
    default:
      return false;
  }
}

/**
 * Parses a table constraint.
 *
 * @param reader The statement.
 * @param from Start of the constraint.
 * @param to End of the constraint.
 * @returns Its kind, name, columns and parts.
 */
export function readTableConstraint(
  reader: StatementReader,
  from: number,
  to: number,
): TableConstraint {
  const name = reader.key(from) === "CONSTRAINT" ? readName(reader, from + 1) : undefined;
  const bodyFrom = name?.end ?? from;
  const kind = KINDS[reader.key(bodyFrom)] ?? "unknown";
  const open = reader.find("(", bodyFrom, to);
  const usesIndex = reader.is(bodyFrom + (kind === "primary_key" ? 2 : 1), "USING", "INDEX");
  const columns: QualifiedName[] = [];
  if (kind === "not_null") columns.push(readName(reader, bodyFrom + 2));
  else if (open >= 0 && !usesIndex && kind !== "check" && kind !== "exclude") {
    for (const [start] of reader.listIn(open)) {
      columns.push(readName(reader, start));
    }
  }
  let bodyTo = open >= 0 && !usesIndex ? reader.next(open) : bodyFrom + 1;
  if (kind === "foreign_key" && reader.key(bodyTo) === "REFERENCES") {
    bodyTo = referencesEnd(reader, bodyTo);
  } else if (kind === "not_null") bodyTo = columns[0].end;
  else if (usesIndex) bodyTo = reader.nameEnd(reader.find("INDEX", bodyFrom, to) + 1);
  while (bodyTo < to && !reader.isOneOf(bodyTo, ATTRIBUTE_STARTS)) bodyTo = reader.next(bodyTo);
  return { kind, from, bodyFrom, bodyTo: Math.min(bodyTo, to), to, name, columns, usesIndex };
}

/** Checks whether a constraint is NOT VALID. */
export function isNotValid(reader: StatementReader, constraint: TableConstraint): boolean {
  for (let at = constraint.bodyTo; at < constraint.to; at++) {
    if (reader.is(at, "NOT", "VALID")) return true;
  }
  return false;
}
