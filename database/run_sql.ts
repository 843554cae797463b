import type { SQL } from "drizzle-orm";
import { toRows } from "./execute.ts";
import type { PlainSql } from "./plain_sql.ts";
import type { Row } from "../sql/session.ts";
import { PreparedQuery, type RowMapping } from "./session/prepared_query.ts";
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
  const session = findSession(client) as PoolSession | TransactionSession | undefined;
  if (session === undefined) return undefined;
  const { text, params, isCast } = session.statements.write(statement);
  return new PreparedQuery(session, { sql: text, params }, { name, isCast }, mapping, () => params);
}

/** Returns the statement for drizzle, which calls only the members that it has. */
export function toDrizzle(statement: PlainSql): SQL {
  return statement as unknown as SQL;
}
