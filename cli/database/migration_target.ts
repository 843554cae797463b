import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import type { MigrationTarget } from "../../database/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import type { CommandContext } from "../command.ts";
import { readConfig } from "../analysis/read_config.ts";
import { requireDatabase } from "./database_target.ts";

/** A project's migrations and their database. */
export interface ProjectMigrations {
  readonly target: MigrationTarget;
  /** The database, as it may be printed. */
  readonly label: string;
}

/**
 * The migrations that a command is about.
 *
 * @param context The command line.
 * @returns Folder, tables and database.
 * @throws {ConfigurationError} When the folder is not there, or nothing names a database.
 */
export function findMigrations({ options, root }: CommandContext): ProjectMigrations {
  const settings = readConfig(root, options.config as string | undefined).database;
  const folder = (options.migrations as string | undefined) ?? settings.migrationsDir;
  const migrationsFolder = resolve(root, folder);
  if (!existsSync(migrationsFolder)) {
    throw new ConfigurationError(
      `There is no folder ${folder}: set database.migrationsDir in trellis.config.ts, or give --migrations`,
    );
  }
  const { config, label } = requireDatabase({ options, settings, env: process.env, root });
  const { migrationsTable, migrationsSchema } = settings;
  return { target: { migrationsFolder, database: config, migrationsTable, migrationsSchema }, label };
}
