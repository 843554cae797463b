/** Timers that a test holds back. */
export interface HeldTimers extends Disposable {
  /** Number of timers that wait. */
  readonly waiting: number;
  /**
   * Lets time pass: `performance.now()` tells a later time, and the timers whose time has come run.
   *
   * @param ms Milliseconds.
   */
  advance(ms: number): void;
}

/**
 * Holds back the timers of one length until the test lets time pass, so that a limit does not depend on
 * how busy the machine is. Other timers run as usual.
 *
 * @param lengthMs The length. Choose one that no other timer has.
 * @returns The timers. Dispose of it at the end.
 */
export function holdTimers(lengthMs: number): HeldTimers {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = performance;
  let offsetMs = 0;
  const held = new Map<unknown, { readonly dueMs: number; run(): void }>();
  function hold(
    callback: (...args: unknown[]) => void,
    delayMs?: number,
    ...args: unknown[]
  ): ReturnType<typeof setTimeout> {
    if (delayMs !== lengthMs) return setTimeout(callback, delayMs, ...args);
    const timer = setTimeout(() => {}, lengthMs);
    held.set(timer, { dueMs: offsetMs + lengthMs, run: () => callback(...args) });
    return timer;
  }
  globalThis.setTimeout = hold as typeof setTimeout;
  globalThis.clearTimeout = (timer) => {
    held.delete(timer);
    clearTimeout(timer);
  };
  performance.now = () => now.call(performance) + offsetMs;
  return {
    get waiting() {
      return held.size;
    },
    advance(ms): void {
      offsetMs += ms;
      for (const [timer, { dueMs, run }] of [...held]) {
        if (dueMs > offsetMs) continue;
        globalThis.clearTimeout(timer as number);
        run();
      }
    },
    [Symbol.dispose]: () => {
      for (const timer of held.keys()) clearTimeout(timer as number);
      Object.assign(globalThis, { setTimeout, clearTimeout });
      performance.now = now;
    },
  };
}
