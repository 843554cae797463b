import { readMigrationFolder } from "./folder.ts";
import { findUnlisted } from "./folder_findings.ts";
import { clearSteps, createTables, nameTables, readApplied, writeApplied } from "./history.ts";
import { JOURNAL_FILE } from "./journal.ts";
import { MigrationError } from "./migration_error.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import type { MigrationTarget } from "./run.ts";
import { runWithRetry } from "../session/retry.ts";
import { withSession } from "../providers/client.ts";

/** Options of {@link markMigrationApplied}. */
export interface MarkAppliedConfig extends MigrationTarget {
  /** Migration to mark: a file of the folder, with or without `.sql`. */
  tag: string;
}

/** Result of {@link markMigrationApplied}. */
export interface MarkAppliedResult {
  /** The migration. */
  tag: string;
  /** SHA-256 of its file. */
  hash: string;
  /** True if the same content was already recorded as applied; then nothing was written. */
  alreadyApplied: boolean;
  /** Files that drizzle-kit's journal does not list. */
  findings: PlanFinding[];
}

/**
 * Records a migration as applied without running it, after its changes were made by other means.
 * Deletes the records of an interrupted run of it.
 *
 * @param config Folder, database and migration.
 * @returns The recorded migration.
 * @throws {MigrationError} If the folder has no such file, or the database has it with a different
 * content.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, markMigrationApplied, runMigrations } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const migrationsFolder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${migrationsFolder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY);");
 * const target = { migrationsFolder, database: { provider: "embedded-pg" as const } };
 * await markMigrationApplied({ ...target, tag: "0001_notes" });
 * console.log((await runMigrations(target)).applied); // 0
 * await closeDrizzleClient();
 * ```
 */
export async function markMigrationApplied(config: MarkAppliedConfig): Promise<MarkAppliedResult> {
  const tables = nameTables(config.migrationsTable, config.migrationsSchema);
  const tag = config.tag.replace(/\.sql$/, "");
  const folder = readMigrationFolder(config.migrationsFolder);
  const { files, unlisted } = folder;
  const file = files.find((candidate) => candidate.tag === tag);
  if (file === undefined && unlisted.includes(tag)) {
    throw new MigrationError(
      `${tag}.sql is not listed in ${JOURNAL_FILE}: add its entry to the journal first`,
      {
        tag,
      },
    );
  }
  if (file === undefined) {
    const last = files.at(-1)?.tag;
    throw new MigrationError(
      `The folder has no file ${JSON.stringify(`${tag}.sql`)}: give the name ` +
        `of one of its ${files.length} files${last === undefined ? "" : `, such as ${last}`}`,
      { tag },
    );
  }
  return await withSession(config.database, async (session) => {
    await createTables(session, tables);
    const applied = await readApplied(session, tables) ?? [];
    const known = applied.find((row) => row.tag === tag);
    if (known !== undefined && known.hash !== file.hash) {
      throw new MigrationError(
        `${tag} was applied with a different content: restore the applied file and put the ` +
          "change into a new migration",
        { tag },
      );
    }
    if (known === undefined) {
      await runWithRetry(() =>
        session.transaction(async (tx) => {
          await tx.query(
            writeApplied(tables, {
              tag,
              hash: file.hash,
              statements: 0,
              durationMs: 0,
              executed: false,
            }),
          );
          await tx.query(clearSteps(tables, tag));
        }), {});
    }
    const findings = findUnlisted(folder, new Set(applied.map(({ tag }) => tag)));
    return { tag, hash: file.hash, alreadyApplied: known !== undefined, findings };
  });
}
