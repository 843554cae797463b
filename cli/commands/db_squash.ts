import { checkMigrationName } from "../auth_schema/migration_file.ts";
import { applyGeneratedFiles, toProjectPath } from "../files/generated_files.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { count } from "../terminal/generated_report.ts";

/** The command `trellis db squash`. */
export const dbSquash: Command = {
  name: "db squash",
  summary: "Replaces the first migrations by one file.",
  description: [
    "Applies the migrations to an embedded PostgreSQL in memory, writes the statements that create its\n" +
    "objects, and runs them in a second one. Nothing is written unless both have the same objects.",
    "The file names the migrations that it replaces. A database that has applied all of them takes it as\n" +
    "applied, and a new database runs it. One that has only some of them is refused: run db migrate there\n" +
    "before you squash.",
  ],
  args: [{ name: "name", description: "Name of the file, such as start." }],
  options: [
    {
      name: "to",
      value: "migration",
      description: "The last migration to replace, such as 0012_tags. Default: the last one.",
    },
    { name: "dry-run", description: "Print the file and write nothing." },
    {
      name: "migrations",
      value: "folder",
      description: "The migrations folder. Default: database.migrationsDir.",
    },
  ],
  examples: [["trellis db squash start --to 0040_tags", "one file in place of the first forty"]],
  exitCodes: {
    [ExitCode.Found]: "One file cannot create the same database, and nothing was written.",
    [ExitCode.Failed]: "It could not run: a migration fails, or the folder has a journal.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { args: [name], options, output, root } = context;
  checkMigrationName(name);
  const [{ findMigrationsFolder }, { readMigrationFolder }, { planSquash }] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../../database/migrations/folder.ts"),
    import("../schema_migration/plan_squash.ts"),
  ]);
  const { migrationsFolder } = await findMigrationsFolder(context);
  const { files, hasJournal } = readMigrationFolder(migrationsFolder);
  if (hasJournal) {
    throw new ConfigurationError(
      "The folder has a journal of drizzle-kit, whose snapshots belong to its files: it cannot be " +
        "squashed",
    );
  }
  const { to = files.at(-1)?.tag } = options;
  const at = files.findIndex(({ tag }) => tag === to || `${tag}.sql` === to);
  if (at < 1) throw new UsageError(`--to must name a migration after the first one, got ${to}`);
  const replaced = files.slice(0, at + 1);
  const plan = await output.step("Comparing the databases", () => planSquash(replaced));
  for (const problem of plan.problems) output.error(problem);
  const tag = `${/^\d+/.exec(replaced[at].tag)}_${name}`;
  const dir = toProjectPath(root, migrationsFolder);
  const changes = [
    ...replaced.filter((file) => file.path !== `${tag}.sql`)
      .map(({ path }) => ({ path: `${dir}/${path}`, change: "removed" as const })),
    { path: `${dir}/${tag}.sql`, change: "created" as const, text: plan.sql },
  ];
  const isRefused = plan.problems.length > 0;
  if (options["dry-run"] === true) output.line(plan.sql.trimEnd());
  else if (!isRefused) applyGeneratedFiles(root, changes);
  const isWritten = !isRefused && options["dry-run"] !== true;
  const summary = `${count(replaced.length, "migration")} in ${tag}.sql: ${
    isWritten ? output.green("written") : "nothing was written"
  }`;
  output.line(summary);
  return {
    exitCode: isRefused ? ExitCode.Found : ExitCode.Done,
    summary,
    replaced: replaced.map((file) => file.tag),
    file: `${dir}/${tag}.sql`,
    problems: plan.problems,
  };
}
