import type { Clock } from "../../core/async/clock.ts";
import { retry, type RetryOptions } from "../../core/retry.ts";
import { causeChain, findInCauseChain } from "../../errors/cause_chain.ts";
import { CommitOutcomeUnknownError } from "../../errors/database_errors.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { isOccError } from "../../sql/sqlstate.ts";
import { isInsideTransaction } from "./transaction_state.ts";

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

/**
 * Runs {@link withDistSqlRetry} and counts the retries.
 *
 * @param fn The work.
 * @param options Limits and delays.
 * @param count Updated while the work runs.
 * @param isConflict Recognizes errors of transactions that were rolled back and can run again.
 */
export async function runWithRetry<T>(
  fn: () => Promise<T> | T,
  options: DistSqlRetryOptions,
  count: RetryCount = { retries: 0 },
  isConflict: (error: unknown) => boolean = isOccError,
): Promise<T> {
  checkRetryOptions(options);
  const { maxRetries = 3, idempotent } = options;
  let startedAt = 0;
  let attempts = 0;

  const policy: RetryOptions = {
    ...options,
    maxAttempts: maxRetries + 1,
    isRetryable(error) {
      const isSafe = isOutcomeUnknown(error) ? idempotent === true : isConflict(error);
      return isSafe && !isInsideTransaction(error) &&
        !objectsIn(error).some((link) => (givenUp.get(link)?.at ?? 0) > startedAt);
    },
    onRetry(error, attempt) {
      count.retries = attempt;
      const shown = error instanceof Error ? error : new Error("conflict", { cause: error });
      options.onRetry?.(shown, attempt);
    },
  };
  try {
    return await retry(() => {
      startedAt = ++sequence;
      attempts++;
      return fn();
    }, policy);
  } catch (error) {
    // with maxRetries 0 nothing was retried here, so an outer retry may still run
    if (maxRetries > 0 && policy.isRetryable(error)) {
      const given = { at: ++sequence, attempts };
      for (const link of objectsIn(error)) givenUp.set(link, given);
    }
    throw error;
  }
}

function isOutcomeUnknown(error: unknown): boolean {
  return findInCauseChain(error, (link) => link instanceof CommitOutcomeUnknownError) !==
    undefined;
}

function checkRetryOptions(options: DistSqlRetryOptions): void {
  const { maxRetries = 0, baseDelayMs = 0, maxDelayMs = 0 } = options;
  if (maxRetries >= 0 && baseDelayMs >= 0 && maxDelayMs >= 0) return;
  throw new ConfigurationError(
    "DistSqlRetryOptions.maxRetries, baseDelayMs and maxDelayMs must be numbers from 0, " +
      `got ${maxRetries}, ${baseDelayMs} and ${maxDelayMs}`,
  );
}
