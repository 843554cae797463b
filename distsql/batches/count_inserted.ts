import { getName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { readWith } from "../../sql/with_clause.ts";
import { MAX_ROWS } from "./row_limit.ts";
import { listWords } from "../../sql/list_words.ts";

/**
 * Returns the maximum number of rows of a relation when the statement runs; `undefined` if unknown.
 */
export type CountRelation = (path: string) => number | undefined;

const QUERY: ReadonlySet<string> = new Set(["SELECT", "WITH", "TABLE", "("]);

/** Words of queries that can return more rows than their tables have. */
const NOT_COUNTED: ReadonlySet<string> = new Set(listWords(`
  UNION FULL RIGHT LATERAL VALUES WITH CUBE ROLLUP SETS GENERATE_SERIES
  GENERATE_SUBSCRIPTS UNNEST JSON_ARRAY_ELEMENTS JSONB_ARRAY_ELEMENTS STRING_TO_TABLE
  REGEXP_SPLIT_TO_TABLE REGEXP_MATCHES JSON_EACH JSONB_EACH
`));

/**
 * Returns the maximum number of rows that an INSERT adds: the rows of VALUES, or those of a query
 * over tables with a known number of rows. No statement can add more than the limit.
 *
 * @param reader The statement, which may begin with WITH.
 * @param insert Position of INSERT.
 * @param count Counts the rows of a table.
 */
export function countInserted(
  reader: StatementReader,
  insert: number,
  count: CountRelation,
): number {
  const known = insert === 0 ? count : countWith(reader, insert, count);
  if (known === undefined) return MAX_ROWS;
  let at = readName(reader, insert + 2).end;
  if (reader.is(at, "AS")) at += 2;
  if (reader.is(at, "(") && !reader.isOneOf(at + 1, QUERY)) at = reader.next(at);
  if (reader.is(at, "OVERRIDING")) at += 3;
  if (reader.is(at, "DEFAULT", "VALUES")) return 1;
  const rows = reader.is(at, "VALUES")
    ? countValues(reader, at + 1)
    : countQuery(reader, at, reader.size, known);
  return Math.min(rows, MAX_ROWS);
}

/**
 * Counts the rows of WITH queries before an INSERT, which may read them; `undefined` if one is not
 * a plain query.
 */
function countWith(
  reader: StatementReader,
  insert: number,
  count: CountRelation,
): CountRelation | undefined {
  if (!reader.is(0, "WITH") || reader.is(1, "RECURSIVE")) return undefined;
  const queries = new Map<string, number>();
  const known: CountRelation = (path) => queries.get(path) ?? count(path);
  const { items, end } = readWith(reader, 0);
  if (end !== insert) return undefined;
  for (const { name, open } of items) {
    if (!reader.is(open + 1, "SELECT")) return undefined;
    const rows = countQuery(reader, open + 1, reader.closing(open), known);
    queries.set(getName(reader.token(name)!), rows);
  }
  return known;
}

/**
 * Returns the maximum number of rows of a query: all of its tables, including those of subqueries,
 * are assumed to be joined.
 */
function countQuery(
  reader: StatementReader,
  from: number,
  to: number,
  count: CountRelation,
): number {
  if (isEmpty(reader, from, to, count)) return 0;
  let rows: number | undefined;
  for (let at = from; at < to; at++) {
    if (reader.isOneOf(at, NOT_COUNTED)) return MAX_ROWS;
    if (!reader.is(at, "FROM") && !reader.is(at, "JOIN")) continue;
    const isQuery = reader.is(at + 1, "(", "SELECT");
    const { path, end } = readName(reader, at + 1);
    const relation = isQuery ? 1 : count(path);
    if (relation === undefined || hasComma(reader, isQuery ? reader.next(at + 1) : end)) {
      return MAX_ROWS;
    }
    // a query over no rows may still return one: max(), or an outer join
    rows = Math.min((rows ?? 1) * Math.max(1, relation), MAX_ROWS);
  }
  return rows ?? MAX_ROWS;
}

/** Checks whether a query selects plain columns from a table without rows. */
function isEmpty(reader: StatementReader, from: number, to: number, count: CountRelation): boolean {
  const at = reader.find("FROM", from, to);
  if (at < 0 || !reader.is(from, "SELECT") || count(readName(reader, at + 1).path) !== 0) {
    return false;
  }
  for (let i = from; i < to; i++) {
    if (reader.isOneOf(i, NOT_COUNTED) || (i < at && reader.is(i, "("))) return false;
  }
  return true;
}

/** Checks for a second table in the FROM list, with or without an alias of the first. */
function hasComma(reader: StatementReader, end: number): boolean {
  const at = reader.skip(end, "AS");
  return reader.is(at, ",") || (reader.isName(at) && reader.is(at + 1, ","));
}

function countValues(reader: StatementReader, start: number): number {
  let rows = 0;
  for (let at = start; reader.is(at, "("); at = reader.skip(reader.next(at), ",")) rows++;
  return rows;
}
