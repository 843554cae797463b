import type { CommandOption } from "../command.ts";
import { databaseOptions } from "./database_options.ts";

/** The options of every command about migrations. */
export function migrationOptions(): CommandOption[] {
  return [
    {
      name: "migrations",
      value: "folder",
      description: "The folder of the migrations; database.migrationsDir without it.",
    },
    ...databaseOptions(),
  ];
}
