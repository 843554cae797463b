import type { Clock } from "../core/async/clock.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import { runSql, runSqlRows, type SqlClient } from "../database/session/run_sql.ts";
import type { JobRateOptions } from "./job_options.ts";
import { sqlArray, sqlIds, sqlIn, sqlNow } from "./job_sql.ts";

/** Attempts that began: the time of the last one in milliseconds since 1970, and their number. */
export type Start = readonly [lastMs: number, count: number];

/** What the row of a name's limits holds. */
export interface LimitRecord {
  /** The limits, for people. */
  readonly limit: { readonly concurrency?: number; readonly perKey?: number };
  /** The attempts of the last period, the first ones first. */
  readonly starts: readonly Start[];
}

/** Attempts within this part of a period are counted as one start, at the time of the last one. */
const PARTS = 100;

/** Returns the number of attempts. */
export function countStarts(starts: readonly Start[]): number {
  return starts.reduce((sum, [, count]) => sum + count, 0);
}

/** Leaves out attempts that no period counts any more. */
export function keepStarts(
  starts: readonly Start[],
  { periodSeconds }: JobRateOptions,
  nowMs: number,
): Start[] {
  return starts.filter(([lastMs]) => lastMs > nowMs - periodSeconds * 1000);
}

/** Adds attempts that begin now. */
export function addStarts(
  starts: readonly Start[],
  { periodSeconds }: JobRateOptions,
  [nowMs, count]: Start,
): Start[] {
  const toPart = (ms: number) => Math.floor(ms / (periodSeconds * 1000 / PARTS));
  const last = starts.at(-1);
  return last !== undefined && toPart(last[0]) === toPart(nowMs)
    ? [...starts.slice(0, -1), [nowMs, last[1] + count]]
    : [...starts, [nowMs, count]];
}

/**
 * Builds the statement that locks the row of a name's limits. It writes, so that two transactions conflict on each provider.
 *
 * @param limitId The row.
 * @param clock Clock of a test.
 */
export function buildHold(limitId: string, clock: Clock | undefined): PlainSql {
  return sql`update "trellis_jobs" set "fence" = "fence" + 1 where "id" = any(array(
    select "id" from "trellis_jobs" where "id" = ${limitId}::uuid for update skip locked))
  returning "payload", extract(epoch from ${sqlNow(clock)}) * 1000 as now_ms`;
}

/**
 * Builds the statement that inserts the row of a name's limits.
 *
 * @param sought The name.
 * @param clock Clock of a test.
 */
export function buildLimitRow(
  { limitId, name }: { readonly limitId: string; readonly name: string },
  clock: Clock | undefined,
): PlainSql {
  const now = sqlNow(clock);
  return sql`insert into "trellis_jobs" ("id", "name", "payload", "state", "shard", "position",
    "enqueued_at", "run_at") values (${limitId}::uuid, ${name}::text, '{}', 'limit', 0, 0, ${now}, ${now})
  on conflict do nothing returning "payload", extract(epoch from ${now}) * 1000 as now_ms`;
}

/**
 * Builds the statement that writes the row of a name's limits.
 *
 * @param limitId The row.
 * @param record What it holds.
 * @param waitSeconds Time until the rate allows the next attempt.
 * @param clock Clock of a test.
 */
export function buildLimitRecord(
  limitId: string,
  record: LimitRecord,
  waitSeconds: number,
  clock: Clock | undefined,
): PlainSql {
  return sql`update "trellis_jobs" set "payload" = ${JSON.stringify(record)}::text,
    "run_at" = ${sqlIn(clock, waitSeconds)} where "id" = ${limitId}::uuid`;
}

/**
 * Returns the id of the row that counts the attempts of a key, as SQL: the key with another version, because the key itself
 * is the id of a job that was enqueued with the same text.
 */
export function getKeyRowId(key: PlainSql): PlainSql {
  return sql`overlay(${key}::text placing 'f' from 15 for 1)::uuid`;
}

interface KeyRow extends Record<string, unknown> {
  limit_key: string;
  payload: string | null;
}

/**
 * Counts attempts that begin now in the rows of their keys. The caller has locked the row of the name's limits. A row is removed
 * when no period counts its attempts any more.
 *
 * @param db The transaction.
 * @param name Name of the jobs.
 * @param ids At most {@link MAX_IDS} jobs, one of each key.
 * @param rate The rate of a key.
 * @param nowMs Time in whole milliseconds since 1970.
 */
