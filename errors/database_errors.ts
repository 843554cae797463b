import { AppError, type AppErrorOptions } from "./app_error.ts";
import { findDriverError, findSqlState } from "./driver_error.ts";
import type { ErrorCode } from "./error_code.ts";

/** Options of {@link DatabaseError}. */
export interface DatabaseErrorOptions extends AppErrorOptions {
  /** The name of the query that failed, as given to `withQueryMetrics` or `defineQuery`. */
  queryName?: string;
  /** SQLSTATE of the failure; taken from the cause chain when left out. */
  sqlState?: string;
  /** The constraint that was violated. */
  constraint?: string;
  /** The table that the constraint belongs to. */
  table?: string;
  /** The columns that the constraint covers. */
  columns?: readonly string[];
  /** Number of attempts before the failure was final. */
  attempts?: number;
}

/**
 * 500: a query failed; 503 with `Retry-After` if other transactions changed the same rows in each attempt (SQLSTATE 40001). The message has the query's name, the SQLSTATE and the constraint, never SQL and never a
 * parameter's value; the driver's error is the `cause`. Subclasses have other statuses.
 *
 * @example
 * ```ts
 * import { DatabaseError } from "@trellis/fn/errors";
 *
 * const error = DatabaseError.from(Object.assign(new Error("null value"), { code: "23502" }), "createUser");
 * console.log(error.sqlState, error.message); // 23502 Query createUser failed with SQLSTATE 23502
 * ```
 */
export class DatabaseError extends AppError {
  override readonly name: string = "DatabaseError";
  /** SQLSTATE (PostgreSQL 18, appendix A), when the failure came from the server. */
  readonly sqlState: string | undefined;
  /** The name of the query that failed. */
  readonly queryName: string | undefined;
  /** The constraint that was violated, when the server named one. */
  readonly constraint: string | undefined;
  /** The table that the constraint belongs to, when the server named it. */
  readonly table: string | undefined;
  /** The columns of the constraint; empty if the server did not name them. */
  readonly columns: readonly string[];
  /** Number of attempts, if the last one failed with a conflict (SQLSTATE 40001). */
  readonly attempts: number | undefined;

  /**
   * @param message For the log only.
   * @param options Query name, SQLSTATE, constraint, cause.
   * @param code The code of a subclass.
   */
  constructor(
    message = "A database query failed",
    options: DatabaseErrorOptions = {},
    code: ErrorCode = "DATABASE",
  ) {
    super(code, message, options);
    this.sqlState = options.sqlState ?? findSqlState(options.cause);
    this.queryName = options.queryName;
    this.constraint = options.constraint;
    this.table = options.table;
    this.columns = options.columns ?? [];
    this.attempts = options.attempts;
  }

  /**
   * Converts an error of a driver to a {@link UniqueViolationError}, a
   * {@link ForeignKeyViolationError} or a `DatabaseError`. Returns a `DatabaseError` unchanged.
   *
   * @param cause The thrown value.
   * @param queryName The name of the query.
   * @param attempts Number of attempts, if a conflict was the reason.
   * @returns An error whose message contains neither SQL nor parameters, for the log only.
   */
  static from(cause: unknown, queryName?: string, attempts?: number): DatabaseError {
    if (cause instanceof DatabaseError) return cause;
    const driver = findDriverError(cause);
    const { constraint, table, column } = driver?.names ?? {};
    const sqlState = driver?.sqlState;
    const options: DatabaseErrorOptions = {
      cause,
      queryName,
      sqlState,
      constraint,
      table,
      columns: driver?.columns ?? (column === undefined ? [] : [column]),
      attempts,
      details: driver?.names,
      expose: false,
    };
    const message = describeFailure(options);
    if (UNIQUE_STATES.has(sqlState)) return new UniqueViolationError(message, options);
    if (FOREIGN_KEY_STATES.has(sqlState)) return new ForeignKeyViolationError(message, options);
    return CONFLICT_STATES.has(sqlState)
      ? new DatabaseError(
        message,
        { ...options, headers: { "Retry-After": "1" } },
        "SERVICE_UNAVAILABLE",
      )
      : new DatabaseError(message, options);
  }
}

/** serialization_failure (PostgreSQL 18, appendix A), and the conflicts of Aurora DSQL. */
const CONFLICT_STATES: ReadonlySet<string | undefined> = new Set(["40001", "OC000", "OC001"]);

/** unique_violation and exclusion_violation (PostgreSQL 18, appendix A). */
const UNIQUE_STATES: ReadonlySet<string | undefined> = new Set(["23505", "23P01"]);

