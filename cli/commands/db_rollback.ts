import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { migrationOptions } from "../database/database_options.ts";
import { confirmRemote, YES_OPTION } from "../database/confirm_remote.ts";
import { count } from "../terminal/generated_report.ts";
import { logProgress } from "./db_migrate.ts";

/** The command `trellis db rollback`. */
export const dbRollback: Command = {
  name: "db rollback",
  summary: "Takes back the last migration, or all after another one.",
  description: [
    "Plans the way back on an embedded PostgreSQL in memory: the database before the migrations is the\n" +
    "target, and the statements run there first. On PostgreSQL they are one transaction together with\n" +
    "the records of the migrations, unless a filled table needs an online form.",
    "Run an interrupted rollback again with the same --to, which continues it. Without --to, a rollback\n" +
    "that was complete takes back one more migration.",
    "Columns and tables that the migrations have dropped come back with their rows if they were applied\n" +
    "with db migrate --retain. What the migrations have added is not deleted: its values stay under\n" +
    "another name until a later db migrate --retain.",
    "Refuses before it starts what cannot come back, object by object: values that a migration has\n" +
    "dropped or changed, and objects that differ from those of the migrations.",
  ],
  options: [
    {
      name: "to",
      value: "migration",
      description: "The last migration that stays, such as 0012_tags. Default: the one before " +
        "the last.",
    },
    { name: "dry-run", description: "Print the statements and write nothing." },
    YES_OPTION,
    ...migrationOptions(),
  ],
  examples: [
    ["trellis db rollback --dry-run", "what the last migration takes back"],
    ["trellis db rollback --to 0012_tags", "all migrations after 0012_tags"],
  ],
  exitCodes: {
    [ExitCode.Found]: "Something cannot come back, and nothing was run.",
    [ExitCode.Failed]: "It could not run, or a statement failed: the message names it.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const [{ findMigrations }, { planDatabaseRollback }, { runMigrationFolder }, { withDatabase }] =
    await Promise.all([
      import("../database/migration_target.ts"),
      import("../database/rollback.ts"),
      import("../../database/migrations/run.ts"),
      import("../database/reaching.ts"),
    ]);
  const { target, label } = await findMigrations(context);
  const database = { config: target.database, label };
  return await withDatabase(database, async () => {
    const plan = await planDatabaseRollback(target, options.to as string | undefined);
    const { tags, statements, kept, problems } = plan;
    const isRefused = problems.length > 0;
    for (const problem of problems) output.error(problem);
    if (options["dry-run"] === true) {
      for (const statement of statements) output.line(`${statement};`);
    }
    const isRun = !isRefused && options["dry-run"] !== true && tags.length > 0;
    if (isRun) {
      await confirmRemote(context, `Roll back ${count(tags.length, "migration")}`, {
        Target: database,
      });
      const logger = (message: string) => logProgress(output, message);
      await runMigrationFolder({ ...target, logger }, () => plan.folder);
      output.endProgress();
      for (const { label, name } of kept) output.line(`${output.yellow("kept")} ${label}: ${name}`);
    }
    const words = tags.length === 0
      ? "nothing to roll back"
      : isRun
      ? output.green(`${tags.join(", ")} rolled back`)
      : `${tags.join(", ")} to roll back, nothing was run`;
    const summary = `${output.bold(label)}: ${words}`;
    output.line(summary);
    const exitCode = isRefused ? ExitCode.Found : ExitCode.Done;
    return { exitCode, summary, database: label, migrations: tags, statements, kept, problems };
  });
}
