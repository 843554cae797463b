import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import process from "node:process";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { CommandContext } from "../command.ts";
import { readConfig } from "../analysis/read_config.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { requireDatabase } from "./database_target.ts";

/** A project's migrations and their database. */
export interface ProjectMigrations {
  readonly target: MigrationTarget;
  /** The database, as it may be printed. */
  readonly label: string;
  /** The folder, relative to the working directory. */
  readonly folder: string;
}

/**
 * The migrations that a command is about.
 *
 * @param context The command line.
 * @returns Folder, tables and database.
 * @throws {ConfigurationError} When the folder is not there, or nothing names a database.
 */
export function findMigrations(context: CommandContext): ProjectMigrations {
  const { options, root } = context;
  const { settings, migrationsFolder, folder } = findMigrationsFolder(context);
  const { config, label } = requireDatabase({ options, settings, env: process.env, root });
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

/** The folder of a project's migrations. */
export interface ProjectMigrationsFolder {
  readonly settings: ResolvedConfig["database"];
  /** Its absolute path. */
  readonly migrationsFolder: string;
  /** Its path relative to the working directory. */
  readonly folder: string;
}

/**
 * Finds the folder of a project's migrations.
 *
 * @param context The command line.
 * @returns The folder, and the settings that name it.
 * @throws {ConfigurationError} When the folder is not there.
 */
export function findMigrationsFolder(
  { options, root, cwd }: CommandContext,
): ProjectMigrationsFolder {
  const settings = readConfig(root, options.config as string | undefined).database;
  const folder = (options.migrations as string | undefined) ?? settings.migrationsDir;
  const migrationsFolder = resolve(root, folder);
  if (!existsSync(migrationsFolder)) {
    throw new ConfigurationError(
      `There is no folder ${folder}: set database.migrationsDir in trellis.config.ts, or give --migrations`,
    );
  }
  return { settings, migrationsFolder, folder: relative(cwd, migrationsFolder) };
}
