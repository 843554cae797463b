import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { finishGenerated } from "../terminal/finish_generated.ts";
import { count } from "../terminal/generated_report.ts";
import { readProjectConfig } from "../config/read_project.ts";

/** The command `trellis generate auth-schema`. */
export const generateAuthSchema: Command = {
  name: "generate auth-schema",
  packages: ["acorn", "esbuild"],
  summary: "Generates the tables and a migration for better-auth's options and plugins.",
  description: [
    "Loads the modules that call defineAuth, without a database and without secrets: a\n" +
    "connection is refused, and variables of the environment have a placeholder. The tables come\n" +
    "from better-auth's own description of its options and plugins.",
    "Writes src/auth_schema.ts, which is generated as a whole, and a migration with the difference to what\n" +
    "the present migrations create, as trellis generate migration plans it. Nothing is dropped. A file that\n" +
    "was not generated is never changed.",
    "A table of your own under its key in AuthConfig.schema replaces the generated one. What it lacks is\n" +
    "reported, with the code to write. Tables of better-auth that the project defines and AuthConfig.schema\n" +
    "does not name are an error, which has the line to write.",
    "The migration runs on PostgreSQL and Aurora DSQL. Set schema: authSchema in the options of defineAuth once.",
  ],
  options: [
    {
      name: "from",
      value: "module",
      description: "The configuration, such as src/auth.ts#authConfig. Default: auth.config.",
    },
    { name: "check", description: "Write nothing; exit with 1 if something is missing." },
  ],
  examples: [
    [
      "trellis generate auth-schema",
      "write src/auth_schema.ts and migrations/0003_auth_schema.sql",
    ],
    ["trellis generate auth-schema --check --json", "show what a new plugin needs"],
    ["trellis generate auth-schema --check", "in CI: fail if a table of a plugin is missing"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: nothing is missing.",
    [ExitCode.Found]: "Something needs a decision, such as a column of a table of yours, " +
      "or (--check) something is missing.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, options, output } = context;
  // imported on demand: help needs no better-auth
  const [{ loadAuthConfig }, { planAuthSchema }] = await Promise.all([
    import("../auth_schema/load_config.ts"),
    import("../auth_schema/plan_auth_schema.ts"),
  ]);
  const config = await readProjectConfig(context);
  const from = options.from as string | undefined;
  const { facts, files, warnings = [] } = await loadAuthConfig(root, config, from);
  const plan = await planAuthSchema(root, config, facts);
  const { tables, changes, steps, findings, kept } = plan;
  for (const { sql, risk } of steps) if (risk !== undefined) output.warn(`${sql}: ${risk}`);
  for (const what of kept) output.warn(`${what} is kept: no option or plugin needs it`);
  if (!facts.hasSchema && options.check !== true) {
    output.line(
      `Import { authSchema } from ${config.auth.schemaFile}, set schema: authSchema in the options of defineAuth, ` +
        "and export the tables from the client's schema",
    );
  }
  return finishGenerated(generateAuthSchema, context, {
    errors: findings.map((message) => ({ file: config.auth.schemaFile, line: 1, message })),
    warnings,
    changes: findings.length > 0 ? [] : changes,
    summary: output.bold(count(tables.length, "table")),
    result: {
      config: files,
      tables: tables.map(({ model, name, columns }) => ({
        model,
        name,
        columns: columns.map((column) => column.name),
      })),
      statements: steps.map(({ sql }) => sql),
      kept,
    },
  });
}
