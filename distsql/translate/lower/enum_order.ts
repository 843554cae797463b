import { Buffer } from "node:buffer";
import {
  type DeclaredColumn,
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  type DeclaredView,
  getKey,
} from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import { keywordSet } from "../../../sql/list_words.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../context/translation.ts";
import type { Lowering } from "./lowered.ts";

/** Use of the order of an enum's labels in a statement. */
export interface OrderUse {
  /** Enums whose order may be used. */
  readonly types: readonly DeclaredEnum[];
  /** Description for messages: `ORDER BY s`. */
  readonly what: string;
}

type Range = readonly [from: number, to: number];

/** Statements that only read: another order of their rows changes nothing. */
const READS: ReadonlySet<string> = new Set(["SELECT", "VALUES", "EXPLAIN", "TABLE", "("]);
const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);
const ORDERING: ReadonlySet<string> = new Set(["<", ">", "<=", ">="]);
const EQUALITY: ReadonlySet<string> = new Set(["=", "<>", "!="]);
/** Functions that select by the order of their arguments. */
const EXTREMES: ReadonlySet<string> = new Set(["MIN", "MAX", "GREATEST", "LEAST"]);
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
/** Keywords and symbols that end a comparison. */
const BOUNDS: ReadonlySet<string> = new Set(
  [...RESERVED, ",", ";", ":=", "=>", ...EQUALITY].filter((word) =>
    !["ALL", "ANY", "SOME", "COLLATE", "FILTER", "OVER"].includes(word)
  ),
);
const CONSTANTS: ReadonlySet<string> = keywordSet(`
  ARRAY NULL TRUE FALSE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP LOCALTIME LOCALTIMESTAMP
  CURRENT_USER
`);
/** Words before a table, and before a value that is only compared for equality. */
const BEFORE_OTHERS: ReadonlySet<string> = new Set(["FROM", "JOIN", "CASE", ...EQUALITY]);
/** Words after a value that is only compared for equality, or that a cast changes. */
const AFTER_OTHERS: ReadonlySet<string> = new Set(["IS", "IN", "::", ...EQUALITY]);
const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%", "^", "||", "->", "->>"]);
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

/** Names of a statement, and the enums that they may stand for. */
interface Names {
  /** Columns that the statement may name. */
  readonly columns: readonly DeclaredColumn[];
  /** Output names of the statement, and of views that it reads. */
  readonly aliases: ReadonlySet<string>;
  /** Enums that a value of an unknown type may have. */
  readonly possible: readonly DeclaredEnum[];
}

