import type { AppliedMigration } from "../../database/migrations/plan.ts";
import { MigrationError } from "../../database/migrations/migration_error.ts";
import { findMigrationPath, readMigrationFile } from "../../database/migrations/files.ts";
import { getMigrationStatus } from "../../database/migrations/status.ts";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { withSession } from "../../database/providers/client.ts";
import type { SqlSession } from "../../sql/session.ts";
import { GENERATED_HEAD } from "../schema_migration/difference.ts";
import { runProgram } from "../programs/run_program.ts";
import { findRisks } from "../schema_migration/statement_risks.ts";

/** Migrations that `trellis dev` applies only after a confirmation. */
export interface HeldMigrations {
  readonly files: readonly HeldFile[];
  /** True if applied files have changed, so that the local database has to be built again. */
  readonly isRebuild: boolean;
}

/** A migration that is held, or why the others are. */
export interface HeldFile {
  /** The file's name. */
  readonly file: string;
  /** Why it is held, one line each; empty for a file that waits for another one. */
  readonly reasons: readonly string[];
}

/** Options of {@link findHeld}. */
export interface HeldOptions {
  readonly target: MigrationTarget;
  /** True while the server runs: a generated file is then held until it was read. */
  readonly isRunning: boolean;
  /** True if the database can be built again with its rows. */
  readonly canRebuild: boolean;
}

/**
 * Finds what must be confirmed before pending migrations are applied: statements that lose data or
 * fail on present rows, new generated files, and changes of files that only the local database has.
 *
 * @returns The files; `undefined` if the pending migrations can be applied.
 * @throws {MigrationError} If the folder is invalid, or a file has changed that other databases may
 * have, or that cannot be applied again.
 */
export async function findHeld(options: HeldOptions): Promise<HeldMigrations | undefined> {
  const { target, isRunning, canRebuild } = options;
  const getFile = (tag: string) => findMigrationPath(target.migrationsFolder, tag);
  const { applied, pending, changed, unknown, unlisted } = await getMigrationStatus(target);
  const removed = unknown.filter((tag) => !unlisted.includes(tag));
  const replaced = canRebuild && pending.length > 0 ? removed : [];
  if (changed.length > 0 && !canRebuild) return undefined; // the run names them
  await assertLocal(target.migrationsFolder, changed);
  if (changed.length > 0 || replaced.length > 0) {
    return {
      isRebuild: true,
      files: [
        ...changed.map((tag) => toHeld(getFile(tag), "has changed since it was applied")),
        ...replaced.map((tag) =>
          toHeld(getFile(tag), "is applied, and the folder no longer contains it")
        ),
      ],
    };
  }
  if (pending.length === 0) return undefined;
  const files = await withSession(target.database, (session) => {
    const work = pending.map((tag) =>
      describePending(tag, { target, isRunning, applied, session })
    );
    return Promise.all(work);
  });
  return files.some(({ reasons }) => reasons.length > 0) ? { files, isRebuild: false } : undefined;
}

function toHeld(file: string, ...reasons: string[]): HeldFile {
  return { file, reasons };
}

interface PendingContext extends Pick<HeldOptions, "target" | "isRunning"> {
  readonly applied: readonly AppliedMigration[];
  readonly session: SqlSession;
}

async function describePending(tag: string, context: PendingContext): Promise<HeldFile> {
  const { target, isRunning, applied, session } = context;
  const { sql, path } = readMigrationFile(target.migrationsFolder, tag);
  const reasons: string[] = [];
  if (isRunning && sql.startsWith(`-- ${GENERATED_HEAD}`)) {
    reasons.push("new and generated: read it");
  }
  // a new database has nothing to lose
  for (const { line, statement, risk, table } of applied.length === 0 ? [] : findRisks(sql)) {
    if (await hasRows(session, table)) reasons.push(`line ${line}: ${statement}: ${risk}`);
  }
  return toHeld(path, ...reasons);
}

/** Returns true also for an unknown table. */
async function hasRows(session: SqlSession, table: string | undefined): Promise<boolean> {
  if (table === undefined) return true;
  const [{ known }] = await session.query("SELECT to_regclass($1) IS NOT NULL AS known", [table]);
  if (known !== true && known !== "t") return false;
  return (await session.query(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0;
}

/**
 * Checks that no other database can have applied files. Evidence is a remote branch of git with the
 * file: what was pushed may be deployed.
 */
async function assertLocal(folder: string, changed: readonly string[]): Promise<void> {
  for (const tag of changed) {
    const path = findMigrationPath(folder, tag);
    const args = ["log", "--remotes", "--max-count=1", "--format=%h", "--", path];
    const { exitCode, stdout } = await runProgram("git", args, { cwd: folder });
    if (exitCode !== 0 || stdout.trim() === "") continue;
    throw new MigrationError(
      `${path} has changed since it was applied, and it was pushed (commit ${stdout.trim()}), ` +
        "so other databases may have it: restore it, and put the change into a new migration",
      { tag },
    );
  }
}

/** Renders what is held for the terminal. */
export function renderHeld({ files, isRebuild }: HeldMigrations): string {
  const lines = files.flatMap(({ file, reasons }) => [
    `    ${file}${reasons.length === 1 && isRebuild ? ` ${reasons[0]}` : ""}`,
    ...isRebuild ? [] : reasons.map((reason) => `        ${reason}`),
  ]);
  return [isRebuild ? REBUILD : APPLY, ...lines].join("\n");
}

const APPLY = "Migrations are not applied until you confirm them:";
const REBUILD = "The local database differs from the migrations. After you confirm, it is built " +
  "again from them with the rows that still fit. If another database has these migrations, " +
  "restore the files instead:";
