import type { PendingQuery, Sql, TransactionSql } from "postgres";
import type { Row } from "./provider.ts";

/** Statement of postgres.js 3.4.9, with the members that are used here. */
interface TextQuery {
  parameters: readonly (string | null)[];
  executed: boolean;
  handle: () => void;
  readonly handler: (query: object) => void;
}

/**
 * Creates a statement whose parameters are texts, in the extended protocol. A second statement in
 * the text is rejected by the server.
 *
 * postgres.js 3.4.9 asks for the types of parameters before it sends them, because it formats each
 * value by its type: a separate round trip for each statement that is not prepared yet. Texts need
 * no types, so the parameters are set on the statement instead of being passed as arguments, and
 * travel with its text.
 *
 * @param sql The pool or the transaction.
 * @param text One statement, with `$1` for the first parameter.
 * @param params A text or null per placeholder.
 * @param prepare Keep the statement for later calls with the same text.
 * @returns The statement, not sent yet.
 */
export function createTextQuery(
  sql: Sql | TransactionSql,
  text: string,
  params: readonly (string | null)[],
  prepare: boolean,
): PendingQuery<Row[]> {
  const query = sql.unsafe<Row[]>(text, [], { prepare, simple: false } as never);
  (query as unknown as TextQuery).parameters = params;
  return query;
}

/**
 * Sends a statement of {@link createTextQuery}, and asks for each row as a list of values.
 *
 * A statement of postgres.js 3.4.9 sends itself when it is awaited, one turn later, so that methods
 * which change it can be called before. That takes three promises for the first call of `then`, and
 * one for each other call.
 *
 * @param query The statement, not sent yet.
 * @returns The statement.
 */
export function sendTextQuery(query: PendingQuery<Row[]>): PromiseLike<unknown> {
  const rows = query.values() as unknown as PendingQuery<Row[]> & TextQuery;
  rows.executed = true;
  rows.handle = doNothing;
  rows.handler(rows);
  return rows;
}

function doNothing(): void {}
