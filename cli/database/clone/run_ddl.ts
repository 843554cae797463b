import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import { describeDriverError } from "../../../errors/driver_error.ts";
import type { DatabaseTarget } from "../to_database_target.ts";
import type { CloneOptions } from "../../config/clone.ts";
import type { DdlFile } from "./clone_ddl.ts";
import { getTranslation } from "./plan_clone.ts";
import { CLONE_SCHEMA } from "./read_catalog.ts";

/** Schema statements of a clone. */
export interface DdlRun {
  readonly target: DatabaseTarget;
  readonly options: CloneOptions;
  /** The files to run; their names and order never change. */
  readonly files: readonly DdlFile[];
  /** The number of the first file. */
  readonly from: number;
  /** Seconds after which a crashed run on DSQL is taken over. */
  readonly leaseSeconds: number;
  /** Called with the number of finished files. */
  readonly onProgress: (done: number, total: number) => void;
  readonly onMessage: (message: string) => void;
}

/**
 * Runs statements as migrations: they are translated if the provider requires it and recorded, so
 * that an interrupted clone continues at the same statement.
 *
 * @throws {MigrationError} If a statement fails.
 */
export async function runDdl(work: DdlRun): Promise<void> {
  const { target, options, files, from, leaseSeconds, onProgress, onMessage } = work;
  if (files.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), "trellis-clone-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    const tags = files.map(({ name, statements }, at) => {
      const tag = `${String(from + at).padStart(6, "0")}_${
        name.replaceAll(/[^A-Za-z0-9]+/g, "_").slice(0, 60) || "_"
      }`;
      writeFileSync(join(folder, `${tag}.sql`), `${statements.join(";\n")};\n`, { mode: 0o600 });
      return tag;
    });
    await runMigrations({
      migrationsFolder: folder,
      database: target.config,
      migrationsSchema: CLONE_SCHEMA,
      migrationsTable: "statements",
      lockTtlSeconds: leaseSeconds,
      translation: getTranslation(options),
      logger(message): void {
        const [tag] = message.split(":");
        const at = tags.indexOf(tag);
        if (at >= 0) onProgress(at + (/: applied in /.test(message) ? 1 : 0), files.length);
        else if (/^(?:waiting|another run)/.test(message)) onMessage(message);
      },
    });
  } catch (error) {
    throw error instanceof MigrationError ? describe(error, files, from) : error;
  } finally {
    process.removeListener("exit", remove);
    remove();
  }
}

/** Replaces the name of the temporary file in a message by the name of the object. */
function describe(error: MigrationError, files: readonly DdlFile[], from: number): MigrationError {
  const file = files[Number(/^\d+/.exec(error.tag ?? "")?.[0]) - from];
  if (file === undefined) return error;
  const why = describeDriverError(error.cause) ?? error.message;
  return new MigrationError(
    `The target rejected a statement for ${file.name} ` +
      `(${why}): fix the cause and continue with --resume`,
    { cause: error },
  );
}
