import { fullJitterDelay } from "../../core/retry.ts";
import { remainingMs } from "../../core/request_context.ts";
import { findInCauseChain } from "../../errors/cause_chain.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { ServiceUnavailableError } from "../../errors/http_errors.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import type { DatabaseSettings } from "../config/config.ts";

/**
 * Retry policy for a connection that could not be opened; no statement was sent on it.
 *
 * @param error The server's answer.
 * @param attempt Number of the failed attempt, from 1.
 * @param elapsedMs Milliseconds since the first attempt.
 * @returns Milliseconds to wait before the next attempt, or `undefined` to give up.
 */
export type ConnectRetry = (
  error: unknown,
  attempt: number,
  elapsedMs: number,
) => number | undefined;

/**
 * Runs work, and runs it again as long as a policy says so.
 *
 * @param work The work.
 * @param policy Returns the delay before the next attempt. What it throws replaces the error.
 * @returns The result of the work.
 * @throws The last error.
 */
export async function retryRefused<T>(
  work: () => PromiseLike<T>,
  policy: ConnectRetry,
): Promise<T> {
  const startedAt = performance.now();
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      const delayMs = policy(error, attempt, performance.now() - startedAt);
      if (delayMs === undefined) throw error;
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

/** Retry policy for one kind of refused connection. */
interface Refusal {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /**
   * Milliseconds, less than `connectTimeout`.
   * @default connectTimeout
   */
  readonly patienceMs?: number;
}

/** The server has no free connection, or limits new connections per second. */
const NO_ROOM: Refusal = { baseDelayMs: 100, maxDelayMs: 2000 };
/** The server is starting, recovering or waking up. */
const NOT_READY: Refusal = { baseDelayMs: 50, maxDelayMs: 1000 };
/**
 * No process listens at the address, for example while a server restarts. A wrong address looks the
 * same.
 */
const NOT_LISTENING: Refusal = { baseDelayMs: 50, maxDelayMs: 500, patienceMs: 2000 };

/** SQLSTATEs of refused connections. Sources: PostgreSQL 18, appendix A; Aurora DSQL user guide, quotas (2026-10). */
const SQL_STATES: Readonly<Record<string, Refusal>> = {
  "53300": NO_ROOM, // too_many_connections
  "53400": NO_ROOM, // configuration_limit_exceeded: Aurora DSQL's limit of new connections per second
  "57P03": NOT_READY, // cannot_connect_now
};

/**
 * System error codes that occur only while connecting. A reset is not among them: it may follow a
 * statement that was sent.
 */
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** Checks whether no server was reachable at the address. */
export function isUnreachable(error: unknown): boolean {
  return findInCauseChain(error, (link) => NETWORK_CODES.has((link as { code?: unknown }).code)) !==
    undefined;
}

/** Milliseconds reserved for sending the response. */
const ANSWER_MS = 50;

/**
 * Upper bound of a random Retry-After, so that clients which were refused together return at
 * different times.
 */
const MAX_RETRY_AFTER_SECONDS = 5;

/**
 * Creates the retry policy for refused connections of a database: exponential backoff with full
 * jitter, for at most `connectTimeout` and never past the deadline of the invocation. Each refusal
 * is counted by the metric `DatabaseConnectionsRefused`.
 *
 * An unreachable address is retried only in an invocation, for 2 seconds. Elsewhere the address may
 * be wrong.
 *
 * @param config The database.
 * @param isNotReady Recognizes temporary refusals that only this provider has.
 * @param random Source of randomness, from 0 to below 1.
 * @returns The policy. It throws `ServiceUnavailableError` (503) when it gives up in an invocation.
 */
export function createConnectRetry(
  config: DatabaseSettings,
  isNotReady: (error: unknown) => boolean = () => false,
  random: () => number = Math.random,
): ConnectRetry {
  const connectTimeoutMs = (config.connectTimeout ?? 10) * 1000;

  return function delayBeforeRetry(error, attempt, elapsedMs): number | undefined {
    const refusal = isNotReady(error) ? NOT_READY : readRefusal(error);
    if (refusal === undefined) return undefined;
    if (config.instrument !== false) {
      addOccurrences({ provider: config.provider }, [[
        "DatabaseConnectionsRefused",
        "Count",
        1,
      ]]);
    }
    const { baseDelayMs, maxDelayMs, patienceMs = Infinity } = refusal;
    const leftMs = Math.min(
      connectTimeoutMs - elapsedMs,
      patienceMs - elapsedMs,
      remainingMs() - ANSWER_MS,
    );
    // the next attempt may take as long as the average of those before
    const roomMs = leftMs - elapsedMs / attempt;
    if (roomMs >= baseDelayMs) {
      return Math.min(roomMs, fullJitterDelay(attempt, { baseDelayMs, maxDelayMs, random }));
    }
    if (currentInvocation() === undefined) return undefined;
    throw unavailable(error, attempt, elapsedMs, random);
  };
}

function readRefusal(error: unknown): Refusal | undefined {
  const sqlState = findSqlState(error);
  if (sqlState !== undefined) {
    return Object.hasOwn(SQL_STATES, sqlState) ? SQL_STATES[sqlState] : undefined;
  }
  return currentInvocation() !== undefined && isUnreachable(error) ? NOT_LISTENING : undefined;
}

function unavailable(
  error: unknown,
  attempt: number,
  elapsedMs: number,
  random: () => number,
): ServiceUnavailableError {
  const times = attempt === 1 ? "once" : `${attempt} times`;
  return new ServiceUnavailableError(
    `The database refused a connection ${times} in ${(elapsedMs / 1000).toFixed(1)} s`,
    { cause: error, retryAfterSeconds: 1 + Math.floor(random() * MAX_RETRY_AFTER_SECONDS) },
  );
}
