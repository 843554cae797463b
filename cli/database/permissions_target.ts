import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { CommandContext, CommandOption } from "../terminal/command.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { requireDatabase } from "./database_target.ts";
import type { DatabaseTarget } from "./to_database_target.ts";

/** The option of commands that read permission files. */
export const PERMISSIONS_OPTION: CommandOption = {
  name: "permissions",
  value: "folder",
  description: "The folder of the permission files. Default: permissions.dir.",
};

/**
 * Finds the permission files of a project and the database of a command.
 *
 * @throws {ConfigurationError} If the folder or the database is missing.
 */
export async function findPermissions(
  context: CommandContext,
): Promise<{ readonly permissionsFolder: string; readonly target: DatabaseTarget }> {
  const { options, root } = context;
  const config = await readProjectConfig(context);
  const folder = (options.permissions as string | undefined) ?? config.permissions.dir;
  const permissionsFolder = resolve(root, folder);
  if (!existsSync(permissionsFolder)) {
    throw new ConfigurationError(
      `The folder ${folder} does not exist: run trellis generate permissions, or use --permissions`,
    );
  }
  const target = requireDatabase({ options, settings: config.database, env: process.env, root });
  return { permissionsFolder, target };
}
