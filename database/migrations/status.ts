import { readMigrationFolder } from "./folder.ts";
import { nameTables, readApplied, readUnfinished } from "./history.ts";
import { type MigrationStatus, planMigrations } from "./plan.ts";
import { planOnDatabase } from "./plan_on_database.ts";
import type { MigrationTarget } from "./run.ts";
import { withSession } from "../providers/client.ts";

/**
 * Returns the state of a database's migrations: applied, pending, changed since, unfinished, and
 * the findings about the pending ones. Changes nothing.
 *
 * @param target Folder and database.
 * @returns The comparison.
 * @throws {MigrationError} If the folder is invalid.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient } from "@trellis/fn/database";
 * import { getMigrationStatus } from "@trellis/fn/database/migrate";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const migrationsFolder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${migrationsFolder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY);");
 * const status = await getMigrationStatus({ migrationsFolder, database: { provider: "embedded-pg" } });
 * console.log(status.pending); // ["0001_notes"]
 * await closeDrizzleClient();
 * ```
 */
export async function getMigrationStatus(target: MigrationTarget): Promise<MigrationStatus> {
  const tables = nameTables(target.migrationsTable, target.migrationsSchema);
  const folder = readMigrationFolder(target.migrationsFolder);
  return await withSession(target.database, async (session) => {
    const status = planMigrations(folder, await readApplied(session, tables) ?? []);
    const settings = { provider: target.database.provider, translation: target.translation ?? {} };
    const { findings, warnings } = await planOnDatabase(folder, status, settings, session, tables);
    return { ...status, findings, warnings, unfinished: await readUnfinished(session, tables) };
  });
}
