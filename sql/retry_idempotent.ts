import type { Clock } from "../core/async/clock.ts";
import { retry } from "../core/retry.ts";
import { isAppError } from "../errors/app_error.ts";
import { isCommitOutcomeUnknown, isOccError, isSilent } from "./sqlstate.ts";

/**
 * Retries idempotent work: after a conflict, and after a lost connection with unknown outcome.
 *
 * @param fn The work.
 * @param clock Clock that waits.
 * @returns The result of `fn`.
 */
export function retryIdempotent<T>(fn: () => Promise<T>, clock?: Clock): Promise<T> {
  let attempts = 0;
  function work(): Promise<T> {
    attempts++;
    return fn();
  }
  return retry(work, {
    maxAttempts: 9,
    baseDelayMs: 50,
    maxDelayMs: 2000,
    clock,
    // work that used its whole time limit is retried only once
    isRetryable: (error) =>
      (isOccError(error) || isConnectionLost(error)) && !(isSilent(error) && attempts > 1),
  });
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
