import { type SQL, sql } from "drizzle-orm";
import type { Clock } from "../core/async/clock.ts";
import type { LeasedJob } from "./claim.ts";
import { sqlIn, sqlNow } from "./sql_time.ts";

/** Lease of a job: only its owner can end the attempt. */
export type JobLease = Pick<LeasedJob, "id" | "fence">;

/** Job that succeeded. */
export interface DoneJob extends JobLease {
  /** Seconds that the row is kept. */
  readonly keepSeconds: number;
}

/** Numbers of rows in one statement; a shorter list repeats its last row. */
const BATCHES = [1, 8, 64];

/** Largest list of {@link buildFinish}. */
export const MAX_FINISHED = 64;

function holdsLease({ id, fence }: JobLease): SQL {
  return sql`"id" = ${id}::uuid and "fence" = ${fence}::int and "state" = 'running'`;
}

/**
 * Builds the statement that marks jobs as done.
 *
 * @param jobs At most {@link MAX_FINISHED} jobs.
 * @param clock Clock of a test.
 */
export function buildFinish(jobs: readonly DoneJob[], clock: Clock | undefined): SQL {
  const size = BATCHES.find((batch) => batch >= jobs.length) ?? MAX_FINISHED;
  const rows = Array.from({ length: size }, (_, at) => {
    const { id, fence, keepSeconds } = jobs[Math.min(at, jobs.length - 1)];
    return sql`(${id}::uuid, ${fence}::int, ${keepSeconds}::float8)`;
  });
  return sql`update "trellis_jobs" t set "state" = 'done', "finished_at" = ${
    sqlNow(clock)
  }, "due_at" = ${sqlIn(clock, sql`v."keep"`)}, "last_error" = null
  from (values ${sql.join(rows, sql`, `)}) as v ("id", "fence", "keep")
  where t."id" = v."id" and t."fence" = v."fence" and t."state" = 'running' returning t."id"`;
}

/**
 * Builds the statement that schedules the next attempt.
 *
 * @param lease The lease.
 * @param delaySeconds Time until the next attempt.
 * @param error Description of the failure.
 * @param clock Clock of a test.
 */
export function buildRetry(
  lease: JobLease,
  delaySeconds: number,
  error: string,
  clock: Clock | undefined,
): SQL {
  const at = sqlIn(clock, delaySeconds);
  return sql`update "trellis_jobs" set "state" = 'queued', "run_at" = ${at}, "due_at" = ${at}, "last_error" = ${error}
  where ${holdsLease(lease)} returning "id"`;
}

/**
 * Builds the statement that marks a job as dead.
 *
 * @param lease The lease.
 * @param error Description of the failure.
 * @param clock Clock of a test.
 */
export function buildDead(lease: JobLease, error: string, clock: Clock | undefined): SQL {
  return sql`update "trellis_jobs" set "state" = 'dead', "finished_at" = ${
    sqlNow(clock)
  }, "due_at" = null, "last_error" = ${error} where ${holdsLease(lease)} returning "id"`;
}

/**
 * Builds the statement that gives a lease back: the attempt did not begin and does not count.
 *
 * @param lease The lease.
 * @param clock Clock of a test.
 */
export function buildRelease(lease: JobLease, clock: Clock | undefined): SQL {
  return sql`update "trellis_jobs" set "state" = 'queued', "attempts" = "attempts" - 1, "due_at" = ${
    sqlNow(clock)
  } where ${holdsLease(lease)} returning "id"`;
}
