import type { DatabaseProvider } from "../config.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import type { MigrationFile } from "./files.ts";
import { readMigrationFolder } from "./folder.ts";
import { planMigrations } from "./plan.ts";
import type { PlanFinding } from "./plan_finding.ts";
import { planOnEmpty } from "./plan_on_database.ts";

/** A folder of migrations, planned for a database that has none of them. */
export interface FolderPlan {
  /** The migrations, in the order in which they are applied. */
  files: MigrationFile[];
  /** Tags of files that drizzle-kit's journal does not list. They are never run. */
  unlisted: string[];
  /** Everything that is refused or behaves differently. */
  findings: PlanFinding[];
}

/**
 * Plans all migrations of a folder, without a database: what `runMigrations` would find on an empty one.
 *
 * @param migrationsFolder The folder's path.
 * @param provider Where the migrations are to run.
 * @param translation Choices of the translation for `distsql`.
 * @returns The files in their order, and the findings.
 * @throws {MigrationError} When the folder is not in order.
 *
 * @example
 * ```ts
 * import { planMigrationFolder } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const folder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${folder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY, tags text[]);");
 * const { findings } = planMigrationFolder(folder, "distsql");
 * console.log(findings.map(({ file, line, rule }) => `${file}:${line} ${rule}`)); // ["0001_notes.sql:1 type-array"]
 * ```
 */
export function planMigrationFolder(
  migrationsFolder: string,
  provider: DatabaseProvider,
  translation: DistSqlOptions = {},
): FolderPlan {
  const folder = readMigrationFolder(migrationsFolder);
  const { findings } = planOnEmpty(folder, planMigrations(folder, []), { provider, translation });
  return { files: folder.files, unlisted: folder.unlisted, findings };
}

/**
 * Checks a folder of migrations without looking at the statements: whether every file can be read, has its place in the
 * order, and is listed where there is a journal.
 *
 * @param migrationsFolder The folder's path.
 * @returns The files in their order, and the findings.
 * @throws {MigrationError} When the folder is not in order.
 *
 * @example
 * ```ts
 * import { checkMigrationFolder } from "@trellis/fn/database";
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
