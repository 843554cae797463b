import type { Clock } from "../core/async/clock.ts";
import { groupValues } from "../core/lists/group_by.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import type { TransactionClient } from "../database/session/transaction.ts";
import {
  buildClaim,
  type ClaimedRow,
  getLeasedMs,
  isOpen,
  isRunnable,
  type LeasedJob,
  listShards,
  mayLease,
  readLeasedJob,
  seekName,
  selectByIds,
  selectPlaces,
  type SoughtName,
} from "./claim.ts";
import type { AnyJob } from "./define_job.ts";
import type { JobLimitOptions } from "./job_options.ts";
import { FIRST_READY_SHARD, getLimitId, getNameKey, LIMITED_SHARDS, SHARDS } from "./job_row.ts";
import { MAX_IDS, sqlArray, sqlIds, sqlNow } from "./job_sql.ts";
import {
  addStarts,
  buildHold,
  buildLimitRecord,
  buildLimitRow,
  countByKey,
  countStarts,
  getKeyRowId,
  keepStarts,
  type LimitRecord,
  sqlTime,
} from "./limit_record.ts";

/**
 * Limits of jobs. A name with limits has a row of its own in the table (`state` is `limit`). A worker locks it while it
 * leases jobs of the name: in the transaction's snapshot the jobs that run are then all that run, on every provider.
 * Another worker does not wait for the lock, and looks at other names.
 */

/** Name of jobs with a limit. */
export interface LimitedName extends SoughtName {
  /** The job. */
  readonly job: AnyJob;
  /** Its limits. */
  readonly limit: JobLimitOptions;
  /** Id of the row of its limits. */
  readonly limitId: string;
  /** What its limits count if it has no `perKey`. */
  readonly nameKey: string;
}

/**
 * Prepares a job with limits to be looked for.
 *
 * @param job The job.
 */
export async function seekLimited(job: AnyJob): Promise<LimitedName> {
  const { jobName, settings } = job;
  const [sought, limitId, nameKey] = await Promise.all([
    seekName(jobName, settings.version),
    getLimitId(jobName),
    getNameKey(jobName),
  ]);
  return { ...sought, job, limit: settings.limit!, limitId, nameKey };
}

/** Row of {@link buildProbe}. */
interface ProbedRow extends Record<string, unknown> {
  name: string;
  running: number | string;
  wait_ms: number | string | null;
  is_ready: boolean;
}

/** Jobs of a name that have become due and are moved at once. */
const MOVED = 100;

const READY = sql`j."shard" >= ${rawSql(String(FIRST_READY_SHARD))} and j."finished_at" is null`;
const OTHER_SHARDS = listShards(0).filter((shard) => shard < FIRST_READY_SHARD);

const { waiting, ready } = LIMITED_SHARDS;

/** The part of a job that could begin, by the one that it is in: a job of an earlier release is in one of those without a limit. */
const ENTER_READY = rawSql(
  `case when t."shard" >= ${ready.high} then t."shard"
    when t."shard" >= ${waiting.high} then t."shard" + ${ready.high - waiting.high}
    when t."shard" >= ${SHARDS.low[0]} then ${ready.low}
    when t."shard" >= 0 then ${ready.normal} else ${ready.high} end`,
);

/**
 * Builds the statement that moves jobs to those that could begin: delayed ones whose time has come, those of dead workers,
 * and those of an earlier release, which had no limit.
 */
function buildMove(select: PlainSql, names: readonly LimitedName[]): PlainSql {
  const keys = joinSql(
    names.map(({ name, nameKey }) => sql`when ${name} then ${nameKey}::uuid`),
    " ",
  );
  return sql`update "trellis_jobs" t set "state" = 'queued', "shard" = ${ENTER_READY},
    "limit_key" = coalesce(t."limit_key", case t."name" ${keys} end)
  where t."id" = any(array(${select})) returning t."id", t."name"`;
}

/**
 * Builds the statement that looks which names have jobs that could begin, how many jobs of each run, and the time until its
 * rate allows the next one.
 *
 * @param names The names.
 * @param clock Clock of a test.
 * @param plan Number of the plan.
 */
export function buildProbe(
  names: readonly LimitedName[],
  clock: Clock | undefined,
  plan = 0,
): PlainSql {
  const now = sqlNow(clock);
  const due = selectPlaces(names, OTHER_SHARDS, { limit: MOVED, clock }, isRunnable(clock));
  const one = sql`select l."run_at" from "trellis_jobs" l where l."id" = p."limit_id"`;
  return sql`with /* plan ${rawSql(String(plan))} */ moved as (${buildMove(due, names)})
  select p."name", (select count(*) from "trellis_jobs" r where ${
    isRunning(sql`p."name"`, clock)
  }) as running,
    extract(epoch from (${one}) - ${now}) * 1000 as wait_ms,
    (exists (select 1 from moved m where m."name" = p."name")
      or exists (select 1 from "trellis_jobs" j where j."name" = p."name" and ${READY})) as is_ready
  from unnest(${sqlArray(names.map(({ name }) => name), "text")},
    ${sqlArray(names.map(({ limitId }) => limitId), "uuid")}) p ("name", "limit_id")
  where ${isOpen(sql`p."name"`, names)}`;
}

