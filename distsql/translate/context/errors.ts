import { AppError, type AppErrorOptions } from "../../../errors/app_error.ts";
import type { ErrorCode } from "../../../errors/error_code.ts";

/** Facts about a rejected statement; never its text, which may contain data. */
export interface StatementErrorOptions extends AppErrorOptions {
  /** Id of the registry entry. */
  id: string;
  /** Description of the problem, without rule and advice. */
  summary?: string;
  /** Advice. */
  advice: string;
  /** Table of the statement. */
  table?: string;
  /** Type or enum of the statement. */
  type?: string;
}

/** Error 500 about a statement of a migration. */
export class StatementError extends AppError {
  /** Id of the registry entry, for `getIncompatibility`. */
  readonly id: string;
  /** Description of the problem, without rule and advice. */
  readonly summary: string;
  /** Advice. */
  readonly advice: string;
  /** Table of the statement. */
  readonly table: string | undefined;
  /** Type or enum of the statement. */
  readonly type: string | undefined;

  /**
   * @param code Code of the error.
   * @param message Message for the log.
   * @param options Registry entry, advice and table.
   */
  constructor(code: ErrorCode, message: string, options: StatementErrorOptions) {
    super(code, message, options);
    this.id = options.id;
    this.summary = options.summary ?? message;
    this.advice = options.advice;
    this.table = options.table;
    this.type = options.type;
  }
}

/**
 * Error 500: a statement that the distributed-SQL provider rejects, and that cannot be omitted
 * without losing something. The message has the kind of statement, the table, the registry entry
 * and the advice.
 */
export class UnsupportedStatementError extends StatementError {
  override readonly name: string = "UnsupportedStatementError";

  /**
   * @param message Message for the log.
   * @param options Registry entry, advice and table.
   */
  constructor(message: string, options: StatementErrorOptions) {
    super("UNSUPPORTED_STATEMENT", message, options);
  }
}

/**
 * Error 500: a change that the distributed-SQL provider has no statement for. It needs a new table,
 * a copy of the rows and a swap of the names, which `runMigrations` performs.
 */
export class RecreationRequiredError extends StatementError {
  override readonly name: string = "RecreationRequiredError";

  /**
   * @param message Message for the log.
   * @param options Registry entry, advice and table.
   */
  constructor(message: string, options: StatementErrorOptions) {
    super("RECREATION_REQUIRED", message, options);
  }
}
