import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { printFindings } from "../database/print_findings.ts";
import { count } from "../terminal/generated_report.ts";

/** The command `trellis check migrations`. */
export const checkMigrations: Command = {
  name: "check migrations",
  summary: "Checks the migrations folder without a database.",
  description: [
    "Checks that every file is readable and that the order of the files is defined. If drizzle-kit's\n" +
    "meta/_journal.json exists, it defines the list and the order: a .sql file that it does not list\n" +
    "never runs, and every listed file must exist.",
    "To check the statements against a database, use db migrate --check for pending files, or\n" +
    "db translate for all files.",
  ],
  options: [{
    name: "migrations",
    value: "folder",
    description: "The migrations folder. Default: database.migrationsDir.",
  }],
  examples: [[
    "trellis check migrations",
    "in a pull request: did a merge drop a migration from the journal?",
  ]],
  exitCodes: {
    [ExitCode.Done]: "The folder is valid.",
    [ExitCode.Found]: "A file is not listed in the journal.",
    [ExitCode.Failed]:
      "The folder cannot be read or is invalid: the message names the file and the fix.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { output } = context;
  const [{ findMigrationsFolder }, { checkMigrationFolder }] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../../database/migrations/plan_folder.ts"),
  ]);
  const { migrationsFolder, folder } = await findMigrationsFolder(context);
  const { files, unlisted, findings } = checkMigrationFolder(migrationsFolder);
  const exitCode = unlisted.length > 0 ? ExitCode.Found : ExitCode.Done;
  printFindings(output, findings, folder);
  const rest = unlisted.length === 0
    ? output.green("valid")
    : output.red(`${unlisted.length} not listed`);
  output.line(`${output.bold(folder)}: ${count(files.length, "migration")}, ${rest}`);
  return { exitCode, migrations: files.map(({ tag }) => tag), unlisted, findings };
}
