import { AppError, type AppErrorOptions } from "../../errors/mod.ts";

/** Options of {@link MigrationError}. */
export interface MigrationErrorOptions extends AppErrorOptions {
  /** The migration, such as `0003_add_notes`. */
  tag?: string;
  /** The statement's place in its file, from 1. */
  statement?: number;
}

/**
 * 500: a migration cannot be run, or failed. The message names the file, the statement's place in it and the fix; the
 * statement itself is in the file and not in the message, since a migration may hold data.
 *
 * @example
 * ```ts
 * import { MigrationError, readMigrationFiles } from "@trellis/fn/database";
 *
 * try {
 *   readMigrationFiles("./no-such-folder");
 * } catch (error) {
 *   console.log(error instanceof MigrationError); // true
 * }
 * ```
 */
export class MigrationError extends AppError {
  override readonly name: string = "MigrationError";
  /** The migration. */
  readonly tag: string | undefined;
  /** The statement's place in its file, from 1. */
  readonly statement: number | undefined;

  /**
   * @param message For whoever runs the migrations.
   * @param options Where it happened, and the cause.
   */
  constructor(message: string, options: MigrationErrorOptions = {}) {
    const { tag, statement } = options;
    super("MIGRATION", message, { details: { tag, statement }, ...options });
    this.tag = tag;
    this.statement = statement;
  }
}
