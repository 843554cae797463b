import type { AppError } from "../../errors/app_error.ts";
import { DatabaseError, type UniqueViolationError } from "../../errors/database_errors.ts";
import { isLevelEnabled, logDebug, logError, logWarn } from "../../observability/logger.ts";
import { createMetricRecorder } from "../../observability/metrics.ts";
import { redactValue } from "../../observability/redact.ts";
import { endSpan, startSpan } from "../../observability/tracer.ts";
import { type DistSqlRetryOptions, type RetryCount, runWithRetry } from "../retry.ts";
import type { ConstraintAnswers } from "./constraint_answers.ts";
import { toQueryError } from "./query_error.ts";

/** Options of {@link withQueryMetrics}. */
export interface QueryMetricsOptions {
  /** What the query was called with: logged at DEBUG, with secrets taken out by key name. */
  logInput?: unknown;
  /**
   * How conflicts are met; `false` runs the query once.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
  /**
   * What a client is told when a constraint is violated, by the constraint's name.
   * @default {}
   */
  constraints?: ConstraintAnswers;
}

const NO_OPTIONS: QueryMetricsOptions = Object.freeze({});
const NO_RETRY: DistSqlRetryOptions = Object.freeze({ maxRetries: 0 });
const DEFAULT_RETRY: DistSqlRetryOptions = Object.freeze({});

/**
 * Runs a query with metrics (duration, errors and retries, with the query's name as the dimension `queryName`), a span
 * of that name, one log line when it fails, and a retry of conflicts as in `withDistSqlRetry`.
 *
 * @param queryName The query's name: few words without ids, since each name is a metric of its own.
 * @param fn The query: a statement of its own or a whole transaction.
 * @param options Input to log, and the retry.
 * @returns What `fn` returns.
 * @throws {DatabaseError} When the query fails: SQLSTATE, constraint and the query's name, no SQL and no values. An
 * `AppError` that `fn` throws, such as `NotFoundError`, passes as it is.
 * @throws {UniqueViolationError} When a row with the same values exists already (409).
 * @throws {ForeignKeyViolationError} When a reference between rows would be broken (409).
 * @throws {ValidationError} When `constraints` maps another violated constraint, or a text holds NUL (400).
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
  options: QueryMetricsOptions = NO_OPTIONS,
): Promise<T> {
  const { retry = DEFAULT_RETRY } = options;
  if (options.logInput !== undefined && isLevelEnabled("DEBUG")) {
    logDebug("query input", { queryName, input: redactValue(options.logInput) });
  }
  const span = startSpan(queryName, { active: false });
  const count: RetryCount = { retries: 0 };
  const startedAt = performance.now();
  try {
    const result = await runWithRetry(fn, retry === false ? NO_RETRY : retry, count);
    emit(queryName, startedAt, count.retries, 0);
    endSpan(span);
    return result;
  } catch (thrown) {
    const { constraints } = options;
    const error = toQueryError(thrown, { queryName, attempts: count.retries + 1, constraints });
    const isFailure = error.statusCode >= 500;
    emit(queryName, startedAt, count.retries, isFailure ? 1 : 0);
    endSpan(span, isFailure ? error : undefined);
    logOnce(error, queryName, count.retries);
    throw error;
  }
}

const recorders: Map<string, ReturnType<typeof createMetricRecorder>> = new Map();
/** A name is a metric of its own, so there are few; somebody may put ids into them all the same. */
const MAX_RECORDERS = 1000;

function emit(queryName: string, startedAt: number, retries: number, errors: 0 | 1): void {
  let record = recorders.get(queryName);
  if (record === undefined) {
    record = createMetricRecorder({ queryName }, [
      ["QueryDuration", "Milliseconds"],
      ["QueryErrors", "Count"],
      ["QueryRetries", "Count"],
    ]);
    if (recorders.size >= MAX_RECORDERS) recorders.clear();
    recorders.set(queryName, record);
  }
  record(performance.now() - startedAt, errors, retries);
}

/** Errors that have their log line, so that a query inside a query does not tell the same failure twice. */
const logged: WeakSet<object> = new WeakSet();

/** Logs a failure, and as a warning the violation of a constraint that the query does not map. */
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

/** Without a cause it is the application's own look, such as `assertRowExists`. */
function isUnmapped(error: AppError): boolean {
  const { errors } = error as UniqueViolationError;
  return error instanceof DatabaseError && errors === undefined && error.cause !== undefined;
}
