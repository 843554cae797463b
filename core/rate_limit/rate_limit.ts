/** How many requests a window of time allows. */
export interface RateLimitRule {
  /** Requests that one window allows, from 1. */
  readonly limit: number;
  /** Length of the window in seconds, from 1 to 86,400 (a day). It starts with its first request. */
  readonly windowSeconds: number;
}

/** The decision on one request. */
export interface RateLimitDecision {
  /** True if the request is within the limit, and was counted. */
  readonly allowed: boolean;
  /** Requests that the window still allows. */
  readonly remaining: number;
  /** Seconds until the window ends, from 1. */
  readonly resetSeconds: number;
  /** Identifies the window in which the request was counted. */
  readonly windowStart: string;
}

/** Counts requests by key. All processes that share a store share its counts. */
export interface RateLimitStore {
  /**
   * Counts a request if the window of its key allows one more.
   *
   * @param key What the request is counted by.
   * @param rule The limit of the key.
   * @returns The decision.
   */
  take(key: string, rule: RateLimitRule): Promise<RateLimitDecision>;
  /**
   * Counts a request by several keys, in their order, up to the first that refuses it: those after it
   * do not count the request. Takes one round trip. Concurrent calls must give keys that they share
   * in the same order, or the database may cancel a call because of a deadlock.
   *
   * @param counts Different keys with their limits.
   * @returns The decisions, the last of which may be a refusal.
   */
  takeInOrder(
    counts: readonly (readonly [key: string, rule: RateLimitRule])[],
  ): Promise<RateLimitDecision[]>;
  /**
   * Takes back a counted request, if its window still lasts.
   *
   * @param key The key that it was counted by.
   * @param decision The decision on it.
   */
  giveBack(key: string, decision: RateLimitDecision): Promise<void>;
}

/** Longest window in seconds: rows without a request for longer than this can be deleted. */
export const MAX_WINDOW_SECONDS = 86_400;
