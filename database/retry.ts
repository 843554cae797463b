import { fullJitterDelay } from "../core/async/backoff.ts";
import { type Clock, systemClock } from "../core/async/clock.ts";
import { remainingMs } from "../core/request_context.ts";
import { causeChain, findInCauseChain } from "../errors/cause_chain.ts";
import { CommitOutcomeUnknownError } from "../errors/database_errors.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { isOccError } from "./sqlstate.ts";
import { isInsideTransaction } from "./transaction_guard.ts";

/** Options of {@link withDistSqlRetry}. */
export interface DistSqlRetryOptions {
  /**
   * How often the work is run again after the first time.
   * @default 3
   */
  maxRetries?: number;
  /**
   * Upper bound of the first delay, in milliseconds; it doubles with each retry.
   * @default 100
   */
  baseDelayMs?: number;
  /**
   * Upper bound of every delay, in milliseconds.
   * @default 5000
   */
  maxDelayMs?: number;
  /** Told of each retry before its delay: what failed, and the retry's number from 1. */
  onRetry?: (error: Error, attempt: number) => void;
  /**
   * Whether doing the work twice is the same as doing it once: then it is also run again when the connection was lost
   * during COMMIT, which may have been applied.
   * @default false
   */
  idempotent?: boolean;
  /**
   * Waits.
   * @default systemClock
   */
  clock?: Clock;
  /**
   * A number from 0 to below 1.
   * @default Math.random
   */
  random?: () => number;
}

/** How often some work was run again; filled in while it runs. */
export interface RetryCount {
  /** Retries so far. */
  retries: number;
}

/**
 * Numbers every attempt and every giving-up in their order, so that an outer retry can tell that an inner one gave up
 * on this very error within the outer's present attempt. An error object that is thrown again later tells nothing.
 */
let sequence = 0;
const givenUp: WeakMap<object, { at: number; attempts: number }> = new WeakMap();

/**
 * How many times the work was tried that a retry gave up with this error; 0 when none did.
 *
 * @param error What was thrown.
 */
export function countAttempts(error: unknown): number {
  return Math.max(0, ...objectsIn(error).map((link) => givenUp.get(link)?.attempts ?? 0));
}

function objectsIn(error: unknown): object[] {
  return causeChain(error).filter((link): link is object =>
    typeof link === "object" && link !== null
  );
}

/**
 * Runs work again after an optimistic-concurrency conflict (SQLSTATE 40001, OC000, OC001), with exponential backoff and
 * full jitter. Every other error is thrown at once. It never waits past the deadline of the invocation.
 *
 * A statement in a transaction is left to whoever retries the whole transaction. A retry inside a retried call does not
 * multiply: what the inner one gave up on, the outer one does not try again.
 *
 * @param fn The work: a whole transaction, or a statement of its own.
 * @param options How often and how long.
 * @returns What `fn` returns.
 * @throws What `fn` throws at last.
 * @throws {ConfigurationError} When an option is no number from 0.
 *
 * @example
 * ```ts
 * import { withDistSqlRetry } from "@trellis/fn/database";
 *
 * let calls = 0;
 * const value = await withDistSqlRetry(() => {
 *   if (++calls < 3) throw Object.assign(new Error("conflict"), { code: "40001" });
 *   return Promise.resolve("done");
 * }, { baseDelayMs: 1 });
 * console.log(value, calls); // done 3
 * ```
 */
export function withDistSqlRetry<T>(
  fn: () => Promise<T> | T,
  options: DistSqlRetryOptions = {},
): Promise<T> {
  return runWithRetry(fn, options);
}

/** {@link withDistSqlRetry}, which also tells how often it ran again. */
export async function runWithRetry<T>(
  fn: () => Promise<T> | T,
  options: DistSqlRetryOptions,
  count?: RetryCount,
): Promise<T> {
  checkRetryOptions(options);
  for (let retries = 0;; retries++) {
    const startedAt = ++sequence;
    try {
      return await fn();
    } catch (error) {
      const delayMs = planRetry(error, retries, startedAt, options);
      if (delayMs === undefined) throw error;
      if (count !== undefined) count.retries = retries + 1;
      options.onRetry?.(
        error instanceof Error ? error : new Error("conflict", { cause: error }),
        retries + 1,
      );
      await (options.clock ?? systemClock).sleep(delayMs);
    }
  }
}

/** The delay before the next try, or `undefined` when there is none. */
function planRetry(
  error: unknown,
  retries: number,
  startedAt: number,
  options: DistSqlRetryOptions,
): number | undefined {
  const {
    maxRetries = 3,
    baseDelayMs = 100,
    maxDelayMs = 5000,
    idempotent = false,
    clock = systemClock,
  } = options;
  if (!isRetryable(error, idempotent) || isInsideTransaction(error)) return undefined;
  const links = objectsIn(error);
  if (links.some((link) => (givenUp.get(link)?.at ?? 0) > startedAt)) return undefined;
  const delayMs = fullJitterDelay(retries + 1, { baseDelayMs, maxDelayMs, random: options.random });
  if (retries < maxRetries && delayMs < remainingMs(clock)) return delayMs;
  // with no retry allowed here, nothing was tried that an outer retry would repeat
  if (maxRetries > 0) {
    const given = { at: ++sequence, attempts: retries + 1 };
    for (const link of links) givenUp.set(link, given);
  }
  return undefined;
}

function isRetryable(error: unknown, idempotent: boolean): boolean {
  const unknownCommit = findInCauseChain(
    error,
    (link) => link instanceof CommitOutcomeUnknownError,
  );
  return unknownCommit === undefined ? isOccError(error) : idempotent;
}

function checkRetryOptions(options: DistSqlRetryOptions): void {
  const { maxRetries = 0, baseDelayMs = 0, maxDelayMs = 0 } = options;
  if (maxRetries >= 0 && baseDelayMs >= 0 && maxDelayMs >= 0) return;
  throw new ConfigurationError(
    "DistSqlRetryOptions.maxRetries, baseDelayMs and maxDelayMs must be numbers from 0, " +
      `got ${maxRetries}, ${baseDelayMs} and ${maxDelayMs}`,
  );
}
