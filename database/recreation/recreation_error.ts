import { AppError, type AppErrorOptions } from "../../errors/app_error.ts";

/**
 * Why a table cannot be made again: its name or its statement is wrong (`statement`), something hangs on it that would be
 * lost (`blocked`), it was changed while it was copied (`rows_changed`, `schema_changed`), another recreation of it has
 * not ended (`unfinished`), or a step failed (`failed`).
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
  /** Why. */
  reason: RecreationFailure;
  /** The table. */
  table?: string;
}

/**
 * 500: a table cannot be made again, or not yet. The message names the table and the fix, and holds no rows; the table
 * itself is as it was unless the message says otherwise.
 *
 * @example
 * ```ts
 * import { RecreationError } from "@trellis/fn/database";
 *
 * const error = new RecreationError("notes: rows changed", { reason: "rows_changed", table: "notes" });
 * console.log(error.reason); // rows_changed
 * ```
 */
export class RecreationError extends AppError {
  /** The class's name. */
  override readonly name: string = "RecreationError";
  /** Why. */
  readonly reason: RecreationFailure;
  /** The table. */
  readonly table: string | undefined;

  /**
   * @param message For whoever runs the recreation.
   * @param options Why, which table, and the cause.
   */
  constructor(message: string, options: RecreationErrorOptions) {
    const { reason, table } = options;
    super("MIGRATION", message, { details: { reason, table }, ...options });
    this.reason = reason;
    this.table = table;
  }
}
