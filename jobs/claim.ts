import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { AnyJob } from "./define_job.ts";
import { FIRST_READY_SHARD, getPauseId, LIMITED_SHARDS, SHARDS } from "./job_row.ts";
import { sqlArray, sqlBound, sqlIds, sqlIn, sqlLimit, sqlNow } from "./job_sql.ts";

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
  /** Part of the table: jobs of lower ones begin first. */
  readonly shard: number;
  /** Number of this attempt, from 1. */
  readonly attempts: number;
  /** Number of this lease: a worker with an older one cannot finish the job. */
  readonly fence: number;
  /** True if no attempt of the job has begun before. */
  readonly isFirst: boolean;
  /** Group, if the job has one. */
  readonly group: string | null;
  /** Time at which it was enqueued. */
  readonly enqueuedAt: Date;
  /** Milliseconds between that time and its lease. */
  readonly ageMs: number;
  /** Milliseconds between the time at which it could run and its lease. */
  readonly waitedMs: number;
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
  shard: number | string;
  attempts: number | string;
  fence: number | string;
  is_first: boolean;
  group_key: string | null;
  enqueued_ms: number | string;
  age_ms: number | string;
  waited_ms: number | string;
  correlation_id: string | null;
  trace_parent: string | null;
}

/** Which jobs to lease. */
export interface ClaimOptions {
  /** The jobs of the worker. */
  readonly names: readonly SoughtName[];
  /** Maximum number of jobs. */
  readonly limit: number;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** False to leave out the jobs that have a group. */
  readonly withGroups: boolean;
}

/** Jobs that one call of a handler gets. */
export interface JobCall {
  /** The jobs. */
  readonly jobs: readonly LeasedJob[];
  /** True if no further job can join them. */
  readonly isWhole: boolean;
}

/**
 * A job of a group waits for all earlier jobs, and for a running job. Two conditions, because each one
 * finds its row with another index.
 */
const IS_NEXT_OF_GROUP = sql`(j."group_key" is null or (not exists (
  select 1 from "trellis_jobs" e where e."group_key" = j."group_key" and e."group_key" is not null
    and e."finished_at" is null
    and (e."enqueued_at", e."position", e."id") < (j."enqueued_at", j."position", j."id"))
  and not exists (
  select 1 from "trellis_jobs" r where r."group_key" = j."group_key" and r."group_key" is not null
    and r."state" = 'running' and r."id" <> j."id")))`;

/** Jobs of a name that a statement looks for. */
export interface SoughtName {
  /** The name. */
  readonly name: string;
  /** Highest version. */
  readonly version: number;
  /** Id of the row that is in the table while the name is paused. */
  readonly pauseId: string;
}

/**
 * Prepares a name to be looked for.
 *
 * @param name The name.
 * @param version Highest version.
 */
export async function seekName(name: string, version: number): Promise<SoughtName> {
  return { name, version, pauseId: await getPauseId(name) };
}

/** Builds the condition that the name of a row is not paused. */
export function isOpen(name: PlainSql, names: readonly SoughtName[]): PlainSql {
  const ids = names.map(({ pauseId }) => pauseId);
  return sql`${name} <> all(array(select z."name" from "trellis_jobs" z where z."id" = any(${
    sqlIds(ids)
  })))`;
}

/** Where and how many due jobs a statement looks for. */
export interface DueOptions {
  /** Shard to begin with. */
  readonly first: number;
  /** Maximum number of jobs. */
  readonly limit: number;
  /** A lower maximum that the statement computes. */
  readonly lowerLimit?: PlainSql;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
}

/** Jobs of these shards have a limit. A worker whose release has none runs them like others. */
const LIMITED: readonly number[] = Object.values(LIMITED_SHARDS).flatMap((byPriority) =>
  Object.values(byPriority)
);

/** Lists all shards by priority, and those of a normal priority from `first` on. */
export function listShards(first: number): number[] {
  const { high, normal, low } = SHARDS;
  return [...high, ...normal.slice(first), ...normal.slice(0, first), ...low, ...LIMITED];
}

/**
 * Builds a query of the names of jobs that are not paused in parts of the table, in this order. Each is a range of the
 * index, so that a statement reads no jobs of other names.
 *
 * @param names The names.
 * @param shards The parts.
 * @param rows A query of the rows at a place `p`, named `d`.
 */
