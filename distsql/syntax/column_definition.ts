import { type QualifiedName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { keywordSet } from "../../sql/list_words.ts";

/** Kind of a column clause. */
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

/** Clause of a column, by positions in the statement. */
export interface ColumnClause {
  /** Kind of clause. */
  readonly kind: ColumnClauseKind;
  /** Start, including CONSTRAINT and its name. */
  readonly from: number;
  /** Position of its keyword. */
  readonly bodyFrom: number;
  /** End of the clause. */
  readonly to: number;
  /** Name after CONSTRAINT. */
  readonly name?: QualifiedName;
}

/** Column of CREATE TABLE or ADD COLUMN. */
export interface ColumnDefinition {
  /** Name of the column. */
  readonly name: QualifiedName;
  /** Start of its type. */
  readonly typeFrom: number;
  /** End of its type. */
  readonly typeTo: number;
  /** Clauses, in order. */
  readonly clauses: readonly ColumnClause[];
}

/** Types of columns that are numbered by a sequence. */
export const SERIAL: ReadonlySet<string> = keywordSet(
  "serial serial2 serial4 serial8 smallserial bigserial",
);

const CLAUSE_STARTS: ReadonlySet<string> = keywordSet(`
  CONSTRAINT NOT NULL CHECK DEFAULT GENERATED UNIQUE PRIMARY REFERENCES COLLATE
  STORAGE COMPRESSION DEFERRABLE INITIALLY ENFORCED
`);

/**
 * Checks whether the token before a position requires an operand, so that the next token starts no
 * clause.
 */
function awaitsOperand(reader: StatementReader, at: number): boolean {
  const previous = reader.token(at - 1);
  if (reader.is(at - 1, "IS") || reader.is(at - 2, "IS", "NOT")) return true;
  return previous?.kind === "symbol" && previous.text !== ")" && previous.text !== "]";
}

/**
 * Returns the end of a DEFAULT expression, which may contain NULL and NOT (CASE, IS NOT DISTINCT
 * FROM).
 */
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

/** Returns the end of the storage clauses of a UNIQUE or PRIMARY KEY. */
function keyEnd(reader: StatementReader, at: number): number {
  at = reader.skip(at, "NULLS", "NOT", "DISTINCT");
  at = reader.skip(at, "NULLS", "DISTINCT");
  if (reader.is(at, "WITH", "(")) at = reader.next(at + 1);
  if (reader.is(at, "USING", "INDEX", "TABLESPACE")) at = reader.nameEnd(at + 3);
  return at;
}

/** Returns the end of a REFERENCES clause. */
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
 * Parses a column of CREATE TABLE or ADD COLUMN.
 *
 * @param reader The statement.
 * @param from Position of the column's name.
 * @param to End of the definition.
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
