import type { IdempotencyStore } from "../core/idempotency.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import type { IdempotencyBackend } from "./backend.ts";
import { createIdempotencyStore } from "./create_store.ts";
import { createDatabaseBackend, createTransactions, type GetDatabase } from "./database_backend.ts";

/**
 * Creates a store in the application's database for handlers that write to the same database. The handler runs in a
 * transaction, whose client it gets as `tx`, and its result is stored in that transaction: what it writes with `tx` is applied
 * exactly once, even if a process dies in between. Returning commits. Throwing, and a response with status 500 or above, rolls back.
 *
 * A conflict runs the handler again, as with `withTransaction`: it must not have effects outside of the database.
 *
 * @param getDb Returns the client. Its database needs the table of `IDEMPOTENCY_MIGRATION_SQL`.
 * @returns The store.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTransactionStore, IDEMPOTENCY_MIGRATION_SQL } from "@trellis/fn/idempotency";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const getDb = () => getDrizzleClient({ provider: "embedded-pg", instrument: false });
 * const handler = defineApiHandler({
 *   idempotency: { store: createTransactionStore(getDb) },
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(async function addOrder({ tx, context }) {
 *   await tx.execute(sql`INSERT INTO orders DEFAULT VALUES`);
 *   return buildValidatedResponse(context, 201, { ordered: true });
 * });
 *
 * const db = await getDb();
 * for (const statement of IDEMPOTENCY_MIGRATION_SQL.split("--> statement-breakpoint")) await db.execute(statement);
 * await db.execute(sql`CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY)`);
 * const event = createRestApiEvent({ method: "POST", path: "/orders", headers: { "Idempotency-Key": "k-1" } });
 * const first = await handler(event, createLambdaContext());
 * const second = await handler(event, createLambdaContext());
 * console.log(second.body === first.body, second.headers?.["Idempotency-Replayed"]); // true "true"
 * await closeDrizzleClient();
 * ```
 */
export function createTransactionStore<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(getDb: GetDatabase<TSchema>): IdempotencyStore<TransactionClient<TSchema>> {
  const backend: IdempotencyBackend<TransactionClient<TSchema>> = {
    ...createDatabaseBackend(getDb),
    transactions: createTransactions(getDb),
  };
  return createIdempotencyStore(backend);
}
