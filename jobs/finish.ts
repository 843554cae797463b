import type { Clock } from "../core/async/clock.ts";
import { type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import type { LeasedJob } from "./claim.ts";
import { getDueSeconds } from "./job_settings.ts";
import { MAX_IDS, sqlIds, sqlIn, sqlNow } from "./job_sql.ts";

/** Lease of a job: only its owner can end the attempt. */
export type JobLease = Pick<LeasedJob, "id" | "fence">;

/** Leases of jobs that share their number, which is 1 for most jobs: a join with a list of them makes PostgreSQL read the whole table. */
export interface JobLeases {
  /** The ids. */
  readonly ids: readonly string[];
  /** Number of their leases. */
  readonly fence: number;
}

/** Jobs that succeeded. */
export interface DoneJobs extends JobLeases {
  /** Seconds that the rows are kept. */
  readonly keepSeconds: number;
  /** JSON of the handler's result, if it is kept. */
  readonly result?: string | undefined;
}

function holdsLease({ id, fence }: JobLease): PlainSql {
  return sql`"id" = ${id}::uuid and "fence" = ${fence}::int and "state" = 'running'`;
}

function holdsLeases({ ids, fence }: JobLeases): PlainSql {
  return sql`"id" = any(${sqlIds(ids)}) and "fence" = ${fence}::int and "state" = 'running'`;
}

/** Ends a job. If it was replaced while it ran, it waits again with the new payload. */
function endOrRunAgain(
  state: "done" | "dead",
  dueAt: PlainSql,
  clock: Clock | undefined,
): PlainSql {
  const ends = sql`when "next_payload" is null`;
  return sql`"state" = case ${ends} then '${rawSql(state)}' else 'queued' end,
  "finished_at" = case ${ends} then ${sqlNow(clock)} end,
  "due_at" = case ${ends} then ${dueAt} else "next_run_at" end,
  "run_at" = coalesce("next_run_at", "run_at"),
  "attempts" = case ${ends} then "attempts" else 0 end,
  "payload" = coalesce("next_payload", "payload"), "next_payload" = null, "next_run_at" = null`;
}

/**
 * Builds the statement that marks jobs as done.
 *
 * @param jobs The jobs.
 * @param clock Clock of a test.
 */
export function buildFinish(
  { keepSeconds, result, ...leases }: DoneJobs,
  clock: Clock | undefined,
): PlainSql {
  return sql`update "trellis_jobs" set ${endOrRunAgain("done", sqlIn(clock, keepSeconds), clock)},
  "last_error" = null${result === undefined ? sql`` : sql`, "result" = ${result}::text`}
  where ${holdsLeases(leases)} returning "id"`;
}

/** The next attempt of a job. */
export interface NextAttempt {
  /** Time until it begins. */
  readonly delaySeconds: number;
  /** Description of the failure. */
  readonly error: string;
  /**
   * True if the attempt that failed does not count.
   * @default false
   */
  readonly isFree?: boolean;
}

/**
 * Builds the statement that schedules the next attempt: with the new payload and time if the job was replaced while it ran.
 *
 * @param lease The lease.
 * @param next The next attempt.
 * @param clock Clock of a test.
 */
export function buildRetry(
  lease: JobLease,
  { delaySeconds, error, isFree = false }: NextAttempt,
  clock: Clock | undefined,
): PlainSql {
  return sql`update "trellis_jobs" set "state" = 'queued',
  "run_at" = greatest("next_run_at", ${sqlIn(clock, delaySeconds)}),
  "due_at" = greatest("next_run_at", ${sqlIn(clock, getDueSeconds(delaySeconds, true))}),
  "last_error" = ${error},
  "payload" = coalesce("next_payload", "payload"), "next_payload" = null, "next_run_at" = null,
  "attempts" = "attempts" - ${isFree ? 1 : 0}::int where ${holdsLease(lease)} returning "id"`;
}

/**
 * Builds the statement that marks a job as dead.
 *
 * @param lease The lease.
 * @param error Description of the failure.
 * @param clock Clock of a test.
 */
export function buildDead(lease: JobLease, error: string, clock: Clock | undefined): PlainSql {
  return sql`update "trellis_jobs" set ${endOrRunAgain("dead", sql`null`, clock)},
  "last_error" = ${error} where ${holdsLease(lease)} returning "id"`;
}

/**
 * Builds the statement that gives leases back: the attempts did not begin and do not count.
 *
 * @param leases The leases.
 * @param clock Clock of a test.
 */
export function buildRelease(leases: JobLeases, clock: Clock | undefined): PlainSql {
  return sql`update "trellis_jobs" set "state" = 'queued', "attempts" = "attempts" - 1,
  "due_at" = ${sqlNow(clock)} where ${holdsLeases(leases)} returning "id"`;
}

/**
 * Builds the statement that keeps the result of a job which its transaction has marked as done.
 *
 * @param id The job's id.
 * @param result JSON.
 */
export function buildResult(id: string, result: string): PlainSql {
  return sql`update "trellis_jobs" set "result" = ${result}::text where "id" = ${id}::uuid`;
}

/**
 * Builds the statement that writes how much of a job is done.
 *
 * @param lease The lease.
 * @param progress 0 to 1.
 */
export function buildProgress(lease: JobLease, progress: number): PlainSql {
  return sql`update "trellis_jobs" set "progress" = ${progress}::float8 where ${holdsLease(lease)}`;
}

/** Job that succeeded. */
export interface DoneJob extends JobLease {
  /** Seconds that the row is kept. */
  readonly keepSeconds: number;
  /** JSON of the handler's result, if it is kept. */
  readonly result?: string | undefined;
}

interface Waiting {
  readonly job: DoneJob;
  readonly resolve: (held: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Time that a job waits to be marked together with others. */
const MAX_DELAY_MS = 20;
/**
 * Number of jobs that are marked without waiting for more. Jobs that have ended and are not marked run
 * again if the worker dies, so that a fast worker marks them earlier.
 */
const ENOUGH = 8;

/** Marks jobs as done, several with one statement, so that many short jobs need few statements. */
export class JobFinisher {
  readonly #getDb: () => DrizzleClient | Promise<DrizzleClient>;
  readonly #clock: Clock | undefined;
  readonly #waiting: Waiting[] = [];
  #isBusy = false;
  #isFlushing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param getDb Returns the client.
   * @param clock Clock of a test.
   */
  constructor(getDb: () => DrizzleClient | Promise<DrizzleClient>, clock: Clock | undefined) {
    this.#getDb = getDb;
    this.#clock = clock;
  }

  /**
   * Marks a job as done: with others, after at most 20 ms, or with {@link flush}.
   *
   * @param job The job.
   * @returns `false` if the lease was lost: another worker runs the job again.
   */
  finish(job: DoneJob): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      if (this.#waiting.length >= ENOUGH) this.#start();
      else this.#startLater();
    });
  }

  /** Marks all jobs that wait at once. */
  flush(): void {
    this.#isFlushing = this.#waiting.length > 0;
    this.#start();
  }

  #startLater(): void {
    this.#timer ??= runOutsideInvocation(() => setTimeout(() => this.#start(), MAX_DELAY_MS));
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isBusy && this.#waiting.length > 0) void this.#work();
  }

  /** Jobs that end while a statement runs wait again: a slow database gets few statements, not many. */
  async #work(): Promise<void> {
    this.#isBusy = true;
    // the other jobs of a batch end in this turn
    await undefined;
    do {
      await this.#finishBatch(this.#takeBatch());
    } while (this.#waiting.length >= (this.#isFlushing ? 1 : ENOUGH));
    this.#isFlushing = false;
    this.#isBusy = false;
    if (this.#waiting.length > 0) this.#startLater();
  }

  /** Takes the jobs that one statement can mark: they share fence and time to be kept, and have no result. */
  #takeBatch(): Waiting[] {
    const { fence, keepSeconds, result } = this.#waiting[0].job;
    if (result !== undefined) return this.#waiting.splice(0, 1);
    const batch: Waiting[] = [];
    const others: Waiting[] = [];
    for (const waiting of this.#waiting.splice(0)) {
      const { job } = waiting;
      const isAlike = job.fence === fence && job.keepSeconds === keepSeconds &&
        job.result === undefined;
      (isAlike && batch.length < MAX_IDS ? batch : others).push(waiting);
    }
    this.#waiting.push(...others);
    return batch;
  }

  async #finishBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const db = await this.#getDb();
      const ids = batch.map(({ job }) => job.id);
      const statement = buildFinish({ ...batch[0].job, ids }, this.#clock);
      const rows = await withDistSqlRetry(() => runSqlRows<{ id: string }>(db, statement));
      const held = new Set(rows.map(({ id }) => id));
      for (const { job, resolve } of batch) resolve(held.has(job.id));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
