import { AppError, type AppErrorOptions } from "./app_error.ts";
import { findInCauseChain } from "./cause_chain.ts";
import { readDriverError, sqlStateOf } from "./driver_error.ts";

/** Options of {@link DatabaseError}. */
export interface DatabaseErrorOptions extends AppErrorOptions {
  /** The name of the query that failed, as given to `withQueryMetrics` or `defineQuery`. */
  queryName?: string;
  /** SQLSTATE of the failure; taken from the cause chain when left out. */
  sqlState?: string;
}

/**
 * 500: a query failed. The message has the query's name and the SQLSTATE, never SQL and never a parameter's value;
 * the driver's error is the `cause`.
 *
 * @example
 * ```ts
 * import { DatabaseError } from "@trellis/fn/errors";
 *
 * const error = DatabaseError.from(Object.assign(new Error("duplicate key"), { code: "23505" }), "createUser");
 * console.log(error.sqlState, error.message); // 23505 Query createUser failed with SQLSTATE 23505
 * ```
 */
export class DatabaseError extends AppError {
  override readonly name: string = "DatabaseError";
  /** SQLSTATE (PostgreSQL 18, appendix A), when the failure came from the server. */
  readonly sqlState: string | undefined;
  /** The name of the query that failed. */
  readonly queryName: string | undefined;

  /**
   * @param message For the log only.
   * @param options Query name, SQLSTATE, cause.
   */
  constructor(message = "A database query failed", options: DatabaseErrorOptions = {}) {
    super("DATABASE", message, options);
    this.sqlState = options.sqlState ?? sqlStateOf(findInCauseChain(options.cause, (link) => !!sqlStateOf(link)));
    this.queryName = options.queryName;
  }

  /**
   * Makes one of whatever a driver threw; a `DatabaseError` stays as it is.
   *
   * @param cause What was thrown.
   * @param queryName The name of the query.
   * @returns An error whose message shows neither SQL nor parameters.
   */
  static from(cause: unknown, queryName?: string): DatabaseError {
    if (cause instanceof DatabaseError) return cause;
    const driver = readDriverError(findInCauseChain(cause, (link) => sqlStateOf(link) !== undefined));
    const what = queryName === undefined ? "A query" : `Query ${queryName}`;
    return new DatabaseError(driver ? `${what} failed with SQLSTATE ${driver.sqlState}` : `${what} failed`, {
      cause,
      queryName,
      details: driver?.names,
    });
  }
}

/** Options of {@link ForeignKeyViolationError}. */
export interface ForeignKeyViolationOptions extends AppErrorOptions {
  /** The table that was looked into. */
  table?: string;
  /** The column that was compared. */
  column?: string;
}

/** 409: a row that is referred to does not exist. The message names table and column, never the value. */
export class ForeignKeyViolationError extends AppError {
  override readonly name: string = "ForeignKeyViolationError";
  /** The table that was looked into. */
  readonly table: string | undefined;
  /** The column that was compared. */
  readonly column: string | undefined;

  /**
   * @param message Shown to the client.
   * @param options Table and column, and the options of every error.
   */
  constructor(message = "A referenced row does not exist", options: ForeignKeyViolationOptions = {}) {
    super("FOREIGN_KEY_VIOLATION", message, options);
    this.table = options.table;
    this.column = options.column;
  }
}

/**
 * 500: the connection was lost while COMMIT was under way, so the transaction may or may not have been applied.
 * It is not run again unless the caller says that the work is idempotent.
 */
export class CommitOutcomeUnknownError extends DatabaseError {
  override readonly name: string = "CommitOutcomeUnknownError";
  override readonly code: "COMMIT_OUTCOME_UNKNOWN" = "COMMIT_OUTCOME_UNKNOWN";

  /**
   * @param message For the log only.
   * @param options Query name and cause.
   */
  constructor(
    message = "The connection was lost during COMMIT: look whether the work was applied before doing it again",
    options: DatabaseErrorOptions = {},
  ) {
    super(message, options);
  }
}
