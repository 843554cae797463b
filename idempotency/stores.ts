import type { IdempotencyStore } from "../core/idempotency.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import type { IdempotencyBackend } from "./backend.ts";
import { createDatabaseBackend, createTransactions, type GetDatabase } from "./database_backend.ts";
import { protectMessage } from "./protect_message.ts";
import { protectRequest } from "./protect_request.ts";

/**
 * Creates a store on a storage of your own.
 *
 * @param backend The storage.
 * @returns A store for the option `idempotency`.
 *
 * @example
 * ```ts
 * import { type Claim, createIdempotencyStore } from "@trellis/fn/idempotency";
 *
 * const results = new Map<string, string | undefined>();
 * const store = createIdempotencyStore({
 *   maxResultBytes: 1_000_000,
 *   claim({ id, fingerprint }): Promise<Claim> {
 *     const result = results.get(id);
 *     if (result !== undefined) return Promise.resolve({ state: "done", fingerprint, result });
 *     if (results.has(id)) return Promise.resolve({ state: "running", fingerprint });
 *     results.set(id, undefined);
 *     return Promise.resolve({ state: "claimed", fence: crypto.randomUUID() });
 *   },
 *   complete: ({ id }, result) => Promise.resolve(Boolean(results.set(id, result))),
 *   release: ({ id }) => Promise.resolve(void results.delete(id)),
 * });
 * console.log(typeof store.protectRequest); // function
 * ```
 */
export function createIdempotencyStore<TTransaction = never>(
  backend: IdempotencyBackend<TTransaction>,
): IdempotencyStore<TTransaction> {
  const storage = backend as IdempotencyBackend<unknown>;
  return {
    protectRequest: (handler, options) => protectRequest(storage, handler, options),
    describeKey: ({ key, required }) => ({
      isHeader: key === undefined,
      isRequired: required !== false,
    }),
    protectMessage: (handler, options, getKey) => protectMessage(storage, handler, options, getKey),
  };
}

/**
 * Creates a store in the application's database for handlers with effects elsewhere, such as calls of a payment service. Two
 * executions of a request never overlap while the lease lasts, and its result is stored when the handler has returned. A process
 * that dies between its effect and that moment leaves a key that becomes free when the lease ends: the effect is then repeated.
 * Pass the key on, so that the other service recognizes the repetition.
 *
 * @param getDb Returns the client. Its database needs the table of `IDEMPOTENCY_MIGRATION_SQL`.
 * @returns The store.
 *
 * @example
 * ```ts
 * import { defineQueueHandler } from "@trellis/fn/triggers";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { createLeaseStore } from "@trellis/fn/idempotency";
 *
 * const store = createLeaseStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 * const handler = defineQueueHandler({ idempotency: { store, ttlSeconds: 3600 } })(
 *   async function charge({ record }) {
 *     await fetch("https://payments.example.com", { method: "POST", headers: { "Idempotency-Key": record.messageId } });
 *   },
 * );
 * ```
 */
export function createLeaseStore<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(getDb: GetDatabase<TSchema>): IdempotencyStore {
  return createIdempotencyStore(createDatabaseBackend(getDb));
}

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
