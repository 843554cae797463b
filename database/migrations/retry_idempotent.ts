import { fullJitterDelay } from "../../core/async/backoff.ts";
import { type Clock, systemClock } from "../../core/async/clock.ts";
import { remainingMs } from "../../core/request_context.ts";
import { isAppError } from "../../errors/app_error.ts";
import { isSilent } from "../providers/statement_limit.ts";
import { isCommitOutcomeUnknown, isOccError } from "../sqlstate.ts";

const MAX_RETRIES = 8;

/**
 * Retries idempotent work: after a conflict, and after a lost connection with unknown outcome.
 *
 * @param fn The work.
 * @param clock Clock that waits.
 * @returns The result of `fn`.
 */
export async function retryIdempotent<T>(
  fn: () => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await fn();
    } catch (error) {
      const mayPass = isOccError(error) || isConnectionLost(error);
      const delayMs = fullJitterDelay(attempt, { baseDelayMs: 50, maxDelayMs: 2000 });
      // work that used its whole time limit is retried only once
      const maxRetries = isSilent(error) ? 1 : MAX_RETRIES;
      if (!mayPass || attempt > maxRetries || delayMs >= remainingMs(clock)) throw error;
      await clock.sleep(delayMs);
    }
  }
}

/**
 * Checks whether the server did not answer a statement that was sent.
 *
 * @param error The thrown error.
 */
export function isConnectionLost(error: unknown): boolean {
  // in an invocation a refused connection becomes a 503; no statement was sent
  if (isAppError(error)) {
    return isAppError(error, "COMMIT_OUTCOME_UNKNOWN") || isAppError(error, "SERVICE_UNAVAILABLE");
  }
  return !(error instanceof TypeError) && isCommitOutcomeUnknown(error);
}
