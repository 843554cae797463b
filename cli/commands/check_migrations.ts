import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import type { MigrationFile } from "../../database/migrations/files.ts";
import { SARIF_OPTION, writeSarif } from "../database/sarif.ts";
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
    "The statements of the last file, or of all files after --since, are checked for PostgreSQL: what\n" +
    "stops reads or writes of a filled table, and what the running release does not survive, is a\n" +
    "warning with what to write instead. What db migrate does online by itself is not reported.",
    "To check the statements against a database, use db migrate --check for pending files, or\n" +
    "db translate for all files.",
  ],
  options: [{
    name: "migrations",
    value: "folder",
    description: "The migrations folder. Default: database.migrationsDir.",
  }, {
    name: "since",
    value: "migration",
    description: "Check the files after this one, such as 0012_tags. Default: the last file.",
  }, SARIF_OPTION],
  examples: [[
    "trellis check migrations",
    "in a pull request: did a merge drop a migration from the journal?",
  ], [
    "trellis check migrations --since 0012_tags --sarif migrations.sarif",
    "write the warnings for a code review",
  ]],
  exitCodes: {
    [ExitCode.Done]: "The folder is valid.",
    [ExitCode.Found]: "A file is not listed in the journal.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { output, options } = context;
  const [{ findMigrationsFolder }, { checkMigrationFolder }, { findTrafficRisks }] = await Promise
    .all([
      import("../database/migration_target.ts"),
      import("../../database/migrations/plan_folder.ts"),
      import("../../database/migrations/traffic_rules.ts"),
    ]);
  const { migrationsFolder, folder } = await findMigrationsFolder(context);
  const { files, unlisted, findings: inFolder } = checkMigrationFolder(migrationsFolder);
  const findings = [
    ...inFolder,
    ...selectFiles(files, options.since).flatMap((file) =>
      findTrafficRisks(file).map(({ finding }) => finding)
    ),
  ];
  writeSarif(context, findings, folder);
  const exitCode = unlisted.length > 0 ? ExitCode.Found : ExitCode.Done;
  printFindings(output, findings, folder);
  const rest = unlisted.length === 0
    ? output.green("valid")
    : output.red(`${unlisted.length} not listed`);
  output.line(`${output.bold(folder)}: ${count(files.length, "migration")}, ${rest}`);
  return { exitCode, migrations: files.map(({ tag }) => tag), unlisted, findings };
}

function selectFiles(
  files: readonly MigrationFile[],
  since: string | boolean | undefined,
): readonly MigrationFile[] {
  if (since === undefined) return files.slice(-1);
  const at = files.findIndex(({ tag }) => tag === since || `${tag}.sql` === since);
  if (at < 0) throw new UsageError(`--since names ${since}, which is no file of the folder`);
  return files.slice(at + 1);
}
