import type { Clock } from "../core/async/clock.ts";
import { remainingMs } from "../core/request_context.ts";
import { type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, runSqlRows } from "../database/session/run_sql.ts";
import type { QueryResult } from "../database/session/drizzle_client.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { log } from "../observability/logger.ts";
import { metrics } from "../observability/metrics.ts";
import {
  atPlaces,
  type DueOptions,
  listShards,
  seekName,
  selectDue,
  type SoughtName,
} from "./claim.ts";
import { insertJobs } from "./enqueue.ts";
import type { JobCounts } from "./job_lanes.ts";
import { createJobRow, JOB_SHARDS } from "./job_row.ts";
import type { CommittedJob, JobDelivery } from "./job_settings.ts";
import type { JobSchedule } from "./schedule.ts";
import { explainTable, sqlNow } from "./job_sql.ts";
import type { RunnerOptions } from "./run_attempt.ts";

/** What a relay needs. */
export interface RelayOptions extends Pick<RunnerOptions, "getDb" | "clock" | "random"> {
  /** Runs due jobs where there is no delivery. */
  readonly runDue: (() => Promise<JobCounts>) | undefined;
  /** Hands due jobs to a queue. */
  readonly delivery: JobDelivery | undefined;
  /** Schedules to enqueue. */
  readonly schedules: readonly JobSchedule[];
  /**
   * True to add the metrics.
   * @default true
   */
  readonly hasMetrics?: boolean;
}

/** What one run of a relay did. */
export interface RelayResult {
  /** Jobs that were handed to the queue, or run. */
  delivered: number;
  /** Old rows that were removed. */
  removed: number;
  /** Seconds that the oldest job has been waiting. */
  oldestSeconds: number;
  /** Number of dead jobs. */
  dead: number;
}

const TAKEN = 200;
/** A relay hands over jobs of all versions. */
const MAX_VERSION = 2 ** 31 - 1;
const REMOVED = 1000;
/** Time that is left for the last statements. */
const MARGIN_MS = 3000;

/**
 * Does everything that is due once: schedules, jobs that were not delivered or whose worker died, old
 * rows, metrics. Several relays may run at the same time.
 *
 * @param options Client, delivery, schedules.
 */
export async function runRelay(options: RelayOptions): Promise<RelayResult> {
  const { getDb, schedules, clock, delivery, runDue, hasMetrics = true } = options;
  const db = await getDb();
  try {
    await enqueueSchedules(db, schedules, clock);
    const names = await listNames(db);
    const handingOver = delivery === undefined || delivery.isOutside
      ? runJobs(runDue)
      : deliverDue(db, names, options);
    // a queue that fails is when old jobs must be counted
    await Promise.allSettled([handingOver]);
    const removed = await removeOld(db, clock);
    const gauges = await readGauges(db, names, clock);
    if (hasMetrics) addGauges(gauges);
    return { delivered: await handingOver, removed, ...gauges };
  } catch (error) {
    throw explainTable(error);
  }
}

function addGauges({ oldestSeconds, dead }: Pick<RelayResult, "oldestSeconds" | "dead">): void {
  // the name of the service is often the same in all stages of an account
  const functionName = getOptionalEnv("AWS_LAMBDA_FUNCTION_NAME", "local");
  metrics.addMetricsWithDimensions({ functionName }, [
    ["OldestJobAge", "Seconds", oldestSeconds],
    ["DeadJobs", "Count", dead],
  ]);
}

async function runJobs(runDue: RelayOptions["runDue"]): Promise<number> {
  if (runDue === undefined) return 0;
  const { done, retried, dead, lost } = await runDue();
  return done + retried + dead + lost;
}

/** Lists the names of the jobs that have not ended. */
async function listNames(db: DrizzleClient): Promise<SoughtName[]> {
  const names: SoughtName[] = [];
  for (let last = "";;) {
    const [{ name }] = await runSqlRows<{ name: string | null }>(
      db,
      sql`select min("name") as name from "trellis_jobs" where "finished_at" is null and "name" > ${last}`,
    );
    if (name === null) return names;
    names.push(await seekName(name, MAX_VERSION));
    last = name;
  }
}

/** A job that was taken and not delivered is due again after the grace period. */
async function deliverDue(
  db: DrizzleClient,
  names: readonly SoughtName[],
  { delivery, clock, random }: RelayOptions,
): Promise<number> {
  const { graceSeconds } = delivery!;
  const first = Math.floor(random() * JOB_SHARDS);
  const statement = buildTakeDue(names, { first, limit: TAKEN, clock, graceSeconds });
  let delivered = 0;
  for (let taken = TAKEN; taken === TAKEN && remainingMs() > MARGIN_MS;) {
    const rows = await withDistSqlRetry(() =>
      runSqlRows<CommittedJob & Record<string, unknown>>(db, statement)
    );
    taken = rows.length;
    delivered += taken;
    const jobs = rows.map((row) => ({
      ...row,
      delaySeconds: Math.max(0, Number(row.delaySeconds)),
    }));
    if (taken > 0) await delivery!.deliver(jobs);
  }
  return delivered;
}

async function removeOld(db: DrizzleClient, clock: Clock | undefined): Promise<number> {
  let removed = 0;
  for (let last = REMOVED; last === REMOVED && remainingMs() > MARGIN_MS;) {
    const result = await withDistSqlRetry(async () =>
      await runSql(db, buildRemoveOld(REMOVED, clock)) as QueryResult
    );
    last = result.rowCount ?? 0;
    removed += last;
  }
  return removed;
}

