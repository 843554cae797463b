import type { PgTable } from "drizzle-orm/pg-core";
import { type Clock, systemClock } from "../../core/async/clock.ts";
import { wholeNumber } from "../../core/function_options.ts";
import type { LambdaContext } from "../../core/http/lambda.ts";
import { checkOptions, FUNCTION_OPTION, NAME_OPTION } from "../../core/option_rules.ts";
import { reportPositions, wrapOrderedTrigger } from "../../core/triggers/ordered_batch.ts";
import type { KinesisEvent, StreamBatchResult } from "../../core/triggers/stream_events.ts";
import {
  checkTriggerOptions,
  type StreamTriggerOptions,
  type TriggerHandler,
} from "../../core/triggers/trigger_options.ts";
import type { WrapperMetadata } from "../../core/with_observability.ts";
import { isKind } from "../../database/session/drizzle_table.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import type { TransactionClient } from "../../database/session/transaction.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { log } from "../../observability/logger.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import type { Change } from "./change.ts";
import { listChangeLanes, listWaitingPositions } from "./change_batch.ts";
import { consumeRecord, type ConsumerOptions } from "./change_consumer.ts";
import { readChangedTable } from "./changed_table.ts";
import { cleanUp } from "./clean_up.ts";

/** Options of `defineChangeStreamHandler`. */
export interface ChangeStreamHandlerOptions<
  TTable extends PgTable,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
> extends StreamTriggerOptions {
  /**
   * Name under which this consumer remembers what it has handled. Two functions with one name would
   * each see a part of the changes; a function with a new name begins without positions.
   */
  name: string;
  /** drizzle's definition of the table. It needs a primary key, and may omit columns. */
  table: TTable;
  /** Returns the client of the database with the tables of `CHANGES_MIGRATION_SQL`. */
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>;
  /**
   * Seconds that the position of a row is kept, longer than the retention of the stream: one day to
   * 400 days. An older change is refused, because it may have been handled.
   * @default 2592000 (30 days)
   */
  keepSeconds?: number;
  /**
   * Rows whose changes are handled at the same time. Each uses a connection.
   * @default 1
   */
  concurrency?: number;
  /**
   * Clock of a test.
   * @default systemClock
   */
  clock?: Clock;
}

/** Parameters of a handler of changes. */
export interface ChangeStreamHandlerParams<
  TTable extends PgTable,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
> {
  /** The change. */
  change: Change<TTable>;
  /** The transaction that remembers the change: what it writes is applied exactly once. */
  tx: TransactionClient<TSchema>;
  /** Aborted when the time for the record is up: pass it to `fetch`. */
  signal: AbortSignal;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids; the correlation id is that of the record. */
  metadata: WrapperMetadata;
}

/** The function that a user writes: called once for each change. What it returns is not used. */
export type ChangeStreamHandlerFunction<
  TTable extends PgTable,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
> = (params: ChangeStreamHandlerParams<TTable, TSchema>) => unknown;

const OWN_KEYS = ["name", "table", "getDb", "keepSeconds", "concurrency", "clock"] as const;
const DAY_SECONDS = 86_400;
const CLEAN_UP_MS = 600_000;
/**
 * Declares the consumer of a table's changes in the change stream of Aurora DSQL, which Kinesis
 * delivers repeatedly, unordered and split. The handler gets each change once, and the changes of a
 * row in the order of their COMMIT. A change that arrives after a later change of its row is skipped:
 * the later one had the whole row. Rows that were split are put together and compared with their
 * checksum.
 *
 * A record that cannot be read or does not fit the table fails with the table and the key of the row,
 * and goes to the failure destination after its retries. Other rows are handled meanwhile.
 *
 * @param options Name, table and client.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} If an option is unknown or invalid, or the table has no primary key or
 * a column that the stream does not describe.
 *
 * @example
 * ```ts
 * import { CHANGES_MIGRATION_SQL, defineChangeStreamHandler } from "@trellis/fn/jobs";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createChangeStreamEvent, createLambdaContext, createTestDatabase } from "@trellis/fn/testing";
 * import { integer, pgTable } from "drizzle-orm/pg-core";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of CHANGES_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const orders = pgTable("orders", { id: integer("id").primaryKey(), total: integer("total").notNull() });
 *
 * const handler = defineChangeStreamHandler({
 *   name: "print-orders",
 *   table: orders,
 *   getDb: () => db,
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function printOrder({ change }) {
 *   console.log(change.operation, change.key.id, change.after?.total);
 * });
 *
 * const event = createChangeStreamEvent(orders, [{ operation: "insert", after: { id: 1, total: 5 } }]);
 * await handler(event, createLambdaContext()); // insert 1 5
 * await handler(event, createLambdaContext()); // nothing: it was handled
 * await close();
 * ```
 */
