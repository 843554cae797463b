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
