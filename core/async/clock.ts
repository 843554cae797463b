/** Time as a capability: handed in where something waits or compares, so that a test needs no waiting. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after this many milliseconds. */
  sleep(ms: number): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * Returns whole milliseconds to measure a duration with. The machine's clock can be set back while something waits, so
 * {@link systemClock} is read by `performance.now()`; any other clock by its own `now`.
 *
 * @param clock The clock that was handed in.
 * @returns Milliseconds since some moment: only the difference of two readings means something.
 */
export function monotonicNow(clock: Clock = systemClock): number {
  return clock === systemClock ? Math.floor(performance.now()) : clock.now();
}
