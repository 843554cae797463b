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
  type BatchedJob,
  type BatchFacts,
  defineJob,
  type EnqueueManyOptions,
  type FailedJob,
  type Job,
  type JobFacts,
  type JobHandler,
  type JobHandlerParams,
  type LeasedAttempt,
  type OwnedLease,
  type RunningJob,
} from "./define_job.ts";
export type { JobClient } from "./enqueue.ts";
export type {
  Change,
  ChangeFacts,
  DeletedRow,
  InsertedRow,
  PrimaryColumn,
  RowKey,
  UpdatedRow,
} from "./changes/change.ts";
export {
  type ChangeStreamHandlerFunction,
  type ChangeStreamHandlerOptions,
  type ChangeStreamHandlerParams,
  defineChangeStreamHandler,
} from "./changes/define_change_stream_handler.ts";
export { CHANGES_MIGRATION_SQL } from "./changes/migration.ts";
export {
  cancelJobs,
  type CancelJobsOptions,
  countJobs,
  getJob,
  type JobDetails,
  type JobState,
  type JobStats,
  type JobWithPayload,
  listJobs,
  type ListJobsOptions,
  pauseJobs,
  resumeJobs,
  retryJobs,
} from "./job_admin.ts";
export { type JobsPageOptions, renderJobsPage } from "./jobs_page.ts";
export {
  defineJobQueueHandler,
  type JobQueueHandler,
  type JobQueueHandlerOptions,
} from "./job_queue_handler.ts";
export {
  defineJobRelayHandler,
  type JobRelayHandler,
  type JobRelayHandlerOptions,
} from "./job_relay_handler.ts";
export type { KinesisEvent, KinesisRecord } from "../core/triggers/stream_events.ts";
export {
  createStreamDelivery,
  defineJobStreamHandler,
  type JobStreamHandlerOptions,
  type StreamDeliveryOptions,
} from "./job_stream_handler.ts";
export {
  JobCancelledError,
  JobLeaseLostError,
  JobNotDoneError,
  PermanentJobError,
} from "./job_errors.ts";
export { createNotifyDelivery } from "./notify.ts";
export type {
  JobInput,
  JobKeyLimitOptions,
  JobLimitOptions,
  JobOptions,
  JobOutput,
  JobRateOptions,
  JobRetryOptions,
  JobSettings,
  JobUniqueOptions,
} from "./job_options.ts";
export type { EnqueueOptions, JobPriority } from "./job_row.ts";
export {
  type CommittedJob,
  configureJobs,
  type JobDelivery,
  type JobsConfig,
} from "./job_settings.ts";
export { type JobsTable, type JobsTableColumns, trellisJobs } from "./jobs_table.ts";
export type { WaitForJobOptions } from "./wait_for_job.ts";
export { JOBS_MIGRATION_SQL } from "./migration.ts";
export type { JobCounts } from "./job_lanes.ts";
export type { RelayResult } from "./relay.ts";
export { defineSchedule, type JobSchedule, type ScheduleOptions } from "./schedule.ts";
export {
  createInProcessDelivery,
  createSqsDelivery,
  type SqsDeliveryOptions,
} from "./deliveries.ts";
export {
  createJobWorker,
  type JobWorker,
  type JobWorkerOptions,
  type JobWorkerStartOptions,
} from "./worker.ts";
