import { Buffer } from "node:buffer";
import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
} from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import {
  STABLE_FUNCTIONS,
  TIME_FUNCTIONS,
  VOLATILE_FUNCTIONS,
} from "../../syntax/known_functions.ts";
import { keywordSet } from "../../../sql/list_words.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../context/translation.ts";
import type { Lowering } from "./lowered.ts";

/** Use of the order of an enum's labels in a statement. */
export interface OrderUse {
  /** Enums whose order may be used. */
  readonly types: readonly DeclaredEnum[];
  /** Description for messages: `ORDER BY s`. */
  readonly what: string;
}

/** Statements that only read: another order of their rows changes nothing. */
const READS: ReadonlySet<string> = new Set(["SELECT", "VALUES", "EXPLAIN", "TABLE", "("]);
const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);
const ORDERING: ReadonlySet<string> = new Set(["<", ">", "<=", ">="]);
/** Functions that select by the order of their arguments. */
const EXTREMES: ReadonlySet<string> = new Set(["MIN", "MAX", "GREATEST", "LEAST"]);
/** Aggregates and window functions whose result is no enum. */
const COUNTS: ReadonlySet<string> = new Set([
  "avg",
  "count",
  "rank",
  "row_number",
  "string_agg",
  "sum",
]);
/** Functions whose result may be an enum if an argument is one. */
const POLYMORPHIC =
  /^(?:array_(?:append|cat|fill|prepend|remove|replace)|trim_array|unnest|jsonb?_\w*populate\w*)$/;
/** Keywords that cannot be an alias or column without quotes. */
const RESERVED: ReadonlySet<string> = keywordSet(`
  ALL ANALYSE ANALYZE AND ANY AS ASC BETWEEN BY CASE CHECK COLLATE CONSTRAINT CREATE
  CROSS DEFAULT DELETE DESC DISTINCT DO ELSE END EXCEPT EXISTS FETCH FILTER FOR
  FOREIGN FROM FULL GENERATED GROUP HAVING ILIKE IN INCLUDE INNER INSERT INTERSECT
  INTO IS ISNULL JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NOTNULL NULLS OFFSET ON ONLY
  OR ORDER OUTER OVER OVERLAPS PARTITION PRIMARY RANGE REFERENCES RETURNING RIGHT ROWS
  SELECT SET SIMILAR SOME SYMMETRIC TABLE THEN TO UNION UNIQUE UPDATE USING VALUES
  VIEW WHEN WHERE WINDOW WITH WITHIN
`);
const SORT_ENDS: ReadonlySet<string> = keywordSet(`
  LIMIT OFFSET FETCH FOR UNION INTERSECT EXCEPT RETURNING ROWS RANGE GROUPS ) ;
`);
const SORT_KEY_ENDS: ReadonlySet<string> = new Set(["ASC", "DESC", "NULLS", "USING"]);

/** Checks whether the labels of an enum are in text order, so that text compares like the enum. */
export function hasTextOrder({ labels }: DeclaredEnum): boolean {
  return labels.every((label, at) =>
    at === 0 || Buffer.compare(Buffer.from(labels[at - 1]), Buffer.from(label)) < 0
  );
}

/** What is known of the names in a statement. */
interface Names {
  /** Columns that are no enum in any table. */
  readonly others: ReadonlySet<string>;
  /** Enums of the tables and types that the statement names. */
  readonly possible: readonly DeclaredEnum[];
}

/**
 * Reads the names of a statement. The columns of views can have any name and type.
 *
 * @param only Table whose columns a definition names.
 */
function readNames(
  reader: StatementReader,
  state: DeclaredSchema,
  only: DeclaredTable | undefined,
): Names {
  const named = new Set<string>();
  for (let at = 0; at < reader.size; at++) if (reader.isName(at)) named.add(readPart(reader, at));
  const readsView = [...state.views.values()].some(({ name }) => named.has(name));
  const tables = [...state.tables.values()];
  const used = [
    ...tables.filter(({ name }) => named.has(name)),
    ...only === undefined ? [] : [only],
  ];
  const possible = [...state.enums.values()].filter((type) =>
    readsView || named.has(type.name) ||
    used.some(({ columns }) => columns.some((column) => column.enum === getKey(type)))
  );
  const columns = (only === undefined ? tables : [only]).flatMap(({ columns }) => columns);
  const hidden = new Set([
    ...columns.filter((column) => column.enum !== undefined).map(({ name }) => name),
    ...only === undefined ? listAliases(reader) : [],
  ]);
  const others = columns.map(({ name }) => name).filter((name) => !readsView && !hidden.has(name));
  return { others: new Set(others), possible };
}

