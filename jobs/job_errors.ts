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
