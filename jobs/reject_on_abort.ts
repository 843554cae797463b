import { DeadlineExceededError } from "../errors/http_errors.ts";

/**
 * Rejects when a signal is aborted, so that a transaction that waits for it is rolled back.
 *
 * @param signal Signal of the attempt or the record.
 */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new DeadlineExceededError());
    signal.addEventListener("abort", () => reject(new DeadlineExceededError()), { once: true });
  });
}
