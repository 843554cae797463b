import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { MarkAppliedResult } from "../../database/migrations/mark_applied.ts";
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
    description: "The migration's file, with or without .sql.",
  }],
  options: [
    { name: "earlier", description: "Also the files before it." },
    ...migrationOptions(),
  ],
  examples: [
    [
      "trellis db mark-applied 0003_add_notes",
      "the changes of migrations/0003_add_notes.sql already exist",
    ],
    [
      "trellis db mark-applied 0042_tags --earlier",
      "another tool has applied all files up to this one",
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
  const { args: [tag], options, output } = context;
  const [{ findMigrations }, { readMigrationFolder }, { markMigrationApplied }, { withDatabase }] =
    await Promise.all([
      import("../database/migration_target.ts"),
      import("../../database/migrations/folder.ts"),
      import("../../database/migrations/mark_applied.ts"),
      import("../database/reaching.ts"),
    ]);
  const { target, label, folder } = await findMigrations(context);
  const database = { config: target.database, label };
  const tags = readMigrationFolder(target.migrationsFolder).files.map((file) => file.tag);
  const at = tags.indexOf(tag.replace(/\.sql$/, ""));
  const isEarlier = options.earlier === true && at > 0;
  const marked: MarkAppliedResult[] = [];
  await withDatabase(database, async () => {
    for (const each of isEarlier ? tags.slice(0, at + 1) : [tag]) {
      const result = await markMigrationApplied({ ...target, tag: each });
      marked.push(result);
      const what = result.alreadyApplied
        ? "was already applied; nothing was written"
        : output.green("is marked as applied");
      output.line(`${output.bold(label)}: ${result.tag} ${what}`);
    }
  });
  const { findings, ...last } = marked.at(-1)!;
  printFindings(output, findings, folder);
  const written = marked.slice(0, -1).filter(({ alreadyApplied }) => !alreadyApplied);
  const earlier = written.map((each) => each.tag);
  return { exitCode: ExitCode.Done, database: label, ...last, earlier, findings };
}