export function defineChangeStreamHandler<
  TTable extends PgTable,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  options: ChangeStreamHandlerOptions<TTable, TSchema>,
): (
  handler: ChangeStreamHandlerFunction<TTable, TSchema>,
) => TriggerHandler<
  KinesisEvent,
  StreamBatchResult,
  ChangeStreamHandlerFunction<TTable, TSchema>
> {
  const consumer = readOptions(options as ChangeStreamHandlerOptions<PgTable>);
  const { concurrency = 1 } = options;
  let nextCleanUpMs = 0;

  async function cleanUpSometimes(operationName: string): Promise<void> {
    if (performance.now() < nextCleanUpMs) return;
    nextCleanUpMs = performance.now() + CLEAN_UP_MS;
    await cleanUp(consumer, operationName);
  }

  return function wrapHandler(handler) {
    const run = handler as ChangeStreamHandlerFunction<PgTable>;
    return wrapOrderedTrigger("defineChangeStreamHandler", options, handler, {
      listLanes: (event: KinesisEvent) => listChangeLanes(event, consumer.table),
      concurrency,
      identify: ({ sequenceNumber, eventId }) => ({
        correlationIds: [eventId],
        fields: { sequence_number: sequenceNumber },
      }),
      async work({ envelope, error }, context, metadata): Promise<void> {
        if (envelope === undefined) throw error;
        const outcome = await consumeRecord(
          consumer,
          envelope,
          (change, tx, signal) => run({ change, tx, signal, context, metadata }),
        );
        if (outcome === "skipped") countSkipped(metadata, options.metrics !== false);
        await cleanUpSometimes(metadata.operationName);
      },
      // Lambda begins again at the lowest one; what was handled after it is recognized
      report: (failed) => reportPositions(failed.flatMap(listWaitingPositions)),
      // the rows are not logged: their columns may hold anything
      toLoggable: (event) => ({ records: event?.Records?.length }),
    });
  };
}

function readOptions(options: ChangeStreamHandlerOptions<PgTable>): ConsumerOptions {
  checkTriggerOptions("defineChangeStreamHandler", options, ["deadLetterQueue", ...OWN_KEYS]);
  const { name, table, getDb, keepSeconds = 30 * DAY_SECONDS, clock = systemClock } = options;
  checkOptions("defineChangeStreamHandler", { name: name ?? null, getDb, keepSeconds }, {
    name: NAME_OPTION,
    getDb: FUNCTION_OPTION,
    keepSeconds: wholeNumber([DAY_SECONDS, 400 * DAY_SECONDS, "seconds"]),
  });
  if (typeof getDb !== "function") {
    throw new ConfigurationError("getDb of defineChangeStreamHandler must be a function");
  }
  if (!isKind(table, "PgTable")) {
    throw new ConfigurationError("table of defineChangeStreamHandler must be a pgTable of drizzle");
  }
  return { name, table: readChangedTable(table), getDb, keepSeconds, clock };
}

function countSkipped({ operationName }: WrapperMetadata, addsMetrics: boolean): void {
  log("DEBUG", "a change was handled before, or is older than the last one of its row");
  if (!addsMetrics) return;
  addOccurrences({ operationName }, [["SkippedChanges", "Count", 1]]);
}
