import { observeTrigger } from "../core/triggers/observe_trigger.ts";
import { checkTriggerOptions, type TriggerOptions } from "../core/triggers/trigger_options.ts";
import type { LambdaHandler } from "../core/with_observability.ts";
import { UnexpectedError } from "../errors/http_errors.ts";
import { log } from "../observability/logger.ts";
import { metrics } from "../observability/metrics.ts";
import { type KinesisEvent, readJobChange } from "./change_record.ts";
import type { JobDelivery } from "./job_settings.ts";
import { createJobWorker, type JobWorkerOptions } from "./worker.ts";
import { record } from "../env/recording.ts";

/** Options of `defineJobStreamHandler`. */
export interface JobStreamHandlerOptions<TSchema extends Record<string, unknown>>
  extends TriggerOptions, Omit<JobWorkerOptions<TSchema>, "logging" | "metrics"> {}

/**
 * Declares the consumer of a change stream of Aurora DSQL, which Kinesis delivers: it runs each job
 * whose insertion is in the stream. Records may come twice and in any order, because each job is
 * leased before it runs and jobs of a group wait for their turn. A record that never comes or cannot be
 * read is left to the relay: configure `createStreamDelivery`, and give the relay the same jobs.
 * Records that were split belong to larger rows of other tables and are skipped.
 *
 * @param options Client, jobs, concurrency.
 * @returns The function to export for Lambda. An error fails the batch, which Kinesis delivers again.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { defineJob, defineJobStreamHandler } from "@trellis/fn/jobs";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import * as z from "zod";
 *
 * export const report = defineJob({ name: "report", schema: z.null() })(() => {});
 *
 * export const handler = defineJobStreamHandler({
 *   getDb: () => getDrizzleClient({ provider: "embedded-pg" }),
 *   jobs: [report],
 * });
 * ```
 */
export function defineJobStreamHandler<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(options: JobStreamHandlerOptions<TSchema>): LambdaHandler<KinesisEvent, void> {
  const { getDb, jobs, concurrency, clock, random, ...trigger } = options;
  checkTriggerOptions("defineJobStreamHandler", trigger, []);
  const worker = createJobWorker({
    getDb,
    jobs,
    concurrency,
    clock,
    random,
    logging: trigger.logging,
    metrics: trigger.metrics,
  });

  async function runInserted(event: KinesisEvent): Promise<void> {
    const records = event?.Records;
    if (!Array.isArray(records)) {
      throw new UnexpectedError(
        "The event has no records: the trigger of this function must be a Kinesis stream",
      );
    }
    const changes = records.map(readJobChange);
    const ids = changes.flatMap((change) => change.kind === "inserted" ? [change.id] : []);
    const unread = changes.filter(({ kind }) => kind === "unread").length;
    if (unread > 0) {
      log("WARN", "records of the change stream cannot be read, the relay runs their jobs", {
        unread,
      });
      metrics.addMetric("UnreadChanges", "Count", unread);
    }
    await worker.runIds(ids);
  }

  const handler = observeTrigger<KinesisEvent, void>("runInserted", trigger, () => [], runInserted);
  return record("defineJobStreamHandler", [options], handler);
}

/** Options of `createStreamDelivery`. */
export interface StreamDeliveryOptions {
  /**
   * Seconds after which the relay runs a job that the change stream has not delivered, from 10.
   * @default 60
   */
  graceSeconds?: number;
}

/**
 * Creates the delivery for jobs that a change stream delivers: nothing is sent after COMMIT, and the
 * relay leaves the stream its time before it runs a job itself.
 *
 * @param options Time for the stream.
 * @returns The delivery for `configureJobs`.
 *
 * @example
 * ```ts
 * import { configureJobs, createStreamDelivery } from "@trellis/fn/jobs";
 *
 * const restore = configureJobs({ delivery: createStreamDelivery({ graceSeconds: 30 }) });
 * restore();
 * ```
 */
export function createStreamDelivery(
  { graceSeconds = 60 }: StreamDeliveryOptions = {},
): JobDelivery {
  return { graceSeconds, isOutside: true, deliver: () => Promise.resolve() };
}
