import { isSameButLineEndings, type MigrationFile, sortByTag } from "./files.ts";
import type { MigrationFolder } from "./folder.ts";
import {
  findGaps,
  findLate,
  findLineEndings,
  findMissing,
  findUnlisted,
} from "./folder_findings.ts";
import { findPartlySquashed, readSquashed } from "./squashed.ts";
import { MigrationError } from "./migration_error.ts";
import { describeFinding, type PlanFinding } from "../../sql/plan_finding.ts";

/** Applied migration. */
export interface AppliedMigration {
  /** The migration. */
  tag: string;
  /** SHA-256 of the file at the time of application. */
  hash: string;
  /** Time of application. */
  appliedAt: Date;
  /** `false` if it was marked as applied without running. */
  executed: boolean;
}

/** State of a database's migrations. */
export interface MigrationStatus {
  /** Applied migrations, in order. */
  applied: AppliedMigration[];
  /** Tags of files that are not applied, in order. */
  pending: string[];
  /** Tags of files that changed after they were applied. */
  changed: string[];
  /** Tags of applied migrations that the folder does not contain, or the journal does not list. */
  unknown: string[];
  /** Tags of files that drizzle-kit's journal does not list. They are never run. */
  unlisted: string[];
  /** Findings about the folder; `getMigrationStatus` adds those about the pending files. */
  findings: PlanFinding[];
  /** Warnings among `findings`, one sentence each. */
  warnings: string[];
  /**
   * Set by `getMigrationStatus`: migrations that run statement by statement and are not finished,
   * because a run is in progress or failed. Never contains migrations that PostgreSQL runs as one
   * transaction.
   */
  unfinished?: {
    /** The migration. */
    tag: string;
    /** Number of finished statements. */
    statementsDone: number;
    /** Time of the last record. */
    notedAt: Date;
  }[];
}

/** Beginning of the tags of runs that undo or clean up, and that no folder contains. */
export const INTERNAL = "__orm_";

/** Beginning of the tags of rollbacks. */
export const ROLLBACK = `${INTERNAL}rollback_`;

/**
 * Compares the folder with the database. Changes nothing.
 *
 * @param folder The folder's files.
 * @param applied Rows of the tracking table.
 * @returns Applied, pending, changed and unknown migrations.
 */
export function planMigrations(
  folder: MigrationFolder,
  applied: readonly AppliedMigration[],
): MigrationStatus {
  const { files, unlisted } = folder;
  const rows = sortRows(folder, applied.filter(({ tag }) => !tag.startsWith(INTERNAL)));
  const byTag = new Map(rows.map((row) => [row.tag, row]));
  const tags = new Set(files.map(({ tag }) => tag));
  const hashes = new Map(rows.map(({ tag, hash }) => [tag, hash]));
  const replaced = new Map(files.flatMap((file) => [...readSquashed(file)]));
  const isPending = (file: MigrationFile): boolean => {
    const squashed = [...readSquashed(file)];
    return !byTag.has(file.tag) &&
      (squashed.length === 0 || squashed.some(([tag, hash]) => hashes.get(tag) !== hash));
  };
  const pending = files.filter(isPending).map(({ tag }) => tag);
  const changed: string[] = [];
  const findings: PlanFinding[] = findUnlisted(folder, new Set(byTag.keys()));
  for (const file of files) {
    const row = byTag.get(file.tag);
    if (row === undefined || row.hash === file.hash) continue;
    if (isSameButLineEndings(file.sql, row.hash)) findings.push(findLineEndings(file.tag));
    else changed.push(file.tag);
  }
  const unknown = rows.filter(({ tag }) => !tags.has(tag) && !replaced.has(tag))
    .map(({ tag }) => tag);
  const missing = unknown.filter((tag) => !unlisted.includes(tag));
  findings.push(
    ...findMissing(missing),
    ...findLate(folder, rows.map(({ tag }) => tag), pending),
    ...findGaps(folder, pending),
    ...findPartlySquashed(files, hashes),
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

/**
 * Sorts rows in the folder's order. If a journal determines the order, unknown migrations come
 * last.
 */
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
 * Checks that no file changed after it was applied.
 *
 * @throws {MigrationError} If a file changed: names the files and the fix.
 */
export function assertNothingChanged(status: MigrationStatus): void {
  if (status.changed.length === 0) return;
  const names = status.changed.map((tag) => `${tag}.sql`).join(", ");
  throw new MigrationError(
    `${names} changed after being applied: restore the applied content and put the change ` +
      "into a new migration",
    { tag: status.changed[0] },
  );
}

/**
 * Checks that no rollback is interrupted, whose database is between two states, and that the file of
 * each migration that has begun is there: under another name its first statements would run again.
 *
 * @param begun Tags of the migrations that have begun and not ended.
 * @param tags Tags of the migrations that are planned.
 * @throws {MigrationError} If another rollback has begun, or a file is missing.
 */
export function assertNoneBegun(begun: Iterable<string>, tags: readonly string[]): void {
  for (const tag of begun) {
    if (tags.includes(tag)) continue;
    if (tag.startsWith(ROLLBACK)) {
      throw new MigrationError(
        "A rollback of this database was interrupted: run trellis db rollback again with the same --to",
      );
    }
    if (tag.startsWith(INTERNAL)) continue;
    throw new MigrationError(
      `${tag} has begun in this database, and the folder does not contain it: restore its file under ` +
        `this name and run the migrations again, or record it: trellis db mark-applied ${tag}`,
      { tag },
    );
  }
}
