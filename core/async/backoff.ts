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
