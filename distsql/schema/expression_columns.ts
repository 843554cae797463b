import type { StatementReader } from "../../sql/statement_reader.ts";
import { readPart } from "./read_object.ts";

/** Keywords after which a name is a type. */
const BEFORE_TYPE: ReadonlySet<string> = new Set(["::", "AS"]);

/**
 * Returns the columns of a table that an expression names, each once, in order of appearance. A
 * name before `(` is a function, a name after `::` or AS a type.
 *
 * @param reader The statement.
 * @param from Start of the expression.
 * @param to End of the expression.
 * @param columns Names of the table's columns.
 */
export function columnsNamed(
  reader: StatementReader,
  from: number,
  to: number,
  columns: ReadonlySet<string>,
): string[] {
  const found = new Set<string>();
  for (let at = from; at < to;) {
    const end = reader.nameEnd(at);
    if (end === at) {
      at++;
      continue;
    }
    const name = readPart(reader, end - 1);
    const isColumn = columns.has(name) && reader.key(end) !== "(" &&
      !reader.isOneOf(at - 1, BEFORE_TYPE);
    if (isColumn) found.add(name);
    at = end;
  }
  return [...found];
}
