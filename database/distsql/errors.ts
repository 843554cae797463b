import { AppError, type AppErrorOptions } from "../../errors/app_error.ts";

/** What an error of the translation knows about the statement; never its text, which may hold data. */
export interface StatementErrorOptions extends AppErrorOptions {
  /** The registry's entry. */
  id: string;
  /** What cannot be done, without the rule and the advice. */
  summary?: string;
  /** What to do. */
  advice: string;
  /** The table that the statement is about. */
  table?: string;
  /** The type or enum that the statement is about. */
  type?: string;
}

/**
 * 500: a statement that the distributed-SQL provider refuses, and that cannot be left out without losing something.
 * The message names the kind of statement, the table and the registry's entry, and says what to do.
 */
export class UnsupportedStatementError extends AppError {
  override readonly name: string = "UnsupportedStatementError";
  /** The registry's entry, for `getIncompatibility`. */
  readonly id: string;
  /** What cannot be done, without the rule and the advice. */
  readonly summary: string;
  /** What to do. */
  readonly advice: string;
  /** The table that the statement is about. */
  readonly table: string | undefined;
  /** The type or enum that the statement is about. */
  readonly type: string | undefined;

  /**
   * @param message For the log only.
   * @param options The registry's entry, the advice, the table.
   */
  constructor(message: string, options: StatementErrorOptions) {
    super("UNSUPPORTED_STATEMENT", message, options);
    this.id = options.id;
    this.summary = options.summary ?? message;
    this.advice = options.advice;
    this.table = options.table;
    this.type = options.type;
  }
}

/**
 * 500: a change that the distributed-SQL provider has no statement for: the table is made again under another name, the
 * rows are copied, the names are swapped. `runMigrations` does it.
 */
export class RecreationRequiredError extends AppError {
  override readonly name: string = "RecreationRequiredError";
  /** The registry's entry, for `getIncompatibility`. */
  readonly id: string;
  /** What cannot be done, without the rule and the advice. */
  readonly summary: string;
  /** What to do. */
  readonly advice: string;
  /** The table that has to be made again. */
  readonly table: string | undefined;
  /** The type or enum that the statement is about. */
  readonly type: string | undefined;

  /**
   * @param message For the log only.
   * @param options The registry's entry, the advice, the table.
   */
  constructor(message: string, options: StatementErrorOptions) {
    super("RECREATION_REQUIRED", message, options);
    this.id = options.id;
    this.summary = options.summary ?? message;
    this.advice = options.advice;
    this.table = options.table;
    this.type = options.type;
  }
}
