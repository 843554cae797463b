import { compareTags } from "./files.ts";
import type { MigrationFolder } from "./folder.ts";
import { JOURNAL_FILE } from "./journal.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";

/**
 * Finds the files that the journal does not list.
 *
 * @param folder The folder.
 * @param applied Tags of the applied migrations.
 */
export function findUnlisted(
  { unlisted }: MigrationFolder,
  applied: ReadonlySet<string>,
): PlanFinding[] {
  return unlisted.map((tag) => ({
    severity: "warning",
    rule: "migration-unlisted",
    file: `${tag}.sql`,
    message: applied.has(tag)
      ? `is applied, but ${JOURNAL_FILE} does not list it: a new database would not get it`
      : `is not listed in ${JOURNAL_FILE}, so it is never run`,
    advice:
      "Restore its entry in the journal, which a merge may have removed, or delete the file. " +
      "To add custom SQL, create the file with drizzle-kit generate --custom.",
  }));
}

/** Reports an applied file that differs only in its line endings. */
export function findLineEndings(tag: string): PlanFinding {
  return {
    severity: "warning",
    rule: "migration-line-endings",
    file: `${tag}.sql`,
    message: "has other line endings than when it was applied",
    advice: "It is not run again. Configure version control to keep line endings unchanged.",
  };
}

/** Finds applied migrations that the folder does not contain. */
export function findMissing(missing: readonly string[]): PlanFinding[] {
  if (missing.length === 0) return [];
  return [{
    severity: "warning",
    rule: "migration-missing",
    message: `the database has migrations that the folder does not contain: ${missing.join(", ")}`,
    advice: "Restore the files, or check that this is the right database.",
  }];
}

/** Finds pending migrations that come before an applied one. */
export function findLate(
  { files, hasJournal }: MigrationFolder,
  applied: readonly string[],
  pending: readonly string[],
): PlanFinding[] {
  const places = new Map(files.map(({ tag }, place) => [tag, place]));
  const last = hasJournal ? applied.findLast((tag) => places.has(tag)) : applied.at(-1);
  if (last === undefined) return [];
  const isBefore = (tag: string): boolean =>
    hasJournal ? places.get(tag)! < places.get(last)! : compareTags(tag, last) < 0;
  const late = pending.filter(isBefore);
  if (late.length === 0) return [];
  const order = hasJournal ? "the journal lists them before it" : "their numbers are lower";
  return [{
    severity: "warning",
    rule: "migration-late",
    message: `will run after ${last}, although ${order}: ${late.join(", ")}`,
    advice: "Check that the result does not depend on the order: a new database runs them in the " +
      "listed order.",
  }];
}

/**
 * Finds missing numbers before pending files. Timestamps always leave gaps, and a journal lists its
 * files explicitly.
 *
 * @param pending Tags of the pending files; default: all.
 */
export function findGaps(
  { files, hasJournal }: MigrationFolder,
  pending: readonly string[] = files.map(({ tag }) => tag),
): PlanFinding[] {
  if (hasJournal) return [];
  const numbers = files.map(({ tag }) => Number(/^\d+/.exec(tag)?.[0]));
  const findings: PlanFinding[] = [];
  for (let i = 1; i < numbers.length; i++) {
    const [before, after] = [numbers[i - 1], numbers[i]];
    const isApplied = !pending.includes(files[i].tag);
    if (after >= 100_000 || after - before <= 1 || isApplied) continue;
    findings.push({
      severity: "warning",
      rule: "migration-gap",
      message: `no file has a number between ${files[i - 1].tag} and ${files[i].tag}: ` +
        "a file may be missing",
      advice: "Restore the file, if there was one.",
    });
  }
  return findings;
}
