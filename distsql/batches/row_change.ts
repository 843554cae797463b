import { getName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { readWith } from "../../sql/with_clause.ts";

/** Range of a statement's tokens, `[from, to)`. */
export type TokenRange = readonly [from: number, to: number];

/** UPDATE or DELETE of one table, by its clauses. Texts are unchanged. */
export interface RowChange {
  /** Kind of change. */
  readonly verb: "update" | "delete";
  /** The statement. */
  readonly reader: StatementReader;
  /** Folded name of the table, with its schema if the statement has it. */
  readonly path: string;
  /** The table in a FROM list: its name with ONLY and alias. */
  readonly target: string;
  /** Name of the table in expressions of the statement. */
  readonly reference: string;
  /** Folded name of {@link RowChange.reference}. */
  readonly alias: string;
  /** The WITH clause. */
  readonly with: TokenRange;
  /** Assignments of an UPDATE. */
  readonly set: TokenRange;
  /** Clause after FROM in an UPDATE, and after USING in a DELETE. */
  readonly from: TokenRange;
  /** The condition. */
  readonly where: TokenRange;
  /** Clause after RETURNING. */
  readonly returning: TokenRange;
  /** Folded names of the columns that an UPDATE sets. */
  readonly columns: readonly string[];
}

/** Statement that changes rows and is not a single UPDATE or DELETE. */
export interface CompoundChange {
  /** Always `compound`. */
  readonly verb: "compound";
  /** The statement. */
  readonly reader: StatementReader;
  /** Reason why it is not a single UPDATE or DELETE. */
  readonly reason: "modifying-cte" | "cursor" | "unreadable";
  /** Tables of its UPDATEs and DELETEs, as far as they can be parsed. */
  readonly paths: readonly string[];
  /** Number of its INSERTs: each may add as many rows as the others change. */
  readonly inserts: number;
}

const EMPTY: TokenRange = [0, 0];
const CLAUSES: ReadonlySet<string> = new Set(["SET", "FROM", "USING", "WHERE", "RETURNING"]);
const MODIFYING: ReadonlySet<string> = new Set(["UPDATE", "DELETE", "INSERT", "MERGE"]);

/**
 * Parses a statement that updates or deletes rows.
 *
 * @param sql One statement.
 * @returns Its clauses, or `undefined` if it neither updates nor deletes.
 */
export function readRowChange(sql: string): RowChange | CompoundChange | undefined {
  const reader = parseStatement(sql);
  if (!reader.is(0, "WITH") && !reader.is(0, "UPDATE") && !reader.is(0, "DELETE")) return undefined;
  const paths = findChangedPaths(reader);
  const start = reader.is(0, "WITH") ? readWith(reader, 0).end : 0;
  if (start === undefined) return compound(reader, "unreadable", paths);
  const isChange = reader.is(start, "UPDATE") || reader.is(start, "DELETE");
  if (hasModifyingCte(reader, start)) {
    return paths.length > 0 ? compound(reader, "modifying-cte", paths) : undefined;
  }
  if (!isChange) return undefined;
  const clauses = readClauses(reader, start);
  if (clauses === undefined) return compound(reader, "unreadable", paths);
  const [whereFrom] = clauses.where;
  if (reader.is(whereFrom, "CURRENT", "OF")) return compound(reader, "cursor", paths);
  return clauses;
}

function compound(
  reader: StatementReader,
  reason: CompoundChange["reason"],
  paths: readonly string[],
): CompoundChange {
  let inserts = 0;
  for (let at = 0; at < reader.size; at++) if (reader.is(at, "INSERT", "INTO")) inserts++;
  return { verb: "compound", reader, reason, paths, inserts };
}

/** Checks whether an item of the WITH clause changes rows. */
function hasModifyingCte(reader: StatementReader, end: number): boolean {
  for (let at = 0; at < end; at++) {
    if (reader.is(at, "(") && reader.isOneOf(at + 1, MODIFYING)) return true;
    if (reader.is(at, "(", "WITH") && reader.find(MODIFYING, at + 1, reader.closing(at)) >= 0) {
      return true;
    }
  }
  return false;
}

/**
 * Finds the tables of every UPDATE and DELETE at the start of the statement, of a bracket, or after
 * a WITH clause.
 */
function findChangedPaths(reader: StatementReader): string[] {
  const paths: string[] = [];
  for (let at = 0; at < reader.size; at++) {
    const isStart = at === 0 || reader.is(at - 1, "(") || reader.is(at - 1, ")");
    if (!isStart) continue;
    const name = Math.max(reader.skip(at, "UPDATE"), reader.skip(at, "DELETE", "FROM"));
    if (name > at) paths.push(readName(reader, reader.skip(name, "ONLY")).path);
  }
  return paths.filter((path) => path !== "");
}

function readClauses(reader: StatementReader, start: number): RowChange | undefined {
  const isUpdate = reader.is(start, "UPDATE");
  if (!isUpdate && !reader.is(start, "DELETE", "FROM")) return undefined;
  const from = start + (isUpdate ? 1 : 2);
  const name = readName(reader, reader.skip(from, "ONLY"));
  if (name.name === "") return undefined;
  const targetEnd = reader.findEnd(CLAUSES, name.end);
  const alias = readAlias(reader, name.end, targetEnd);
  if (alias === undefined) return undefined;
  const ranges = readRanges(
    reader,
    targetEnd,
    isUpdate ? ["SET", "FROM", "WHERE", "RETURNING"] : [
      "USING",
      "WHERE",
      "RETURNING",
    ],
  );
  if (ranges === undefined || (isUpdate && ranges.SET === undefined)) return undefined;
  const set = ranges.SET ?? EMPTY;
  const aliasToken = alias < 0 ? name.end - 1 : alias;
  return {
    verb: isUpdate ? "update" : "delete",
    reader,
    path: name.path,
    target: reader.text(from, targetEnd),
    reference: reader.text(aliasToken, aliasToken + 1),
    alias: getName(reader.token(aliasToken)!),
    with: [0, start],
    set,
    from: ranges.FROM ?? ranges.USING ?? EMPTY,
    where: ranges.WHERE ?? EMPTY,
    returning: ranges.RETURNING ?? EMPTY,
    columns: readColumns(reader, set),
  };
}

/** Returns the position of the alias, -1 if there is none, or `undefined` for any other token. */
function readAlias(reader: StatementReader, from: number, to: number): number | undefined {
  const start = reader.skip(from, "*");
  if (start === to) return -1;
  const at = reader.skip(start, "AS");
  return at + 1 === to && reader.isName(at) ? at : undefined;
}

/** Parses clauses in a fixed order, each at most once. */
function readRanges(
  reader: StatementReader,
  start: number,
  order: readonly string[],
): Partial<Record<string, TokenRange>> | undefined {
  const ranges: Partial<Record<string, TokenRange>> = {};
  let place = -1;
  for (let at = start; at < reader.size;) {
    const next = order.indexOf(reader.key(at), place + 1);
    if (next < 0) return undefined;
    place = next;
    const words = new Set(order.slice(place + 1));
    let end = reader.find(words, at + 1);
    // IS DISTINCT FROM is an operator
    while (end >= 0 && reader.is(end - 1, "DISTINCT", "FROM")) end = reader.find(words, end + 1);
    if (end < 0) end = reader.size;
    if (end === at + 1) return undefined;
    ranges[order[place]] = [at + 1, end];
    at = end;
  }
  return ranges;
}

/** Returns the columns before the equals signs: `a = 1, (b, c) = (2, 3), d[1] = 4`. */
function readColumns(reader: StatementReader, [from, to]: TokenRange): string[] {
  const columns: string[] = [];
  for (const [start] of reader.list(from, to)) {
    const isGroup = reader.is(start, "(");
    const names = isGroup ? reader.listIn(start).map(([at]) => at) : [start];
    for (const at of names) if (reader.isName(at)) columns.push(getName(reader.token(at)!));
  }
  return columns;
}

/** Returns the text of a range. */
export function getText({ reader }: RowChange, [from, to]: TokenRange): string {
  return reader.text(from, to);
}

/**
 * Finds the column that an UPDATE fills: `UPDATE t SET c = … WHERE c IS NULL`. Such an update never
 * matches a row twice.
 *
 * @returns The column as written, or `undefined` for another form of statement.
 */
export function filledColumn(change: RowChange): string | undefined {
  const { reader, verb, columns, where: [from, to], set } = change;
  if (
    verb !== "update" || columns.length !== 1 || reader.list(...set).length !== 1 ||
    reader.is(set[0], "(")
  ) {
    return undefined;
  }
  const name = readName(reader, from);
  const isFill = name.name === columns[0] && name.path === name.name && name.end + 2 === to &&
    reader.is(name.end, "IS", "NULL");
  return isFill ? name.text : undefined;
}
