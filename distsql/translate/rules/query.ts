import { keywordSet, listWords } from "../../../sql/list_words.ts";
import { quoteNameAt, readName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../context/translation.ts";

const AFTER_GROUP_BY_ALL: ReadonlySet<string> = new Set([
  "",
  ...listWords(") HAVING ORDER LIMIT WINDOW UNION FETCH"),
]);

/** Checks FOR UPDATE and similar clauses; `substring(x FOR 3)` has another FOR. */
function checkRowLock(reader: StatementReader, at: number, t: StatementTranslation): void {
  if (reader.is(at + 1, "SHARE") || reader.is(at + 1, "NO", "KEY", "UPDATE")) {
    t.refuse("row-lock-strength");
  } else if (reader.is(at + 1, "KEY", "SHARE") && !t.can("for_key_share")) {
    t.refuse("for-key-share");
  }
  for (let i = at + 1; i < reader.size && !reader.is(i, "FOR"); i++) {
    if (reader.is(i, "SKIP", "LOCKED")) t.warn("skip-locked");
  }
}

/** Checks whether parentheses contain a query instead of arguments. */
function holdsQuery(reader: StatementReader, open: number): boolean {
  return ["SELECT", "WITH", "VALUES", "TABLE", "("].includes(reader.key(open + 1));
}

/**
 * Checks a query, a change of rows, or a statement that contains one: rejects unsupported syntax,
 * and warns about differences.
 */
export function checkQuery(reader: StatementReader, t: StatementTranslation): void {
  const isQueryLevel: boolean[] = [true];
  for (let at = 0; at < reader.size; at++) {
    const key = reader.key(at);
    if (key === "(") isQueryLevel.push(holdsQuery(reader, at));
    else if (key === ")") isQueryLevel.pop();
    if (reader.key(at - 1) === ".") continue;
    const inQuery = isQueryLevel.at(-1) ?? true;
    if (key === "TABLESAMPLE" && at > 0) t.refuse("tablesample", "TABLESAMPLE");
    else if (key === "FOR" && inQuery) checkRowLock(reader, at, t);
    else if (reader.is(at, "GROUP", "BY", "ALL") && AFTER_GROUP_BY_ALL.has(reader.key(at + 3))) {
      t.refuse("group-by-all");
    } else if (
      key === "INTO" && inQuery && at > 0 && !["INSERT", "MERGE"].includes(reader.key(at - 1))
    ) {
      t.refuse("create-table-as", "SELECT INTO");
    } else if (key === "MERGE" && reader.is(at + 1, "INTO")) t.refuse("merge", "MERGE");
  }
}

/** Translates UPDATE and DELETE, and records those without WHERE. */
export function translateRowChange(reader: StatementReader, t: StatementTranslation): void {
  checkQuery(reader, t);
  if (reader.find("WHERE", 0) < 0) t.warn("whole-table-change");
}

const TRUNCATE_OPTIONS: ReadonlySet<string> = keywordSet("RESTART CONTINUE CASCADE RESTRICT");

/**
 * Translates TRUNCATE to a DELETE per table. Rejects RESTART IDENTITY and CASCADE, which DELETE
 * cannot do.
 */
export function translateTruncate(reader: StatementReader, t: StatementTranslation): void {
  const start = reader.skip(1, "TABLE");
  let end = start;
  while (end < reader.size && !reader.isOneOf(end, TRUNCATE_OPTIONS)) end++;
  // A table named `cascade` must be quoted here, except as the first name.
  if (end === start) end = reader.nameEnd(start);
  for (let at = end; at < reader.size; at++) {
    if (reader.is(at, "RESTART")) {
      return t.refuse("truncate-options", "TRUNCATE with RESTART IDENTITY");
    }
    if (reader.is(at, "CASCADE")) return t.refuse("truncate-options", "TRUNCATE with CASCADE");
  }
  t.warn("truncate");
  const places = reader.list(start, end).map(([from]) => {
    const hasOnly = reader.is(from, "ONLY") && reader.isName(from + 1);
    return { only: hasOnly ? "ONLY " : "", at: hasOnly ? from + 1 : from };
  });
  const tables = places.map(({ at }) => quoteNameAt(reader, at));
  places.forEach(({ only, at }, place) => {
    const { text } = readName(reader, at);
    t.emit(`DELETE FROM ${only}${text};`, {
      truncates: { tables, place },
    });
  });
}
