import { log } from "../../observability/logger.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import type { LambdaContext } from "../http/lambda.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { wrapTrigger } from "./observe_trigger.ts";
import { beginBatch, type RecordBatch, type RecordIdentity, tryRecord } from "./record_scope.ts";
import type { StreamBatchResult } from "./stream_events.ts";
import type { TriggerHandler, TriggerOptions } from "./trigger_options.ts";

/** A source that delivers records in order. */
export interface OrderedSource<E, T, R> {
  /** Returns the records by shard or partition. Throws if the event comes from another service. */
  readonly listLanes: (event: E) => readonly (readonly T[])[];
  /**
   * Lanes that are processed at once.
   * @default 1
   */
  readonly concurrency?: number;
  /** Returns the ids of a record. */
  readonly identify: (record: T) => RecordIdentity;
  /** The work on one record. */
  readonly work: (record: T, context: LambdaContext, metadata: WrapperMetadata) => unknown;
  /** Returns the result of the invocation. `failed` has the first failed record of each lane. */
  readonly report: (failed: readonly T[]) => R;
  /** Returns a copy of the event for the log. */
  readonly toLoggable?: (event: E) => unknown;
}

/**
 * Returns the function for Lambda of a user's function for ordered records. A lane stops at its first failure, because
 * the source delivers everything from there on again.
 *
 * @param factory Name of the factory, for messages.
 * @param options The trigger's options, which are checked.
 * @param handler The user's function.
 * @param source The source.
 * @throws {ConfigurationError} If `handler` is not a function.
 */
export function wrapOrderedTrigger<E, T, R, F>(
  factory: string,
  options: TriggerOptions,
  handler: F,
  source: OrderedSource<E, T, R>,
): TriggerHandler<E, R, F> {
  const { listLanes, concurrency = 1, identify, work, report, toLoggable } = source;
  return wrapTrigger<E, R, F>(factory, options, handler, {
    async work(event, context, metadata) {
      const lanes = listLanes(event);
      const stopped = await processLanes({
        lanes,
        concurrency,
        metadata,
        identify,
        work: (record, own) => work(record, context, own),
        onStop: logWaiting,
      });
      if (options.metrics !== false) {
        const count = lanes.reduce((sum, { length }) => sum + length, 0);
        addRecordMetrics(metadata, count, stopped.length);
      }
      return report(stopped.map(({ failed }) => failed));
    },
    toLoggable,
  });
}

/** Returns the answer to Lambda that names the positions from which it delivers again. */
export function reportPositions(positions: readonly string[]): StreamBatchResult {
  return { batchItemFailures: positions.map((itemIdentifier) => ({ itemIdentifier })) };
}

/** Logs in one line how many records wait for the next delivery. */
function logWaiting(_: RecordBatch, _failed: unknown, rest: readonly unknown[]): void {
  if (rest.length === 0) return;
  log("WARN", "records are left for the next delivery, to keep their order", {
    waiting: rest.length,
  });
}

/** Options of {@link processLanes}. */
export interface LaneOptions<T> {
  /** Records by lane: those of a lane are processed in order. */
  readonly lanes: readonly (readonly T[])[];
  /** Lanes that are processed at once. */
  readonly concurrency: number;
  /** The ids of the invocation. */
  readonly metadata: WrapperMetadata;
  /** Returns the ids of a record. */
  readonly identify: (record: T) => RecordIdentity;
  /** The work on one record, with the metadata of the record. */
  readonly work: (record: T, metadata: WrapperMetadata) => unknown;
  /** Called with the failed record and the rest of its lane, which is not processed. */
  readonly onStop: (batch: RecordBatch, failed: T, rest: readonly T[]) => unknown;
}

/** The failed record of a lane, and the records after it. */
export interface StoppedLane<T> {
  /** The record that failed. */
  readonly failed: T;
  /** The records of the lane that were not processed. */
  readonly rest: readonly T[];
}

/**
 * Processes the records of a batch. Each record has its own log lines, correlation id and span. A
 * lane stops at its first failure; the others continue.
 *
 * @param options Lanes and work.
 * @returns The lanes that stopped, in the order of `lanes`.
 */
export async function processLanes<T>(options: LaneOptions<T>): Promise<StoppedLane<T>[]> {
  const { lanes, concurrency, metadata, identify, work, onStop } = options;
  const batch = beginBatch();
  const stopped: (StoppedLane<T> | undefined)[] = [];

  async function processLane(lane: readonly T[]): Promise<StoppedLane<T> | undefined> {
    for (const [index, record] of lane.entries()) {
      const isDone = await tryRecord(
        batch,
        identify(record),
        metadata,
        (own) => work(record, own),
      );
      if (isDone) continue;
      const rest = lane.slice(index + 1);
      await onStop(batch, record, rest);
      return { failed: record, rest };
    }
  }

  const entries = lanes.entries();
  async function run(): Promise<void> {
    for (const [index, lane] of entries) stopped[index] = await processLane(lane);
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, lanes.length) }, run));
  return stopped.filter((lane) => lane !== undefined);
}

/**
 * Adds the metrics `Records` and `FailedRecords` with the dimension `operationName`.
 *
 * @param metadata The ids of the invocation.
 * @param records Number of records in the batch.
 * @param failed Number of records that failed.
 */
export function addRecordMetrics(
  { operationName }: WrapperMetadata,
  records: number,
  failed: number,
): void {
  addOccurrences({ operationName }, [
    ["Records", "Count", records],
    ["FailedRecords", "Count", failed],
  ]);
}
