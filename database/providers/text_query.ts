import type { PendingQuery, Sql, TransactionSql } from "postgres";
import type { Row } from "./provider.ts";

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
  return Object.assign(query, { parameters: params });
}
