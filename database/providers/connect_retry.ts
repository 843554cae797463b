import { fullJitterDelay } from "../../core/async/backoff.ts";
import { remainingMs } from "../../core/request_context.ts";
import { causeChain, findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { ServiceUnavailableError } from "../../errors/http_errors.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { metrics } from "../../observability/metrics.ts";
import type { DatabaseConfig } from "../config.ts";
import type { ConnectRetry } from "./postgres_js_driver.ts";

/** How long a refusal may last, and how soon to try again. */
interface Refusal {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /**
   * Milliseconds, less than `connectTimeout`.
   * @default connectTimeout
   */
  readonly patienceMs?: number;
}

/** The server has no room, or takes no more connections in this second. */
const NO_ROOM: Refusal = { baseDelayMs: 100, maxDelayMs: 2000 };
/** The server starts, recovers or wakes up. */
const NOT_READY: Refusal = { baseDelayMs: 50, maxDelayMs: 1000 };
/** Nobody listens, as while a server restarts; a wrong address looks the same. */
const NOT_LISTENING: Refusal = { baseDelayMs: 50, maxDelayMs: 500, patienceMs: 2000 };

/** SQLSTATEs of refused connections. Sources: PostgreSQL 18, appendix A; Aurora DSQL user guide, quotas (2026-10). */
const SQL_STATES: Readonly<Record<string, Refusal>> = {
  "53300": NO_ROOM, // too_many_connections
  "53400": NO_ROOM, // configuration_limit_exceeded: Aurora DSQL's limit of new connections per second
  "57P03": NOT_READY, // cannot_connect_now
};

/** Codes of the system that come while connecting alone. A reset may come after a statement was sent. */
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** Whether a connection could not be made because nobody answered at its address. */
export function isUnreachable(error: unknown): boolean {
  return findInCauseChain(error, (link) => NETWORK_CODES.has((link as { code?: unknown }).code)) !==
    undefined;
}

/** Time kept back to answer in, in milliseconds. */
const ANSWER_MS = 50;

/** Clients that were refused together are told to come again at different times. */
const MAX_RETRY_AFTER_SECONDS = 5;

/**
 * Makes the rule for refused connections of a database: they are tried again with exponential backoff and full jitter,
 * for at most `connectTimeout` and not past the deadline of the invocation. Each refusal is counted by the metric
 * `DatabaseConnectionsRefused`.
 *
 * A network that refuses is tried again in an invocation only, and for 2 seconds: elsewhere the address may be wrong.
 *
 * @param config The database.
 * @param isNotReady Whether the provider refuses for a reason of its own that will pass.
 * @param random A number from 0 to below 1.
 * @returns The rule. It throws `ServiceUnavailableError` (503) when it gives up in an invocation.
 */
export function createConnectRetry(
  config: DatabaseConfig,
  isNotReady: (error: unknown) => boolean = () => false,
  random: () => number = Math.random,
): ConnectRetry {
  const connectTimeoutMs = (config.connectTimeout ?? 10) * 1000;

  return function delayBeforeRetry(error, attempt, elapsedMs): number | undefined {
    const refusal = isNotReady(error) ? NOT_READY : readRefusal(error);
    if (refusal === undefined) return undefined;
    if (config.instrument !== false) {
      metrics.addMetricsWithDimensions({ provider: config.provider }, [[
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
    // the next try may take as long as those before it
    const roomMs = leftMs - elapsedMs / attempt;
    if (roomMs >= baseDelayMs) {
      return Math.min(roomMs, fullJitterDelay(attempt, { baseDelayMs, maxDelayMs, random }));
    }
    if (currentInvocation() === undefined) return undefined;
    throw unavailable(error, attempt, elapsedMs, random);
  };
}

function readRefusal(error: unknown): Refusal | undefined {
  const sqlState = causeChain(error).map(getSqlState).find((state) => state !== undefined);
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
