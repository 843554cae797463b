import { AppError, type AppErrorOptions } from "../../errors/app_error.ts";
import { formatPlanFinding, type PlanFinding } from "../../sql/plan_finding.ts";

/** Options of {@link MigrationError}. */
export interface MigrationErrorOptions extends AppErrorOptions {
  /** The migration, such as `0003_add_notes`. */
  tag?: string;
  /** Number of the statement among those that run, from 1. */
  statement?: number;
  /** Line of the statement in its file, from 1. */
  line?: number;
}

/**
 * Error 500: a migration cannot be run, or failed. The message has file and line, the number of
 * the statement and the fix. It does not contain the statement, which may hold data.
 *
 * @example
 * ```ts
 * import { readMigrationFiles } from "@trellis/fn/database";
 * import { MigrationError } from "@trellis/fn/database/migrate";
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
  /** Number of the statement among those that run, from 1: a file can be split or translated. */
  readonly statement: number | undefined;
  /** Line of the statement in its file, from 1. */
  readonly line: number | undefined;

  /**
   * @param message Message for the operator.
   * @param options Migration, statement and cause.
   */
  constructor(message: string, options: MigrationErrorOptions = {}) {
    const { tag, statement } = options;
    super("MIGRATION", message, { details: { tag, statement }, ...options });
    this.tag = tag;
    this.statement = statement;
    this.line = options.line;
  }
}

/** Error 500: another run holds the lock and did not finish in time. */
export class MigrationLockedError extends MigrationError {
  override readonly name: string = "MigrationLockedError";
}

/**
 * Error 500: planning rejected statements of the pending migrations. Nothing was run or written.
 * The error has all findings; its message lists the errors among them, one line each.
 *
 * @example
 * ```ts
 * import { MigrationPlanError } from "@trellis/fn/database/migrate";
 *
 * function report(error: unknown): void {
 *   if (!(error instanceof MigrationPlanError)) throw error;
 *   for (const { file, line, message } of error.findings) console.error(file, line, message);
 * }
 * console.log(report.name); // report
 * ```
 */
export class MigrationPlanError extends MigrationError {
  override readonly name: string = "MigrationPlanError";
  /** All findings of the plan, including warnings, in the order of the files. */
  readonly findings: readonly PlanFinding[];

  /**
   * @param findings Findings of the plan.
   */
  constructor(findings: readonly PlanFinding[]) {
    const refused = findings.filter(({ severity }) => severity === "error");
    const count = refused.length === 1 ? "1 statement" : `${refused.length} statements`;
    const lines = refused.map((finding) => `\n  ${formatPlanFinding(finding)}`).join("");
    const tag = refused[0]?.file?.replace(/\.sql$/, "");
    super(`Nothing was run: ${count} of the pending migrations cannot be run:${lines}`, { tag });
    this.findings = findings;
  }
}
