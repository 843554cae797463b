import { type Clock, systemClock } from "./async/clock.ts";
import { remainingMs } from "./request_context.ts";

/** Options of {@link retry}. */
export interface RetryOptions {
  /**
   * Attempts, with the first one.
   * @default 4
   */
  maxAttempts?: number;
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
 * @throws {RangeError} When the attempts are fewer than one, or a delay is negative or no number.
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
  const { maxAttempts = 4, baseDelayMs = 100, maxDelayMs = 5000, clock = systemClock } = options;
  checkNumber("maxAttempts", maxAttempts, 1);
  checkNumber("baseDelayMs", baseDelayMs, 0);
  checkNumber("maxDelayMs", maxDelayMs, 0);
  for (let retries = 0;; retries++) {
    try {
      return await fn(retries);
    } catch (error) {
      if (retries + 1 >= maxAttempts || !options.isRetryable(error)) throw error;
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

function checkNumber(name: string, value: number, least: number): void {
  if (!(value >= least)) {
    throw new RangeError(`${name} must be a number from ${least}, got ${value}`);
  }
}

/** Options of {@link fullJitterDelay}. */
export interface BackoffOptions {
  /** Upper bound of the first delay, in milliseconds. */
  baseDelayMs: number;
  /** Upper bound of every delay, in milliseconds. */
  maxDelayMs: number;
  /**
   * A number from 0 to below 1.
   * @default Math.random
   */
  random?: () => number;
}

/**
 * The delay before a retry: exponential backoff with full jitter, so that clients that collided once spread out.
 * Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015).
 *
 * @param attempt The retry's number, from 1.
 * @param options Bounds and randomness.
 * @returns Milliseconds, from 0 to `min(maxDelayMs, baseDelayMs * 2^(attempt - 1))`.
 */
export function fullJitterDelay(attempt: number, options: BackoffOptions): number {
  const { baseDelayMs, maxDelayMs, random = Math.random } = options;
  return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
}
