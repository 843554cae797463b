import { wholeNumber } from "../core/function_options.ts";
import { checkOption, NAME_OPTION, oneOf } from "../core/option_rules.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { getPauseId } from "./job_row.ts";
import { type FullLimits, readFullLimits } from "./limit_record.ts";
import { sqlArray, sqlNow } from "./job_sql.ts";
import { findTestClock } from "./job_settings.ts";

/** State of a job. A row that is `paused` is no job: while it is in the table, no job of its name begins. */
export type JobState = "queued" | "running" | "done" | "dead" | "cancelled" | "paused";

/** The states, for checks and messages. */
export const JOB_STATES = [
  "queued",
  "running",
  "done",
  "dead",
  "cancelled",
  "paused",
] as const satisfies JobState[];

/** Job in the table. */
export interface JobDetails {
  /** Primary key. */
  readonly id: string;
  /** Name of the job. */
  readonly name: string;
  /** State of the job. */
  readonly state: JobState;
  /** Attempts so far. */
  readonly attempts: number;
  /** Group, if the job has one. */
  readonly group: string | undefined;
  /** Time at which it was enqueued. */
  readonly enqueuedAt: string;
  /** Time from which it may run. */
  readonly runAt: string;
  /** Time at which it ended. */
  readonly finishedAt: string | undefined;
  /** Error of the last failed attempt. */
  readonly lastError: string | undefined;
  /** Correlation id of the request. */
  readonly correlationId: string | undefined;
  /** Part that is done, 0 to 1, as the handler reported it. */
  readonly progress: number | undefined;
  /** True if the job is due, and waits because its `limit` has been reached. */
  readonly waitsForLimit: boolean;
}

/** Job with its payload. */
export interface JobWithPayload extends JobDetails {
  /** JSON of the payload; it may hold personal data. */
  readonly payload: string;
  /** JSON of the result, if the job keeps it; it may hold personal data. */
  readonly result: string | undefined;
}

/** Options of `listJobs`. */
export interface ListJobsOptions {
  /** Only jobs in this state. */
  state?: JobState;
  /** Only jobs with this name. */
  name?: string;
  /**
   * Maximum number of jobs, 1 to 1,000.
   * @default 50
   */
  limit?: number;
}

interface DetailsRow extends Record<string, unknown> {
  id: string;
  name: string;
  state: JobState;
  attempts: number | string;
  group_key: string | null;
  enqueued: string;
  run: string;
  finished: string | null;
  last_error: string | null;
  correlation_id: string | null;
  progress: number | string | null;
  limit_key: string | null;
  is_due: boolean;
  payload?: string;
  result?: string | null;
}

const COLUMNS: PlainSql = sql`"id", "name", "state", "attempts", "group_key",
  ${isoTime("enqueued_at")} as enqueued, ${isoTime("run_at")} as run,
  ${isoTime("finished_at")} as finished, "last_error", "correlation_id", "progress",
  "limit_key"`;

/** Columns of a job. */
function listColumns(): PlainSql {
  return sql`${COLUMNS}, "run_at" <= ${sqlNow(findTestClock())} as is_due`;
}

/** Returns the state of a job for people. */
export function describeState({ state, waitsForLimit }: JobDetails): string {
  return waitsForLimit ? `${state}, waits for its limit` : state;
}