function isKeyword(reader: StatementReader, at: number): boolean {
  return reader.token(at)?.kind === "word" && reader.isOneOf(at, RESERVED);
}

/** Lists the names that a statement gives: after AS, after an expression, and in lists of them. */
export function listAliases(reader: StatementReader): string[] {
  const aliases: string[] = [];
  for (let at = 1; at < reader.size; at++) {
    if (!reader.isName(at) || isKeyword(reader, at)) continue;
    const kind = reader.token(at - 1)?.kind;
    const followsValue = kind === "string" || kind === "number" || reader.is(at - 1, "END") ||
      reader.is(at - 1, ")") || reader.is(at - 1, "]") ||
      (reader.isName(at - 1) && !isKeyword(reader, at - 1));
    const isAlias = reader.is(at - 1, "AS") || followsValue || reader.is(at - 1, "WITH") ||
      reader.is(at - 1, "RECURSIVE") || reader.is(at - 1, "VIEW");
    if (!isAlias) continue;
    aliases.push(readPart(reader, at));
    if (!reader.is(at + 1, "(")) continue;
    for (const [from] of reader.listIn(at + 1)) aliases.push(readPart(reader, from));
  }
  return aliases;
}

function isNumber(reader: StatementReader, at: number): boolean {
  return reader.token(at)?.kind === "number";
}

/** Checks whether a value that begins at a position is certainly no enum. */
function isOther(reader: StatementReader, at: number, { others, possible }: Names): boolean {
  if (isNumber(reader, at)) return true;
  const nameEnd = reader.nameEnd(at);
  const isCall = nameEnd > at && reader.is(nameEnd, "(");
  // the last cast decides
  let type: string | undefined;
  let end = nameEnd === at || isCall ? reader.next(nameEnd) : nameEnd;
  for (; reader.is(end, "::"); end = reader.nameEnd(end + 1)) {
    type = readPart(reader, reader.nameEnd(end + 1) - 1);
  }
  if (type !== undefined) return !possible.some(({ name }) => name === type);
  if (nameEnd === at || isKeyword(reader, at)) return false;
  const name = readPart(reader, nameEnd - 1);
  return isCall ? returnsOther(name) : others.has(name);
}

function returnsOther(name: string): boolean {
  return COUNTS.has(name) || TIME_FUNCTIONS.has(name) || VOLATILE_FUNCTIONS.has(name) ||
    STABLE_FUNCTIONS.has(name) && !POLYMORPHIC.test(name);
}

/** Returns the start of the value that ends before a position. */
function findStart(reader: StatementReader, end: number): number {
  let at = end - 1;
  while (reader.is(at, ")") || reader.is(at, "]")) {
    const close = at;
    do at--; while (at > 0 && reader.next(at) !== close + 1);
    if (reader.isName(at - 1) && !isKeyword(reader, at - 1)) at--;
  }
  while (reader.is(at - 1, ".")) at -= 2;
  return reader.is(at - 1, "::") ? findStart(reader, at - 1) : at;
}

/** Operators that give true or false. All others bind their operands before these. */
const CONDITIONS: ReadonlySet<string> = keywordSet("= <> != IS IN LIKE ILIKE AND OR NOT");
/** What has conditions and another result: a row, a query, CASE. */
const NO_CONDITIONS: ReadonlySet<string> = keywordSet(", CASE SELECT TABLE VALUES WITH");

/** Checks whether an expression is certainly true or false: `(s = 'low')`. */
function isCondition(reader: StatementReader, from: number, to: number): boolean {
  if (reader.is(from, "(") && reader.closing(from) === to - 1) {
    return isCondition(reader, from + 1, to - 1);
  }
  return reader.find(CONDITIONS, from, to) >= 0 && reader.find(NO_CONDITIONS, from, to) < 0;
}

/**
 * Checks whether a sort key is certainly no enum: it is a condition, or by its beginning, or by the
 * results of CASE.
 */
