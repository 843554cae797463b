import { readKinesisRecords } from "../core/triggers/read_records.ts";
import { observeTrigger } from "../core/triggers/observe_trigger.ts";
import { misfit } from "../core/triggers/parse_input.ts";
import type { KinesisEvent } from "../core/triggers/stream_events.ts";
import { checkTriggerOptions, type TriggerOptions } from "../core/triggers/trigger_options.ts";
import type { LambdaHandler } from "../core/with_observability.ts";
import { log } from "../observability/logger.ts";
import { metrics } from "../observability/metrics.ts";
import { readChangeEnvelope } from "./changes/change_envelope.ts";
import { isJobId } from "./job_row.ts";
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
    const ids: string[] = [];
    let unread = 0;
    for (const { kinesis } of readKinesisRecords(event, "the change stream")) {
      try {
        ids.push(...listInsertedJobs(kinesis.data));
      } catch {
        unread++;
      }
    }
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

/**
 * Lists the inserted jobs of a record. An update needs no work: a job that is due again is in the hands of the relay.
 *
 * A record of more than 9 MiB is split into a record of the type `chunked` and fragments, which name
 * no table. A new job is smaller: its payload has at most 1,000,000 bytes, which JSON escapes with at
 * most six bytes each. So fragments belong to other tables and are not put together. Source: Aurora
 * DSQL user guide, "Understanding CDC records" (2026-07).
 *
 * @param data The record's content in base64.
 * @throws {ValidationError} If the content is no change, or an insertion of a job that was split.
 */
export function listInsertedJobs(data: string): string[] {
  const change = readChangeEnvelope(data);
  const isInsertion = change.type !== "fragment" && change.table === "trellis_jobs" &&
    change.operation === "insert";
  if (!isInsertion) return [];
  // split only if the provider lowered its limit: the relay runs the job
  const id = change.type === "full" ? change.after?.id : undefined;
  if (!isJobId(id)) throw misfit("an inserted job has no id");
  return [id];
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
