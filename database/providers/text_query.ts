import type { PendingQuery, Row, Sql, TransactionSql } from "postgres";

/**
 * Creates a statement whose parameters are texts, in the extended protocol. A second statement in the
 * text is rejected by the server. The statement is sent when it is awaited.
 *
 * @param sql The pool, whose types must pass texts unchanged, or the transaction.
 * @param text One statement, with `$1` for the first parameter.
 * @param params A text or null per placeholder.
 * @param prepare Keep the statement for later calls with the same text.
 * @returns The statement.
 */
export function createTextQuery(
  sql: Sql | TransactionSql,
  text: string,
  params: readonly (string | null)[],
  prepare: boolean,
): PendingQuery<Row[]> {
  return sql.unsafe(text, params as never, { prepare, ...EXTENDED });
}

/**
 * Without this option, postgres.js sends a text without parameters in the simple protocol, which runs
 * several statements. The option is missing in the types of postgres.js 3.4.9. If a later version
 * ignores it, the test "createTextQuery() rejects" fails.
 */
const EXTENDED = { simple: false };