function isOtherKey(reader: StatementReader, [from, to]: [number, number], names: Names): boolean {
  if (isCondition(reader, from, to)) return true;
  if (!reader.is(from, "CASE")) return !isNumber(reader, from) && isOther(reader, from, names);
  for (let at = from; at < to; at++) {
    const isResult = reader.is(at, "THEN") || reader.is(at, "ELSE");
    if (isResult && !isOther(reader, at + 1, names)) return false;
  }
  return true;
}

/**
 * Finds what may use the order of an enum's labels: `<` and similar operators, BETWEEN, ORDER BY, `min()` and
 * `greatest()`, in a statement that names an enum or a table with one. PostgreSQL compares an enum only with values of
 * the same type, so that one operand of another type is enough to exclude it.
 *
 * @param reader The statement.
 * @param state Declarations before it.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 */
export function findOrderUses(
  reader: StatementReader,
  state: DeclaredSchema,
  table?: DeclaredTable,
): readonly OrderUse[] {
  const names = readNames(reader, state, table);
  const uses: OrderUse[] = [];
  const add = (from: number, to: number) =>
    uses.push({ types: names.possible, what: reader.text(from, to) });
  for (let at = 0; at < reader.size && names.possible.length > 0; at++) {
    const key = reader.key(at);
    if (ORDERING.has(key) || key === "BETWEEN") {
      const start = findStart(reader, key === "BETWEEN" && reader.is(at - 1, "NOT") ? at - 1 : at);
      const after = reader.skip(at + 1, "SYMMETRIC");
      if (isOther(reader, start, names) || isOther(reader, after, names)) continue;
      add(start, reader.next(reader.nameEnd(after)));
    } else if (reader.is(at, "ORDER", "BY")) {
      for (const [from, to] of listSortKeys(reader, at)) {
        if (!isOtherKey(reader, [from, to], names)) add(at, to);
      }
    } else if (EXTREMES.has(key) && reader.is(at + 1, "(") && !reader.is(at - 1, ".")) {
      const args = reader.listIn(at + 1);
      if (!args.some(([from]) => isOther(reader, from, names))) add(at, reader.next(at + 1));
    }
  }
  return uses;
}

/** Returns the expressions of the ORDER BY at a position, without direction and NULLS. */
function listSortKeys(reader: StatementReader, at: number): [number, number][] {
  let end = reader.size;
  for (let open = 0; open < at; open++) {
    if (reader.key(open) === "(" && reader.closing(open) > at) end = reader.closing(open);
  }
  return reader.list(at + 2, reader.findEnd(SORT_ENDS, at + 2, end))
    .map(([from, to]): [number, number] => [from, reader.findEnd(SORT_KEY_ENDS, from, to)]);
}

/** Checks whether a statement reads rows and neither changes nor stores anything. */
function onlyReads(reader: StatementReader): boolean {
  if (!reader.isOneOf(0, READS) && !reader.is(0, "WITH")) return false;
  for (let at = 0; at < reader.size; at++) {
    if (reader.isOneOf(at, WRITES) && !reader.is(at - 1, "FOR")) return false;
  }
  return true;
}

/**
 * Rejects a statement that uses the order of an enum's labels. A query that only reads gets a
 * warning, unless the labels are in text order.
 *
 * @param lowering The statement; receives warnings and refusals.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 */
export function checkOrder(
  { reader, before, t }: Lowering,
  table: DeclaredTable | undefined,
): void {
  const isRead = onlyReads(reader);
  for (const { what, types } of findOrderUses(reader, before, table)) {
    if (isRead && types.every(hasTextOrder)) continue;
    const enums = types.map((type) => type.name).join(", ");
    const message =
      `${what}: the enum ${enums} is ordered by position, but text is ordered alphabetically`;
    if (isRead) t.warn("type-enum-order", message, enums);
    else t.refuse("type-enum-unproven", message, enums);
  }
}

/** Warns about a column that is ordered as text from now on. */
export function warnOfOrder(column: string, type: DeclaredEnum, t: StatementTranslation): void {
  if (hasTextOrder(type)) return;
  t.warn(
    "type-enum-order",
    `column ${column}: the enum ${type.name} is ordered by position, but text is ordered ` +
      "alphabetically. Queries of the application that sort or compare this column return " +
      "another order",
    type.name,
  );
}