/** The lease of a dead worker's job ends: its place is free. */
function isRunning(name: PlainSql, clock: Clock | undefined): PlainSql {
  return sql`r."name" = ${name} and r."limit_key" is not null and r."state" = 'running'
    and r."due_at" > ${sqlNow(clock)}`;
}

/** Which jobs of a name to lease. */
export interface LimitedClaim {
  /** Maximum number of jobs. */
  readonly limit: number;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** False to leave out the jobs that have a group. */
  readonly withGroups: boolean;
  /** Only these jobs, if given; else `from` and `before` say where to begin. */
  readonly ids?: readonly string[];
  /** Key to begin with. */
  readonly from: string;
  /** True for the keys before it. */
  readonly before: boolean;
  /** Time in whole milliseconds since 1970. */
  readonly nowMs: number;
}

/** The row that counts the attempts of a key. */
const KEY_ROW_ID = getKeyRowId(sql`k."key"`);

/** Builds the query of the keys of a name that have jobs which could begin. It goes from key to key with an index. */
function listKeys(name: string, first: PlainSql, until: PlainSql = sql``): PlainSql {
  const nextKey = (after: PlainSql) =>
    sql`select j."limit_key" from "trellis_jobs" j where j."name" = ${name} and ${READY} ${until} ${after}
      order by j."limit_key" limit 1`;
  return sql`(${nextKey(first)}) union all
    select (${nextKey(sql`and j."limit_key" > k."key"`)}) from k where k."key" is not null`;
}

/**
 * Builds the statement that locks jobs of a name whose key has a free place: one of each key if keys have a rate. It reads no jobs
 * of keys without a place.
 *
 * @param sought The name.
 * @param claim Which jobs.
 */
export function selectLimited(
  { name, version, limit: { concurrency, perKey }, pauseId }: LimitedName,
  { limit, clock, nowMs, withGroups, ids, from, before }: LimitedClaim,
): PlainSql {
  const ofName = sql`j."name" = ${name} and ${READY}`;
  const only = ids === undefined ? sql`` : sql`and j."id" = any(${sqlIds(ids)})`;
  const keys = ids === undefined
    ? before
      ? listKeys(name, sql``, sql`and j."limit_key" < ${from}::uuid`)
      : listKeys(name, sql`and j."limit_key" >= ${from}::uuid`)
    : sql`select distinct j."limit_key" from "trellis_jobs" j where ${ofName} ${only}`;
  const running = isRunning(sql`${name}`, clock);
  const ofKey = perKey?.concurrency === undefined
    ? sql`${limit}::bigint`
    : sql`greatest(0, ${perKey.concurrency}::bigint - (select count(*) from "trellis_jobs" r
      where ${running} and r."limit_key" = k."key"))`;
  const places = perKey?.rate === undefined ? ofKey : sql`case when exists (
      select 1 from "trellis_jobs" l where l."id" = ${KEY_ROW_ID} and l."run_at" > ${
    sqlTime(nowMs)
  })
    then 0 else least(1, ${ofKey}) end`;
  const allPlaces = concurrency === undefined
    ? sql`${limit}::bigint`
    : sql`least(${limit}::bigint, greatest(0, ${concurrency}::bigint
      - (select count(*) from "trellis_jobs" r where ${running})))`;
  return sql`with recursive k ("key") as (${keys})
  select d."id" from k cross join lateral (
    select j."id" from "trellis_jobs" j where ${ofName} and j."limit_key" = k."key" ${only}
      and j."state" = 'queued' and coalesce(j."version", 1) <= ${version}::int and ${
    mayLease(withGroups)
  }
    order by j."shard", j."due_at" limit ${places} for update skip locked) d
  where ${isOpen(sql`${name}::text`, [{ name, version, pauseId }])} limit ${allPlaces}`;
}

interface HeldRow extends Record<string, unknown> {
  payload: string;
  now_ms: number | string;
}

/**
 * Leases jobs of a name in a transaction.
 *
 * @param tx The transaction.
 * @param sought The name.
 * @param claim Which jobs.
 * @param plan Number of the plan.
 * @returns The jobs; `undefined` if another worker leases jobs of this name.
 */
