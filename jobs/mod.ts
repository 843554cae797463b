/**
 * Background jobs in the database: enqueued in the caller's own transaction, run by workers with
 * leases, retries and an order on request.
 *
 * @example
 * ```ts
 * import { defineJob } from "@trellis/fn/jobs";
 * import * as z from "zod";
 *
 * export const indexNote = defineJob({
 *   name: "index-note",
 *   schema: z.object({ noteId: z.string() }),
 *   retry: { maxAttempts: 5 },
 * })(async function indexNote({ payload, signal, idempotencyKey }) {
 *   await fetch(`https://search.example.com/notes/${payload.noteId}`, {
 *     method: "PUT",
 *     headers: { "Idempotency-Key": idempotencyKey },
 *     signal,
 *   });
 * });
 * console.log(indexNote.jobName); // index-note
 * ```
 *
 * @module
 */
export {
  type AnyJob,
  defineJob,
  type EnqueueManyOptions,
  type Job,
  type JobHandler,
  type JobHandlerParams,
  type JobInput,
  type JobOutput,
  type RunningJob,
} from "./define_job.ts";
export type { JobClient } from "./enqueue.ts";
export { JobLeaseLostError, PermanentJobError } from "./job_errors.ts";
export type { JobOptions, JobRetryOptions, JobSettings } from "./job_options.ts";
export type { EnqueueOptions } from "./job_row.ts";
export {
  type CommittedJob,
  configureJobs,
  type JobDelivery,
  type JobsConfig,
} from "./job_settings.ts";
export { JOBS_MIGRATION_SQL } from "./migration.ts";
export type { JobCounts } from "./job_lanes.ts";
export { createJobWorker, type JobWorker, type JobWorkerOptions } from "./worker.ts";
