import { type Command, type CommandContext, ExitCode } from "../command.ts";
import { migrationOptions } from "../database/migration_options.ts";

/** `trellis db mark-applied`. */
export const dbMarkApplied: Command = {
  name: "db mark-applied",
  summary: "Notes a migration as applied without running it.",
  description: [
    "For a migration whose work was done by other means: by hand, by another tool, or by a run that could not end. What an\n" +
    "interrupted run had noted of it is forgotten. Look first: nothing checks that the work is really there.",
  ],
  args: [{
    name: "tag",
    description: "The migration: the name of its file, with or without .sql.",
  }],
  options: migrationOptions(),
  examples: [
    [
      "trellis db mark-applied 0003_add_notes",
      "what migrations/0003_add_notes.sql does is there already",
    ],
    [
      "trellis db mark-applied 0001_start --endpoint abc123.dsql.eu-central-1.on.aws",
      "on Aurora DSQL",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Noted, or it was noted before.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "There is no such migration, it is applied with another content, or there was no answer.",
  },
  run,
};

async function run(context: CommandContext): Promise<ExitCode> {
  const { args: [tag], output } = context;
  const [{ findMigrations }, { markMigrationApplied }, { closing, reaching }, { printFindings }] =
    await Promise.all([
      import("../database/migration_target.ts"),
      import("../../database/migrations/mark_applied.ts"),
      import("../database/reaching.ts"),
      import("../database/print_findings.ts"),
    ]);
  const { target, label, folder } = findMigrations(context);
  const marked = await closing(
    target.database,
    () => reaching(label, () => markMigrationApplied({ ...target, tag })),
  );
  printFindings(output, marked.findings, folder);
  output.line(
    `${output.bold(label)}: ${marked.tag} ${
      marked.alreadyApplied
        ? "was applied already, nothing was written"
        : output.green("is marked as applied")
    }`,
  );
  output.result({
    command: "db mark-applied",
    exitCode: ExitCode.Done,
    database: label,
    ...marked,
  });
  return ExitCode.Done;
}
