import type { CommandOption } from "../terminal/command.ts";
import { databaseOptions } from "./database_options.ts";

/** Returns the options of all commands for migrations. */
export function migrationOptions(): CommandOption[] {
  return [
    {
      name: "migrations",
      value: "folder",
      description: "The migrations folder. Default: database.migrationsDir.",
    },
    ...databaseOptions(),
  ];
}
