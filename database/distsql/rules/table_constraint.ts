import { type QualifiedName, readName } from "../sql_name.ts";
import type { StatementReader } from "../statement_reader.ts";
import type { TokenEdits } from "../token_edits.ts";
import type { StatementTranslation } from "../translation.ts";
import { referencesEnd } from "./column_definition.ts";

/** What a constraint of a table says. */
export type TableConstraintKind =
  | "check"
  | "foreign_key"
  | "unique"
  | "primary_key"
  | "exclude"
  | "not_null"
  | "unknown";

/** A constraint as CREATE TABLE and ADD have it, at positions of the statement. */
export interface TableConstraint {
  /** What it says. */
  readonly kind: TableConstraintKind;
  /** Where it starts, CONSTRAINT included. */
  readonly from: number;
  /** Where its keyword is. */
  readonly bodyFrom: number;
  /** Where its attributes start (DEFERRABLE, NOT VALID and the like). */
  readonly bodyTo: number;
  /** Where it ends. */
  readonly to: number;
  /** The name that CONSTRAINT gives it. */
  readonly name?: QualifiedName;
  /** The names in its own parentheses: columns of a key; empty for CHECK. */
  readonly columns: readonly QualifiedName[];
  /** Whether it takes over an index (USING INDEX). */
  readonly usesIndex: boolean;
}

const MAX_KEY_COLUMNS = 8;
const ATTRIBUTE_STARTS: ReadonlySet<string> = new Set([
  "NOT",
  "DEFERRABLE",
  "INITIALLY",
  "ENFORCED",
  "NO",
]);
const KINDS: Readonly<Record<string, TableConstraintKind>> = {
  CHECK: "check",
  FOREIGN: "foreign_key",
  UNIQUE: "unique",
  PRIMARY: "primary_key",
  EXCLUDE: "exclude",
  NOT: "not_null",
};

/** Whether an element of CREATE TABLE, or what follows ADD, is a constraint and no column. */
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
 * Reads a constraint of a table.
 *
 * @param reader The statement.
 * @param from Where it starts.
 * @param to Where it ends.
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
  const open = reader.find(new Set(["("]), bodyFrom, to);
  const usesIndex = reader.is(bodyFrom + (kind === "primary_key" ? 2 : 1), "USING", "INDEX");
  const columns: QualifiedName[] = [];
  if (kind === "not_null") columns.push(readName(reader, bodyFrom + 2));
  else if (open >= 0 && !usesIndex && kind !== "check" && kind !== "exclude") {
    for (const [start] of reader.list(open + 1, reader.closing(open))) {
      columns.push(readName(reader, start));
    }
  }
  let bodyTo = open >= 0 && !usesIndex ? reader.next(open) : bodyFrom + 1;
  if (kind === "foreign_key" && reader.key(bodyTo) === "REFERENCES") {
    bodyTo = referencesEnd(reader, bodyTo);
  } else if (kind === "not_null") bodyTo = columns[0].end;
  else if (usesIndex) bodyTo = reader.nameEnd(reader.find(new Set(["INDEX"]), bodyFrom, to) + 1);
  while (bodyTo < to && !reader.isOneOf(bodyTo, ATTRIBUTE_STARTS)) bodyTo = reader.next(bodyTo);
  return { kind, from, bodyFrom, bodyTo: Math.min(bodyTo, to), to, name, columns, usesIndex };
}

/** Whether a constraint says NOT VALID. */
export function isNotValid(reader: StatementReader, constraint: TableConstraint): boolean {
  for (let at = constraint.bodyTo; at < constraint.to; at++) {
    if (reader.is(at, "NOT", "VALID")) return true;
  }
  return false;
}

/**
 * Takes out what the provider refuses of a constraint: DEFERRABLE but on foreign keys, storage; refuses what has no
 * counterpart.
 */
export function cleanConstraint(
  reader: StatementReader,
  constraint: TableConstraint,
  edits: TokenEdits,
  t: StatementTranslation,
): void {
  const { kind, bodyFrom, bodyTo, to, columns } = constraint;
  if (kind === "exclude") t.refuse("constraint-exclude", "EXCLUDE");
  cleanAttributes(reader, bodyTo, to, kind === "foreign_key", edits, t);
  if (kind !== "unique" && kind !== "primary_key") return;
  if (columns.length > MAX_KEY_COLUMNS) {
    t.refuse("index-key-columns", `a key of ${columns.length} columns`);
  }
  for (let at = bodyFrom; at < to; at = reader.next(at)) {
    const isWith = reader.is(at, "WITH", "(");
    const end = isWith
      ? reader.next(at + 1)
      : reader.is(at, "USING", "INDEX", "TABLESPACE")
      ? reader.nameEnd(at + 3)
      : at;
    if (end > at) {
      edits.remove(at, end);
      t.apply("constraint-storage");
    }
  }
  const open = reader.find(new Set(["("]), bodyFrom, to);
  if (open >= 0 && reader.is(reader.closing(open) - 2, "WITHOUT", "OVERLAPS")) {
    t.refuse("constraint-exclude", "WITHOUT OVERLAPS");
  }
}

/** Takes out DEFERRABLE, INITIALLY and ENFORCED where they are refused or say what holds anyway. */
export function cleanAttributes(
  reader: StatementReader,
  from: number,
  to: number,
  isForeignKey: boolean,
  edits: TokenEdits,
  t: StatementTranslation,
): void {
  for (let at = from; at < to; at++) {
    if (reader.is(at, "NOT", "ENFORCED")) t.refuse("constraint-not-enforced", "NOT ENFORCED");
    else if (reader.is(at, "ENFORCED") && !reader.is(at - 1, "NOT")) {
      t.apply("newer-syntax");
      edits.remove(at, at + 1);
    }
    if (isForeignKey) continue;
    const isNot = reader.is(at, "NOT", "DEFERRABLE");
    const isInitially = reader.is(at, "INITIALLY");
    if (isNot || isInitially) {
      edits.remove(at, at + 2);
      if (reader.is(at + 1, "DEFERRED")) t.warn("constraint-deferrable");
      else t.apply("constraint-deferrable");
      at++;
    } else if (reader.is(at, "DEFERRABLE")) {
      edits.remove(at, at + 1);
      t.warn("constraint-deferrable");
    }
  }
}
