import { checkHandler } from "../core/triggers/trigger_options.ts";
import type { WrapperMetadata } from "../core/with_observability.ts";
import type { Clock } from "../core/async/clock.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { insertJobs, type JobClient } from "./enqueue.ts";
import {
  type JobInput,
  type JobOptions,
  type JobOutput,
  type JobSettings,
  readJobOptions,
} from "./job_options.ts";
import { createJobRow, type EnqueueOptions } from "./job_row.ts";
import { record } from "../env/recording.ts";
import { waitForJob, type WaitForJobOptions } from "./wait_for_job.ts";

/** Facts about the running attempt of a job. */
export interface RunningJob {
  /** Id of the job, the same in each attempt. */
  readonly id: string;
  /** Name of the job. */
  readonly name: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Number of attempts after which the job is dead. */
  readonly maxAttempts: number;
  /** Time at which it was enqueued. */
  readonly enqueuedAt: Date;
  /** Group, if the job has one. */
  readonly group: string | undefined;
  /**
   * Reports how much is done, for `getJob` and `trellis jobs show`. At most one report a second is written.
   * A report that cannot be written is logged.
   *
   * @param progress 0 to 1.
   * @throws {ConfigurationError} If it is another number, or the job has `transaction: true`: its row is
   * locked until COMMIT.
   */
  report(progress: number): Promise<void>;
}

/** A job of a batch. */
export interface BatchedJob<TOutput = unknown>
  extends Pick<RunningJob, "id" | "attempt" | "enqueuedAt"> {
  /** The parsed payload. */
  readonly payload: TOutput;
}

/** What the handler of one job gets. */
export interface JobFacts<TOutput> {
  /** The parsed payload. */
  payload: TOutput;
  /** Facts about this attempt. */
  job: RunningJob;
  /** Key to pass on to services that support one: the same in each attempt of this job. */
  idempotencyKey: string;
}

/** What the handler of a batch gets. */
export interface BatchFacts<TOutput> {
  /** The jobs, 1 to `batchSize`; their ids are keys for services that support one. */
  jobs: readonly BatchedJob<TOutput>[];
}

/** Arguments of a job's handler. */
export type JobHandlerParams<
  TOutput,
  TTransaction extends boolean,
  TBatch extends number = 1,
> =
  & (TBatch extends 1 ? JobFacts<TOutput> : BatchFacts<TOutput>)
  & {
    /**
     * Aborted when the attempt's time is up, and, without `transaction` and `batchSize`, within about 5 seconds after the job
     * was cancelled (reason `JobCancelledError`) or leased to another worker: pass it to `fetch`.
     */
    signal: AbortSignal;
    /** Ids of this attempt; the correlation id is that of the request which enqueued the job. */
    metadata: WrapperMetadata;
  }
  & (TTransaction extends true
    ? { /** The transaction that marks the job as done. */ tx: TransactionClient }
    : unknown);

/** Handler of a job. Its result is kept if the job has a schema for it; an error is a failed attempt. */
export type JobHandler<
  TOutput,
  TTransaction extends boolean,
  TResult = unknown,
  TBatch extends number = 1,
> = (params: JobHandlerParams<TOutput, TTransaction, TBatch>) => TResult | Promise<TResult>;

/** Lease of a job that is marked as done by what runs it. */
export interface OwnedLease {
  /** The lease: only its owner can mark the job as done. */
  readonly lease: { readonly id: string; readonly fence: number };
  /** Returns the client of the worker. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** True if the attempt adds its metrics. */
  readonly metrics: boolean;
}

/** Attempt that marks its job as done itself. */
export interface LeasedAttempt extends OwnedLease {
  /** Arguments of a handler. */
  readonly params: JobHandlerParams<unknown, false>;
  /** Runs work, and aborts the signal of `params` if the lease is lost; calls `onLook` each time that it looks for that. */
  readonly watch: <T>(work: () => Promise<T>, onLook: () => Promise<void>) => Promise<T>;
}

/** Job whose last attempt has failed, or whose worker has died with it. */
export interface FailedJob extends OwnedLease {
  /** JSON of the payload. */
  readonly payload: string;
  /** Error of the last attempt. */
  readonly error: unknown;
}

/** Declared job. */
export interface Job<
  TInput = unknown,
  TOutput = unknown,
  TTransaction extends boolean = boolean,
  TResult = unknown,
  TBatch extends number = 1,