async function readGauges(
  db: DrizzleClient,
  names: readonly SoughtName[],
  clock: Clock | undefined,
): Promise<Pick<RelayResult, "oldestSeconds" | "dead">> {
  const [row] = await runSqlRows<{ oldest_seconds: unknown; dead: unknown }>(
    db,
    buildGauges(names, clock),
  );
  return { oldestSeconds: Math.max(0, Number(row.oldest_seconds ?? 0)), dead: Number(row.dead) };
}

/**
 * Enqueues the last time of each schedule, and the one before if it was a moment ago. The time is part of the job's key, so
 * that several relays add one job. Errors of a schedule are logged.
 *
 * @param db The client.
 * @param schedules The schedules.
 * @param clock Clock of a test.
 */
async function enqueueSchedules(
  db: DrizzleClient,
  schedules: readonly JobSchedule[],
  clock: Clock | undefined,
): Promise<void> {
  if (schedules.length === 0) return;
  // not the relay's clock, which may differ from that of another relay
  const [{ now_ms }] = await runSqlRows<{ now_ms: number | string }>(
    db,
    sql`select extract(epoch from ${sqlNow(clock)}) * 1000 as now_ms`,
  );
  const now = new Date(Math.floor(Number(now_ms)));
  for (const schedule of schedules) {
    try {
      for (const time of await listDue(schedule, now)) await enqueueTime(db, schedule, time);
    } catch (error) {
      log("ERROR", "a schedule could not be enqueued", { schedule: schedule.scheduleName, error });
    }
  }
}

/** Time for which also the last time but one is made up for: two runs of a relay may be more than a minute apart. */
const RELAY_GAP_MS = 120_000;

/** Lists the times of a schedule that are enqueued now, unless they have been before. */
async function listDue(
  { findLast, catchUpSeconds }: JobSchedule,
  now: Date,
): Promise<Date[]> {
  const last = await findLast(now);
  const before = last && await findLast(new Date(last.getTime() - 1));
  const isWithin = (time: Date | undefined, ms: number): time is Date =>
    time !== undefined && now.getTime() - time.getTime() <= Math.min(ms, catchUpSeconds * 1000);
  return [
    ...(isWithin(before, RELAY_GAP_MS) ? [before] : []),
    ...(isWithin(last, Infinity) ? [last] : []),
  ];
}

async function enqueueTime(db: DrizzleClient, schedule: JobSchedule, time: Date): Promise<void> {
  const { scheduleName, job } = schedule;
  const { jobName, schema, settings } = job;
  const row = await createJobRow(jobName, schema, schedule.getPayload(time), {
    key: `schedule ${scheduleName} ${time.toISOString()}`,
    // each relay enqueues the time until the next one: once it has run it must not run again
    settings: { ...settings, unique: undefined },
  });
  await insertJobs(db, [row]);
}

/**
 * Builds the statement that takes due jobs for delivery, so that no other relay delivers them before
 * `graceSeconds` have passed. A job whose worker died is free again.
 *
 * @param names The names of the jobs.
 * @param options First shard, limit and clock, and the time until the next delivery.
 */
export function buildTakeDue(
  names: readonly SoughtName[],
  { graceSeconds, ...due }: DueOptions & { graceSeconds: number },
): PlainSql {
  const now = sqlNow(due.clock);
  return sql`update "trellis_jobs" t set "state" = 'queued',
    "due_at" = greatest(t."run_at", ${now}) + ${graceSeconds}::float8 * interval '1 second'
  where t."id" = any(array(${selectDue(names, due, sql`true`)}))
  returning t."id", t."name", t."group_key" as "group", t."correlation_id" as "correlationId",
    extract(epoch from t."run_at" - ${now}) as "delaySeconds"`;
}

const EACH_SHARD: readonly number[] = listShards(0);
const ALL_SHARDS: PlainSql = rawSql(EACH_SHARD.join(", "));

/**
 * Builds the statement that removes finished jobs whose time is over, and counts of attempts that have no effect any more. It
 * locks them, so that a job that is sent again at the same time stays.
 *
 * @param limit Maximum number of rows: far below the 3,000 rows of a transaction on the distributed
 * provider.
 * @param clock Clock of a test.
 */
export function buildRemoveOld(limit: number, clock: Clock | undefined): PlainSql {
  return sql`delete from "trellis_jobs" where "id" = any(array(
    select j."id" from "trellis_jobs" j where j."shard" in (${ALL_SHARDS})
      and j."due_at" <= ${sqlNow(clock)} and j."finished_at" is not null
      and j."state" in ('done', 'cancelled', 'limit') limit ${limit} for update skip locked))`;
}

/** Rows of each name in a shard that count for the age: those that were due first. */
const SAMPLED = 20;

/**
 * Builds the statement that reads how long the oldest job that is not paused has been waiting, in seconds, and how
 * many jobs are dead.
 *
 * @param names The names of the jobs.
 * @param clock Clock of a test.
 */
export function buildGauges(names: readonly SoughtName[], clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  const oldest = sql`select j."run_at" from "trellis_jobs" j where j."name" = p."name"
    and j."shard" = p."shard" and j."due_at" is not null and j."finished_at" is null
    order by j."due_at" limit ${rawSql(String(SAMPLED))}`;
  return sql`select extract(epoch from ${now} - (
    select min(d."run_at") from ${atPlaces(names, EACH_SHARD, oldest)} and d."run_at" <= ${now}))
    as oldest_seconds, (select count(*) from "trellis_jobs"
    where "shard" in (${ALL_SHARDS}) and "due_at" is null and "finished_at" is not null
    and "state" = 'dead') as dead`;
}
