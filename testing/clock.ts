import type { Clock } from "../core/async/clock.ts";

/** A clock that only moves when a test advances it. */
export interface FakeClock extends Clock {
  /** Advances the clock and resolves the sleeps that end by then, in order. */
  advance(ms: number): Promise<void>;
  /** Durations passed to `sleep`, in milliseconds. */
  readonly sleeps: readonly number[];
}

/** Options of {@link createFakeClock}. */
export interface FakeClockOptions {
  /**
   * Epoch milliseconds at the start.
   * @default 2026-01-01T00:00:00Z
   */
  nowMs?: number;
  /**
   * With `true`, `sleep` advances the clock and resolves at once.
   * @default false
   */
  autoAdvance?: boolean;
}

/**
 * Creates a clock for tests that never waits in real time.
 *
 * @param options Start time, and what `sleep` does.
 * @returns The clock.
 *
 * @example
 * ```ts
 * import { createFakeClock } from "@trellis/fn/testing";
 *
 * const clock = createFakeClock({ nowMs: 0, autoAdvance: true });
 * await clock.sleep(5000);
 * console.log(clock.now(), clock.sleeps); // 5000 [5000]
 * ```
 */
export function createFakeClock(options: FakeClockOptions = {}): FakeClock {
  const { autoAdvance = false } = options;
  let nowMs = options.nowMs ?? Date.UTC(2026, 0, 1);
  const sleeps: number[] = [];
  const sleepers: { wakeMs: number; wake: () => void }[] = [];

  async function advance(ms: number): Promise<void> {
    const untilMs = nowMs + ms;
    for (;;) {
      sleepers.sort((a, b) => a.wakeMs - b.wakeMs);
      if (sleepers.length === 0 || sleepers[0].wakeMs > untilMs) break;
      const { wakeMs, wake } = sleepers.shift()!;
      nowMs = Math.max(nowMs, wakeMs);
      wake();
      // a resumed caller may sleep again before the clock advances further
      for (let i = 0; i < 10; i++) await Promise.resolve();
    }
    nowMs = untilMs;
  }

  return {
    sleeps,
    now: () => nowMs,
    advance,
    sleep(ms: number): Promise<void> {
      sleeps.push(ms);
      if (autoAdvance) {
        nowMs += ms;
        return Promise.resolve();
      }
      return new Promise((wake) => sleepers.push({ wakeMs: nowMs + ms, wake }));
    },
  };
}
