import { fullJitterDelay } from "./backoff.ts";
import { type Clock, systemClock } from "./clock.ts";
import { remainingMs } from "../request_context.ts";

/** Options of {@link retry}. */
export interface RetryOptions {
  /**
   * Number of retries after the first attempt.
   * @default 3
   */
  maxRetries?: number;
  /**
   * Upper bound of the first delay, in milliseconds.
   * @default 100
   */
  baseDelayMs?: number;
  /**
   * Upper bound of every delay, in milliseconds.
   * @default 5000
   */
  maxDelayMs?: number;
  /** Checks whether the work may be retried after this failure. */
  isRetryable: (error: unknown) => boolean;
  /** Called before the delay of each retry with the error and the retry's number from 1. */
  onRetry?: (error: unknown, attempt: number) => void;
  /**
   * Waits.
   * @default systemClock
   */
  clock?: Clock;
  /**
   * A number from 0 to below 1.
   * @default Math.random
   */
  random?: () => number;
}

/**
 * Runs work again after a failure that may pass, with exponential backoff and full jitter. It never waits past the
 * deadline of the invocation: with less time left than the delay, the failure is thrown at once.
 *
 * @param fn The work, called with the number of retries so far.
 * @param options When to run again, and how long to wait.
 * @returns What `fn` returns.
 * @throws What `fn` throws at last.
 * @throws {RangeError} When a count or a delay is negative or no number.
 *
 * @example
 * ```ts
 * import { retry } from "@trellis/fn/core";
 *
 * let calls = 0;
 * const value = await retry(() => {
 *   if (++calls < 3) throw new Error("busy");
 *   return "done";
 * }, { isRetryable: () => true, baseDelayMs: 1 });
 * console.log(value, calls); // done 3
 * ```
 */
export async function retry<T>(
  fn: (retries: number) => T | Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { maxRetries = 3, baseDelayMs = 100, maxDelayMs = 5000, clock = systemClock } = options;
  if (!(maxRetries >= 0 && baseDelayMs >= 0 && maxDelayMs >= 0)) {
    refuse({ maxRetries, baseDelayMs, maxDelayMs });
  }
  for (let retries = 0;; retries++) {
    try {
      return await fn(retries);
    } catch (error) {
      if (retries >= maxRetries || !options.isRetryable(error)) throw error;
      const delayMs = fullJitterDelay(retries + 1, {
        baseDelayMs,
        maxDelayMs,
        random: options.random,
      });
      if (delayMs >= remainingMs(clock)) throw error;
      options.onRetry?.(error, retries + 1);
      await clock.sleep(delayMs);
    }
  }
}

function refuse(options: Record<string, number>): never {
  const [name, value] = Object.entries(options).find(([, each]) => !(each >= 0))!;
  throw new RangeError(`${name} must be a number from 0, got ${value}`);
}