/** Returns the time of a column as ISO 8601, in UTC. */
export function isoTime(column: string): PlainSql {
  return sql`to_char("${rawSql(column)}" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/**
 * Lists jobs, the last enqueued first.
 *
 * @param db The client.
 * @param options Filter and limit.
 * @returns The jobs without their payloads.
 *
 * @example
 * ```ts ignore
 * for (const { id, name, lastError } of await listJobs(db, { state: "dead" })) {
 *   console.log(id, name, lastError);
 * }
 * ```
 */
export async function listJobs(
  db: DrizzleClient,
  { state, name, limit = 50 }: ListJobsOptions = {},
): Promise<JobDetails[]> {
  checkOption("limit", limit, wholeNumber([1, 1000, "jobs"]));
  if (state !== undefined) checkOption("state", state, oneOf(JOB_STATES));
  const conditions = [
    sql`"state" <> 'limit'`,
    ...(state === undefined ? [] : [sql`"state" = ${state}`]),
    ...(name === undefined ? [] : [sql`"name" = ${name}`]),
  ];
  const rows = await runSqlRows<DetailsRow>(
    db,
    sql`select ${listColumns()} from "trellis_jobs" where ${joinSql(conditions, " and ")}
      order by "enqueued_at" desc, "position" desc limit ${limit}`,
  );
  return await readAllDetails(db, rows);
}

/**
 * Returns one job with its payload.
 *
 * @param db The client.
 * @param id The job's id.
 * @returns The job, or `undefined` if the table has none with this id.
 *
 * @example
 * ```ts ignore
 * console.log((await getJob(db, id))?.state);
 * ```
 */
export async function getJob(db: DrizzleClient, id: string): Promise<JobWithPayload | undefined> {
  const [row] = await runSqlRows<DetailsRow>(
    db,
    sql`select ${listColumns()}, "payload", "result" from "trellis_jobs" where "id" = ${id}::uuid`,
  );
  if (row === undefined || String(row.state) === "limit") return undefined;
  const [details] = await readAllDetails(db, [row]);
  return { ...details, payload: row.payload!, result: row.result ?? undefined };
}

/**
 * Sends jobs that are dead or cancelled again, with as many attempts as a new one; also jobs that run
 * according to the table, but whose lease has ended.
 *
 * @param db The client.
 * @param ids The jobs' ids.
 * @returns The ids of the jobs that were sent again.
 *
 * @example
 * ```ts ignore
 * await retryJobs(db, [id]);
 * ```
 */
export async function retryJobs(db: DrizzleClient, ids: readonly string[]): Promise<string[]> {
  const now = sqlNow(findTestClock());
  return await change(
    db,
    ids,
    sql`update "trellis_jobs" set "state" = 'queued', "attempts" = 0, "finished_at" = null,
      "run_at" = ${now}, "due_at" = ${now} where ("state" in ('dead', 'cancelled') or ${
      isOrphaned(now)
    })`,
  );
}

/** The worker has died, or no worker knows the job any more. */
function isOrphaned(now: PlainSql): PlainSql {
  return sql`("state" = 'running' and "due_at" <= ${now})`;
}

/** Jobs of one name in one state. */
export interface JobStats {
  /** Name of the jobs. */
  readonly name: string;
  /** State of the jobs. */
  readonly state: JobState;
  /** Number of jobs. */
  readonly jobs: number;
  /** Those of them that are due: they wait for a worker, or their worker has died. */
  readonly due: number;
  /** Seconds that the oldest due one has been waiting; 0 if none is due. */
  readonly oldestDueSeconds: number;
  /** Those of the due ones that wait because their `limit` has been reached. */
  readonly waitForLimit: number;
}

/**
 * Counts the jobs by name and state. It reads the whole table, so it is meant for people.
 *
 * @param db The client.
 * @returns The counts, by name and state.
 *
 * @example
 * ```ts ignore
 * for (const { name, state, jobs } of await countJobs(db)) console.log(name, state, jobs);
 * ```
 */
export async function countJobs(db: DrizzleClient): Promise<JobStats[]> {
  const now = sqlNow(findTestClock());
  const { names, keys } = await readFullLimits(db, findTestClock());
  const rows = await runSqlRows<
    {
      name: string;
      state: JobState;
      jobs: unknown;
      due: unknown;
      limited: unknown;
      oldest_seconds: unknown;
    }
  >(
    db,
    sql`select "name", "state", count(*) as jobs, count("since") as due,
      count(case when "state" = 'queued' and "limit_key" is not null and ("name" = any(${
      sqlArray(names, "text")
    })
        or "limit_key" = any(${sqlArray(keys, "uuid")})) then "since" end) as limited,
      extract(epoch from ${now} - min("since")) as oldest_seconds
    from (select "name", "state", "limit_key", case
      when "state" = 'queued' and "run_at" <= ${now} then "run_at"
      when "state" = 'running' and "due_at" <= ${now} then "due_at" end as "since"
      from "trellis_jobs" where "state" <> 'limit') j
    group by "name", "state" order by "name", "state"`,
  );
  return rows.map((row) => ({
    name: row.name,
    state: row.state,
    jobs: Number(row.jobs),
    due: Number(row.due),
    oldestDueSeconds: Math.floor(Number(row.oldest_seconds ?? 0)),
    waitForLimit: Number(row.limited),
  }));
}

/** Time that a cancelled job is kept. */
const KEPT = sql`interval '1 day'`;

/** Options of `cancelJobs`. */
export interface CancelJobsOptions {
  /**
   * True to cancel jobs that run, too: their handler's `signal` is aborted within about 5 seconds, and what
   * they have done stays. A job with `transaction: true` that runs is left, because it cannot be stopped.
   * @default false
   */
  running?: boolean;
}

/**
 * Cancels jobs that are queued or dead, and those whose lease has ended.
 *
 * @param db The client.
 * @param ids The jobs' ids.
 * @param options Which jobs.
 * @returns The ids of the jobs that were cancelled.
 *
 * @example
 * ```ts ignore
 * await cancelJobs(db, [id]);
 * ```
 */
export async function cancelJobs(
  db: DrizzleClient,
  ids: readonly string[],
  { running = false }: CancelJobsOptions = {},
): Promise<string[]> {
  const now = sqlNow(findTestClock());
  const isRunning = running ? sql`"state" = 'running'` : isOrphaned(now);
  return await change(
    db,
    ids,
    sql`update "trellis_jobs" set "state" = 'cancelled', "finished_at" = ${now}, "due_at" = ${now} + ${KEPT},
      "next_payload" = null, "next_run_at" = null
      where ("state" in ('queued', 'dead') or ${isRunning})`,
  );
}

/**
 * Pauses the jobs of a name: no worker and no relay begins one until {@link resumeJobs}. Jobs that run end, and jobs can
 * still be enqueued. `workflow.<name>` pauses the turns of a workflow.
 *
 * @param db The client.
 * @param name Name of the jobs.
 * @returns `false` if they were paused already.
 * @throws {ConfigurationError} If it cannot be the name of a job.
 *
 * @example
 * ```ts ignore
 * await pauseJobs(db, "index-note");
 * ```
 */
export async function pauseJobs(db: DrizzleClient, name: string): Promise<boolean> {
  checkOption("name", name, NAME_OPTION);
  const id = await getPauseId(name);
  const now = sqlNow(findTestClock());
  // without a time at which it is due, no statement finds it
  const statement = sql`insert into "trellis_jobs" ("id", "name", "payload", "state", "shard",
    "position", "enqueued_at", "run_at") values (${id}::uuid, ${name}::text, 'null', 'paused', 0, 0,
    ${now}, ${now}) on conflict do nothing returning "id"`;
  const rows = await withDistSqlRetry(() => runSqlRows(db, statement), { idempotent: true });
  return rows.length > 0;
}

/**
 * Lets the jobs of a name begin again after {@link pauseJobs}: those that a queue has delivered meanwhile with the next run of
 * the relay.
 *
 * @param db The client.
 * @param name Name of the jobs.
 * @returns `false` if they were not paused.
 *
 * @example
 * ```ts ignore
 * await resumeJobs(db, "index-note");
 * ```
 */
export async function resumeJobs(db: DrizzleClient, name: string): Promise<boolean> {
  const id = await getPauseId(name);
  const statement = sql`delete from "trellis_jobs" where "id" = ${id}::uuid returning "id"`;
  const rows = await withDistSqlRetry(() => runSqlRows(db, statement), { idempotent: true });
  return rows.length > 0;
}

async function change(
  db: DrizzleClient,
  ids: readonly string[],
  update: PlainSql,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const list = joinSql(ids.map((id) => sql`${id}::uuid`), ", ");
  // a row that a transaction has locked is left: its job is about to end
  const statement = sql`${update} and "id" = any(array(select "id" from "trellis_jobs"
    where "id" in (${list}) for update skip locked)) returning "id"`;
  const rows = await withDistSqlRetry(() => runSqlRows<{ id: string }>(db, statement), {
    idempotent: true,
  });
  return rows.map(({ id }) => id);
}

/** Reads rows, and which of them wait for a limit. */
async function readAllDetails(
  db: DrizzleClient,
  rows: readonly DetailsRow[],
): Promise<JobDetails[]> {
  const mayWait = (row: DetailsRow) =>
    row.limit_key !== null && row.state === "queued" && row.is_due;
  const full = rows.some(mayWait) ? await readFullLimits(db, findTestClock()) : NO_LIMITS;
  return rows.map((row) =>
    readDetails(
      row,
      mayWait(row) && (full.names.includes(row.name) || full.keys.includes(row.limit_key!)),
    )
  );
}

const NO_LIMITS: FullLimits = { names: [], keys: [] };

function readDetails(row: DetailsRow, waitsForLimit: boolean): JobDetails {
  return {
    waitsForLimit,
    id: row.id,
    name: row.name,
    state: row.state,
    attempts: Number(row.attempts),
    group: row.group_key ?? undefined,
    enqueuedAt: row.enqueued,
    runAt: row.run,
    finishedAt: row.finished ?? undefined,
    lastError: row.last_error ?? undefined,
    correlationId: row.correlation_id ?? undefined,
    progress: row.progress === null ? undefined : Number(row.progress),
  };
}
