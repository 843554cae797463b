import type { JobState } from "./job_admin.ts";

/**
 * Error that ends a job at once: further attempts cannot succeed. The job is dead.
 *
 * @example
 * ```ts
 * import { PermanentJobError } from "@trellis/fn/jobs";
 *
 * const error = new PermanentJobError("The address was rejected");
 * console.log(error.name); // PermanentJobError
 * ```
 */
export class PermanentJobError extends Error {
  override readonly name: string = "PermanentJobError";
}

/** Error of a worker whose lease ended before its attempt: another worker has the job. */
export class JobLeaseLostError extends Error {
  override readonly name: string = "JobLeaseLostError";

  /**
   * @param id Id of the job.
   */
  constructor(id: string) {
    super(`The lease of the job ${id} ended before its attempt did: nothing was applied`);
  }
}

/** Reason of a handler's `signal` when its job was cancelled. */
export class JobCancelledError extends Error {
  override readonly name: string = "JobCancelledError";

  /**
   * @param id Id of the job.
   */
  constructor(id: string) {
    super(`The job ${id} was cancelled while it ran`);
  }
}

/** Error of an attempt whose payload does not fit the schema: the job belongs to another release. */
export class JobMisfitError extends Error {
  override readonly name: string = "JobMisfitError";
}

/** Error of an attempt that did not begin: the handler of an earlier one has ignored its signal and still runs. */
export class JobBusyError extends Error {
  override readonly name: string = "JobBusyError";

  /**
   * @param id Id of the job.
   */
  constructor(id: string) {
    super(
      `The handler of the job ${id} still runs, although the time of its attempt is up: it ignores the ` +
        "signal. Pass signal on to what the handler waits for",
    );
  }
}

/** Error of `waitFor`: the job did not succeed, or not in time. */
export class JobNotDoneError extends Error {
  override readonly name: string = "JobNotDoneError";
  /** State of the job: `queued` or `running` if the time was up; `undefined` if it is not in the table. */
  readonly state: JobState | undefined;

  /**
   * @param id Id of the job.
   * @param state State of the job.
   * @param lastError Error of its last failed attempt.
   */
  constructor(id: string, state: JobState | undefined, lastError: string | undefined) {
    super(
      `The job ${id} is ${state ?? "not in the table"}` +
        (lastError === undefined ? "" : `: ${lastError}`),
    );
    this.state = state;
  }
}
