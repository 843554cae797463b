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
   * Maximum number of retries after the first attempt.
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
  /** Called before the delay of each retry with the error and the number of the retry, from 1. */
  onRetry?: (error: Error, attempt: number) => void;
  /**
   * Running the work twice has the same effect as running it once. It is then also retried if the
   * connection was lost during COMMIT, which may have been applied.
   * @default false
   */
  idempotent?: boolean;
  /**
   * Clock that waits and reads the time.
   * @default systemClock
   */
  clock?: Clock;
  /**
   * Source of randomness, from 0 to below 1.
   * @default Math.random
   */
  random?: () => number;
}

/** Counter of retries, updated while the work runs. */
export interface RetryCount {
  /** Retries so far. */
  retries: number;
}

/**
 * Orders attempts and exhausted retries, so that an outer retry recognizes an error that an inner
 * retry gave up on within the outer's current attempt. Errors from earlier attempts do not count.
 */
let sequence = 0;
const givenUp: WeakMap<object, { at: number; attempts: number }> = new WeakMap();

/**
 * Returns how many attempts were made before a retry gave up with this error; 0 if none did.
 *
 * @param error The thrown error.
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
 * Retries work after an optimistic-concurrency conflict (SQLSTATE 40001, OC000, OC001), with
 * exponential backoff and full jitter. Every other error is thrown immediately. Never waits past
 * the deadline of the invocation.
 *
 * A conflict inside a transaction is not retried here: only the whole transaction can be run again.
 * Nested retries do not multiply: an error that an inner retry gave up on is not retried by the
 * outer one.
 *
 * @param fn The work: a whole transaction, or a single statement outside of transactions.
 * @param options Limits and delays.
 * @returns The result of `fn`.
 * @throws The last error of `fn`.
 * @throws {ConfigurationError} If an option is not a number from 0.
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

/** Runs {@link withDistSqlRetry} and counts the retries. */
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

/** Returns the delay before the next attempt, or `undefined` if there is none. */
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
  // with maxRetries 0 nothing was retried here, so an outer retry may still run
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
