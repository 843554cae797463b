import { deriveName, truncateName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { readPart } from "./read_object.ts";
import { keywordSet } from "../../sql/list_words.ts";

/**
 * Returns the part of the name for an index key: its column, its function, or `expr` (PostgreSQL
 * 15, FigureIndexColname).
 */
function nameKey(reader: StatementReader, from: number): string {
  if (reader.key(from) === "(") {
    return nameExpression(reader, from + 1, reader.closing(from)) ?? "expr";
  }
  const end = reader.nameEnd(from);
  if (reader.key(end) === "(") return nameExpression(reader, from, reader.next(end)) ?? "expr";
  return readPart(reader, end - 1);
}

/** Expressions that are named by their keyword. */
const KEYWORDS: ReadonlySet<string> = keywordSet("COALESCE GREATEST LEAST NULLIF CASE ARRAY ROW");

/**
 * Returns the name of an expression that is a single column, call, cast or CASE; others have none.
 */
function nameExpression(reader: StatementReader, from: number, to: number): string | undefined {
  if (reader.key(from) === "(" && reader.next(from) === to) {
    return nameExpression(reader, from + 1, to - 1);
  }
  const cast = lastCast(reader, from, to);
  if (cast > from) {
    const inner = nameExpression(reader, from, cast);
    return inner ?? readPart(reader, reader.nameEnd(cast + 1) - 1);
  }
  if (reader.isOneOf(from, KEYWORDS)) {
    return isWhole(reader, from, to) ? reader.key(from).toLowerCase() : undefined;
  }
  const end = reader.nameEnd(from);
  if (end === from) return undefined;
  if (end === to) return readPart(reader, end - 1);
  return reader.key(end) === "(" && reader.next(end) === to ? readPart(reader, end - 1) : undefined;
}

function isWhole(reader: StatementReader, from: number, to: number): boolean {
  return reader.key(from) === "CASE" ? reader.key(to - 1) === "END" : reader.next(from + 1) === to;
}

/** Returns the position of the last applied `::` if the whole expression is a cast; else -1. */
function lastCast(reader: StatementReader, from: number, to: number): number {
  let cast = -1;
  for (let at = from; at < to; at = reader.next(at)) {
    if (reader.key(at) === "::") cast = at;
    else if (
      reader.token(at)?.kind === "symbol" && !["(", ")", "[", "]", "."].includes(reader.key(at))
    ) return -1;
  }
  return cast;
}

/**
 * Returns the parts for the keys in the generated name of an index: `a`, `lower`, `expr`, with a
 * number for repeated ones (PostgreSQL 15, ChooseIndexColumnNames).
 *
 * @param reader The statement.
 * @param keys Keys and columns of INCLUDE, as ranges.
 */
export function nameKeys(
  reader: StatementReader,
  keys: readonly (readonly [number, number])[],
): string[] {
  const names: string[] = [];
  for (const [from] of keys) {
    const first = nameKey(reader, from);
    let name = first;
    for (let count = 1; names.includes(name); count++) name = appendNumber(first, count);
    names.push(name);
  }
  return names;
}

function appendNumber(name: string, count: number): string {
  const digits = String(count);
  return truncateName(`${name}${digits}`) === `${name}${digits}`
    ? `${name}${digits}`
    : deriveName(name, "", digits);
}
