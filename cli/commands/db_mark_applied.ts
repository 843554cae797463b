import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { migrationOptions } from "../database/database_options.ts";
import { printFindings } from "../database/print_findings.ts";

/** The command `trellis db mark-applied`. */
export const dbMarkApplied: Command = {
  name: "db mark-applied",
  summary: "Records a migration as applied without running it.",
  description: [
    "For a migration that was applied in another way: by hand, by another tool, or by a run that\n" +
    "cannot finish. Discards the recorded progress of an interrupted run. Check the database first:\n" +
    "the command does not verify that the changes exist.",
  ],
  args: [{
    name: "tag",
    description: "The name of the migration's file, with or without .sql.",
  }],
  options: migrationOptions(),
  examples: [
    [
      "trellis db mark-applied 0003_add_notes",
      "the changes of migrations/0003_add_notes.sql already exist",
    ],
    [
      "trellis db mark-applied 0001_start --endpoint abc123.dsql.eu-central-1.on.aws",
      "on Aurora DSQL",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "The migration is recorded, or was recorded before.",
    [ExitCode.Failed]: "The migration does not exist or was applied with " +
      "different content, or the database does not respond.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { args: [tag], output } = context;
  const [{ findMigrations }, { markMigrationApplied }, { withDatabase }] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../../database/migrations/mark_applied.ts"),
    import("../database/reaching.ts"),
  ]);
  const { target, label, folder } = await findMigrations(context);
  const database = { config: target.database, label };
  const marked = await withDatabase(database, () => markMigrationApplied({ ...target, tag }));
  printFindings(output, marked.findings, folder);
  output.line(
    `${output.bold(label)}: ${marked.tag} ${
      marked.alreadyApplied
        ? "was already applied; nothing was written"
        : output.green("is marked as applied")
    }`,
  );
  return { exitCode: ExitCode.Done, database: label, ...marked };
}
