import type { IdempotencyStore } from "../core/idempotency.ts";
import { createIdempotencyStore } from "./create_store.ts";
import { createDatabaseBackend, type GetDatabase } from "./database_backend.ts";

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
