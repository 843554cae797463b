import { getName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  ORDERED_FUNCTIONS,
  RESERVED_WORDS,
  STABLE_FUNCTIONS,
  SYNTAX_WORDS,
  TIME_FUNCTIONS,
  VOLATILE_FUNCTIONS,
} from "./known_functions.ts";
import type { TokenRange } from "./row_change.ts";
import { keywordSet } from "../../sql/list_words.ts";

const QUERY_WORDS: ReadonlySet<string> = new Set(["SELECT", "TABLE", "WITH"]);
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(["xmin", "xmax", "cmin", "cmax"]);
/**
 * String literals that mean the current time when read as a time, such as 'now' and '10:00
 * tomorrow'.
 */
const TIME_LITERAL = /^(?:[en]?'|\$\w*\$)[\d\s:.+-]*(?:now|today|tomorrow|yesterday)\b/i;

/** Statement or view query, with the subqueries that its tokens belong to. */
export interface ExpressionText {
  /** The statement. */
  readonly reader: StatementReader;
  /**
   * For each token: the opening bracket of the innermost query that contains it, 0 for the rest of
   * a FROM list, -1 elsewhere.
   */
  readonly queries: readonly number[];
  /** Opening bracket by closing bracket. */
  readonly openings: ReadonlyMap<number, number>;
  /** Ranges that are evaluated once per statement. */
  readonly lists: readonly TokenRange[];
}

/**
 * Finds the parts of a statement that can read tables: queries in brackets, and FROM lists.
 *
 * @param reader The statement.
 * @param lists Ranges that are such parts as a whole, such as the FROM clause of an UPDATE.
 */
export function findQueries(reader: StatementReader, lists: readonly TokenRange[]): ExpressionText {
  const queries: number[] = [];
  const openings = new Map<number, number>();
  const open: { at: number; query: number }[] = [];
  for (let at = 0; at < reader.size; at++) {
    if (reader.is(at, "(")) {
      const isQuery = reader.find(QUERY_WORDS, at + 1, reader.closing(at)) >= 0;
      open.push({ at, query: isQuery ? at : open.at(-1)?.query ?? -1 });
      openings.set(reader.closing(at), at);
    }
    const query = open.at(-1)?.query ?? -1;
    queries.push(query < 0 && isWithin(lists, at) ? 0 : query);
    if (reader.is(at, ")")) open.pop();
  }
  return { reader, queries, openings, lists };
}

function isWithin(ranges: readonly TokenRange[], at: number): boolean {
  return ranges.some(([from, to]) => at >= from && at < to);
}

/** Returns the name at a token, or `undefined` for symbols, literals and reserved words. */
function nameAt(reader: StatementReader, at: number): string | undefined {
  if (!reader.isName(at) || RESERVED_WORDS.has(reader.key(at))) return undefined;
  return getName(reader.token(at)!);
}

/** Checks for escapes that change the name or text of a token. */
function isEscaped(text: string): boolean {
  return /^u&/i.test(text);
}

/** Returns all names in ranges of a statement: columns, tables and others. */
export function findNames(
  reader: StatementReader,
  ranges: readonly TokenRange[],
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [from, to] of ranges) {
    for (let at = from; at < to; at++) names.add(nameAt(reader, at) ?? "");
  }
  return names;
}

/**
 * Finds a table in the queries of a statement.
 *
 * @param text The statement.
 * @param names Names of tables and views, without their schemas.
 * @returns The first name that is read.
 */
export function findRead(
  { reader, queries }: ExpressionText,
  names: ReadonlySet<string>,
): string | undefined {
  for (let at = 0; at < reader.size; at++) {
    if (queries[at] < 0 || reader.is(at + 1, ".")) continue;
    const name = nameAt(reader, at);
    if (name !== undefined && names.has(name)) return name;
  }
  return undefined;
}

/** Checks whether a statement's queries read the catalog, which every change of rows may affect. */
export function readsCatalog({ reader, queries }: ExpressionText): boolean {
  for (let at = 0; at < reader.size; at++) {
    const name = queries[at] < 0 ? undefined : nameAt(reader, at);
    if (name === undefined) continue;
    if (name === "information_schema" || (name === "sys" && reader.is(at + 1, "."))) return true;
    const isCatalog = name.startsWith("pg_") && !reader.is(at + 1, "(") &&
      !isFunctionSchema(reader, at);
    if (isCatalog && !reader.is(at - 1, "::")) return true;
  }
  return false;
}

function isFunctionSchema(reader: StatementReader, at: number): boolean {
  return reader.is(at + 1, ".") && reader.is(at + 3, "(");
}

/** Part of an expression whose value may depend on more than the row and unchanged tables. */
export type UnsafeExpression =
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "unordered"; readonly name: string }
  | { readonly kind: "volatile"; readonly name: string }
  | { readonly kind: "time" }
  | { readonly kind: "escape" }
  | { readonly kind: "system-column"; readonly name: string };

/** Context for {@link findUnsafeExpression}. */
export interface ExpressionScope {
  /** Names of user-defined functions. */
  readonly functions: ReadonlySet<string>;
  /** Name of the changed table in the statement. A query that uses this name runs once per row. */
  readonly alias?: string;
  /** True for a view's query, in which calls cannot be replaced. */
  readonly isView?: boolean;
}

/**
 * Finds the first part of a statement's expressions that may give different results in two runs
 * over the same rows.
 *
 * @param text The statement.
 * @param options Context of the statement.
 */
export function findUnsafeExpression(
  text: ExpressionText,
  options: ExpressionScope,
): UnsafeExpression | undefined {
  const { reader } = text;
  for (let at = 0; at < reader.size; at++) {
    const unsafe = checkToken(text, at, options) ?? checkWord(text, at, options);
    if (unsafe !== undefined) return unsafe;
  }
  return undefined;
}

