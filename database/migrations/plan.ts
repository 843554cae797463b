import { compareTags, isSameButLineEndings, type MigrationFile, sortByTag } from "./files.ts";
import { MigrationError } from "./migration_error.ts";

/** A migration that the database has. */
export interface AppliedMigration {
  /** The migration. */
  tag: string;
  /** SHA-256 of the file when it was applied. */
  hash: string;
  /** When it was applied. */
  appliedAt: Date;
  /** `false` when it was marked as applied and not run. */
  executed: boolean;
}

/** Which migrations a database has and which it lacks. */
export interface MigrationStatus {
  /** What the database has, in order. */
  applied: AppliedMigration[];
  /** Tags of files that the database lacks, in order. */
  pending: string[];
  /** Tags of files that were changed after they had been applied. */
  changed: string[];
  /** Tags that the database has and the folder has not. */
  unknown: string[];
  /** What is not wrong but should be looked at, one sentence each. */
  warnings: string[];
  /**
   * Given by `getMigrationStatus`: migrations that began statement by statement and have not ended, because a run is at
   * work or one has failed. What PostgreSQL takes as one transaction is never among them.
   */
  unfinished?: {
    /** The migration. */
    tag: string;
    /** How many of its statements are done. */
    statementsDone: number;
    /** When something was last noted of it. */
    notedAt: Date;
  }[];
}

/**
 * Compares the files with what the database has. Changes nothing.
 *
 * @param files The folder's files.
 * @param applied The rows of the tracking table.
 * @returns What is applied, pending, changed and unknown.
 */
export function planMigrations(
  files: readonly MigrationFile[],
  applied: readonly AppliedMigration[],
): MigrationStatus {
  const rows = sortByTag(applied, ({ tag }) => tag);
  const byTag = new Map(rows.map((row) => [row.tag, row]));
  const tags = new Set(files.map(({ tag }) => tag));
  const pending = files.filter(({ tag }) => !byTag.has(tag)).map(({ tag }) => tag);
  const changed: string[] = [];
  const warnings: string[] = [];
  for (const file of files) {
    const row = byTag.get(file.tag);
    if (row === undefined || row.hash === file.hash) continue;
    if (!isSameButLineEndings(file.sql, row.hash)) changed.push(file.tag);
    else warnings.push(`${file.tag}.sql has other line endings than when it was applied`);
  }
  const unknown = rows.filter(({ tag }) => !tags.has(tag)).map(({ tag }) => tag);
  if (unknown.length > 0) {
    warnings.push(`the database has migrations that the folder has not: ${unknown.join(", ")}`);
  }
  const last = rows.at(-1)?.tag;
  const late = pending.filter((tag) => last !== undefined && compareTags(tag, last) < 0);
  if (late.length > 0) {
    warnings.push(`to be run after ${last}, although their numbers are lower: ${late.join(", ")}`);
  }
  warnings.push(...findGaps(files));
  return { applied: rows, pending, changed, unknown, warnings };
}

/** Numbers that count one by one; a time stamp as number leaves gaps by its nature. */
function findGaps(files: readonly MigrationFile[]): string[] {
  const numbers = files.map(({ tag }) => Number(/^\d+/.exec(tag)?.[0]));
  const warnings: string[] = [];
  for (let i = 1; i < numbers.length; i++) {
    const [before, after] = [numbers[i - 1], numbers[i]];
    if (after < 100_000 && after - before > 1) {
      warnings.push(`no file has a number between ${files[i - 1].tag} and ${files[i].tag}: is one missing?`);
    }
  }
  return warnings;
}

/**
 * Refuses to go on when a file was changed after it had been applied.
 *
 * @throws {MigrationError} Names the files and the fix.
 */
export function assertNothingChanged(status: MigrationStatus): void {
  if (status.changed.length === 0) return;
  const names = status.changed.map((tag) => `${tag}.sql`).join(", ");
  throw new MigrationError(
    `${names} changed after being applied: restore what was applied and put the change into a new migration`,
    { tag: status.changed[0] },
  );
}
