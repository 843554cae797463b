import { type Command, type CommandContext, ExitCode } from "../command.ts";

/** The command `trellis jobs migration`. */
export const jobsMigration: Command = {
  name: "jobs migration",
  summary: "Prints the migration that creates the table of background jobs.",
  description: [
    "The SQL is for PostgreSQL. trellis db migrate translates it for Aurora DSQL like any other\n" +
    "migration. With drizzle-kit, write it into the file " +
    "that drizzle-kit generate --custom creates.",
  ],
  options: [],
  examples: [["trellis jobs migration > migrations/0002_jobs.sql", "a new migration"]],
  exitCodes: {
    [ExitCode.Done]: "The SQL is printed.",
    [ExitCode.Usage]: "The command line is invalid.",
    [ExitCode.Failed]: "The SQL could not be printed.",
  },
  run,
};

async function run({ output }: CommandContext): Promise<ExitCode> {
  const { JOBS_MIGRATION_SQL } = await import("../../jobs/migration.ts");
  output.line(JOBS_MIGRATION_SQL.trimEnd());
  output.result({ command: "jobs migration", exitCode: ExitCode.Done, sql: JOBS_MIGRATION_SQL });
  return ExitCode.Done;
}
