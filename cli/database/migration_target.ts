import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import process from "node:process";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { CommandContext } from "../terminal/command.ts";
import { readConfig } from "../config/read_config.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { requireDatabase } from "./database_target.ts";
import { findDatabaseOrLocal } from "./local_database_target.ts";
import type { DatabaseTarget } from "./to_database_target.ts";

/** The migrations of a project and their database. */
export interface ProjectMigrations {
  readonly target: MigrationTarget;
  /** The printable name of the database. */
  readonly label: string;
  /** The folder, relative to the working directory. */
  readonly folder: string;
}

/**
 * Finds the migrations folder and the database of a command.
 *
 * @returns Folder, tables and database.
 * @throws {ConfigurationError} If the folder does not exist or no database is configured.
 */
export async function findMigrations(context: CommandContext): Promise<ProjectMigrations> {
  const { options, root } = context;
  const found = await findMigrationsFolder(context);
  const { settings } = found;
  return toMigrations(found, requireDatabase({ options, settings, env: process.env, root }));
}

/**
 * Finds the migrations and the database of a command, like {@link findMigrations}. Without a
 * configured database, it is the one of `trellis dev`.
 *
 * @returns Folder, tables and database. Call `release` when the database is closed: `trellis dev`
 * cannot start until then.
 * @throws {ConfigurationError} If there is no database, or `trellis dev` is running and uses it.
 */
export async function findMigrationsOrLocal(
  context: CommandContext,
): Promise<ProjectMigrations & { release(): void }> {
  const { options, root } = context;
  const found = await findMigrationsFolder(context);
  const { target, release } = findDatabaseOrLocal(
    { options, settings: found.settings, env: process.env, root },
    "trellis dev applies new migrations and reports their state: see its terminal, or stop it first",
  );
  return { ...toMigrations(found, target), release };
}

function toMigrations(
  { settings, migrationsFolder, folder }: ProjectMigrationsFolder,
  { config, label }: DatabaseTarget,
): ProjectMigrations {
  const { migrationsTable, migrationsSchema, translation } = settings;
  const target = {
    migrationsFolder,
    database: config,
    migrationsTable,
    migrationsSchema,
    translation,
  };
  return { target, label, folder };
}

/** The migrations folder of a project. */
export interface ProjectMigrationsFolder {
  readonly settings: ResolvedConfig["database"];
  /** Absolute path. */
  readonly migrationsFolder: string;
  /** Path relative to the working directory. */
  readonly folder: string;
}

/**
 * Finds the migrations folder of a project.
 *
 * @returns The folder and the settings.
 * @throws {ConfigurationError} If the folder does not exist.
 */
export async function findMigrationsFolder(
  { options, root, cwd }: CommandContext,
): Promise<ProjectMigrationsFolder> {
  const settings = (await readConfig(root, options.config as string | undefined)).database;
  const folder = (options.migrations as string | undefined) ?? settings.migrationsDir;
  const migrationsFolder = resolve(root, folder);
  if (!existsSync(migrationsFolder)) {
    throw new ConfigurationError(
      `The folder ${folder} does not exist: set ` +
        `database.migrationsDir in trellis.config.ts, or use --migrations`,
    );
  }
  return { settings, migrationsFolder, folder: relative(cwd, migrationsFolder) };
}
