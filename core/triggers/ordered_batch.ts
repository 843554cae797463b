import { log } from "../../observability/logger.ts";
import type { LambdaContext } from "../http/lambda.ts";
import type { LambdaHandler, WrapperMetadata } from "../with_observability.ts";
import { observeTrigger } from "./observe_trigger.ts";
import { addRecordMetrics, processLanes } from "./process_lanes.ts";
import type { RecordBatch, RecordIdentity } from "./record_scope.ts";
import type { TriggerOptions } from "./trigger_options.ts";

/** A source that delivers records in order. */
export interface OrderedSource<E, T, R> {
  /** Returns the records by shard or partition. Throws if the event comes from another service. */
  readonly listLanes: (event: E) => readonly (readonly T[])[];
  /** Lanes that are processed at once. */
  readonly concurrency: number;
  /** Returns the ids of a record. */
  readonly identify: (record: T) => RecordIdentity;
  /** The work on one record. */
  readonly work: (record: T, context: LambdaContext, metadata: WrapperMetadata) => unknown;
  /** Returns the result of the invocation. `failed` has the first failed record of each lane. */
  readonly report: (failed: readonly T[]) => R;
  /** Returns a copy of the event for the log. */
  readonly toLoggable: (event: E) => unknown;
}

/**
 * Adds observability to a handler of ordered records. A lane stops at its first failure, because the
 * source delivers everything from there on again.
 *
 * @param name Name of the user's function.
 * @param options The trigger's options.
 * @param source The source.
 * @returns The function for Lambda.
 */
export function observeOrderedBatch<E, T, R>(
  name: string,
  options: TriggerOptions,
  source: OrderedSource<E, T, R>,
): LambdaHandler<E, R> {
  const { listLanes, concurrency, identify, work, report, toLoggable } = source;

  async function processBatch(
    event: E,
    context: LambdaContext,
    metadata: WrapperMetadata,
  ): Promise<R> {
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
  }

  return observeTrigger<E, R>(name, options, () => [], processBatch, toLoggable);
}

/** Logs in one line how many records wait for the next delivery. */
function logWaiting(_: RecordBatch, _failed: unknown, rest: readonly unknown[]): void {
  if (rest.length === 0) return;
  log("WARN", "records are left for the next delivery, to keep their order", {
    waiting: rest.length,
  });
}