function checkToken(
  { reader }: ExpressionText,
  at: number,
  { functions }: ExpressionScope,
): UnsafeExpression | undefined {
  const token = reader.token(at)!;
  if (isEscaped(token.text)) return { kind: "escape" };
  if (token.kind === "string") return TIME_LITERAL.test(token.text) ? { kind: "time" } : undefined;
  const name = nameAt(reader, at);
  if (name === undefined) return undefined;
  if (SYSTEM_COLUMNS.has(name)) return { kind: "system-column", name };
  // PostgreSQL reads row.f as f(row)
  const isAttribute = reader.is(at - 1, ".") && !reader.is(at + 1, "(");
  return isAttribute && functions.has(name) ? { kind: "function", name } : undefined;
}

const ROW_CHOICES: ReadonlySet<string> = keywordSet("LIMIT OFFSET FETCH TABLESAMPLE OVER");
const CLOCK_WORDS: ReadonlySet<string> = keywordSet(
  "CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIMESTAMP LOCALTIME",
);

function checkWord(
  text: ExpressionText,
  at: number,
  options: ExpressionScope,
): UnsafeExpression | undefined {
  const { reader } = text;
  if (reader.is(at - 1, ".") && !reader.is(at + 1, "(")) return undefined;
  const isArray = reader.is(at, "ARRAY", "(");
  const query = text.queries[isArray ? at + 1 : at];
  const isOnce = query >= 0 && !isRunForEachRow(text, query, options.alias);
  if (isOnce && (isArray || isRowChoice(reader, at))) {
    return { kind: "unordered", name: reader.key(at) };
  }
  if (options.isView === true && reader.isOneOf(at, CLOCK_WORDS)) return { kind: "time" };
  return reader.is(at + 1, "(") && reader.isName(at)
    ? checkCall(text, at, isOnce, options)
    : undefined;
}

/** Checks for a word which makes a query select or number rows in an undefined order. */
function isRowChoice(reader: StatementReader, at: number): boolean {
  return reader.isOneOf(at, ROW_CHOICES) || reader.is(at, "DISTINCT", "ON") ||
    reader.is(at, "SKIP", "LOCKED");
}

function checkCall(
  text: ExpressionText,
  at: number,
  isOnce: boolean,
  { functions, isView }: ExpressionScope,
): UnsafeExpression | undefined {
  const { reader } = text;
  const name = getName(reader.token(at)!);
  const isQualified = reader.is(at - 1, ".");
  const isOwn = isQualified && nameAt(reader, at - 2) === "pg_catalog";
  if (!isOwn && (isQualified || functions.has(name))) return { kind: "function", name };
  if (!isQualified && !isCall(text, at)) return undefined;
  if (TIME_FUNCTIONS.has(name)) return isView === true ? { kind: "time" } : undefined;
  if (VOLATILE_FUNCTIONS.has(name)) return checkVolatile(text, at, name);
  if (ORDERED_FUNCTIONS.has(name)) {
    return isOnce ? { kind: "unordered", name: `${name}()` } : undefined;
  }
  if (name === "age" && reader.listIn(at + 1).length < 2) {
    return { kind: "time" };
  }
  return STABLE_FUNCTIONS.has(name) ? undefined : { kind: "function", name };
}

/**
 * Checks a volatile function. A query beside `nextval()` might read the sequence, which is a table
 * too.
 */
function checkVolatile(
  { queries }: ExpressionText,
  at: number,
  name: string,
): UnsafeExpression | undefined {
  const isAlone = name !== "nextval" || queries.every((query) => query < 0);
  return queries[at] < 0 && isAlone ? undefined : { kind: "volatile", name };
}

/**
 * Checks whether a name before a bracket is a function call, not a type with a length or an alias
 * with columns.
 */
function isCall({ reader, queries, openings }: ExpressionText, at: number): boolean {
  if (
    SYNTAX_WORDS.has(reader.key(at)) || CLOCK_WORDS.has(reader.key(at)) ||
    reader.is(at - 1, "::") ||
    reader.is(at - 1, "AS")
  ) return false;
  const opening = openings.get(at - 1);
  if (opening !== undefined) return reader.is(opening - 2, "DISTINCT", "ON");
  // an item of the WITH clause with its column names
  const isPart = reader.is(0, "WITH") && queries[at] === 0 &&
    reader.is(reader.closing(at + 1) + 1, "AS");
  return !(isPart &&
    (reader.is(at - 1, "WITH") || reader.is(at - 1, "RECURSIVE") || reader.is(at - 2, ")", ",")));
}

/** Checks whether a query in brackets refers to the changed row, so that it runs once per row. */
function isRunForEachRow(
  { reader, lists }: ExpressionText,
  open: number,
  alias: string | undefined,
): boolean {
  if (alias === undefined || !reader.is(open, "(") || isWithin(lists, open)) return false;
  let isUsed = false;
  for (let at = open; at < reader.closing(open); at++) {
    if (nameAt(reader, at) !== alias || reader.is(at - 1, ".")) continue;
    // the query has a table or schema of the same name
    if (!reader.is(at + 1, ".") || reader.isOneOf(at - 1, BEFORE_TABLE)) return false;
    isUsed = true;
  }
  return isUsed;
}

const BEFORE_TABLE: ReadonlySet<string> = new Set(["FROM", "JOIN", "ONLY", "TABLE"]);

/** Checks whether a range of a statement calls a volatile function. */
export function callsVolatile(reader: StatementReader, [from, to]: TokenRange): boolean {
  for (let at = from; at < to; at++) {
    if (reader.is(at + 1, "(") && VOLATILE_FUNCTIONS.has(nameAt(reader, at) ?? "")) return true;
  }
  return false;
}
