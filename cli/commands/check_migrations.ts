import { type Command, type CommandContext, ExitCode } from "../command.ts";

/** `trellis check migrations`. */
export const checkMigrations: Command = {
  name: "check migrations",
  summary: "Checks the folder of the migrations, without a database.",
  description: [
    "Every file must be readable, and its place in the order known. Where drizzle-kit's meta/_journal.json is there, it is the\n" +
    "list and the order: a .sql file that it does not list is never run, and a listed file must be there.",
    "What a database makes of the statements is told by db migrate --check for the pending files, and by db translate for all.",
  ],
  options: [{
    name: "migrations",
    value: "folder",
    description: "The folder of the migrations; database.migrationsDir without it.",
  }],
  examples: [[
    "trellis check migrations",
    "in a pull request: did a merge drop a migration from the journal?",
  ]],
  exitCodes: {
    [ExitCode.Done]: "The folder is in order.",
    [ExitCode.Found]: "A file is not listed in the journal.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "The folder cannot be read, or is not in order: the message names the file and the fix.",
  },
  run,
};

async function run(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  const [{ findMigrationsFolder }, { checkMigrationFolder }, { printFindings }] = await Promise.all(
    [
      import("../database/migration_target.ts"),
      import("../../database/migrations/plan_folder.ts"),
      import("../database/print_findings.ts"),
    ],
  );
  const { migrationsFolder, folder } = findMigrationsFolder(context);
  const { files, unlisted, findings } = checkMigrationFolder(migrationsFolder);
  const exitCode = unlisted.length > 0 ? ExitCode.Found : ExitCode.Done;
  printFindings(output, findings, folder);
  const count = files.length === 1 ? "1 migration" : `${files.length} migrations`;
  const rest = unlisted.length === 0
    ? output.green("in order")
    : output.red(`${unlisted.length} not listed`);
  output.line(`${output.bold(folder)}: ${count}, ${rest}`);
  output.result({
    command: "check migrations",
    exitCode,
    migrations: files.map(({ tag }) => tag),
    unlisted,
    findings,
  });
  return exitCode;
}
