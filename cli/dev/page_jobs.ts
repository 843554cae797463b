import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { NotFoundError, ValidationError } from "../../errors/http_errors.ts";
import {
  cancelJobs,
  getJob,
  JOB_STATES,
  type JobDetails,
  type JobWithPayload,
  listJobs,
  retryJobs,
} from "../../jobs/job_admin.ts";
import { isJobId } from "../../jobs/job_row.ts";
import { explainTable } from "../../jobs/job_sql.ts";
import type { Call, LogLine, RecordedSpan } from "./functions/recorder.ts";

/** An attempt of a job in a call that the server has kept. */
export interface JobRun {
  /** The call of the relay, or of the consumer of a queue. */
  readonly callId: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly isFailed: boolean;
}

/** A job of the page's list. */
export interface PageJob extends JobDetails {
  /** Its attempts, the first one first. */
  readonly runs: readonly JobRun[];
}

/** A job with its payload, and the log lines of its attempts. */
export interface PageJobDetails extends PageJob, JobWithPayload {
  readonly logs: readonly LogLine[];
}

const CHANGES = {
  retry: retryJobs,
  cancel: (db: DrizzleClient, ids: readonly string[]) => cancelJobs(db, ids, { running: true }),
} as const;

/**
 * Lists the last jobs, without their payloads.
 *
 * @param calls The calls that the server has kept, the newest first.
 * @param params The filter: `state` and `name`; empty for all.
 * @throws {ValidationError} If there is no such state.
 */
export async function listPageJobs(
  config: DatabaseConfig,
  calls: readonly Call[],
  params: URLSearchParams,
): Promise<PageJob[]> {
  const filter = readWorkFilter(params, JOB_STATES);
  const jobs = await listJobs(await getDrizzleClient(config), filter).catch((error) => {
    throw explainTable(error);
  });
  return jobs.map((job) => ({ ...job, runs: findRuns(calls, job.id) }));
}

/**
 * Reads a job with its payload and log lines.
 *
 * @param calls The calls that the server has kept, the newest first.
 * @param id The job's id.
 * @throws {NotFoundError} If the table has no such job.
 */
export async function readPageJob(
  config: DatabaseConfig,
  calls: readonly Call[],
  id: string,
): Promise<PageJobDetails> {
  const job = await getJob(await getDrizzleClient(config), checkWorkId(id, "job"));
  if (job === undefined) throw new NotFoundError("The job does not exist");
  const logs = calls.toReversed().flatMap(({ logs }) =>
    // an attempt has the job's id as the id of its request
    logs.filter((line) => line.function_request_id === id || line.job_id === id)
  );
  return { ...job, runs: findRuns(calls, id), logs };
}

function findRuns(calls: readonly Call[], id: string): JobRun[] {
  const runs = calls.flatMap((call) =>
    call.spans.filter((span) => isAttempt(span, id)).map((span) => ({
      callId: call.id,
      startedAt: new Date(Date.parse(call.startedAt) + span.startMs).toISOString(),
      durationMs: span.durationMs,
      isFailed: span.status === "error",
    }))
  );
  return runs.sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
}

function isAttempt({ attributes }: RecordedSpan, id: string): boolean {
  return attributes["messaging.system"] === "trellis_jobs" &&
    attributes["messaging.operation.type"] === "process" &&
    attributes["messaging.message.id"] === id;
}

/**
 * Sends a job again or cancels it, as `trellis jobs` does.
 *
 * @param calls The calls that the server has kept, the newest first.
 * @param id The job's id.
 * @param change `retry` or `cancel`.
 * @returns The job after the change.
 * @throws {ValidationError} If the state of the job does not allow it.
 */
export async function changePageJob(
  config: DatabaseConfig,
  calls: readonly Call[],
  id: string,
  change: string,
): Promise<PageJobDetails> {
  if (!Object.hasOwn(CHANGES, change)) throw new NotFoundError("Page not found");
  const db = await getDrizzleClient(config);
  const changed = await CHANGES[change as keyof typeof CHANGES](db, [checkWorkId(id, "job")]);
  const job = await readPageJob(config, calls, id);
  if (changed.length === 0) {
    throw new ValidationError(`The job is ${job.state}, so it was not changed`);
  }
  return job;
}

/**
 * Reads the filter of a list of jobs or workflows.
 *
 * @param params `state` and `name`; empty for all.
 * @param states The known states.
 * @throws {ValidationError} If there is no such state.
 */
export function readWorkFilter<State extends string>(
  params: URLSearchParams,
  states: readonly State[],
): { readonly state?: State; readonly name?: string; readonly limit: number } {
  const text = params.get("state") ?? "";
  const state = states.find((each) => each === text);
  if (text !== "" && state === undefined) {
    throw new ValidationError(`state must be one of ${states.join(", ")}`);
  }
  return { state, name: params.get("name") || undefined, limit: 100 };
}

/**
 * Returns the id of a job or workflow.
 *
 * @throws {NotFoundError} If it is not an id.
 */
export function checkWorkId(id: string, what: "job" | "workflow"): string {
  if (isJobId(id)) return id;
  throw new NotFoundError(`The ${what} does not exist`);
}
