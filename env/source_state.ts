/** The state that the loader of sources shares with code that must not load it. */
interface SourceState {
  /** Counts changes of values: a typed environment is read again after a change. */
  version: number;
  /**
   * Reads expired sources again. Handlers await the promise before an invocation; `undefined` if
   * nothing has expired. Set by the first call of `loadSources`.
   */
  refresh?: () => Promise<void> | undefined;
  /** Returns the milliseconds until the invocation's time is up. Set where handlers are defined. */
  remainingMs: () => number;
}

/** The state of this process. */
export const sourceState: SourceState = { version: 0, remainingMs: () => Infinity };
