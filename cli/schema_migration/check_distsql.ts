import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { DistSqlOptions } from "../../distsql/translate/context/options.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { planMigrationFolder } from "../../database/migrations/plan_folder.ts";
import type { FileChange } from "../files/generated_files.ts";

/**
 * Finds what Aurora DSQL refuses in a planned migration, before the file is written.
 *
 * @param folder Absolute path of the migrations, which may be missing.
 * @param dir Path of the folder in the plan.
 * @returns The errors and warnings about the new file.
 */
export async function findRefused(
  folder: string,
  dir: string,
  changes: readonly FileChange[],
  translation: DistSqlOptions | undefined,
): Promise<PlanFinding[]> {
  const copy = mkdtempSync(join(tmpdir(), "trellis-migrations-"));
  try {
    if (existsSync(folder)) cpSync(folder, copy, { recursive: true });
    for (const { path, text = "" } of changes) {
      const file = join(copy, path.slice(dir.length));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    const names = new Set(changes.map(({ path }) => path.slice(dir.length + 1)));
    const { findings } = await planMigrationFolder(copy, "distsql", translation);
    return findings.filter(({ file }) => file !== undefined && names.has(file));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
