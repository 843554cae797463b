import type { CommandOption } from "../command.ts";

/** Which of a command's databases options are about; `clone` has two. */
export type DatabaseSide = "" | "from-" | "to-";

/**
 * The options that name a database.
 *
 * @param side What stands before their names.
 */
export function databaseOptions(side: DatabaseSide = ""): CommandOption[] {
  const of = side === "from-" ? "source's " : side === "to-" ? "target's " : "";
  return [
    {
      name: `${side}url-env`,
      value: "variable",
      description: `The environment variable with the ${of}connection string; ${
        getEnvironment(side)
      }URL without it.`,
    },
    { name: `${side}endpoint`, value: "host", description: `The ${of}host name, for Aurora DSQL.` },
    {
      name: `${side}folder`,
      value: "folder",
      description: `The ${of}folder, for an embedded database.`,
    },
    {
      name: `${side}provider`,
      value: "name",
      description:
        "distsql, serverless-pg, branching-pg or embedded-pg; told from the above without it.",
    },
    {
      name: `${side}region`,
      value: "region",
      description: "Aurora DSQL: where the endpoint does not tell it.",
    },
    {
      name: `${side}username`,
      value: "role",
      description: "Aurora DSQL: the database role; admin without it.",
    },
    {
      name: `${side}ca-file`,
      value: "file",
      description: "PEM file of certificate authorities to trust beside the system's.",
    },
  ];
}

/** The start of the environment variables that name a database. */
export function getEnvironment(side: DatabaseSide): string {
  return side === "to-" ? "TARGET_DATABASE_" : "DATABASE_";
}
