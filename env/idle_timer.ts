/**
 * Timer of idle time, or of the age of a value. Uses the longer of two clocks: the wall clock can be set back, and the
 * monotonic clock may stop while a sandbox is frozen.
 */
export class IdleTimer {
  #wallMs = Date.now();
  #monotonicMs = performance.now();

  /** Restarts the timer at 0. */
  reset(): void {
    this.#wallMs = Date.now();
    this.#monotonicMs = performance.now();
  }

  /** Milliseconds since the last {@link reset}. */
  get elapsedMs(): number {
    return Math.max(Date.now() - this.#wallMs, performance.now() - this.#monotonicMs);
  }
}
