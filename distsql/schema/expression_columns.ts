import { keywordSet } from "../../sql/list_words.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { readPart } from "./read_object.ts";

/** Keywords after which a name is a type. */
const BEFORE_TYPE: ReadonlySet<string> = new Set(["::", "AS"]);

/** Words of expressions that are not columns. */
const EXPRESSION_WORDS: ReadonlySet<string> = keywordSet(`
  AND OR NOT IS NULL IN LIKE ILIKE SIMILAR BETWEEN TRUE FALSE DISTINCT FROM CASE WHEN
  THEN ELSE END ANY ALL SOME ARRAY COLLATE UNKNOWN ESCAPE TO SYMMETRIC CAST AS
  CURRENT_DATE CURRENT_TIMESTAMP INTERVAL
`);

/**
 * Returns the columns of a table that an expression names, each once, in order of appearance. A
 * name before `(` is a function, a name after `::` or AS a type.
 *
 * @param reader The statement.
 * @param from Start of the expression.
 * @param to End of the expression.
 * @param columns Names of the table's columns; if omitted, every name that is not a keyword is one.
 */
export function columnsNamed(
  reader: StatementReader,
  from: number,
  to: number,
  columns?: ReadonlySet<string>,
): string[] {
  const found = new Set<string>();
  for (let at = from; at < to;) {
    const end = reader.nameEnd(at);
    if (end === at) {
      at++;
      continue;
    }
    const name = readPart(reader, end - 1);
    const isKnown = columns?.has(name) ?? !reader.isOneOf(at, EXPRESSION_WORDS);
    const isColumn = isKnown && reader.key(end) !== "(" &&
      !reader.isOneOf(at - 1, BEFORE_TYPE);
    if (isColumn) found.add(name);
    at = end;
  }
  return [...found];
}