export async function claimLimited(
  tx: TransactionClient,
  sought: LimitedName,
  claim: Omit<LimitedClaim, "before" | "nowMs">,
  plan: number,
): Promise<LeasedJob[] | undefined> {
  const { job, limitId, limit: { concurrency, perKey, rate } } = sought;
  const { clock } = claim;
  // none: the row does not exist, or another worker has locked it
  const held = (await runSqlRows<HeldRow>(tx, buildHold(limitId, clock)))[0] ??
    (await runSqlRows<HeldRow>(tx, buildLimitRow(sought, clock)))[0];
  if (held === undefined) return undefined;
  const nowMs = Math.floor(Number(held.now_ms));
  const known = JSON.parse(held.payload) as Partial<LimitRecord>;
  let starts = rate === undefined ? [] : keepStarts(known.starts ?? [], rate, nowMs);
  const most = Math.min(
    claim.limit,
    perKey?.rate === undefined ? Infinity : MAX_IDS,
    rate === undefined ? Infinity : rate.count - countStarts(starts),
  );
  const found: ClaimedRow[] = [];
  for (const before of perKey !== undefined && claim.ids === undefined ? [false, true] : [false]) {
    if (found.length >= most) break;
    const locked = selectLimited(sought, { ...claim, nowMs, limit: most - found.length, before });
    found.push(
      ...await runSqlRows<ClaimedRow>(tx, buildClaim(locked, { jobs: [job], clock }, plan)),
    );
  }
  // the leases may have had to wait since the limits were read, and a period is counted from the last of them
  const startMs = Math.max(...found.map((row) => Math.ceil(getLeasedMs(row))));
  if (perKey?.rate !== undefined && found.length > 0) {
    await countByKey(tx, sought.name, found.map(({ id }) => id), perKey.rate, startMs);
  }
  if (rate !== undefined && found.length > 0) {
    starts = addStarts(starts, rate, [startMs, found.length]);
  }
  const limit = { concurrency, perKey: perKey?.concurrency };
  if (found.length > 0 && (rate !== undefined || !isSame(limit, known.limit))) {
    const isFull = rate !== undefined && countStarts(starts) >= rate.count;
    const waitMs = isFull ? starts[0][0] + rate.periodSeconds * 1000 - startMs : 0;
    await runSqlRows(tx, buildLimitRecord(limitId, { limit, starts }, waitMs / 1000, clock));
  }
  return found.map(readLeasedJob);
}

/**
 * Builds the statement that reads the milliseconds until the rate of a key allows the next attempt of a job that waits for it;
 * `null` if none does.
 *
 * @param sought The name.
 * @param clock Clock of a test.
 */
export function buildKeyWait({ name }: LimitedName, clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  return sql`with recursive k ("key") as (${listKeys(name, sql``)})
  select extract(epoch from min(l."run_at") - ${now}) * 1000 as wait_ms
  from k join "trellis_jobs" l on l."id" = ${KEY_ROW_ID} where l."run_at" > ${now}`;
}

/** A name that has jobs which could begin. */
export interface ProbedName {
  /** The name. */
  readonly name: string;
  /** Milliseconds until its rate allows the next attempt. */
  readonly waitMs: number;
  /** Places that are free for all its keys together. */
  readonly places: number;
}

/**
 * Looks for names with jobs that could begin.
 *
 * @param db The client.
 * @param names The names.
 * @param clock Clock of a test.
 * @param plan Number of the plan.
 */
export async function probeLimited(
  db: DrizzleClient,
  names: readonly LimitedName[],
  clock: Clock | undefined,
  plan: number,
): Promise<ProbedName[]> {
  const limits = new Map(names.map(({ name, limit }) => [name, limit]));
  const rows = await runSqlRows<ProbedRow>(db, buildProbe(names, clock, plan));
  return rows.filter(({ is_ready }) => is_ready).map((row) => {
    const { concurrency = Infinity, rate } = limits.get(row.name)!;
    return {
      name: row.name,
      waitMs: rate === undefined ? 0 : Math.max(0, Number(row.wait_ms ?? 0)),
      places: concurrency - Number(row.running),
    };
  });
}

/**
 * Moves those of the jobs that may run to the ones that could begin, and returns their ids by name.
 *
 * @param db The client.
 * @param ids At most {@link MAX_IDS} ids.
 * @param names The names.
 * @param clock Clock of a test.
 */
export async function moveIds(
  db: DrizzleClient,
  ids: readonly string[],
  names: readonly LimitedName[],
  clock: Clock | undefined,
): Promise<[name: string, ids: readonly string[]][]> {
  const select = selectByIds(ids, { names, limit: MAX_IDS, clock, withGroups: true });
  const rows = await runSqlRows<{ id: string; name: string }>(db, buildMove(select, names));
  return [...groupValues(rows.map(({ id, name }) => [name, id] as const))];
}

function isSame(limit: LimitRecord["limit"], known: LimitRecord["limit"] | undefined): boolean {
  return limit.concurrency === known?.concurrency && limit.perKey === known?.perKey;
}
