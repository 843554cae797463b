import {
  defineQueueHandler,
  type QueueHandlerFunction,
  type QueueHandlerOptions,
} from "../core/triggers/queue.ts";
import type { SqsBatchResult, SqsEvent } from "../core/triggers/trigger_events.ts";
import type { LambdaHandler } from "../core/with_observability.ts";
import { remainingMs } from "../core/request_context.ts";
import { ServiceUnavailableError } from "../errors/http_errors.ts";
import { createSchema } from "../env/standard_schema.ts";
import { isJobId } from "./job_row.ts";
import { createJobWorker, type JobWorkerOptions, MIN_START_MS } from "./worker.ts";
import { record } from "../env/recording.ts";

/** Options of `defineJobQueueHandler`. */
export interface JobQueueHandlerOptions<TSchema extends Record<string, unknown>>
  extends
    Omit<QueueHandlerOptions, "schema" | "envelope">,
    Omit<JobWorkerOptions<TSchema>, "logging" | "metrics" | "concurrency"> {}

/** The consumer, as Lambda calls it. */
export type JobQueueHandler = LambdaHandler<SqsEvent, SqsBatchResult> & {
  /** Distinguishes it from consumers of other queues. */
  readonly isJobQueue: true;
};

/** Body of a message. */
interface DeliveredIds {
  readonly ids: readonly string[];
}

const IDS = createSchema<DeliveredIds>((value) => {
  const ids = (value as Partial<DeliveredIds> | null)?.ids;
  return Array.isArray(ids) && ids.every(isJobId)
    ? { value: { ids } }
    : { issues: [{ message: "It holds no ids of jobs", path: ["ids"] }] };
});

/**
 * Declares the consumer of the queue that `createSqsDelivery` sends to: it runs the jobs with the ids
 * of each message. A message that is delivered twice, or late, has no effect.
 *
 * @param options Client, jobs, concurrency.
 * @returns The function to export for Lambda.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { defineJob, defineJobQueueHandler } from "@trellis/fn/jobs";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import * as z from "zod";
 *
 * export const report = defineJob({ name: "report", schema: z.null() })(() => {});
 *
 * export const handler = defineJobQueueHandler({
 *   getDb: () => getDrizzleClient({ provider: "embedded-pg" }),
 *   jobs: [report],
 * });
 * ```
 */
export function defineJobQueueHandler<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(options: JobQueueHandlerOptions<TSchema>): JobQueueHandler {
  const { getDb, jobs, clock, random, ...queue } = options;
  const { logging, metrics } = queue;
  // messages are under way at the same time: the jobs of each one run one after the other
  const worker = createJobWorker({ getDb, jobs, clock, random, logging, metrics });
  const runDelivered: QueueHandlerFunction<DeliveredIds> = async function runDelivered({ body }) {
    for (const id of body.ids) {
      if (remainingMs() <= MIN_START_MS) {
        throw new ServiceUnavailableError(
          "The function's time is up: SQS delivers the message again",
        );
      }
      await worker.runIds([id]);
    }
  };
  const handler = defineQueueHandler<DeliveredIds>({ ...queue, schema: IDS })(runDelivered);
  return record(
    "defineJobQueueHandler",
    [options],
    Object.assign(handler, { isJobQueue: true as const }),
  );
}
