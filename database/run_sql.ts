import type { SQL } from "drizzle-orm";
import { toRows } from "./execute.ts";
import type { PlainSql } from "./plain_sql.ts";
import type { Row } from "./providers/provider.ts";
import { PreparedQuery } from "./session/prepared_query.ts";
import type { PoolSession, TransactionSession } from "./session/session.ts";
import { findSession } from "./session/statement_session.ts";

/** A client or a transaction's client, also of drizzle's own drivers. */
export interface SqlClient {
  /** Runs a statement. */
  execute(query: SQL): PromiseLike<unknown>;
}

/**
 * Runs a statement of this package. On a client of this package it needs no drizzle, unless the server
 * has a text of its own.
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
 * @returns The statement; `undefined` if drizzle has to write it.
 */
export function prepareSql(
  client: object,
  { text, params }: PlainSql,
  name?: string,
): PreparedQuery | undefined {
  const session = findSession(client);
  if (session === undefined || session.statements.hasOwnText) return undefined;
  return new PreparedQuery(
    session as PoolSession | TransactionSession,
    { sql: text, params },
    { name },
    { kind: "raw" },
    () => params,
  );
}

/** Returns the statement for drizzle, which calls only the members that it has. */
export function toDrizzle(statement: PlainSql): SQL {
  return statement as unknown as SQL;
}
