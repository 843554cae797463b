import type { CommandOption } from "../command.ts";

/** Prefix of the options of a database; `clone` has two databases. */
export type DatabaseSide = "" | "from-" | "to-";

/** Returns the options that select a database. */
export function databaseOptions(side: DatabaseSide = ""): CommandOption[] {
  const owner = side === "from-" ? "source's " : side === "to-" ? "target's " : "";
  return [
    {
      name: `${side}url-env`,
      value: "variable",
      description: `The environment variable with the ${owner}connection string. Default: ${
        getEnvironmentPrefix(side)
      }URL.`,
    },
    {
      name: `${side}endpoint`,
      value: "host",
      description: `The ${owner}host name, for Aurora DSQL.`,
    },
    {
      name: `${side}folder`,
      value: "folder",
      description: `The ${owner}folder, for an embedded database.`,
    },
    {
      name: `${side}provider`,
      value: "name",
      description: "postgres, distsql, serverless-pg, branching-pg or embedded-pg. " +
        "Default: derived from the options above.",
    },
    {
      name: `${side}region`,
      value: "region",
      description: "Aurora DSQL: the AWS region, if the endpoint does not contain it.",
    },
    {
      name: `${side}username`,
      value: "role",
      description: "Aurora DSQL: the database role. Default: admin.",
    },
    {
      name: `${side}ca-file`,
      value: "file",
      description: "PEM file with additional certificate authorities.",
    },
  ];
}

/** Returns the prefix of the environment variables of a database. */
export function getEnvironmentPrefix(side: DatabaseSide): string {
  return side === "to-" ? "TARGET_DATABASE_" : "DATABASE_";
}
