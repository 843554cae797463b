import { fullJitterDelay } from "../core/retry.ts";
import { getReason } from "../core/triggers/trigger_failure.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { causeChain, findInCauseChain } from "../errors/cause_chain.ts";
import { isAppError } from "../errors/app_error.ts";
import { redactText } from "../observability/redact_text.ts";
import type { LeasedJob } from "./claim.ts";
import type { AnyJob } from "./define_job.ts";
import { deliverAgain } from "./enqueue.ts";
import { buildDead, buildRetry } from "./finish.ts";
import {
  JobBusyError,
  JobLeaseLostError,
  JobMisfitError,
  PermanentJobError,
} from "./job_errors.ts";
import type { RunnerOptions } from "./run_attempt.ts";

/** How an attempt ended. */
export type AttemptOutcome = "done" | "retried" | "dead" | "lost";

/** What ending an attempt needs. */
export interface EndOptions extends RunnerOptions {
  /** True if other jobs had the same attempt: which of them made it fail is not known until each runs alone. */
  readonly isBatch: boolean;
}

const MAX_ERROR = 1000;
/**
 * Time after which a new release has replaced the old one. A payload is checked when it is enqueued, so one
 * that does not fit comes from another release, whose workers may still run.
 */
const RELEASE_MS = 15 * 60_000;
/** Time after which a job whose attempt did not count is tried again. */
const FREE_DELAY_SECONDS = 15;

/**
 * Records a failed attempt: schedules the next one, or marks the job as dead. The turn of a workflow is marked as done
 * instead, together with the failure of the workflow.
 *
 * @param job The job.
 * @param leased The lease.
 * @param error The error of the attempt.
 * @param options Client, clock and randomness.
 * @returns How the attempt ended.
 */
export async function recordFailure(
  job: AnyJob,
  leased: LeasedJob,
  error: unknown,
  { getDb, clock, random, metrics, isBatch }: EndOptions,
): Promise<AttemptOutcome> {
  if (error instanceof JobLeaseLostError) return "lost";
  const { maxAttempts, baseDelayMs, maxDelayMs } = job.settings;
  const isMisfit = hasCause(error, JobMisfitError);
  const isFree = hasCause(error, JobBusyError) || isMisfit && leased.ageMs < RELEASE_MS;
  const isPermanent = !isBatch && (isMisfit || hasCause(error, PermanentJobError));
  const isDead = !isFree && (leased.attempts >= maxAttempts || isPermanent);
  if (isDead && job.giveUp !== undefined) {
    const { payload } = leased;
    try {
      if (await job.giveUp({ lease: leased, payload, error, getDb, clock, metrics })) return "done";
    } catch (thrown) {
      if (thrown instanceof JobLeaseLostError) return "lost";
      throw thrown;
    }
  }
  const delaySeconds = isFree
    ? FREE_DELAY_SECONDS
    : fullJitterDelay(leased.attempts, { baseDelayMs, maxDelayMs, random }) / 1000;
  const text = describeFailure(error);
  const statement = isDead
    ? buildDead(leased, text, clock)
    : buildRetry(leased, { delaySeconds, error: text, isFree }, clock);
  const db = await getDb();
  const rows = await withDistSqlRetry(() => runSqlRows(db, statement), { idempotent: true });
  // no row: an attempt whose COMMIT got no answer was applied, or the lease was lost
  if (rows.length === 0) return "lost";
  if (isDead) return "dead";
  await deliverAgain({ ...leased, delaySeconds });
  return "retried";
}

function hasCause(error: unknown, type: new (...args: never[]) => Error): boolean {
  return findInCauseChain(error, (link) => link instanceof type) !== undefined;
}

/** Describes an error for the table: class and message of each cause, without SQL and secrets. */
export function describeFailure(error: unknown): string {
  const lines = causeChain(error).map((link) => {
    const name = link instanceof Error ? link.name : typeof link;
    const code = isAppError(link) ? ` (${link.code})` : "";
    return `${name}${code}: ${getReason(link)}`;
  });
  return redactText([...new Set(lines)].join("\n")).slice(0, MAX_ERROR).replaceAll("\0", "");
}
