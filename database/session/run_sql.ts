import type { SQL } from "drizzle-orm";
import { toRows } from "./execute.ts";
import type { PlainSql } from "./plain_sql.ts";
import type { Row } from "../../sql/session.ts";
import { PreparedQuery } from "./prepared_query.ts";
import type { RowMapping } from "./row_mapper.ts";
import type { TransactionSession } from "./session.ts";
import { findSession } from "./statement_session.ts";
import type { TransactionState } from "./transaction_state.ts";

/** A client or a transaction's client, also of drizzle's own drivers. */
export interface SqlClient {
  /** Runs a statement. */
  execute(query: SQL): PromiseLike<unknown>;
}

/**
 * Runs a statement of this package. On a client of this package it needs no drizzle, unless the server
 * needs another text.
 *
 * @param client The client.
 * @param statement The statement.
 * @param name Name for a statement that is always prepared.
 * @returns The result of the client's `execute`.
 */
export function runSql(
  client: SqlClient,
  statement: PlainSql,
  name?: string,
): PromiseLike<unknown> {
  return prepareSql(client, statement, name)?.execute() ?? client.execute(toDrizzle(statement));
}

/**
 * Runs a statement as {@link runSql}.
 *
 * @returns The rows. Values have the types of node-postgres.
 */
export async function runSqlRows<T extends Row = Row>(
  client: SqlClient,
  statement: PlainSql,
  name?: string,
): Promise<T[]> {
  return toRows<T>(await runSql(client, statement, name));
}

/**
 * Prepares a statement on the session of a client.
 *
 * @param client The client.
 * @param statement The statement.
 * @param name Name for a statement that is always prepared.
 * @param mapping Mapping of the rows; by default they have the types of node-postgres.
 * @returns The statement; `undefined` for clients of drizzle's own drivers.
 */
export function prepareSql(
  client: object,
  statement: PlainSql,
  name?: string,
  mapping: RowMapping = { kind: "raw" },
): PreparedQuery | undefined {
  const session = findSession(client);
  if (session === undefined) return undefined;
  const { text, params, isCast } = session.statements.write(statement);
  return new PreparedQuery(session, { sql: text, params }, { name, isCast }, mapping, () => params);
}

/**
 * Sends a statement of a transaction without waiting for its answer. It travels with the next statement
 * or with COMMIT where the driver pipelines; elsewhere the transaction waits for it before COMMIT. If it
 * fails, the transaction is rolled back and rejects with its error.
 *
 * @param client The transaction's client.
 * @param state The transaction.
 * @param statement The statement.
 * @returns The answer.
 */
export function sendAhead(
  client: SqlClient,
  state: TransactionState,
  statement: PlainSql,
): Promise<unknown> {
  const sent = Promise.resolve(
    prepareAhead(client, statement)?.execute() ?? client.execute(toDrizzle(statement)),
  );
  state.sentAhead = state.sentAhead === undefined ? sent : Promise.all([state.sentAhead, sent]);
  // the transaction reports it
  state.sentAhead.catch(() => {});
  return sent;
}

function prepareAhead(client: SqlClient, statement: PlainSql): PreparedQuery | undefined {
  const session = findSession(client) as TransactionSession | undefined;
  session?.assertOpen();
  return prepareSql(client, statement)?.bind({
    send: (filled) => session!.sendAhead(filled),
    createError: session!.createError,
  });
}

/** Returns the statement for drizzle, which calls only the members that it has. */
export function toDrizzle(statement: PlainSql): SQL {
  return statement as unknown as SQL;
}
