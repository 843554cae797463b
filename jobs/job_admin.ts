import { wholeNumber } from "../core/function_options.ts";
import { checkOption, oneOf } from "../core/option_rules.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { sqlNow } from "./job_sql.ts";
import { findTestClock } from "./job_settings.ts";

/** State of a job. */
export type JobState = "queued" | "running" | "done" | "dead" | "cancelled";

/** The states, for checks and messages. */
export const JOB_STATES = [
  "queued",
  "running",
  "done",
  "dead",
  "cancelled",
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
}

/** Job with its payload. */
export interface JobWithPayload extends JobDetails {
  /** JSON of the payload; it may hold personal data. */
  readonly payload: string;
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
  payload?: string;
}

const COLUMNS: PlainSql = sql`"id", "name", "state", "attempts", "group_key",
  ${isoTime("enqueued_at")} as enqueued, ${isoTime("run_at")} as run,
  ${isoTime("finished_at")} as finished, "last_error", "correlation_id"`;

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
    sql`true`,
    ...(state === undefined ? [] : [sql`"state" = ${state}`]),
    ...(name === undefined ? [] : [sql`"name" = ${name}`]),
  ];
  const rows = await runSqlRows<DetailsRow>(
    db,
    sql`select ${COLUMNS} from "trellis_jobs" where ${joinSql(conditions, " and ")}
      order by "enqueued_at" desc, "position" desc limit ${limit}`,
  );
  return rows.map(readDetails);
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
    sql`select ${COLUMNS}, "payload" from "trellis_jobs" where "id" = ${id}::uuid`,
  );
  return row && { ...readDetails(row), payload: row.payload! };
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

/** Time that a cancelled job is kept. */
const KEPT = sql`interval '1 day'`;

/**
 * Cancels jobs that are queued or dead, and those whose lease has ended. A job that runs is not stopped.
 *
 * @param db The client.
 * @param ids The jobs' ids.
 * @returns The ids of the jobs that were cancelled.
 *
 * @example
 * ```ts ignore
 * await cancelJobs(db, [id]);
 * ```
 */
export async function cancelJobs(db: DrizzleClient, ids: readonly string[]): Promise<string[]> {
  const now = sqlNow(findTestClock());
  return await change(
    db,
    ids,
    sql`update "trellis_jobs" set "state" = 'cancelled', "finished_at" = ${now}, "due_at" = ${now} + ${KEPT}
      where ("state" in ('queued', 'dead') or ${isOrphaned(now)})`,
  );
}

async function change(
  db: DrizzleClient,
  ids: readonly string[],
  update: PlainSql,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const list = joinSql(ids.map((id) => sql`${id}::uuid`), ", ");
  const statement = sql`${update} and "id" in (${list}) returning "id"`;
  const rows = await withDistSqlRetry(() => runSqlRows<{ id: string }>(db, statement), {
    idempotent: true,
  });
  return rows.map(({ id }) => id);
}

function readDetails(row: DetailsRow): JobDetails {
  return {
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
  };
}
