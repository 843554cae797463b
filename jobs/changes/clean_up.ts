import { withDistSqlRetry } from "../../database/session/retry.ts";
import { runSql, runSqlRows, type SqlClient } from "../../database/session/run_sql.ts";
import { remainingMs } from "../../core/request_context.ts";
import { log } from "../../observability/logger.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import type { ConsumerOptions } from "./change_consumer.ts";
import { buildFindIncomplete, buildRemoveParts, parseMain } from "./chunks.ts";
import { buildRemovePositions, POSITION_SHARDS } from "./positions.ts";

const REMOVED = 1000;
/** Positions outlive the age from which changes are refused, for workers whose clocks differ. */
const MARGIN_SECONDS = 3600;
/** Time after which fragments that did not arrive are reported. */
const INCOMPLETE_SECONDS = 900;
const STRAY_DAYS = 1;
/** Time that is left for the records. */
const MARGIN_MS = 5000;

/**
 * Removes what a consumer no longer needs, and reports rows whose fragments did not arrive. Never
 * throws.
 *
 * @param options Consumer and client.
 * @param operationName Dimension of the metric.
 */
export async function cleanUp(options: ConsumerOptions, operationName: string): Promise<void> {
  try {
    const db = await options.getDb();
    await reportIncomplete(db, options, operationName);
    await removeOld(db, options);
  } catch (error) {
    log("WARN", "cleaning up after the change stream failed, it is tried again later", { error });
  }
}

async function reportIncomplete(
  db: SqlClient,
  { name }: ConsumerOptions,
  operationName: string,
): Promise<void> {
  const rows = await runSqlRows<{ data: string }>(
    db,
    buildFindIncomplete(name, INCOMPLETE_SECONDS),
  );
  for (const { data } of rows) {
    const { schema, table, chunkId, commitNs, operation } = parseMain(data);
    log("ERROR", "fragments of a changed row did not arrive: read the table to find the change", {
      table: `${schema}.${table}`,
      operation,
      chunk_id: chunkId,
      position: String(commitNs),
    });
  }
  addOccurrences({ operationName }, [
    ["IncompleteChanges", "Count", rows.length],
  ]);
}

async function removeOld(
  db: SqlClient,
  { name, clock, keepSeconds }: ConsumerOptions,
): Promise<void> {
  const before = BigInt(Math.floor(clock.now() - (keepSeconds + MARGIN_SECONDS) * 1000));
  for (let shard = 0; shard < POSITION_SHARDS; shard++) {
    const statement = buildRemovePositions(shard, before * 1_000_000n, REMOVED);
    for (let last = REMOVED; last === REMOVED && remainingMs() > MARGIN_MS;) {
      last = (await withDistSqlRetry(() => runSqlRows(db, statement))).length;
    }
  }
  const parts = buildRemoveParts(name, keepSeconds, STRAY_DAYS);
  await withDistSqlRetry(async () => await runSql(db, parts));
}
