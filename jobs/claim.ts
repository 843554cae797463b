import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import { isOccError } from "../sql/sqlstate.ts";
import type { AnyJob } from "./define_job.ts";
import { JOB_SHARDS, SHARDS } from "./job_row.ts";
import { listIds, MAX_IDS, sqlIn, sqlNow } from "./job_sql.ts";

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
  readonly jobs: readonly AnyJob[];
  /** Maximum number of jobs. */
  readonly limit: number;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** False to leave out the jobs that have a group. */
  readonly withGroups: boolean;
  /**
   * True to lease jobs of a higher priority first.
   * @default false
   */
  readonly isOrdered?: boolean;
  /**
   * Number of the plan: PostgreSQL makes another one for it.
   * @default 0
   */
  readonly plan?: number;
}

/**
 * A job of a group waits for all earlier jobs, and for a running job. Two conditions, because each one
 * finds its row with an index of its own.
 */
const IS_NEXT_OF_GROUP = sql`(j."group_key" is null or (not exists (
  select 1 from "trellis_jobs" e where e."group_key" = j."group_key" and e."group_key" is not null
    and e."finished_at" is null
    and (e."enqueued_at", e."position", e."id") < (j."enqueued_at", j."position", j."id"))
  and not exists (
  select 1 from "trellis_jobs" r where r."group_key" = j."group_key" and r."group_key" is not null
    and r."state" = 'running' and r."id" <> j."id")))`;

/**
 * Condition for the shards of a high priority and those from `first`, or for those before it and of a low
 * priority. From 0 on they are all shards.
 */
