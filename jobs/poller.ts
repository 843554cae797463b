import { log } from "../observability/logger.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import type { NextJobs } from "./job_lanes.ts";

/** Share by which the pauses of two workers differ. */
const SPREAD = 0.2;

/** Looks for jobs again and again. */
export class JobPoller {
  readonly #isStopping: () => boolean;
  #wake: (() => void) | undefined;
  #isWoken = false;

  /**
   * @param isStopping Returns true when the worker stops.
   */
  constructor(isStopping: () => boolean) {
    this.#isStopping = isStopping;
  }

  /** Ends the pause, or leaves out the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /**
   * Creates a function that waits for jobs.
   *
   * @param pollMs Milliseconds between two looks.
   * @param next Leases jobs.
   * @returns Leases jobs; none only when the worker stops.
   */
  createPoll(pollMs: number, next: NextJobs): NextJobs {
    return async (limit) => {
      while (!this.#isStopping()) {
        this.#isWoken = false;
        try {
          const found = await next(limit);
          if (found.length > 0) return found;
        } catch (error) {
          // the database may be restarting
          log("ERROR", "leasing jobs failed, the worker tries again", { error });
        }
        await this.pause(pollMs);
      }
      return [];
    };
  }

  /**
   * Waits, unless the poller was woken or the worker stops.
   *
   * @param pollMs Milliseconds on average.
   */
  async pause(pollMs: number): Promise<void> {
    if (this.#isWoken || this.#isStopping()) return;
    const ms = pollMs * (1 - SPREAD + 2 * SPREAD * Math.random());
    await runOutsideInvocation(() =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
    this.#wake = undefined;
  }
}
