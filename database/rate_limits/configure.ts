import type { PgTable } from "drizzle-orm/pg-core";
import {
  checkClientAddressSource,
  type ClientAddressSource,
} from "../../core/http/client_address.ts";
import { createRequestLimits } from "../../core/rate_limit/count_request.ts";
import { type RateLimitStore, setRequestLimits } from "../../core/rate_limit/rate_limit.ts";
import { createRateLimitStore, type RateLimitDatabase } from "./store.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link configureRateLimits}. */
export interface RateLimitConfig {
  /**
   * Table with the columns of `RATE_LIMIT_COLUMNS`.
   * @default rateLimits
   */
  table?: PgTable;
  /**
   * Where the client's address comes from, for limits by address.
   * @default "gateway"
   */
  clientAddress?: ClientAddressSource;
}

/**
 * Configures where handlers with the option `rateLimit` count requests. Call it once at module
 * scope. It connects on the first request. The table is created by `RATE_LIMIT_MIGRATION_SQL`.
 *
 * @param getDb Returns the database client, such as `() => getDrizzleClient(config)`. It should
 * cache.
 * @param options Table, and the source of the client's address.
 * @throws {ConfigurationError} If `clientAddress` is invalid.
 *
 * @example
 * ```ts
 * import {
 *   closeDrizzleClient,
 *   configureRateLimits,
 *   getDrizzleClient,
 *   RATE_LIMIT_MIGRATION_SQL,
 *   resetRateLimits,
 * } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createHttpApiEvent, createLambdaContext } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const getDb = () => getDrizzleClient({ provider: "embedded-pg", connectionString: "memory://" });
 * configureRateLimits(getDb);
 * const handler = defineApiHandler({
 *   rateLimit: { limit: 1, windowSeconds: 60, by: "address" },
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function ping() {
 *   return { statusCode: 204, body: "" };
 * });
 *
 * await (await getDb()).execute(sql.raw(RATE_LIMIT_MIGRATION_SQL));
 * const ask = () => handler(createHttpApiEvent({ path: "/ping" }), createLambdaContext());
 * console.log((await ask()).statusCode); // 204
 * console.log((await ask()).statusCode); // 429
 * resetRateLimits();
 * await closeDrizzleClient();
 * ```
 */
export function configureRateLimits(
  getDb: () => Promise<RateLimitDatabase>,
  options: RateLimitConfig = {},
): void {
  record("configureRateLimits", [getDb, options], undefined);
  const { table, clientAddress } = options;
  if (clientAddress !== undefined) checkClientAddressSource(clientAddress);
  const stores: WeakMap<RateLimitDatabase, RateLimitStore> = new WeakMap();

  async function getStore(): Promise<RateLimitStore> {
    const db = await getDb();
    let store = stores.get(db);
    if (store === undefined) stores.set(db, store = createRateLimitStore(db, table));
    return store;
  }

  setRequestLimits(createRequestLimits(getStore, clientAddress));
}

/** Clears the configuration of {@link configureRateLimits}. For tests. */
export function resetRateLimits(): void {
  setRequestLimits(undefined);
}
