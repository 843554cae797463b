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
/** Keywords that end an operand, or that cannot be an alias or column without quotes. */
const RESERVED: ReadonlySet<string> = keywordSet(`
  ALL ANALYSE ANALYZE AND ANY AS ASC BETWEEN BY CASE CHECK COLLATE CONSTRAINT CREATE
  CROSS DEFAULT DELETE DESC DISTINCT DO ELSE END EXCEPT EXISTS FETCH FILTER FOR
  FOREIGN FROM FULL GENERATED GROUP HAVING ILIKE IN INCLUDE INNER INSERT INTERSECT
  INTO IS ISNULL JOIN LATERAL LEFT LIKE LIMIT NATURAL NOT NOTNULL NULLS OFFSET ON ONLY
  OR ORDER OUTER OVER OVERLAPS PARTITION PRIMARY RANGE REFERENCES RETURNING RIGHT ROWS
  SELECT SET SIMILAR SOME SYMMETRIC TABLE THEN TO UNION UNIQUE UPDATE USING VALUES
  VIEW WHEN WHERE WINDOW WITH WITHIN
`);
/** Reserved words that may be part of an operand. */
const OPERAND_TAILS: ReadonlySet<string> = new Set(["END", "COLLATE", "FILTER", "OVER"]);
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

function endsOperand(key: string): boolean {
  return key === "," || key === ";" || ORDERING.has(key) || EQUALITY.has(key) || key === ":=" ||
    key === "=>" || (RESERVED.has(key) && !OPERAND_TAILS.has(key));
}

/** Returns the operand that ends before a position. */
function operandBefore(reader: StatementReader, end: number): Range {
  let at = end;
  for (let depth = 0, cases = 0; at > 0; at--) {
    const key = reader.key(at - 1);
    if (key === ")" || key === "]") depth++;
    else if ((key === "(" || key === "[") && depth-- === 0) break;
    else if (depth > 0) continue;
    else if (key === "END") cases++;
    else if (key === "CASE" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key)) break;
  }
  return [at, end];
}

/** Returns the operand that starts at a position. */
function operandAfter(reader: StatementReader, from: number): Range {
  let at = from;
  for (let cases = 0; at < reader.size; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === ")" || key === "]") break;
    if (key === "CASE") cases++;
    else if (key === "END" && cases > 0) cases--;
    else if (cases === 0 && at > from && endsOperand(key)) break;
  }
  return [from, Math.min(at, reader.size)];
}

/** Checks for a number, which is never an enum. */
function isNumber(reader: StatementReader, [from, to]: Range): boolean {
  const start = reader.skip(from, "-");
  return to === start + 1 && reader.token(start)?.kind === "number";
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

  function add(what: string, operands: readonly Range[]): void {
    if (operands.some((operand) => isNumber(reader, operand))) return;
    const found = operands.map((operand) => findEnums(reader, operand, names));
    const types = new Set(found.flat());
    const operand = operands[found.findIndex((types) => types.length > 0)];
    if (types.size > 0) {
      uses.push({ types: [...types], what: `${what} ${reader.text(...operand)}` });
    }
  }

  for (let at = 0; at < reader.size && names.possible.length > 0; at++) {
    const key = reader.key(at);
    if (ORDERING.has(key)) add(key, [operandBefore(reader, at), operandAfter(reader, at + 1)]);
    else if (key === "BETWEEN") {
      const value = operandBefore(reader, reader.is(at - 1, "NOT") ? at - 1 : at);
      const and = reader.findEnd("AND", at);
      add("BETWEEN on", [value, [at + 1, and], operandAfter(reader, and + 1)]);
    } else if (reader.is(at, "ORDER", "BY")) {
      for (const range of listSortKeys(reader, at)) {
        if (!isNumber(reader, range)) add("ORDER BY", [range]);
        else if (outputs.length > 0) {
          uses.push({ types: outputs, what: `ORDER BY ${reader.text(...range)}` });
        }
      }
    } else if (EXTREMES.has(key) && reader.key(at + 1) === "(" && reader.key(at - 1) !== ".") {
      add(`${key.toLowerCase()}() of`, reader.listIn(at + 1));
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
    if (end > at && !isCall) found.push(...getEnums(reader, at, end, names));
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
    reader.isOneOf(at - 1, BEFORE_OTHERS) || reader.isOneOf(end, AFTER_OTHERS) ||
    reader.is(end, "NOT", "IN");
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
