import type { CommandOption } from "../terminal/command.ts";

/** Prefix of the options of a database; `clone` has two databases. */
export type DatabaseSide = "" | "from-" | "to-";

/** Returns the options that select a database. */
export function databaseOptions(side: DatabaseSide = ""): CommandOption[] {
  const owner = side === "from-" ? "source's " : side === "to-" ? "target's " : "";
  const options: [name: string, value: string, description: string][] = [
    [
      "url-env",
      "variable",
      `The environment variable with the ${owner}connection string. Default: ${
        getEnvironmentPrefix(side)
      }URL.`,
    ],
    ["endpoint", "host", `The ${owner}host name, for Aurora DSQL.`],
    ["folder", "folder", `The ${owner}folder, for an embedded database.`],
    [
      "provider",
      "name",
      "postgres, distsql, serverless-pg, branching-pg or embedded-pg. Default: by the " +
      "options above.",
    ],
    ["region", "region", "Aurora DSQL: the region, if the endpoint does not contain it."],
    ["username", "role", "Aurora DSQL: the database role. Default: admin."],
    ["ca-file", "file", "PEM file with additional certificate authorities."],
  ];
  return options.map(([name, value, description]) => ({
    name: `${side}${name}`,
    value,
    description,
  }));
}

/** Returns the prefix of the environment variables of a database. */
export function getEnvironmentPrefix(side: DatabaseSide): string {
  return side === "to-" ? "TARGET_DATABASE_" : "DATABASE_";
}

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