/**
 * Reads the names of a statement.
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
  const all = [...state.tables.values()];
  const views = [...state.views.values()].filter(({ name }) => named.has(name));
  const used = [
    ...all.filter((table) => table === only || named.has(table.name)),
    ...views.flatMap((view) => listTables(state, view)),
  ].flatMap(({ columns }) => columns);
  const texts = only === undefined
    ? [reader, ...views.map(({ text }) => parseStatement(text))]
    : [];
  return {
    columns: (only === undefined ? all : [only]).flatMap(({ columns }) => columns),
    aliases: new Set(texts.flatMap(listAliases)),
    possible: [...state.enums].filter(([key, { name }]) =>
      named.has(name) || used.some((column) => column.enum === key)
    ).map(([, type]) => type),
  };
}

/** Returns the tables that a view reads, also through other views. */
function listTables(state: DeclaredSchema, { sources }: DeclaredView): DeclaredTable[] {
  return sources.flatMap(({ relation }) => {
    const view = state.views.get(relation);
    return view === undefined ? state.tables.get(relation) ?? [] : listTables(state, view);
  });
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

/** Returns the comparison around an operator, with both operands. */
function findComparison(reader: StatementReader, at: number): Range {
  const isBetween = reader.is(at, "BETWEEN");
  let from = isBetween && reader.is(at - 1, "NOT") ? at - 1 : at;
  for (let depth = 0; from > 0; from--) {
    const key = reader.key(from - 1);
    if (key === ")" || key === "]") depth++;
    else if ((key === "(" || key === "[") && depth-- === 0) break;
    else if (depth === 0 && BOUNDS.has(key)) break;
  }
  let to = isBetween ? reader.findEnd("AND", at) + 1 : at + 1;
  while (to < reader.size && ![")", "]"].includes(reader.key(to)) && !reader.isOneOf(to, BOUNDS)) {
    to = reader.next(to);
  }
  return [from, Math.min(to, reader.size)];
}

/** Checks for a number, which is never an enum. */
function isNumber(reader: StatementReader, at: number): boolean {
  return reader.token(at)?.kind === "number";
}

/**
 * Finds what may use the order of an enum's labels: `<` and similar operators, BETWEEN, ORDER BY,
 * `min()` and `greatest()`, on a value that is an enum or of unknown type in a statement that reads
 * one.
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
  // a number in ORDER BY is the place of an output
  const outputs = names.possible.filter((type) => namesColumn(reader, type, names));
  const uses: OrderUse[] = [];

  function add(
    what: string,
    [from, to]: Range,
    types: readonly DeclaredEnum[] = findEnums(reader, [from, to], names),
  ): void {
    if (types.length > 0) {
      uses.push({ types: [...new Set(types)], what: `${what}${reader.text(from, to)}` });
    }
  }

  for (let at = 0; at < reader.size && names.possible.length > 0; at++) {
    const key = reader.key(at);
    if (ORDERING.has(key) || key === "BETWEEN") {
      if (isNumber(reader, at - 1) || isNumber(reader, at + 1)) continue;
      const hasCase = reader.is(at - 1, "END") || reader.is(at + 1, "CASE");
      add("", findComparison(reader, at), hasCase ? names.possible : undefined);
    } else if (reader.is(at, "ORDER", "BY")) {
      for (const [from, to] of listSortKeys(reader, at)) {
        const isPlace = to === from + 1 && isNumber(reader, from);
        add("ORDER BY ", [from, to], isPlace ? outputs : undefined);
      }
    } else if (EXTREMES.has(key) && reader.is(at + 1, "(") && !reader.is(at - 1, ".")) {
      add(key.toLowerCase(), [at + 1, reader.next(at + 1)]);
    }
  }
  return uses;
}

/** Checks whether a statement names a column of an enum, or reads all columns. */
function namesColumn(reader: StatementReader, type: DeclaredEnum, { columns }: Names): boolean {
  const own = columns.filter((column) => column.enum === getKey(type)).map(({ name }) => name);
  for (let at = 0; at < reader.size; at++) {
    if (reader.is(at, "*") && !reader.is(at - 1, "(")) return true;
    if (reader.isName(at) && own.includes(readPart(reader, at))) return true;
  }
  return false;
}

/** Returns the expressions of the ORDER BY at a position, without direction and NULLS. */
function listSortKeys(reader: StatementReader, at: number): Range[] {
  let end = reader.size;
  for (let open = 0; open < at; open++) {
    if (reader.key(open) === "(" && reader.closing(open) > at) end = reader.closing(open);
  }
  return reader.list(at + 2, reader.findEnd(SORT_ENDS, at + 2, end))
    .map(([from, to]): Range => [from, reader.findEnd(SORT_KEY_ENDS, from, to)]);
}

/**
 * Returns the enums that an expression may have: those of the columns and types that it names,
 * except before a cast, and where it only tests equality.
 */
function findEnums(reader: StatementReader, [from, to]: Range, names: Names): DeclaredEnum[] {
  // an enum has no operators but comparisons
  if (!reader.is(from, "CASE") && reader.find(OPERATORS, from, to) >= 0) return [];
  const found: DeclaredEnum[] = [];
  for (let at = from; at < to;) {
    const end = reader.nameEnd(at);
    const isCall = reader.is(end, "(") && !isKeyword(reader, end - 1);
    const isTested = at > from && reader.isOneOf(at - 1, BEFORE_OTHERS);
    if (end > at && !isCall && !isTested) found.push(...getEnums(reader, at, end, names));
    at = Math.max(end, at + 1);
  }
  return found;
}

function getEnums(
  reader: StatementReader,
  at: number,
  end: number,
  { columns, aliases, possible }: Names,
): readonly DeclaredEnum[] {
  const name = readPart(reader, end - 1);
  const isType = reader.is(at - 1, "::") || reader.is(at - 1, "AS") ||
    reader.token(end)?.kind === "string";
  const isCast = reader.is(end, "AS") && reader.is(reader.nameEnd(end + 1), ")");
  const isOther = isCast || isKeyword(reader, at) || reader.isOneOf(at, CONSTANTS) ||
    reader.isOneOf(end, AFTER_OTHERS) || reader.is(end, "NOT", "IN");
  if (isOther) return [];
  if (isType) return possible.filter((type) => type.name === name);
  const own = columns.filter((column) => column.name === name);
  if (own.length === 0 || aliases.has(name)) return possible;
  return possible.filter((type) => own.some((column) => column.enum === getKey(type)));
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
