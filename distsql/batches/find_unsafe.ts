import { keywordSet } from "../../sql/list_words.ts";
import { getName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  STABLE_FUNCTIONS,
  SYNTAX_WORDS,
  TIME_FUNCTIONS,
  VOLATILE_FUNCTIONS,
} from "../syntax/known_functions.ts";

const QUERY_WORDS: ReadonlySet<string> = new Set(["SELECT", "TABLE", "WITH", "VALUES"]);
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(["xmin", "xmax", "cmin", "cmax", "ctid"]);
const CLOCK_WORDS: ReadonlySet<string> = keywordSet(
  "CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIMESTAMP LOCALTIME",
);
/**
 * String literals that mean the current time when read as a time, such as 'now' and '10:00
 * tomorrow'.
 */
const TIME_LITERAL = /^(?:[en]?'|\$\w*\$)[\d\s:.+-]*(?:now|today|tomorrow|yesterday)\b/i;

/** Part of an expression whose value may depend on more than the row. */
export type UnsafeExpression =
  | { readonly kind: "function" | "system-column"; readonly name: string }
  | { readonly kind: "query" | "time" | "escape" };

/**
 * Finds the first part of an UPDATE or DELETE whose value may depend on more than the row: a
 * subquery, a function that is not known, the clock in a form that cannot be frozen.
 *
 * @param reader The statement.
 * @param functions Names of user-defined functions.
 */
export function findUnsafeExpression(
  reader: StatementReader,
  functions: ReadonlySet<string>,
): UnsafeExpression | undefined {
  for (let at = 0; at < reader.size; at++) {
    const unsafe = checkToken(reader, at, functions) ?? checkCall(reader, at, functions);
    if (unsafe !== undefined) return unsafe;
  }
  return undefined;
}

function checkToken(
  reader: StatementReader,
  at: number,
  functions: ReadonlySet<string>,
): UnsafeExpression | undefined {
  const token = reader.token(at)!;
  // escapes change the name or text of a token
  if (/^u&/i.test(token.text)) return { kind: "escape" };
  if (token.kind === "string") return TIME_LITERAL.test(token.text) ? { kind: "time" } : undefined;
  if (reader.is(at, "(") && reader.isOneOf(at + 1, QUERY_WORDS)) return { kind: "query" };
  if (reader.is(at, "SELECT")) return { kind: "query" };
  if (!reader.isName(at)) return undefined;
  const name = getName(token);
  if (SYSTEM_COLUMNS.has(name)) return { kind: "system-column", name };
  // PostgreSQL reads row.f as f(row)
  const isAttribute = reader.is(at - 1, ".") && !reader.is(at + 1, "(");
  return isAttribute && functions.has(name) ? { kind: "function", name } : undefined;
}

function checkCall(
  reader: StatementReader,
  at: number,
  functions: ReadonlySet<string>,
): UnsafeExpression | undefined {
  if (!reader.isName(at) || !reader.is(at + 1, "(")) return undefined;
  const name = getName(reader.token(at)!);
  const isQualified = reader.is(at - 1, ".");
  const isOwn = isQualified && reader.isName(at - 2) &&
    getName(reader.token(at - 2)!) === "pg_catalog";
  if (!isOwn && (isQualified || functions.has(name))) return { kind: "function", name };
  if (!isQualified && !isCall(reader, at)) return undefined;
  if (TIME_FUNCTIONS.has(name) || VOLATILE_FUNCTIONS.has(name)) return undefined;
  if (name === "age" && reader.listIn(at + 1).length < 2) return { kind: "time" };
  return STABLE_FUNCTIONS.has(name) ? undefined : { kind: "function", name };
}

/** Checks whether a name before a bracket is a function call, not a type with a length. */
function isCall(reader: StatementReader, at: number): boolean {
  return !SYNTAX_WORDS.has(reader.key(at)) && !reader.isOneOf(at, CLOCK_WORDS) &&
    !reader.is(at - 1, "::") && !reader.is(at - 1, "AS");
}
