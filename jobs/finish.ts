import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, sql } from "../database/session/plain_sql.ts";
import { cacheStatement } from "./cached_statement.ts";
import type { LeasedJob } from "./claim.ts";
import { sqlIn, sqlNow } from "./sql_time.ts";

/** Lease of a job: only its owner can end the attempt. */
export type JobLease = Pick<LeasedJob, "id" | "fence">;

/** Jobs that succeeded. */
export interface DoneJobs {
  /** At most {@link MAX_FINISHED} ids. */
  readonly ids: readonly string[];
  /** Number of their leases. */
  readonly fence: number;
  /** Seconds that the rows are kept. */
  readonly keepSeconds: number;
}

/** Numbers of ids in one statement; a shorter list repeats its last id. */
const BATCHES = [1, 8, 32, 100];

/** Largest list of {@link buildFinish}. */
export const MAX_FINISHED = 100;

function holdsLease({ id, fence }: JobLease): PlainSql {
  return sql`"id" = ${id}::uuid and "fence" = ${fence}::int and "state" = 'running'`;
}

/**
 * Builds the statement that marks jobs as done. They share their fence, which is 1 for most jobs: a
 * join with a list of fences makes PostgreSQL read the whole table.
 *
 * @param jobs The jobs.
 * @param clock Clock of a test.
 */
export function buildFinish(
  { ids, fence, keepSeconds }: DoneJobs,
  clock: Clock | undefined,
): PlainSql {
  const size = BATCHES.find((batch) => batch >= ids.length) ?? MAX_FINISHED;
  const list = Array.from({ length: size }, (_, at) => ids[Math.min(at, ids.length - 1)]);
  if (clock !== undefined) return writeFinish({ ids: list, fence, keepSeconds }, clock);
  const values = [keepSeconds, ...list, fence];
  return cacheStatement(
    `finish ${size}`,
    values,
    () => writeFinish({ ids: list, fence, keepSeconds }, undefined),
  );
}

function writeFinish({ ids, fence, keepSeconds }: DoneJobs, clock: Clock | undefined): PlainSql {
  const list = joinSql(ids.map((id) => sql`${id}::uuid`), ", ");
  return sql`update "trellis_jobs" set "state" = 'done', "finished_at" = ${sqlNow(clock)},
  "due_at" = ${sqlIn(clock, keepSeconds)}, "last_error" = null
  where "id" in (${list}) and "fence" = ${fence}::int and "state" = 'running' returning "id"`;
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
): PlainSql {
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
export function buildDead(lease: JobLease, error: string, clock: Clock | undefined): PlainSql {
  return sql`update "trellis_jobs" set "state" = 'dead', "finished_at" = ${sqlNow(clock)},
  "due_at" = null, "last_error" = ${error} where ${holdsLease(lease)} returning "id"`;
}

/**
 * Builds the statement that gives a lease back: the attempt did not begin and does not count.
 *
 * @param lease The lease.
 * @param clock Clock of a test.
 */
export function buildRelease(lease: JobLease, clock: Clock | undefined): PlainSql {
  return sql`update "trellis_jobs" set "state" = 'queued', "attempts" = "attempts" - 1,
  "due_at" = ${sqlNow(clock)} where ${holdsLease(lease)} returning "id"`;
}