/** foreign_key_violation, and restrict_violation, which PostgreSQL 18 reports for ON DELETE RESTRICT. */
const FOREIGN_KEY_STATES: ReadonlySet<string | undefined> = new Set(["23503", "23001"]);

function describeFailure(options: DatabaseErrorOptions): string {
  const { queryName, sqlState, constraint, table, columns = [], attempts } = options;
  let text = queryName === undefined ? "A query failed" : `Query ${queryName} failed`;
  if (sqlState !== undefined) text += ` with SQLSTATE ${sqlState}`;
  if (attempts !== undefined) text += ` after ${attempts} attempt${attempts === 1 ? "" : "s"}`;
  const places = [
    ...(constraint === undefined ? [] : [`constraint ${constraint}`]),
    ...(table === undefined ? [] : [`table ${table}`]),
    ...(columns.length === 0 ? [] : [`column ${columns.join(", ")}`]),
  ];
  return places.length === 0 ? text : `${text} (${places.join(", ")})`;
}

/** Options of {@link UniqueViolationError}. */
export interface UniqueViolationOptions extends DatabaseErrorOptions {
  /** Messages by field, in dotted paths; `_form` for the whole input. Sent to the client. */
  errors?: Readonly<Record<string, string[]>>;
}

/**
 * 409: a row with the same values exists already (SQLSTATE 23505), or a row that conflicts with an exclusion
 * constraint (23P01). The message never contains the values.
 *
 * @example
 * ```ts
 * import { DatabaseError, UniqueViolationError } from "@trellis/fn/errors";
 *
 * const driverError = Object.assign(new Error("duplicate key"), { code: "23505", constraint: "users_email_unique" });
 * const error = DatabaseError.from(driverError, "createUser");
 * console.log(error instanceof UniqueViolationError, error.constraint); // true users_email_unique
 * ```
 */
export class UniqueViolationError extends DatabaseError {
  override readonly name: string = "UniqueViolationError";
  /** Messages by field, when the query maps the constraint to a field. */
  readonly errors: Readonly<Record<string, string[]>> | undefined;

  /**
   * @param message Shown to the client.
   * @param options Constraint, table, columns, messages by field, and the options of every error.
   */
  constructor(
    message = "A row with the same values exists already",
    options: UniqueViolationOptions = {},
  ) {
    super(message, options, "UNIQUE_VIOLATION");
    this.errors = options.errors;
  }
}

/** Options of {@link ForeignKeyViolationError}. */
export interface ForeignKeyViolationOptions extends DatabaseErrorOptions {
  /** The column, if there is one. */
  column?: string;
  /** Messages by field, in dotted paths; `_form` for the whole input. Sent to the client. */
  errors?: Readonly<Record<string, string[]>>;
}

/**
 * 409: a referenced row does not exist, or a row to delete is still referenced (SQLSTATE 23503, 23001). The message
 * never contains the values. Queries throw it with the referencing table and columns, `assertRowExists` with the table
 * and column that it searched.
 */
export class ForeignKeyViolationError extends DatabaseError {
  override readonly name: string = "ForeignKeyViolationError";
  /** The first of the columns. */
  readonly column: string | undefined;
  /** Messages by field, when the query maps the constraint to a field. */
  readonly errors: Readonly<Record<string, string[]>> | undefined;

  /**
   * @param message Shown to the client.
   * @param options Constraint, table, columns, messages by field, and the options of every error.
   */
  constructor(
    message = "A referenced row does not exist",
    options: ForeignKeyViolationOptions = {},
  ) {
    const { column, columns = column === undefined ? [] : [column] } = options;
    super(message, { ...options, columns }, "FOREIGN_KEY_VIOLATION");
    this.column = columns[0];
    this.errors = options.errors;
  }
}

/**
 * 500: the connection was lost during COMMIT, so it is unknown whether the transaction was applied. The transaction is
 * retried only if the caller declares that the work is idempotent.
 */
export class CommitOutcomeUnknownError extends DatabaseError {
  override readonly name: string = "CommitOutcomeUnknownError";
  override readonly code: "COMMIT_OUTCOME_UNKNOWN" = "COMMIT_OUTCOME_UNKNOWN";

  /**
   * @param message For the log only.
   * @param options Query name and cause.
   */
  constructor(
    message = "The connection was lost during COMMIT: look whether " +
      "the work was applied before doing it again",
    options: DatabaseErrorOptions = {},
  ) {
    super(message, options);
  }
}
