import { wholeNumber } from "../core/function_options.ts";
import { checkOptions } from "../core/option_rules.ts";
import { remainingMs } from "../core/request_context.ts";
import { rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { quoteName } from "../sql/quote.ts";
import type { GetDatabase } from "./database_backend.ts";
import { IDEMPOTENCY_TABLE } from "./migration.ts";

/** Options of {@link removeExpiredRecords}. */
export interface RemoveExpiredOptions {
  /**
   * Rows for each statement, 1 to 3,000.
   * @default 1000
   */
  batchSize?: number;
  /**
   * Upper limit of statements.
   * @default 1000
   */
  maxBatches?: number;
}

/** Time that is left for the rest of the invocation, in milliseconds. */
const MARGIN_MS = 2000;

/**
 * Deletes expired records in batches, each in a separate transaction. Call it from a schedule handler. Stops shortly before the
 * deadline of the invocation; the next call continues. DynamoDB deletes expired records itself.
 *
 * @param getDb Returns the client.
 * @param options Size and number of the batches.
 * @returns The number of deleted records.
 *
 * @example
 * ```ts
 * import { defineScheduleHandler } from "@trellis/fn/triggers";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { removeExpiredRecords } from "@trellis/fn/idempotency";
 *
 * const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
 * const handler = defineScheduleHandler()(function cleanUp() {
 *   return removeExpiredRecords(getDb);
 * });
 * ```
 */
export async function removeExpiredRecords<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(getDb: GetDatabase<TSchema>, options: RemoveExpiredOptions = {}): Promise<number> {
  checkOptions("removeExpiredRecords", options, {
    batchSize: wholeNumber([1, 3000, "rows"]),
    maxBatches: wholeNumber([1, Infinity, "batches"]),
  });
  const { batchSize = 1000, maxBatches = 1000 } = options;
  const db = await getDb() as DrizzleClient;
  const records = rawSql(quoteName(IDEMPOTENCY_TABLE));
  // checked twice: a record may be claimed again between the two
  const statement = sql`DELETE FROM ${records} WHERE expires_at <= now() AND id IN
    (SELECT id FROM ${records} WHERE expires_at <= now() LIMIT ${batchSize}) RETURNING id`;
  let removed = 0;
  for (let batch = 0; batch < maxBatches && remainingMs() > MARGIN_MS; batch++) {
    const rows = await withQueryMetrics(
      "removeExpiredRecords",
      () => runSqlRows(db, statement),
    );
    removed += rows.length;
    if (rows.length < batchSize) break;
  }
  return removed;
}
