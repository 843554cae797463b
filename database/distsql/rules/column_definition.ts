import { type QualifiedName, readName } from "../sql_name.ts";
import type { StatementReader } from "../statement_reader.ts";

/** What a clause of a column says. */
export type ColumnClauseKind =
  | "not_null"
  | "null"
  | "default"
  | "check"
  | "unique"
  | "primary_key"
  | "references"
  | "generated"
  | "identity"
  | "storage"
  | "compression"
  | "attribute"
  | "not_enforced"
  | "unknown";

/** One clause of a column, at positions of the statement. */
export interface ColumnClause {
  /** What it says. */
  readonly kind: ColumnClauseKind;
  /** Where it starts, its CONSTRAINT name included. */
  readonly from: number;
  /** Where its keyword is. */
  readonly bodyFrom: number;
  /** Where it ends. */
  readonly to: number;
  /** The name that CONSTRAINT gives it. */
  readonly name?: QualifiedName;
}

/** A column as CREATE TABLE and ADD COLUMN have it. */
export interface ColumnDefinition {
  /** The column's name. */
  readonly name: QualifiedName;
  /** Where its type starts. */
  readonly typeFrom: number;
  /** Where its type ends. */
  readonly typeTo: number;
  /** Its clauses, in their order. */
  readonly clauses: readonly ColumnClause[];
}

const CLAUSE_STARTS: ReadonlySet<string> = new Set([
  ...[
    "CONSTRAINT",
    "NOT",
    "NULL",
    "CHECK",
    "DEFAULT",
    "GENERATED",
    "UNIQUE",
    "PRIMARY",
    "REFERENCES",
    "COLLATE",
  ],
  ...["STORAGE", "COMPRESSION", "DEFERRABLE", "INITIALLY", "ENFORCED"],
]);

/** Whether the token before a position waits for an operand, so that what follows starts no clause. */
function awaitsOperand(reader: StatementReader, at: number): boolean {
  const previous = reader.token(at - 1);
  if (reader.is(at - 1, "IS") || reader.is(at - 2, "IS", "NOT")) return true;
  return previous?.kind === "symbol" && previous.text !== ")" && previous.text !== "]";
}

/** Where the expression of a DEFAULT ends; NULL and NOT may be part of it (CASE, IS NOT DISTINCT FROM). */
function defaultEnd(reader: StatementReader, from: number, to: number): number {
  let cases = 0;
  let at = from;
  do {
    if (reader.key(at) === "CASE") cases++;
    else if (reader.key(at) === "END") cases--;
    at = reader.next(at);
  } while (
    at < to && (cases > 0 || awaitsOperand(reader, at) || !reader.isOneOf(at, CLAUSE_STARTS))
  );
  return Math.min(at, to);
}

/** Where the storage clauses of a UNIQUE or a PRIMARY KEY end. */
function keyEnd(reader: StatementReader, at: number): number {
  at = reader.skip(at, "NULLS", "NOT", "DISTINCT");
  at = reader.skip(at, "NULLS", "DISTINCT");
  if (reader.is(at, "WITH", "(")) at = reader.next(at + 1);
  if (reader.is(at, "USING", "INDEX", "TABLESPACE")) at = reader.nameEnd(at + 3);
  return at;
}

/** Where a REFERENCES clause ends. */
export function referencesEnd(reader: StatementReader, at: number): number {
  at = reader.nameEnd(at + 1);
  if (reader.key(at) === "(") at = reader.next(at);
  if (reader.key(at) === "MATCH") at += 2;
  while (reader.is(at, "ON", "DELETE") || reader.is(at, "ON", "UPDATE")) {
    at += reader.is(at + 2, "NO", "ACTION") || reader.key(at + 2) === "SET" ? 4 : 3;
    if (reader.key(at) === "(") at = reader.next(at);
  }
  return at;
}

function clauseEnd(reader: StatementReader, at: number, to: number): [ColumnClauseKind, number] {
  switch (reader.key(at)) {
    case "NOT":
      if (reader.is(at + 1, "NULL")) return ["not_null", reader.skip(at + 2, "NO", "INHERIT")];
      return [reader.is(at + 1, "ENFORCED") ? "not_enforced" : "attribute", at + 2];
    case "NULL":
      return ["null", at + 1];
    case "DEFAULT":
      return ["default", defaultEnd(reader, at + 1, to)];
    case "CHECK":
      return ["check", reader.skip(reader.next(at + 1), "NO", "INHERIT")];
    case "UNIQUE":
      return ["unique", keyEnd(reader, at + 1)];
    case "PRIMARY":
      return ["primary_key", keyEnd(reader, at + 2)];
    case "REFERENCES":
      return ["references", referencesEnd(reader, at)];
    case "STORAGE":
      return ["storage", at + 2];
    case "COMPRESSION":
      return ["compression", at + 2];
    case "DEFERRABLE":
    case "ENFORCED":
      return ["attribute", at + 1];
    case "INITIALLY":
      return ["attribute", at + 2];
    case "GENERATED": {
      const as = at + (reader.is(at + 1, "BY", "DEFAULT") ? 3 : 2);
      const isIdentity = reader.is(as, "AS", "IDENTITY");
      if (!isIdentity) {
        const end = reader.next(as + 1);
        return ["generated", reader.is(end, "STORED") || reader.is(end, "VIRTUAL") ? end + 1 : end];
      }
      return ["identity", reader.key(as + 2) === "(" ? reader.next(as + 2) : as + 2];
    }
    default:
      return ["unknown", reader.next(at)];
  }
}

/**
 * Reads a column of CREATE TABLE or ADD COLUMN.
 *
 * @param reader The statement.
 * @param from Where the column's name is.
 * @param to Where the definition ends.
 * @returns Its name, type and clauses.
 */
export function readColumn(reader: StatementReader, from: number, to: number): ColumnDefinition {
  const name = readName(reader, from);
  let at = name.end;
  while (at < to && !reader.isOneOf(at, CLAUSE_STARTS)) at = reader.next(at);
  const typeTo = Math.min(at, to);
  const clauses: ColumnClause[] = [];
  for (at = typeTo; at < to;) {
    const constraint = reader.key(at) === "CONSTRAINT" ? readName(reader, at + 1) : undefined;
    const bodyFrom = constraint?.end ?? at;
    const [kind, end] = clauseEnd(reader, bodyFrom, to);
    clauses.push({
      kind,
      from: at,
      bodyFrom,
      to: Math.min(Math.max(end, bodyFrom + 1), to),
      name: constraint,
    });
    at = Math.max(end, bodyFrom + 1);
  }
  return { name, typeFrom: name.end, typeTo, clauses };
}
