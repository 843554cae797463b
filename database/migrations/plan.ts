import { isSameButLineEndings, sortByTag } from "./files.ts";
import type { MigrationFolder } from "./folder.ts";
import {
  findGaps,
  findLate,
  findLineEndings,
  findMissing,
  findUnlisted,
} from "./folder_findings.ts";
import { MigrationError } from "./migration_error.ts";
import { describeFinding, type PlanFinding } from "./plan_finding.ts";

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
  /** Tags that the database has and the folder has not, or the journal does not list. */
  unknown: string[];
  /** Tags of files that drizzle-kit's journal does not list. They are never run. */
  unlisted: string[];
  /** What should be looked at; `getMigrationStatus` adds what planning finds in the pending files. */
  findings: PlanFinding[];
  /** The warnings among `findings`, one sentence each. */
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
 * Compares the folder with what the database has. Changes nothing.
 *
 * @param folder The folder's files.
 * @param applied The rows of the tracking table.
 * @returns What is applied, pending, changed and unknown.
 */
export function planMigrations(
  folder: MigrationFolder,
  applied: readonly AppliedMigration[],
): MigrationStatus {
  const { files, unlisted } = folder;
  const rows = sortRows(folder, applied);
  const byTag = new Map(rows.map((row) => [row.tag, row]));
  const tags = new Set(files.map(({ tag }) => tag));
  const pending = files.filter(({ tag }) => !byTag.has(tag)).map(({ tag }) => tag);
  const changed: string[] = [];
  const findings: PlanFinding[] = findUnlisted(folder, new Set(byTag.keys()));
  for (const file of files) {
    const row = byTag.get(file.tag);
    if (row === undefined || row.hash === file.hash) continue;
    if (isSameButLineEndings(file.sql, row.hash)) findings.push(findLineEndings(file.tag));
    else changed.push(file.tag);
  }
  const unknown = rows.filter(({ tag }) => !tags.has(tag)).map(({ tag }) => tag);
  const missing = unknown.filter((tag) => !unlisted.includes(tag));
  findings.push(
    ...findMissing(missing),
    ...findLate(folder, rows.map(({ tag }) => tag), pending),
    ...findGaps(folder),
  );
  return {
    applied: rows,
    pending,
    changed,
    unknown,
    unlisted,
    findings,
    warnings: findings.map(describeFinding),
  };
}

/** Rows in the folder's order; what the folder has not comes last where the journal gives the order. */
function sortRows(
  folder: MigrationFolder,
  applied: readonly AppliedMigration[],
): AppliedMigration[] {
  const rows = sortByTag(applied, ({ tag }) => tag);
  if (!folder.hasJournal) return rows;
  const places = new Map(folder.files.map(({ tag }, place) => [tag, place]));
  const getPlace = ({ tag }: AppliedMigration): number => places.get(tag) ?? places.size;
  return rows.sort((a, b) => getPlace(a) - getPlace(b));
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