function inShards(first: number, before: boolean): PlainSql {
  const { high, normal, low } = SHARDS;
  const shards = before
    ? [...normal.slice(0, first), ...low]
    : [...high, ...normal.slice(first), ...(first === 0 ? low : [])];
  return sql`j."shard" = any(${`{${shards.join(",")}}`}::text::int[])`;
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
  and j."finished_at" is null`;
}

/**
 * Builds the condition for due jobs that may run: a relay is due to hand over a job with a long delay
 * before its time.
 *
 * @param first Shard to begin with.
 * @param before True for the shards before it.
 * @param clock Clock of a test.
 */
export function mayRun(first: number, before: boolean, clock: Clock | undefined): PlainSql {
  return sql`${isDue(first, before, clock)} and j."run_at" <= ${sqlNow(clock)}`;
}

/**
 * Builds the condition for jobs by their ids: those that may run now and are not leased.
 *
 * @param ids The ids.
 * @param clock Clock of a test.
 */
export function isReady(ids: readonly string[], clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  return sql`j."id" in (${listIds(ids)}) and (
    (j."state" = 'queued' and j."run_at" <= ${now}) or (j."state" = 'running' and j."due_at" <= ${now}))`;
}

/**
 * Builds the condition for the first job of a group, if it may run now.
 *
 * @param group The group.
 * @param clock Clock of a test.
 */
export function isInGroup(group: string, clock: Clock | undefined): PlainSql {
  const now = sqlNow(clock);
  return sql`j."id" = (select f."id" from "trellis_jobs" f
    where f."group_key" = ${group} and f."group_key" is not null and f."finished_at" is null
    order by f."enqueued_at", f."position", f."id" limit 1) and (
    (j."state" = 'queued' and j."run_at" <= ${now}) or (j."state" = 'running' and j."due_at" <= ${now}))`;
}

/**
 * Builds the statement that leases jobs, which begin at once: an attempt counts from here. The ids are an
 * array, so that the rows are found by their primary key for every limit and all statistics.
 *
 * @param condition Which rows.
 * @param options Jobs, limit and clock.
 */
export function buildClaim(
  condition: PlainSql,
  { jobs, limit, clock, withGroups, isOrdered = false, plan = 0 }: ClaimOptions,
): PlainSql {
  const names = joinSql(jobs.map(({ jobName }) => sql`${jobName}`), ", ");
  const now = sqlNow(clock);
  const hasGroup = withGroups ? IS_NEXT_OF_GROUP : sql`j."group_key" is null`;
  // the order of the index
  const order = isOrdered ? sql`order by j."shard", j."due_at"` : sql``;
  // a job of a later version waits for a worker of that release
  const versions = joinSql(
    jobs.map(({ jobName, settings }) => sql`when ${jobName} then ${settings.version}::int`),
    " ",
  );
  return sql`update /* plan ${rawSql(String(plan))} */ "trellis_jobs" t set "state" = 'running',
    "fence" = t."fence" + 1, "attempts" = t."attempts" + 1,
    "due_at" = ${sqlIn(clock, getLeaseSeconds(jobs))}
  where t."id" = any(array(
    select j."id" from "trellis_jobs" j where ${condition} and j."name" in (${names})
      and coalesce(j."version", 1) <= case j."name" ${versions} end and ${hasGroup}
    ${order} limit ${limit} for update skip locked))
  returning t."id", t."name", t."payload", t."shard", t."attempts", t."fence", t."group_key",
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

/** Reads a row of {@link buildClaim}. */
export function readLeasedJob(row: ClaimedRow): LeasedJob {
  return {
    id: row.id,
    name: row.name,
    payload: row.payload,
    shard: Number(row.shard),
    attempts: Number(row.attempts),
    fence: Number(row.fence),
    group: row.group_key,
    enqueuedAt: new Date(Number(row.enqueued_ms)),
    ageMs: Number(row.age_ms),
    waitedMs: Math.max(0, Number(row.waited_ms)),
    correlationId: row.correlation_id,
    traceParent: row.trace_parent,
  };
}

/** SQLSTATE of a unique violation: another worker has just leased a job of the same group. */
const GROUP_TAKEN = "23505";

/** What leasing needs. */
export interface ClaimerOptions {
  /** Returns the client. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** Jobs of the worker. */
  readonly jobs: readonly AnyJob[];
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** Source of randomness, from 0 to below 1. */
  readonly random: () => number;
}

/** Claims of which the last one leaves out groups. */
const MAX_CLAIMS = 3;

/** Leases at most as many jobs as `getLimit` says when the statement is sent; none if there are no more. */
export type NextJobs = (getLimit: () => number) => Promise<LeasedJob[]>;

/**
 * Claims of this process. After twice as many, the next plan is made: PostgreSQL keeps the plan of a prepared
 * statement with its connection, and for a small table that is to read all of it. The table grows with each
 * job that is run.
 */
let claims = 0;

/** Leases jobs from the table. */
export class JobClaimer {
  readonly #options: ClaimerOptions;
  #foundNone = false;

  /**
   * @param options Client and jobs.
   */
  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /**
   * Leases due jobs. Begins at a shard by chance, so that workers rarely compete; at the first one if there
   * were none the last time, so that a look at an idle table is one statement.
   *
   * @param limit Maximum number of jobs.
   */
  async claimDue(limit: number): Promise<LeasedJob[]> {
    const { clock, random } = this.#options;
    const first = this.#foundNone ? 0 : Math.floor(random() * JOB_SHARDS);
    let found = await this.#claim(mayRun(first, false, clock), limit, true);
    if (found.length === 0 && first > 0) {
      found = await this.#claim(mayRun(first, true, clock), limit, true);
    }
    this.#foundNone = found.length === 0;
    // the statement returns them in any order
    return found.sort((a, b) => a.shard - b.shard || b.waitedMs - a.waitedMs);
  }

  /**
   * Leases the next job of a group.
   *
   * @param group The group.
   */
  claimGroup(group: string): Promise<LeasedJob[]> {
    return this.#claim(isInGroup(group, this.#options.clock), 1);
  }

  /**
   * Creates a function that leases jobs by their ids, each one once.
   *
   * @param ids The ids.
   */
  claimOnce(ids: readonly string[]): NextJobs {
    const left = new Set(ids);
    const claimNext: NextJobs = async (getLimit) => {
      while (left.size > 0) {
        const batch = [...left].slice(0, MAX_IDS);
        const limit = getLimit();
        const found = await this.#claim(isReady(batch, this.#options.clock), limit);
        // fewer than asked for: the others of the batch cannot run now
        const seen = found.length < limit ? batch : found.map(({ id }) => id);
        for (const id of seen) left.delete(id);
        if (found.length > 0) return found;
      }
      return [];
    };
    return claimNext;
  }

  /**
   * A lease that was written without an answer expires. A job of a group that another worker leased at
   * the same time makes the whole statement fail: the next one sees that lease. The last one leaves out
   * groups, so that jobs of others never wait for them.
   */
  async #claim(condition: PlainSql, limit: number, isOrdered = false): Promise<LeasedJob[]> {
    const { getDb, jobs, clock } = this.#options;
    const db = await getDb();
    for (let claim = 1;; claim++) {
      const withGroups = claim < MAX_CLAIMS;
      const plan = Math.floor(Math.log2(++claims));
      const statement = buildClaim(condition, { jobs, limit, clock, withGroups, isOrdered, plan });
      try {
        const rows = await withDistSqlRetry(() => runSqlRows<ClaimedRow>(db, statement));
        return rows.map(readLeasedJob);
      } catch (error) {
        if (withGroups && hasSqlState(error, [GROUP_TAKEN])) continue;
        // others were faster on the distributed provider
        if (isOccError(error)) return [];
        throw error;
      }
    }
  }
}
