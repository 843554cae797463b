import type { WrittenName } from "../schema/read_object.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";

/** Range of a statement's tokens, `[from, to)`. */
export type TokenRange = readonly [from: number, to: number];

/** UPDATE or DELETE of one table, by its clauses. Texts are unchanged. */
export interface RowChange {
  /** Kind of change. */
  readonly verb: "update" | "delete";
  /** The statement. */
  readonly reader: StatementReader;
  /** The table, as named in the statement. */
  readonly table: WrittenName;
  /** The table in a FROM list: its name with ONLY and alias. */
  readonly target: string;
  /** Name of the table in expressions of the statement, as written. */
  readonly reference: string;
  /** Folded name of {@link RowChange.reference}. */
  readonly alias: string;
  /** Assignments of an UPDATE. */
  readonly set: TokenRange;
  /** Clause after FROM in an UPDATE, and after USING in a DELETE. */
  readonly from: TokenRange;
  /** The condition. */
  readonly where: TokenRange;
  /** Folded names of the columns that an UPDATE sets. */
  readonly columns: readonly string[];
}

/** Statement that changes rows and is not a plain UPDATE or DELETE. */
export interface CompoundChange {
  /** Always `compound`. */
  readonly verb: "compound";
  /** Reason why it is not a plain UPDATE or DELETE. */
  readonly reason: "with" | "cursor" | "unreadable";
  /** Tables of its UPDATEs and DELETEs, as far as they can be parsed. */
  readonly tables: readonly WrittenName[];
  /** Number of its INSERTs: each may add as many rows as the others change. */
  readonly inserts: number;
}

const EMPTY: TokenRange = [0, 0];
const CLAUSES: ReadonlySet<string> = new Set(["SET", "FROM", "USING", "WHERE", "RETURNING"]);

/**
 * Parses a statement that updates or deletes rows.
 *
 * @param sql One statement.
 * @returns Its clauses, or `undefined` if it neither updates nor deletes.
 */
export function readRowChange(sql: string): RowChange | CompoundChange | undefined {
  const reader = parseStatement(sql);
  if (reader.is(0, "WITH")) {
    const compound = toCompound(reader, "with");
    return compound.tables.length > 0 ? compound : undefined;
  }
  if (!reader.is(0, "UPDATE") && !reader.is(0, "DELETE")) return undefined;
  const change = readClauses(reader);
  if (change === undefined) return toCompound(reader, "unreadable");
  return reader.is(change.where[0], "CURRENT", "OF") ? toCompound(reader, "cursor") : change;
}

function toCompound(reader: StatementReader, reason: CompoundChange["reason"]): CompoundChange {
  let inserts = 0;
  for (let at = 0; at < reader.size; at++) if (reader.is(at, "INSERT", "INTO")) inserts++;
  return { verb: "compound", reason, tables: findChangedTables(reader), inserts };
}

/**
 * Finds the tables of every UPDATE and DELETE at the start of the statement, of a bracket, or after
 * a WITH clause.
 */
function findChangedTables(reader: StatementReader): WrittenName[] {
  const tables: WrittenName[] = [];
  for (let at = 0; at < reader.size; at++) {
    const isStart = at === 0 || reader.is(at - 1, "(") || reader.is(at - 1, ")");
    if (!isStart) continue;
    const name = Math.max(reader.skip(at, "UPDATE"), reader.skip(at, "DELETE", "FROM"));
    if (name > at) tables.push(readName(reader, reader.skip(name, "ONLY")));
  }
  return tables.filter(({ name }) => name !== "");
}

function readClauses(reader: StatementReader): RowChange | undefined {
  const isUpdate = reader.is(0, "UPDATE");
  if (!isUpdate && !reader.is(0, "DELETE", "FROM")) return undefined;
  const from = isUpdate ? 1 : 2;
  const table = readName(reader, reader.skip(from, "ONLY"));
  if (table.name === "") return undefined;
  const targetEnd = reader.findEnd(CLAUSES, table.end);
  const alias = readAlias(reader, table.end, targetEnd);
  if (alias === undefined) return undefined;
  const ranges = readRanges(
    reader,
    targetEnd,
    isUpdate ? ["SET", "FROM", "WHERE", "RETURNING"] : ["USING", "WHERE", "RETURNING"],
  );
  if (ranges === undefined || (isUpdate && ranges.SET === undefined)) return undefined;
  const set = ranges.SET ?? EMPTY;
  const aliasToken = alias < 0 ? table.end - 1 : alias;
  return {
    verb: isUpdate ? "update" : "delete",
    reader,
    table,
    target: reader.text(from, targetEnd),
    reference: reader.text(aliasToken, aliasToken + 1),
    alias: getName(reader.token(aliasToken)!),
    set,
    from: ranges.FROM ?? ranges.USING ?? EMPTY,
    where: ranges.WHERE ?? EMPTY,
    columns: readColumns(reader, set),
  };
}

/** Returns the position of the alias, -1 if there is none, or `undefined` for any other token. */
export function readAlias(reader: StatementReader, from: number, to: number): number | undefined {
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

/** Returns the condition in parentheses. */
export function getCondition(change: RowChange): string | undefined {
  const condition = getText(change, change.where);
  return condition === "" ? undefined : `(${condition})`;
}

/** Returns the path of a table for messages: `notes`, `app.notes`. */
export function getPath({ schema, name }: WrittenName): string {
  return schema === undefined ? name : `${schema}.${name}`;
}
