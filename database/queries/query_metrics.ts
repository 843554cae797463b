import {
  type AppError,
  causeChain,
  DatabaseError,
  findInCauseChain,
  isAppError,
  readDriverError,
  sqlStateOf,
  ValidationError,
} from "../../errors/mod.ts";
import {
  createMetricRecorder,
  endSpan,
  isLevelEnabled,
  logDebug,
  logError,
  redactValue,
  startSpan,
} from "../../observability/mod.ts";
import { type DistSqlRetryOptions, type RetryCount, runWithRetry } from "../retry.ts";

/** Options of {@link withQueryMetrics}. */
export interface QueryMetricsOptions {
  /** What the query was called with: logged at DEBUG, with secrets taken out by key name. */
  logInput?: unknown;
  /**
   * How conflicts are met; `false` runs the query once.
   * @default {}
   */
  retry?: DistSqlRetryOptions | false;
}

const NO_OPTIONS: QueryMetricsOptions = Object.freeze({});
const NO_RETRY: DistSqlRetryOptions = Object.freeze({ maxRetries: 0 });
const DEFAULT_RETRY: DistSqlRetryOptions = Object.freeze({});

/** Errors that have their log line, so that a query inside a query does not tell the same failure twice. */
const logged: WeakSet<object> = new WeakSet();

/**
 * Runs a query with metrics (duration, errors and retries, with the query's name as the dimension `queryName`), a span
 * of that name, one log line when it fails, and a retry of conflicts as in `withDistSqlRetry`.
 *
 * @param queryName The query's name: few words without ids, since each name is a metric of its own.
 * @param fn The query: a statement of its own or a whole transaction.
 * @param options Input to log, and the retry.
 * @returns What `fn` returns.
 * @throws {DatabaseError} When the query fails: SQLSTATE and the query's name, no SQL and no values. An `AppError` that
 * `fn` throws, such as `NotFoundError`, passes as it is.
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
    const error = toQueryError(thrown, queryName);
    const isFailure = error.statusCode >= 500;
    emit(queryName, startedAt, count.retries, isFailure ? 1 : 0);
    endSpan(span, isFailure ? error : undefined);
    if (isFailure && !logged.has(error)) {
      logged.add(error);
      logError("query failed", {
        queryName,
        sqlState: (error as Partial<DatabaseError>).sqlState,
        retries: count.retries,
        error,
      });
    }
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

/** SQLSTATE of a NUL byte, or of bytes that are no text (PostgreSQL 18, appendix A). */
const CHARACTER_NOT_IN_REPERTOIRE = "22021";

/** The error that leaves a query: drivers and drizzle put statements and values into theirs. */
function toQueryError(thrown: unknown, queryName: string): AppError {
  if (isAppError(thrown)) return thrown;
  const cause = withoutValues(thrown);
  // no table can hold it, so it came with the input
  if (sqlStateOf(cause) === CHARACTER_NOT_IN_REPERTOIRE) {
    return new ValidationError("A text holds a character that cannot be stored, such as NUL", { cause });
  }
  return DatabaseError.from(cause, queryName);
}

/**
 * A cause that may be looked at: the driver's error with its safe message, code, names and stack, or the first link that
 * is no drizzle wrapper.
 */
function withoutValues(thrown: unknown): unknown {
  const link = findInCauseChain(thrown, (candidate) => readDriverError(candidate) !== undefined);
  const driver = readDriverError(link);
  if (driver === undefined) return causeChain(thrown).find((candidate) => !isStatementError(candidate));
  const { name, stack } = link as Partial<Error>;
  const safe = Object.assign(new Error(driver.message), { code: driver.sqlState }, driver.names);
  safe.name = typeof name === "string" ? name : "Error";
  const frames = stack?.split("\n").filter((line) => /^\s+at /.test(line));
  safe.stack = [`${safe.name}: ${safe.message}`, ...frames ?? []].join("\n");
  return safe;
}

/** drizzle's DrizzleQueryError: its message is the statement and its parameters. */
function isStatementError(error: unknown): boolean {
  return typeof error === "object" && error !== null && "query" in error && "params" in error;
}
