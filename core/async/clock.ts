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

/**
 * Converts a time of the wall clock to the clock of {@link monotonicNow}, so that a deadline stays where it is when the
 * machine's clock is set.
 *
 * @param epochMs Epoch milliseconds. `Infinity` stays.
 * @param clock The clock that was handed in.
 * @returns Milliseconds to compare with {@link monotonicNow}.
 */
export function toMonotonic(epochMs: number, clock: Clock = systemClock): number {
  return clock === systemClock ? epochMs - Date.now() + performance.now() : epochMs;
}
