import type { MigrationFile } from "./files.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";

/** Beginning of a line that names a migration which the file replaces, with its hash. */
export const SQUASHED = "-- trellis: squashes ";

const LINE = /^-- trellis: squashes (\S+) ([0-9a-f]{64})\r?$/gm;

/**
 * Returns the migrations that a squashed file replaces: hashes by tags. Empty for another file.
 *
 * @param file The file.
 */
export function readSquashed({ sql }: Pick<MigrationFile, "sql">): ReadonlyMap<string, string> {
  if (!sql.includes(SQUASHED)) return new Map();
  return new Map([...sql.matchAll(LINE)].map(([, tag, hash]) => [tag, hash]));
}

/** Reports a squashed file on a database that has only a part of what it replaces. */
export function findPartlySquashed(
  files: readonly MigrationFile[],
  hashes: ReadonlyMap<string, string>,
): PlanFinding[] {
  return files.flatMap((file): PlanFinding[] => {
    const replaced = [...readSquashed(file)];
    const missing = replaced.filter(([tag, hash]) => hashes.get(tag) !== hash);
    const isWhole = missing.length === 0 || replaced.every(([tag]) => !hashes.has(tag));
    if (hashes.has(file.tag) || isWhole) return [];
    return [{
      severity: "error",
      rule: "migration-squash",
      file: file.path,
      message: `replaces migrations of which the database lacks ${
        missing.map(([tag]) => tag).join(", ")
      }, or has others`,
      advice: "Restore the files, run trellis db migrate on this database, and squash again.",
    }];
  });
}
