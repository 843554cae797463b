/** Calls that are still running. */
export interface PendingWork {
  /** Registers a call until it ends. */
  track<T>(work: Promise<T>): Promise<T>;
  /** Waits until all calls have ended, at most for the given time. */
  settle(timeoutMs: number): Promise<void>;
}

/** Creates an empty set of running calls. */
export function createPendingWork(): PendingWork {
  const running = new Set<Promise<unknown>>();
  return {
    track(work) {
      running.add(work);
      work.finally(() => running.delete(work)).catch(() => {});
      return work;
    },
    settle: (timeoutMs) => waitAtMost(timeoutMs, Promise.allSettled([...running])),
  };
}

/**
 * Waits for a promise, but not longer than the given time.
 *
 * @param timeoutMs Milliseconds.
 */
export async function waitAtMost(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, timeoutMs))]);
  clearTimeout(timer);
}
