import { type Clock, monotonicNow } from "../../core/async/clock.ts";
import { remainingMs } from "../../core/request_context.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";

const RUNNING: ReadonlySet<string> = new Set(["submitted", "processing"]);
const LONGEST_DELAY_MS = 3000;

/** Entry of `sys.jobs`. */
export interface JobState {
  /** Status in lower case. */
  readonly status: string;
  /** True until the job ends. */
  readonly isRunning: boolean;
  /** Status with the provider's details. */
  readonly detail: string;
  /** Name of the job's object, if the provider reports one. */
  readonly objectName: string | undefined;
}

/**
 * Reads a job.
 *
 * @param run Runs a query.
 * @param name Name of its object, without schema and quotes.
 * @param jobId Id of the job; if omitted, the newest job of that name.
 */
export async function readJob(
  run: RunSql,
  name: string,
  jobId: string | undefined,
): Promise<JobState | undefined> {
  // the provider shows names with or without their schema, quoted if necessary
  const names = [name, quoteName(name)].map(quoteLiteral);
  const isNamed = names.map((one) => `object_name = ${one} OR object_name LIKE '%.' || ${one}`);
  const where = jobId === undefined ? isNamed.join(" OR ") : `job_id = ${quoteLiteral(jobId)}`;
  const [row] = await run(
    "SELECT status, details, object_name FROM sys.jobs " +
      `WHERE ${where} ORDER BY start_time DESC LIMIT 1`,
  );
  if (row === undefined) return undefined;
  const status = String(row.status).toLowerCase();
  return {
    status,
    isRunning: RUNNING.has(status),
    detail: `${status}: ${row.details ?? ""}`,
    objectName: typeof row.object_name === "string" ? row.object_name : undefined,
  };
}

/** Options of {@link pollJob}. */
export interface JobPolling {
  /** Reads the job; `undefined` if it no longer exists. */
  readonly read: () => Promise<JobState | undefined>;
  /** Checks in the catalog whether the job's object is valid. */
  readonly isValid: (job: JobState | undefined) => Promise<boolean>;
  /** Called before the first wait. */
  readonly onWait?: () => void;
  /** Called after each wait; may throw to stop waiting. */
  readonly afterWait?: () => Promise<void>;
  /** Milliseconds before the second look; the delay grows up to 3 seconds. */
  readonly firstDelayMs: number;
  /** Maximum time to wait, in milliseconds. */
  readonly timeoutMs: number;
  /** Clock that waits and reads the time. */
  readonly clock: Clock;
}

/** Result of {@link pollJob}, with the last state of the job. */
export interface JobResult {
  /** `valid`: the object is valid. `failed`: the job ended without it. `timeout`: it still runs. */
  readonly outcome: "valid" | "failed" | "timeout";
  /** Last state; `undefined` if the job no longer exists. */
  readonly job: JobState | undefined;
}

/**
 * Waits for a background job of the distributed-SQL provider. The catalog decides about success,
 * not the job's status: a job may be "completed" although its table was dropped, and jobs are
 * deleted half an hour after they end.
 *
 * @param polling How to read the job and how long to wait.
 * @returns The outcome.
 */
export async function pollJob(polling: JobPolling): Promise<JobResult> {
  const { clock, firstDelayMs } = polling;
  const dueMs = monotonicNow(clock) + polling.timeoutMs;
  for (let delayMs = firstDelayMs;; delayMs = Math.min(LONGEST_DELAY_MS, delayMs * 1.5)) {
    // read the job first: once it has ended, its result is in the catalog
    const job = await polling.read();
    if (await polling.isValid(job)) return { outcome: "valid", job };
    if (!job?.isRunning) return { outcome: "failed", job };
    if (monotonicNow(clock) + delayMs > dueMs || remainingMs(clock) < 2 * delayMs) {
      return { outcome: "timeout", job };
    }
    if (delayMs === firstDelayMs) polling.onWait?.();
    await clock.sleep(delayMs);
    await polling.afterWait?.();
  }
}