export async function countByKey(
  db: SqlClient,
  name: string,
  ids: readonly string[],
  rate: JobRateOptions,
  nowMs: number,
): Promise<void> {
  const rows = await runSqlRows<KeyRow>(
    db,
    sql`select j."limit_key", l."payload" from "trellis_jobs" j
    left join "trellis_jobs" l on l."id" = ${getKeyRowId(sql`j."limit_key"`)}
    where j."id" = any(${sqlIds(ids)})`,
  );
  const periodMs = rate.periodSeconds * 1000;
  const all = rows.map(({ payload }) => {
    const known = (JSON.parse(payload ?? "{}") as Partial<LimitRecord>).starts ?? [];
    return addStarts(keepStarts(known, rate, nowMs), rate, [nowMs, 1]);
  });
  const nextMs = all.map((starts) =>
    countStarts(starts) >= rate.count ? starts[0][0] + periodMs : nowMs
  );
  const keys = sqlArray(rows.map(({ limit_key }) => limit_key), "uuid");
  const payloads = sqlArray(all.map((starts) => JSON.stringify({ starts })), "text");
  const times = sqlArray(nextMs.map((ms) => new Date(ms).toISOString()), "text");
  const now = sqlTime(nowMs);
  await runSql(
    db,
    sql`insert into "trellis_jobs" ("id", "name", "payload", "state", "shard", "position", "enqueued_at",
    "run_at", "due_at", "finished_at", "limit_key")
  select ${getKeyRowId(sql`u."key"`)}, ${name}::text, u."payload", 'limit', 0, 0, ${now},
    u."next"::timestamptz, ${sqlTime(nowMs + periodMs)}, ${now}, u."key"
  from unnest(${keys}, ${payloads}, ${times}) u ("key", "payload", "next")
  on conflict ("id") do update set "payload" = excluded."payload", "run_at" = excluded."run_at",
    "due_at" = excluded."due_at"`,
  );
}

/** Returns a time as SQL. */
export function sqlTime(ms: number): PlainSql {
  return sql`${new Date(ms).toISOString()}::timestamptz`;
}

/** Names and keys whose jobs wait for a limit. */
export interface FullLimits {
  /** Names of which no further job may begin. */
  readonly names: readonly string[];
  /** Keys of which no further job may begin. */
  readonly keys: readonly string[];
}

interface LimitRow extends Record<string, unknown> {
  name: string;
  payload: string;
  limit_key: string | null;
  is_rated: boolean;
}

/**
 * Reads which limits have been reached.
 *
 * @param db The client.
 * @param clock Clock of a test.
 */
export async function readFullLimits(
  db: DrizzleClient,
  clock: Clock | undefined,
): Promise<FullLimits> {
  const now = sqlNow(clock);
  const limits = await runSqlRows<LimitRow>(
    db,
    sql`select "name", "payload", "limit_key", "run_at" > ${now} as is_rated from "trellis_jobs"
      where "state" = 'limit' and ("limit_key" is null or "run_at" > ${now})`,
  );
  const running = await runSqlRows<{ name: string; limit_key: string; jobs: number | string }>(
    db,
    sql`select "name", "limit_key", count(*) as jobs from "trellis_jobs"
      where "limit_key" is not null and "state" = 'running' and "due_at" > ${now} group by "name", "limit_key"`,
  );
  const names: string[] = [];
  const keys: string[] = [];
  for (const { name, payload, limit_key, is_rated } of limits) {
    if (limit_key !== null) {
      keys.push(limit_key);
      continue;
    }
    const { concurrency = Infinity, perKey = Infinity } =
      (JSON.parse(payload) as Partial<LimitRecord>).limit ?? {};
    const ofName = running.filter((row) => row.name === name);
    const all = ofName.reduce((sum, { jobs }) => sum + Number(jobs), 0);
    if (is_rated || all >= concurrency) names.push(name);
    keys.push(
      ...ofName.filter(({ jobs }) => Number(jobs) >= perKey).map(({ limit_key }) => limit_key),
    );
  }
  return { names, keys };
}
