import type * as drizzle from "drizzle-orm";
import type * as core from "drizzle-orm/pg-core";
import type { PgTransactionConfig } from "drizzle-orm/pg-core";
import { isKind } from "./drizzle_table.ts";
import type { ByVersion, DrizzleClient, QueryResultHKT, Relations } from "./drizzle_client.ts";
import { findSession } from "./statement_session.ts";
import { guardTransactions } from "./transaction_guard.ts";

type Schema = Record<string, unknown>;
/** @ts-ignore drizzle 1.0 takes other parameters */
type Tables<S extends Schema> = drizzle.ExtractTablesWithRelations<S>;
/** @ts-ignore drizzle 1.0 lacks it */
type Client45<S extends Schema> = core.PgTransaction<QueryResultHKT, S, Tables<S>>;
/** @ts-ignore drizzle 0.45 lacks it */
type Client1<S extends Schema> = core.PgAsyncTransaction<QueryResultHKT, Relations<S>>;

/** drizzle's PostgreSQL client inside a transaction. */
export type TransactionClient<TSchema extends Record<string, unknown> = Record<string, unknown>> =
  ByVersion<{ v45: Client45<TSchema>; v1: Client1<TSchema> }>;

/**
 * Runs work in a transaction: commits when the function's promise resolves, rolls back when it
 * rejects or when one statement failed. All queries must use the client that the function gets, and
 * only while the function runs. A query on the outer client, which would wait for the transaction's
 * own connection, is rejected; so is the transaction's client after the function has ended.
 *
 * The isolation level is REPEATABLE READ on all providers: what a transaction read has not changed when it commits, else it fails
 * with a conflict (SQLSTATE 40001). With READ COMMITTED, the default of PostgreSQL, a read followed by an update loses the update of
 * another transaction in between.
 *
 * Within `withDistSqlRetry`, `withQueryMetrics` or a defined query, a conflict runs the whole
 * function again. The function must not have side effects outside of the database.
 *
 * @param db The client, or a transaction's client for a savepoint.
 * @param fn The work.
 * @param config Another isolation level, and the access mode, if the provider supports them.
 * @returns The result of `fn`.
 * @throws {CommitOutcomeUnknownError} If the connection was lost during COMMIT.
 * @throws {TransactionMisuseError} If the transaction's client is used after the function has ended
 * and before COMMIT.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, withTransaction } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await withTransaction(db, async (tx) => {
 *   await tx.execute(sql`CREATE TABLE transfers (amount int)`);
 *   await tx.execute(sql`INSERT INTO transfers VALUES (5), (-5)`);
 * });
 * await closeDrizzleClient();
 * ```
 */
export function withTransaction<
  T,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  db: DrizzleClient<TSchema>,
  fn: (tx: TransactionClient<TSchema>) => Promise<T>,
  config?: PgTransactionConfig,
): Promise<T> {
  // a savepoint takes no configuration, and its session is guarded by the outer transaction
  if (isTransaction(db)) return db.transaction(fn);
  const { isolationLevel = "repeatable read" } = config ?? {};
  return guardTransactions(db).transaction(fn, { ...config, isolationLevel });
}

/** The kinds of a transaction's client in drizzle 0.45 and 1.0. */
const TRANSACTIONS = ["PgTransaction", "PgAsyncTransaction"];

function isTransaction(db: object): boolean {
  const own = findSession(db);
  return own === undefined
    ? TRANSACTIONS.some((kind) => isKind(db, kind))
    : own.state !== undefined;
}