> {
  /** Name of the job. */
  readonly jobName: string;
  /** Schema of the payload. */
  readonly schema: StandardSchema<TOutput>;
  /** Options with their defaults. */
  readonly settings: JobSettings;
  /** The handler, to be tested apart from its worker. */
  readonly handler: JobHandler<TOutput, TTransaction, TResult, TBatch>;
  /**
   * Runs an attempt in place of the handler, and marks the job as done itself: the turns of a workflow do.
   * It needs `transaction: true`.
   */
  readonly runLeased?: (attempt: LeasedAttempt) => Promise<void>;
  /**
   * Ends what the job belongs to after its last attempt, and marks the job as done: a workflow ends with its turns.
   * Returns `false` if nothing was done, and the job is dead.
   */
  readonly giveUp?: (job: FailedJob) => Promise<boolean>;
  /**
   * Adds a job in the transaction of `client`. It runs after COMMIT, and never if the transaction is
   * rolled back. The statement is not awaited: where the driver pipelines, it takes no round trip.
   *
   * @param client A transaction's client; or a client, for a job outside of a transaction.
   * @param payload The payload; must be JSON.
   * @param options Delay, key, group and priority.
   * @returns The job's id. With a `key`, the id of the one job with this key.
   * @throws {ValidationError} If the payload does not fit the schema.
   */
  enqueue(client: JobClient, payload: TInput, options?: EnqueueOptions): Promise<string>;
  /**
   * Adds several jobs. In a transaction they are part of it, and the distributed provider accepts
   * 3,000 rows per transaction. With a client, each statement of at most 1,000 jobs is a transaction of
   * its own.
   *
   * @param client A transaction's client; or a client.
   * @param payloads The payloads.
   * @param options Delay, group and priority of all; `key` returns the key of each payload.
   * @returns The ids, in order.
   * @throws {ValidationError} If a payload does not fit the schema; then none is added.
   */
  enqueueMany(
    client: JobClient,
    payloads: readonly TInput[],
    options?: EnqueueManyOptions<TInput>,
  ): Promise<string[]>;
  /**
   * Waits until a job has ended. It looks at the row with growing pauses of up to a second, on a client
   * outside of the transaction that enqueued the job.
   *
   * @param client The client.
   * @param id The job's id.
   * @param options How long.
   * @returns What the handler returned; `undefined` if the job has no schema of its result.
   * @throws {JobNotDoneError} If the job is dead, cancelled or not in the table, or has not ended in time.
   */
  waitFor(client: JobClient, id: string, options?: WaitForJobOptions): Promise<TResult>;
}

/** Options of `enqueueMany`. */
export interface EnqueueManyOptions<TInput> extends Omit<EnqueueOptions, "key" | "group"> {
  /** Returns the key of a payload. */
  key?: (payload: TInput) => string;
  /** Returns the group of a payload, or the group of all. */
  group?: string | ((payload: TInput) => string | undefined);
}

/** Job of any payload, for lists. */
// deno-lint-ignore no-explicit-any -- a handler's parameters are contravariant
export type AnyJob = Job<any, any, any, any, any>;

/**
 * Declares a background job with a checked payload. Jobs wait in the table `trellis_jobs`
 * (`JOBS_MIGRATION_SQL`), are written in the transaction of the caller, and are run by a worker.
 *
 * @param options Name, schema, retries, time limit.
 * @returns A function that takes the handler and returns the job.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { withTransaction } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const indexNote = defineJob({ name: "index-note", schema: z.object({ noteId: z.string() }) })(
 *   function indexNote({ payload }) {
 *     console.log(payload.noteId); // n1
 *   },
 * );
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * await withTransaction(db, async (tx) => {
 *   await indexNote.enqueue(tx, { noteId: "n1" });
 * });
 * await createJobWorker({ getDb: () => db, jobs: [indexNote] }).runDue();
 * await close();
 * ```
 */
export function defineJob<
  TSchema extends StandardSchema,
  TTransaction extends boolean = false,
  TResult = unknown,
  TBatch extends number = 1,
>(
  options: JobOptions<TSchema, TTransaction, TResult, TBatch>,
): (
  handler: JobHandler<JobOutput<TSchema>, TTransaction, TResult, TBatch>,
) => Job<JobInput<TSchema>, JobOutput<TSchema>, TTransaction, TResult, TBatch> {
  const settings = readJobOptions(options);
  const { name } = settings;
  const schema = options.schema as StandardSchema<JobOutput<TSchema>>;

  return function wrapHandler(handler) {
    checkHandler("defineJob", handler);
    return record("defineJob", [options, handler], {
      jobName: name,
      schema,
      settings,
      handler,
      async enqueue(client, payload, options = {}): Promise<string> {
        const row = await createJobRow(name, schema, payload, { ...options, settings });
        await insertJobs(client, [row]);
        return row.id;
      },
      async enqueueMany(client, payloads, options = {}): Promise<string[]> {
        const { key, group, ...others } = options;
        const rows = await Promise.all(
          payloads.map((payload) =>
            createJobRow(name, schema, payload, {
              ...others,
              settings,
              key: key?.(payload),
              group: typeof group === "function" ? group(payload) : group,
            })
          ),
        );
        await insertJobs(client, rows);
        return rows.map(({ id }) => id);
      },
      waitFor: (client, id, options) =>
        waitForJob(client, id, settings, options) as Promise<TResult>,
    });
  };
}
