import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const CHANGES = { retry: retryJobs, cancel: cancelJobs } as const;

/**
 * Lists the last jobs, without their payloads.
 *
 * @param state Only jobs in this state; empty for all.
 * @throws {ValidationError} If there is no such state.
 */
export async function listPageJobs(config: DatabaseConfig, state: string): Promise<JobDetails[]> {
  const known = JOB_STATES.find((each) => each === state);
  if (state !== "" && known === undefined) {
    throw new ValidationError(`state must be one of ${JOB_STATES.join(", ")}`);
  }
  return await listJobs(await getDrizzleClient(config), { state: known, limit: 100 });
}

/**
 * Reads a job with its payload.
 *
 * @param id The job's id.
 * @throws {NotFoundError} If the table has no such job.
 */
export async function readPageJob(config: DatabaseConfig, id: string): Promise<JobWithPayload> {
  const job = await getJob(await getDrizzleClient(config), checkId(id));
  if (job === undefined) throw new NotFoundError("The job does not exist");
  return job;
}

/**
 * Sends a job again or cancels it, as `trellis jobs` does.
 *
 * @param id The job's id.
 * @param change `retry` or `cancel`.
 * @returns The job after the change.
 * @throws {ValidationError} If the state of the job does not allow it.
 */
export async function changePageJob(
  config: DatabaseConfig,
  id: string,
  change: string,
): Promise<JobWithPayload> {
  if (!Object.hasOwn(CHANGES, change)) throw new NotFoundError("Page not found");
  const db = await getDrizzleClient(config);
  const changed = await CHANGES[change as keyof typeof CHANGES](db, [checkId(id)]);
  const job = await readPageJob(config, id);
  if (changed.length === 0) {
    throw new ValidationError(`The job is ${job.state}, so it was not changed`);
  }
  return job;
}

function checkId(id: string): string {
  if (UUID.test(id)) return id;
  throw new NotFoundError("The job does not exist");
}