export function atPlaces(
  names: readonly SoughtName[],
  shards: readonly number[],
  rows: PlainSql,
): PlainSql {
  const places = shards.flatMap((shard) => names.map((sought) => ({ ...sought, shard })));
  return sql`unnest(${sqlArray(places.map(({ shard }) => shard), "int")},
    ${sqlArray(places.map(({ name }) => name), "text")},
    ${sqlArray(places.map(({ version }) => version), "int")}) p ("shard", "name", "version")
    cross join lateral (${rows}) d where ${isOpen(sql`p."name"`, names)}`;
}

/**
 * Builds the statement that locks due jobs of parts of the table: those of the first parts first, and in a part by name. The first
 * due of a name comes first.
 *
 * @param names The names.
 * @param shards The parts.
 * @param options Limit and clock.
 * @param condition A further condition.
 */
export function selectPlaces(
  names: readonly SoughtName[],
  shards: readonly number[],
  { limit, lowerLimit, clock }: Omit<DueOptions, "first">,
  condition: PlainSql,
): PlainSql {
  const rows = sql`select j."id" from "trellis_jobs" j where j."name" = p."name"
    and j."shard" = p."shard" and j."due_at" <= ${sqlNow(clock)} and j."finished_at" is null
    and coalesce(j."version", 1) <= p."version" and ${condition}
    order by j."due_at" limit ${sqlBound(limit)} for update skip locked`;
  return sql`select d."id" from ${atPlaces(names, shards, rows)} limit ${
    lowerLimit ?? sqlLimit(limit)
  }`;
}

/**
 * Builds the statement that locks due jobs, those of the first shards first.
 *
 * @param names The names.
 * @param options First shard, limit and clock.
 * @param condition A further condition.
 */
export function selectDue(
  names: readonly SoughtName[],
  { first, ...options }: DueOptions,
  condition: PlainSql,
): PlainSql {
  return selectPlaces(names, listShards(first), options, condition);
}

/** Builds the condition that a job has no group, or is the next one of it. */
export function mayLease(withGroups: boolean): PlainSql {
  return withGroups ? IS_NEXT_OF_GROUP : sql`j."group_key" is null`;
}

/**
 * Builds the statement that locks due jobs of a worker which may run: a relay is due to hand over a job with a long delay
 * before its time.
 *
 * @param first Shard to begin with.
 * @param options The worker's jobs, and the limit.
 */
export function selectRunnable(
  first: number,
  { names, limit, clock, withGroups }: ClaimOptions,
): PlainSql {
  const condition = sql`j."run_at" <= ${sqlNow(clock)} and ${mayLease(withGroups)}`;
  return selectDue(names, { first, limit, clock }, condition);
}

/** The condition that a job may be one of a batch: no attempt of it has begun before, and it has no group. */
const MAY_JOIN = sql`j."attempts" = 0 and j."last_error" is null and j."group_key" is null`;

/**
 * Builds the statement that locks due jobs of a worker which may join a batch.
 *
 * @param first Shard to begin with.
 * @param options The worker's jobs, and the limit.
 */
export function selectJoining(
  first: number,
  { names, clock, ...limits }: Pick<ClaimOptions, "names"> & Omit<DueOptions, "first">,
): PlainSql {
  const condition = sql`j."run_at" <= ${sqlNow(clock)} and ${MAY_JOIN}`;
  return selectDue(names, { first, clock, ...limits }, condition);
}

/**
 * Builds the statement that locks due jobs of a worker: those of {@link selectRunnable}, and for each of them that may be one of
 * a batch the others of that.
 *
 * @param first Shard to begin with.
 * @param options The worker's jobs, and how many batches and jobs that run alone there may be in all.
 * @param batchSize Jobs of a batch.
 */
export function selectBatches(first: number, options: ClaimOptions, batchSize: number): PlainSql {
  const { names, limit, clock } = options;
  if (batchSize === 1) return selectRunnable(first, options);
  const lowerLimit = sql`(select count(*) * ${rawSql(String(batchSize))} from a
    join "trellis_jobs" j on j."id" = a."id" where ${MAY_JOIN})`;
  return sql`with a as (${selectRunnable(first, options)}) select a."id" from a
    union all select b."id" from (${
    selectJoining(first, { names, clock, limit: limit * batchSize, lowerLimit })
  }) b`;
}

