/**
 * Handlers that execute a request or a message once, however often it arrives. `createTransactionStore` stores results in the
 * transaction of the handler's own writes; `createLeaseStore` and `createDynamoDbStore` are for effects elsewhere.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTransactionStore } from "@trellis/fn/idempotency";
 * import * as z from "zod";
 *
 * const store = createTransactionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 *
 * const handler = defineApiHandler({
 *   schema: z.object({ item: z.string() }),
 *   idempotency: { store, ttlSeconds: 3600 },
 * })(async function createOrder({ body, tx, context }) {
 *   await tx.execute(sql`INSERT INTO orders (item) VALUES (${body.item})`);
 *   return buildValidatedResponse(context, 201, { item: body.item });
 * });
 * ```
 *
 * @module
 */
export type {
  IdempotencySettings,
  IdempotencyStore,
  MessageIdempotency,
  ProtectedOptions,
  ProtectedParams,
  RequestIdempotency,
  TransactionParam,
} from "../core/idempotency.ts";
export type {
  Attempt,
  BackendTransactions,
  Claim,
  IdempotencyBackend,
  RecordKey,
  RecordTerms,
} from "./backend.ts";
export { createIdempotencyStore, createLeaseStore, createTransactionStore } from "./stores.ts";
export type { GetDatabase } from "./database_backend.ts";
export { createDynamoDbStore, type DynamoDbStoreOptions } from "./dynamodb_store.ts";
export { IDEMPOTENCY_MIGRATION_SQL, IDEMPOTENCY_TABLE } from "./migration.ts";
export { type RemoveExpiredOptions, removeExpiredRecords } from "./remove_expired.ts";
