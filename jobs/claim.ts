import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, sql } from "../database/session/plain_sql.ts";
import type { AnyJob } from "./define_job.ts";
import { JOB_SHARDS } from "./job_row.ts";
import { sqlIn, sqlNow } from "./sql_time.ts";

/** Time after the limit of an attempt in which its worker can still report the result, in seconds. */
const LEASE_MARGIN_SECONDS = 10;

/** Job that a worker has leased. */
export interface LeasedJob {
  /** Primary key. */
  readonly id: string;
  /** Name of the job. */
  readonly name: string;
  /** JSON of the payload. */
  readonly payload: string;
  /** Number of this attempt, from 1. */
  readonly attempts: number;
  /** Number of this lease: a worker with an older one cannot finish the job. */
  readonly fence: number;
  /** Group, if the job has one. */
  readonly group: string | null;
  /** Time at which it was enqueued. */
  readonly enqueuedAt: Date;
  /** Milliseconds between the time at which it could run and its lease. */
  readonly waitedMs: number;
  /** Time of the lease, on the clock of `performance.now()`. */
  readonly leasedAtMs: number;
  /** Correlation id of the request. */
  readonly correlationId: string | null;
  /** W3C trace context of the request. */
  readonly traceParent: string | null;
}

/** Row of {@link buildClaim}; every value is a text, a number or null on every provider. */
export interface ClaimedRow extends Record<string, unknown> {
  id: string;
  name: string;
  payload: string;
  attempts: number | string;
  fence: number | string;
  group_key: string | null;
  enqueued_ms: number | string;
  waited_ms: number | string;
  correlation_id: string | null;
  trace_parent: string | null;
}

/** Which jobs to lease. */
export interface ClaimOptions {
  /** The jobs of the worker. */
  readonly jobs: readonly AnyJob[];
  /** Maximum number of jobs. */
  readonly limit: number;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
}

/** A job of a group waits for all earlier jobs, and for a running job. */
const IS_NEXT_OF_GROUP = sql`(j."group_key" is null or not exists (
  select 1 from "trellis_jobs" e where e."group_key" = j."group_key" and e."group_key" is not null
    and e."finished_at" is null and e."id" <> j."id"
    and (e."state" = 'running' or e."enqueued_at" < j."enqueued_at"
      or (e."enqueued_at" = j."enqueued_at" and e."position" < j."position"))))`;

/** Condition for the shards from `first`, or for those before it. Always as many parameters. */
function inShards(first: number, before: boolean): PlainSql {
  const [from, to] = before ? [0, first - 1] : [first, JOB_SHARDS - 1];
  const shards = Array.from(
    { length: JOB_SHARDS },
    (_, at) => sql`${Math.min(from + at, to)}::int`,
  );
  return sql`j."shard" in (${joinSql(shards, ", ")})`;
}

/**
 * Builds the condition for due jobs.
 *
 * @param first Shard to begin with.
 * @param before True for the shards before it.
 * @param clock Clock of a test.
 */
export function isDue(first: number, before: boolean, clock: Clock | undefined): PlainSql {
  return sql`${inShards(first, before)} and j."due_at" <= ${sqlNow(clock)}
  and j."state" in ('queued', 'running')`;
}

/**
 * Builds the condition for jobs by their ids: those that may run now and are not leased.
 *
 * @param ids The ids.
 * @param clock Clock of a test.
 */
export function isReady(ids: readonly string[], clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  const list = joinSql(ids.map((id) => sql`${id}::uuid`), ", ");
  return sql`j."id" in (${list}) and (
    (j."state" = 'queued' and j."run_at" <= ${now}) or (j."state" = 'running' and j."due_at" <= ${now}))`;
}

/**
 * Builds the condition for the jobs of a group that may run now.
 *
 * @param group The group.
 * @param clock Clock of a test.
 */
export function isInGroup(group: string, clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  return sql`j."group_key" = ${group} and j."group_key" is not null and j."finished_at" is null and (
    (j."state" = 'queued' and j."run_at" <= ${now}) or (j."state" = 'running' and j."due_at" <= ${now}))`;
}

/**
 * Builds the statement that leases jobs.
 *
 * @param condition Which rows.
 * @param options Jobs, limit and clock.
 */
export function buildClaim(condition: PlainSql, { jobs, limit, clock }: ClaimOptions): PlainSql {
  const names = joinSql(jobs.map(({ jobName }) => sql`${jobName}`), ", ");
  const now = sqlNow(clock);
  return sql`with due as (
    select j."id" from "trellis_jobs" j where ${condition} and j."name" in (${names}) and ${IS_NEXT_OF_GROUP}
    limit ${limit} for update skip locked
  ) update "trellis_jobs" t set "state" = 'running', "fence" = t."fence" + 1,
    "attempts" = t."attempts" + 1, "due_at" = ${sqlIn(clock, getLeaseSeconds(jobs))}
  from due where t."id" = due."id"
  returning t."id", t."name", t."payload", t."attempts", t."fence", t."group_key",
    extract(epoch from t."enqueued_at") * 1000 as enqueued_ms,
    extract(epoch from ${now} - t."run_at") * 1000 as waited_ms,
    t."correlation_id", t."trace_parent"`;
}

/** Returns the length of a lease by the job's name. */
function getLeaseSeconds(jobs: readonly AnyJob[]): PlainSql {
  const cases = jobs.map(({ jobName, settings }) =>
    sql`when ${jobName} then ${settings.timeoutMs / 1000 + LEASE_MARGIN_SECONDS}::float8`
  );
  return sql`case t."name" ${joinSql(cases, " ")} end`;
}

/** Reads a row of {@link buildClaim}. */
export function readLeasedJob(row: ClaimedRow): LeasedJob {
  return {
    id: row.id,
    name: row.name,
    payload: row.payload,
    attempts: Number(row.attempts),
    fence: Number(row.fence),
    group: row.group_key,
    enqueuedAt: new Date(Number(row.enqueued_ms)),
    waitedMs: Math.max(0, Number(row.waited_ms)),
    leasedAtMs: performance.now(),
    correlationId: row.correlation_id,
    traceParent: row.trace_parent,
  };
}