/** Builds the condition that a job may run now and is not leased. */
export function isRunnable(clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  return sql`((j."state" = 'queued' and j."run_at" <= ${now}) or (j."state" = 'running' and j."due_at" <= ${now}))`;
}

/** Builds the statement that locks jobs of a worker which may run now and are not leased. */
function selectReady(
  condition: PlainSql,
  { names, limit, clock, withGroups }: ClaimOptions,
): PlainSql {
  const known = joinSql(names.map(({ name }) => sql`${name}`), ", ");
  // a job of a later version waits for a worker of that release
  const versions = joinSql(
    names.map(({ name, version }) => sql`when ${name} then ${version}::int`),
    " ",
  );
  return sql`select j."id" from "trellis_jobs" j where ${condition} and ${isRunnable(clock)}
    and j."name" in (${known}) and ${isOpen(sql`j."name"`, names)}
    and coalesce(j."version", 1) <= case j."name" ${versions} end
    and ${mayLease(withGroups)} limit ${limit} for update skip locked`;
}

/**
 * Builds the statement that locks jobs by their ids.
 *
 * @param ids The ids.
 * @param options The worker's jobs, and the limit.
 */
export function selectByIds(ids: readonly string[], options: ClaimOptions): PlainSql {
  return selectReady(sql`j."id" = any(${sqlIds(ids)})`, options);
}

/**
 * Builds the statement that locks the first job of a group.
 *
 * @param group The group.
 * @param options The worker's jobs.
 */
export function selectNextOfGroup(group: string, options: ClaimOptions): PlainSql {
  const first = sql`j."id" = (select f."id" from "trellis_jobs" f
    where f."group_key" = ${group} and f."group_key" is not null and f."finished_at" is null
    order by f."enqueued_at", f."position", f."id" limit 1)`;
  return selectReady(first, options);
}

/** A job with a limit that runs leaves the shard of those that could begin. */
const LEAVE_READY = rawSql(
  `case when t."shard" >= ${FIRST_READY_SHARD}
    then t."shard" - ${LIMITED_SHARDS.ready.high - LIMITED_SHARDS.waiting.high} else t."shard" end`,
);

/**
 * Builds the statement that leases jobs, which begin at once: an attempt counts from here. The ids are an
 * array, so that the rows are found by their primary key for every limit and all statistics.
 *
 * @param select The statement that locks them.
 * @param options The worker's jobs, and its clock.
 * @param plan Number of the plan: PostgreSQL makes another one for it.
 */
export function buildClaim(
  select: PlainSql,
  { jobs, clock }: { readonly jobs: readonly AnyJob[]; readonly clock: Clock | undefined },
  plan = 0,
): PlainSql {
  const now = sqlNow(clock);
  return sql`update /* plan ${rawSql(String(plan))} */ "trellis_jobs" t set "state" = 'running',
    "fence" = t."fence" + 1, "attempts" = t."attempts" + 1, "shard" = ${LEAVE_READY},
    "due_at" = ${sqlIn(clock, getLeaseSeconds(jobs))}
  where t."id" = any(array(${select}))
  returning t."id", t."name", t."payload", t."shard", t."attempts", t."fence",
    t."attempts" = 1 and t."last_error" is null as is_first, t."group_key",
    extract(epoch from t."enqueued_at") * 1000 as enqueued_ms,
    extract(epoch from ${now} - t."enqueued_at") * 1000 as age_ms,
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

/** Returns the time of a lease in milliseconds since 1970. */
export function getLeasedMs({ enqueued_ms, age_ms }: ClaimedRow): number {
  return Number(enqueued_ms) + Number(age_ms);
}

/** Reads a row of {@link buildClaim}. */
export function readLeasedJob(row: ClaimedRow): LeasedJob {
  return {
    id: row.id,
    name: row.name,
    payload: row.payload,
    shard: Number(row.shard),
    attempts: Number(row.attempts),
    fence: Number(row.fence),
    isFirst: row.is_first,
    group: row.group_key,
    enqueuedAt: new Date(Number(row.enqueued_ms)),
    ageMs: Number(row.age_ms),
    waitedMs: Math.max(0, Number(row.waited_ms)),
    correlationId: row.correlation_id,
    traceParent: row.trace_parent,
  };
}
