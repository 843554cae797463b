import { AppError, type AppErrorOptions } from "../../errors/app_error.ts";

/**
 * Reason why a table cannot be recreated: its name or statement is invalid (`statement`), dependent
 * objects would be lost (`blocked`), it changed during the copy (`rows_changed`, `schema_changed`),
 * another recreation of it is unfinished (`unfinished`), or a step failed (`failed`).
 */
export type RecreationFailure =
  | "statement"
  | "blocked"
  | "rows_changed"
  | "schema_changed"
  | "unfinished"
  | "failed";

/** Options of {@link RecreationError}. */
export interface RecreationErrorOptions extends AppErrorOptions {
  /** Reason. */
  reason: RecreationFailure;
  /** The table. */
  table?: string;
}

/**
 * Error 500: a table cannot be recreated, or not yet. The message has the table and the fix, and no
 * row data. The table is unchanged unless the message says otherwise.
 *
 * @example
 * ```ts
 * import { RecreationError } from "@trellis/fn/distsql";
 *
 * const error = new RecreationError("notes: rows changed", { reason: "rows_changed", table: "notes" });
 * console.log(error.reason); // rows_changed
 * ```
 */
export class RecreationError extends AppError {
  /** Name of the class. */
  override readonly name: string = "RecreationError";
  /** Reason. */
  readonly reason: RecreationFailure;
  /** The table. */
  readonly table: string | undefined;

  /**
   * @param message Message for the operator.
   * @param options Reason, table and cause.
   */
  constructor(message: string, options: RecreationErrorOptions) {
    const { reason, table } = options;
    super("MIGRATION", message, { details: { reason, table }, ...options });
    this.reason = reason;
    this.table = table;
  }
}

/** Creates the error for an ALTER TABLE statement that does not fit the table. */
export function createStatementError(
  table: { readonly name: string },
  why: string,
): RecreationError {
  return new RecreationError(`${table.name}: ${why}`, { reason: "statement", table: table.name });
}
