import type { DistSqlOptions } from "../../distsql/engine.ts";
import type { DatabaseProvider } from "../config/config.ts";
import type { MigrationFile } from "./files.ts";
import { readMigrationFolder } from "./folder.ts";
import { planMigrations } from "./plan.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { planOnEmpty } from "./plan_on_database.ts";

/** Plan of a folder of migrations for an empty database. */
export interface FolderPlan {
  /** Migrations, in the order of application. */
  files: MigrationFile[];
  /** Tags of files that drizzle-kit's journal does not list. They are never run. */
  unlisted: string[];
  /** All errors and warnings. */
  findings: PlanFinding[];
}

/**
 * Plans all migrations of a folder without a database: the findings are those of `runMigrations` on
 * an empty database.
 *
 * @param migrationsFolder The folder's path.
 * @param provider Target provider.
 * @param translation Translation options for `distsql`.
 * @returns The files in order, and the findings.
 * @throws {MigrationError} If the folder is invalid.
 *
 * @example
 * ```ts
 * import { planMigrationFolder } from "@trellis/fn/database/migrate";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const folder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${folder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY, tags text[]);");
 * const { findings } = await planMigrationFolder(folder, "distsql");
 * console.log(findings.map(({ file, line, rule }) => `${file}:${line} ${rule}`)); // ["0001_notes.sql:1 type-array"]
 * ```
 */
export async function planMigrationFolder(
  migrationsFolder: string,
  provider: DatabaseProvider,
  translation: DistSqlOptions = {},
): Promise<FolderPlan> {
  const folder = readMigrationFolder(migrationsFolder);
  const { findings } = await planOnEmpty(folder, planMigrations(folder, []), {
    provider,
    translation,
  });
  return { files: folder.files, unlisted: folder.unlisted, findings };
}

/**
 * Checks a folder of migrations without parsing the statements: every file can be read, has a place
 * in the order, and is listed in the journal if there is one.
 *
 * @param migrationsFolder The folder's path.
 * @returns The files in order, and the findings.
 * @throws {MigrationError} If the folder is invalid.
 *
 * @example
 * ```ts
 * import { checkMigrationFolder } from "@trellis/fn/database/migrate";
 * import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
 *
 * const folder = mkdtempSync("/tmp/migrations-");
 * mkdirSync(`${folder}/meta`);
 * writeFileSync(`${folder}/meta/_journal.json`, JSON.stringify({ entries: [{ tag: "0000_notes" }] }));
 * writeFileSync(`${folder}/0000_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY);");
 * writeFileSync(`${folder}/0000_tags.sql`, "CREATE TABLE tags (id int PRIMARY KEY);");
 * console.log(checkMigrationFolder(folder).unlisted); // ["0000_tags"]
 * ```
 */
export function checkMigrationFolder(migrationsFolder: string): FolderPlan {
  const folder = readMigrationFolder(migrationsFolder);
  const { findings } = planMigrations(folder, []);
  return { files: folder.files, unlisted: folder.unlisted, findings };
}
