import { type Clock, systemClock } from "../core/async/clock.ts";
import { record } from "../env/recording.ts";

/** Job that was committed, for a delivery. */
export interface CommittedJob {
  /** Primary key. */
  readonly id: string;
  /** Name of the job. */
  readonly name: string;
  /** Group, if the job has one. */
  readonly group: string | null;
  /** Seconds until the job may run. */
  readonly delaySeconds: number;
  /** Correlation id of the request. */
  readonly correlationId: string | null;
}

/** Hands committed jobs to a worker at once. What it fails to deliver is left to the relay. */
export interface JobDelivery {
  /**
   * Hands over jobs. An error is logged and not thrown to the caller of the transaction, because its
   * COMMIT has succeeded.
   */
  deliver(jobs: readonly CommittedJob[]): Promise<void>;
  /** Time after which the relay delivers a job again that has not started. */
  readonly graceSeconds: number;
  /**
   * Longest delay that `deliver` keeps, in seconds: a job that is due later is handed over by the relay
   * this time before, and the next attempt of a failed job is handed over at once.
   * @default none: delayed jobs and further attempts are left to the relay
   */
  readonly maxDelaySeconds?: number;
  /**
   * True if something outside of this process delivers, such as a change stream: the relay then runs
   * the jobs that were left itself.
   * @default false
   */
  readonly isOutside?: boolean;
  /**
   * True if each insert of jobs notifies the workers that listen, with `NOTIFY` of PostgreSQL.
   * @default false
   */
  readonly notifies?: boolean;
}

/** Settings of all jobs of a process. */
export interface JobsConfig {
  /**
   * Hands committed jobs to a worker at once.
   * @default none: workers poll the table
   */
  delivery?: JobDelivery;
  /**
   * Clock of the rows, for tests.
   * @default the clock of the database
   */
  clock?: Clock;
}

let current: JobsConfig = {};

/**
 * Sets how the jobs of this process are delivered. Call it when the module is loaded, before jobs
 * are enqueued.
 *
 * @param config Delivery and clock.
 * @returns Restores the previous settings, for tests.
 *
 * @example
 * ```ts
 * import { configureJobs } from "@trellis/fn/jobs";
 *
 * const restore = configureJobs({
 *   delivery: { graceSeconds: 30, deliver: async (jobs) => console.log(jobs.length) },
 * });
 * restore();
 * ```
 */
export function configureJobs(config: JobsConfig): () => void {
  record("configureJobs", [config], undefined);
  const previous = current;
  current = config;
  return function restoreJobs(): void {
    current = previous;
  };
}

/** Returns the settings of this process. */
export function getJobsConfig(): JobsConfig {
  return current;
}

/** Returns the clock of tests, or `undefined` if the database's clock counts. */
export function findTestClock(clock: Clock | undefined = current.clock): Clock | undefined {
  return clock === systemClock ? undefined : clock;
}

/**
 * Returns the seconds after which the relay, or a worker that polls, looks at a job that may run in
 * `delaySeconds`.
 *
 * @param delaySeconds Time until the job may run.
 * @param isRetry True for the next attempt of a job, which not every delivery hands over.
 */
export function getDueSeconds(delaySeconds: number, isRetry = false): number {
  const { delivery } = current;
  if (delivery === undefined) return delaySeconds;
  const { graceSeconds, maxDelaySeconds = 0 } = delivery;
  if (delivery.maxDelaySeconds === undefined && isRetry) return delaySeconds;
  return delaySeconds > maxDelaySeconds
    ? delaySeconds - maxDelaySeconds
    : delaySeconds + graceSeconds;
}
