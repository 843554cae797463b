import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";

/** Migrations by what needs the tables; each module is loaded when its SQL is printed. */
const MIGRATIONS: Readonly<Record<string, () => Promise<string>>> = {
  changes: async () => (await import("../../jobs/changes/migration.ts")).CHANGES_MIGRATION_SQL,
  connections: async () => (await import("../../realtime/migration.ts")).SUBSCRIPTION_MIGRATION_SQL,
  idempotency: async () =>
    (await import("../../idempotency/migration.ts")).IDEMPOTENCY_MIGRATION_SQL,
  jobs: async () => (await import("../../jobs/migration.ts")).JOBS_MIGRATION_SQL,
  "rate-limits": async () =>
    (await import("../../database/rate_limits/migration.ts")).RATE_LIMIT_MIGRATION_SQL,
  workflows: async () => (await import("../../workflows/migration.ts")).WORKFLOWS_MIGRATION_SQL,
};

const FEATURES = Object.keys(MIGRATIONS);

/** The command `trellis db tables`. */
export const dbTables: Command = {
  name: "db tables",
  summary: "Prints the migration with the tables of a feature of this package.",
  description: [
    "The SQL is for PostgreSQL. trellis db migrate translates it for Aurora DSQL like any other\n" +
    "migration. With drizzle-kit, write it into the file " +
    "that drizzle-kit generate --custom creates.",
    "The tables of accounts come from trellis generate auth-schema.",
  ],
  args: [{ name: "feature", description: `One of ${FEATURES.join(", ")}.` }],
  options: [],
  examples: [
    ["trellis db tables jobs > migrations/0002_jobs.sql", "background jobs and mails"],
    [
      "trellis db tables workflows > migrations/0003_workflows.sql",
      "workflows, which need jobs too",
    ],
    ["trellis db tables idempotency", "stores of idempotency in the database"],
  ],
  exitCodes: { [ExitCode.Usage]: "The command line is invalid, or there is no such feature." },
  run,
};

async function run({ args: [feature], output }: CommandContext): Promise<CommandResult> {
  if (!Object.hasOwn(MIGRATIONS, feature)) {
    throw new UsageError(`${feature} has no tables: write one of ${FEATURES.join(", ")}`);
  }
  const sql = await MIGRATIONS[feature]();
  output.line(sql.trimEnd());
  return { exitCode: ExitCode.Done, feature, sql };
}
