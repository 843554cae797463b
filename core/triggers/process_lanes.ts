import { enableConcurrentInvocations } from "../../observability/invocation_context.ts";
import { metrics } from "../../observability/metrics.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { beginBatch, type RecordBatch, type RecordIdentity, tryRecord } from "./record_scope.ts";

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

  // records that overlap need state that goes by their asynchronous context
  if (concurrency > 1) enableConcurrentInvocations();
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
  metrics.addMetricsWithDimensions({ operationName }, [
    ["Records", "Count", records],
    ["FailedRecords", "Count", failed],
  ]);
}
