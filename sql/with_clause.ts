import type { StatementReader } from "./statement_reader.ts";

/** Query of a WITH clause. */
export interface WithItem {
  /** Position of its name. */
  readonly name: number;
  /** Position of the bracket before its query. */
  readonly open: number;
}

/**
 * Parses a WITH clause.
 *
 * @param reader The statement.
 * @param start Position of WITH.
 * @returns Its queries up to the first that cannot be parsed, and the position after the clause,
 * `undefined` if there is one.
 */
export function readWith(
  reader: StatementReader,
  start: number,
): { readonly items: readonly WithItem[]; readonly end: number | undefined } {
  const items: WithItem[] = [];
  let name = reader.skip(start + 1, "RECURSIVE");
  for (;;) {
    const as = reader.is(name + 1, "(") ? reader.next(name + 1) : name + 1;
    const open = reader.skip(reader.skip(as + 1, "NOT"), "MATERIALIZED");
    if (!reader.isName(name) || !reader.is(as, "AS") || !reader.is(open, "(")) {
      return { items, end: undefined };
    }
    items.push({ name, open });
    const end = reader.next(open);
    if (!reader.is(end, ",")) return { items, end };
    name = end + 1;
  }
}
