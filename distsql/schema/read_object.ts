import { readLiteral } from "../../sql/quote.ts";
import { getName, type QualifiedName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { DEFAULT_SCHEMA, type ObjectName } from "./declared_schema.ts";

/** Name of an object, as written in a statement. */
export type WrittenName = Pick<QualifiedName, "schema" | "name">;

/** Parses the name of a column or constraint at a position. */
export function readPart(reader: StatementReader, at: number): string {
  const token = reader.token(at);
  return token === undefined ? "" : getName(token);
}

/** Returns the catalog's name for a written one; unqualified names are in `public`. */
export function toObjectName(
  { schema, name }: WrittenName,
  fallback: string = DEFAULT_SCHEMA,
): ObjectName {
  return { schema: schema ?? fallback, name };
}

/** Parses the sequence in an expression such as `nextval('app.notes_id_seq'::regclass)`. */
export function readNextval(
  reader: StatementReader,
  from: number,
  to: number,
): QualifiedName | undefined {
  let at = from;
  while (reader.key(at) === "(") at++;
  if (reader.key(at) === "PG_CATALOG" && reader.key(at + 1) === ".") at += 2;
  if (reader.key(at) !== "NEXTVAL" || reader.key(at + 1) !== "(" || at + 2 >= to) return undefined;
  return readNameLiteral(reader, at + 2);
}

/** Parses the name inside a string literal: `'app."Notes_id_seq"'`. */
export function readNameLiteral(reader: StatementReader, at: number): QualifiedName | undefined {
  const literal = readLiteral(reader.token(at));
  if (literal === undefined) return undefined;
  const inner = parseStatement(literal);
  const name = readName(inner, 0);
  return name.end === inner.size && name.end > 0 ? name : undefined;
}

/** Returns the text of an expression that is a single string literal, with or without a cast. */
export function readLabel(expression: string | undefined): string | undefined {
  if (expression === undefined) return undefined;
  const reader = parseStatement(expression);
  const isPlain = reader.size === 1 || (reader.is(1, "::") && reader.nameEnd(2) === reader.size);
  if (isPlain) return readLiteral(reader.token(0));
  const isCast = reader.is(0, "CAST", "(") && reader.is(3, "AS") &&
    reader.nameEnd(4) + 1 === reader.size;
  return isCast ? readLiteral(reader.token(2)) : undefined;
}
