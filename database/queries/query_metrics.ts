import type { AppError } from "../../errors/app_error.ts";
import { DatabaseError, type UniqueViolationError } from "../../errors/database_errors.ts";
import { isLevelEnabled, logDebug, logError, logWarn } from "../../observability/logger.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import { redactValue } from "../../observability/redact.ts";
import type { Span } from "../../observability/span.ts";
import { endSpan, startSpan } from "../../observability/tracer.ts";
import { type DistSqlRetryOptions, type RetryCount, runWithRetry } from "../session/retry.ts";
import { isTransactionConflict } from "../../sql/sqlstate.ts";
import type { ConstraintAnswers } from "./constraint_answers.ts";
import { toQueryError } from "./query_error.ts";

/** Options of {@link withQueryMetrics}. */
export interface QueryMetricsOptions {
  /** Arguments of the query, logged at DEBUG and redacted by key name. */
  logInput?: unknown;
  /**
   * Retries of conflicts; `false` disables them.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
  /**
   * Responses to violated constraints by name.
   * @default {}
   */
  constraints?: ConstraintAnswers;
}

/**
 * Runs a query with metrics (duration, errors and retries, with the dimension `queryName`), a span
 * of that name, one log line on failure, and retries of conflicts as in `withDistSqlRetry`.
 *
 * @param queryName Name of the query: short and without ids, because each name becomes a metric.
 * @param fn The query: a single statement or a whole transaction.
 * @param options Input to log, retries and responses.
 * @returns The result of `fn`.
 * @throws {DatabaseError} If the query fails: with SQLSTATE, constraint and the query's name,
 * without SQL and values. An `AppError` that `fn` throws, such as `NotFoundError`, is passed on
 * unchanged.
 * @throws {UniqueViolationError} If a row with the same values exists (409).
 * @throws {ForeignKeyViolationError} If a reference between rows would be broken (409).
 * @throws {ValidationError} If `constraints` maps another violated constraint, or a text contains
 * NUL (400).
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, withQueryMetrics } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await withQueryMetrics("ping", () => db.execute(sql`select 1`));
 * await closeDrizzleClient();
 * ```
 */
export async function withQueryMetrics<T>(
  queryName: string,
  fn: () => Promise<T> | T,
  { logInput, retry = {}, constraints }: QueryMetricsOptions = {},
): Promise<T> {
  const startedMs = performance.now();
  // a query may run beside others, so none is the parent of what starts next
  const span = startSpan(queryName, {
    kind: "client",
    active: false,
    attributes: { "db.system.name": "postgresql", "db.query.summary": queryName },
  });
  const count: RetryCount = { retries: 0 };

  let result: T;
  try {
    if (logInput !== undefined && isLevelEnabled("DEBUG")) {
      logDebug("query input", { queryName, input: redactValue(logInput) });
    }
    const options = retry === false ? { maxRetries: 0 } : retry;
    result = await runWithRetry(fn, options, count, isTransactionConflict);
  } catch (thrown) {
    const error = toQueryError(thrown, { queryName, attempts: count.retries + 1, constraints });
    const { sqlState } = error as Partial<DatabaseError>;
    if (sqlState !== undefined) span.attributes["db.response.status_code"] = sqlState;
    recordEnd(span, startedMs, count, error.statusCode >= 500 ? error : undefined);
    logOnce(error, queryName, count.retries);
    throw error;
  }
  recordEnd(span, startedMs, count, undefined);
  return result;
}

function recordEnd(span: Span, startedMs: number, count: RetryCount, failure: unknown): void {
  addOccurrences({ queryName: span.name }, [
    ["QueryDuration", "Milliseconds", performance.now() - startedMs],
    ["QueryErrors", "Count", failure === undefined ? 0 : 1],
    ["QueryRetries", "Count", count.retries],
  ]);
  endSpan(span, failure);
}

/** Errors that were logged, so that nested queries do not log the same failure twice. */
const logged: WeakSet<object> = new WeakSet();

/** Logs a failure: as a warning if it violates a constraint that the query does not map. */
function logOnce(error: AppError, queryName: string, retries: number): void {
  const isFailure = error.statusCode >= 500;
  if ((!isFailure && !isUnmapped(error)) || logged.has(error)) return;
  logged.add(error);
  const { sqlState, constraint, table, columns = [] } = error as Partial<DatabaseError>;
  const facts = { sqlState, constraint, table, columns: columns.length > 0 ? columns : undefined };
  const fields = { queryName, ...facts, retries, error };
  if (isFailure) logError("query failed", fields);
  else logWarn("constraint violated", fields);
}

/**
 * Checks for a violation without a cause, such as that of `assertRowExists`, which the application
 * raised.
 */
function isUnmapped(error: AppError): boolean {
  const { errors } = error as UniqueViolationError;
  return error instanceof DatabaseError && errors === undefined && error.cause !== undefined;
}
