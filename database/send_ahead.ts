import type { Query, SQL, SQLWrapper } from "drizzle-orm";
import type { PgPreparedQuery, PreparedQueryConfig } from "drizzle-orm/pg-core";
import { TransactionMisuseError } from "../errors/transaction_misuse_error.ts";
import type { PlainSql } from "./plain_sql.ts";
import type { DrizzleClient } from "./providers/provider.ts";
import { prepareSql, type SqlClient, toDrizzle } from "./run_sql.ts";
import type { PlaceholderValues } from "./session/placeholders.ts";
import type { PreparedQuery } from "./session/prepared_query.ts";
import type { TransactionSession } from "./session/session.ts";
import type { TransactionClient } from "./transaction.ts";
import { findSession } from "./session/statement_session.ts";
import type { TransactionState } from "./session/transaction_state.ts";
import { findTransactionState } from "./transaction_guard.ts";

/** Statement for {@link sendAhead}: a query of drizzle, `sql`, or a prepared query. */
export type AheadStatement = SQLWrapper | PgPreparedQuery<PreparedQueryConfig>;

/** Parts of a transaction's client that drizzle's types leave out. */
interface TransactionInternals {
  readonly dialect: { sqlToQuery(query: SQL): Query };
  readonly _: { readonly session: { prepareQuery(query: Query): unknown } };
  execute(query: SQL): PromiseLike<unknown>;
}

/**
 * Sends a statement of a transaction without waiting for its answer, for writes whose result is not
 * needed. It travels with the next statement or with COMMIT, so that it takes no round trip; with the
 * providers `branching-pg`, `embedded-pg` and the Data API the transaction waits for it before
 * COMMIT. If it fails, the transaction is rolled back and rejects with its error.
 *
 * @param tx The transaction's client.
 * @param statement An insert, update or delete of the client, not awaited; or the result of
 * `.prepare(name)`.
 * @param values A value for each `sql.placeholder` of a prepared query.
 * @throws {TransactionMisuseError} If the client is not that of a running transaction.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, sendAhead, withTransaction } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE audit (action text)`);
 * await withTransaction(db, async (tx) => {
 *   await tx.execute(sql`CREATE TABLE notes (title text)`);
 *   sendAhead(tx, sql`INSERT INTO audit VALUES ('created')`);
 * });
 * await closeDrizzleClient();
 * ```
 */
export function sendAhead<TSchema extends Record<string, unknown>>(
  tx: DrizzleClient<TSchema> | TransactionClient<TSchema>,
  statement: AheadStatement,
  values: PlaceholderValues = {},
): void {
  const state = findTransactionState(tx);
  if (state === undefined || state.hasEnded) {
    throw new TransactionMisuseError(
      "sendAhead needs the client of a running transaction: await the statement instead",
    );
  }
  addSentAhead(state, start(tx as unknown as TransactionInternals, statement, values));
}

function start(
  tx: TransactionInternals,
  statement: AheadStatement,
  values: PlaceholderValues,
): Promise<unknown> {
  if ("getSQL" in statement) return sendSqlAhead(tx, statement.getSQL());
  const session = findSession(tx);
  const isOwn = session !== undefined && "bind" in statement;
  return isOwn
    ? runAhead(session as TransactionSession, statement as unknown as PreparedQuery, values)
    : statement.execute({ ...values });
}

/**
 * Sends a statement of this package on a transaction without waiting for its answer.
 *
 * @param client The transaction's client.
 * @param statement The statement.
 * @returns The answer.
 */
export function sendPlainAhead(client: SqlClient, statement: PlainSql): Promise<unknown> {
  const prepared = prepareSql(client, statement);
  return prepared === undefined
    ? sendSqlAhead(client, toDrizzle(statement))
    : runAhead(findSession(client) as TransactionSession, prepared);
}

function sendSqlAhead(client: SqlClient, statement: SQL): Promise<unknown> {
  const session = findSession(client);
  if (session === undefined) return Promise.resolve(client.execute(statement));
  const { _: drizzle, dialect } = client as TransactionInternals;
  const prepared = drizzle.session.prepareQuery(dialect.sqlToQuery(statement));
  return runAhead(session as TransactionSession, prepared as PreparedQuery);
}

function runAhead(
  session: TransactionSession,
  statement: PreparedQuery,
  values: PlaceholderValues = {},
): Promise<unknown> {
  session.assertOpen();
  return statement.bind({ send: (filled) => session.sendAhead(filled) }).all({ ...values });
}

/**
 * Makes a transaction wait for a statement that was sent ahead, and fail if it fails.
 *
 * @param state The transaction.
 * @param sent The answer.
 */
export function addSentAhead(state: TransactionState, sent: Promise<unknown>): void {
  state.sentAhead = state.sentAhead === undefined ? sent : Promise.all([state.sentAhead, sent]);
  // the transaction reports it
  state.sentAhead.catch(() => {});
}
