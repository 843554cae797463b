import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import type { AuthTable } from "../auth_schema/auth_table.ts";
import { planMigrationFiles } from "../auth_schema/migration_file.ts";
import { renderFile } from "../auth_schema/render_tables.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { applyGeneratedFiles, type FileChange, toProjectPath } from "../files/generated_files.ts";
import { reportChanges } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { readProjectConfig } from "../config/read_project.ts";

/** The command `trellis generate auth-schema`. */
export const generateAuthSchema: Command = {
  name: "generate auth-schema",
  packages: ["acorn", "esbuild"],
  summary: "Generates drizzle tables and a migration for the options and plugins of better-auth.",
  description: [
    "Loads the modules that call defineAuth, without a database and without secrets: a\n" +
    "connection is refused, and unset variables of the environment have a placeholder. The tables come\n" +
    "from better-auth's own description of its options and plugins.",
    "Adds missing tables and columns to src/auth_schema.ts and writes a migration with the difference\n" +
    "to what the present migrations create. Nothing else in the file is changed, and nothing is\n" +
    "removed. What needs a decision, such as another type, is reported, with the code to write.",
    "Tables of better-auth that the project defines elsewhere and AuthConfig.schema does not name are an\n" +
    "error, which has the line to write.",
    "The migration runs on PostgreSQL and Aurora DSQL. Set schema: authSchema in AuthConfig once.",
  ],
  options: [
    {
      name: "from",
      value: "module",
      description: "The configuration, such as src/auth.ts#authConfig. Default: auth.config.",
    },
    { name: "check", description: "Write nothing; exit with 1 if something is missing." },
    { name: "dry-run", description: "Write nothing; print the migration." },
  ],
  examples: [
    [
      "trellis generate auth-schema",
      "write src/auth_schema.ts and migrations/0003_auth_schema.sql",
    ],
    ["trellis generate auth-schema --dry-run", "show what a new plugin needs"],
    ["trellis generate auth-schema --check", "in CI: fail if a table of a plugin is missing"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: nothing is missing.",
    [ExitCode.Found]: "Something needs a decision, such as another type of a " +
      "column, or (--check) something is missing.",
    [ExitCode.Failed]: "It could not run: no configuration was found, a " +
      "module cannot be loaded, or a file is invalid.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, options, output } = context;
  // imported on demand: help needs no better-auth
  const [{ loadAuthConfig }, { describeAuthTables }, { toAuthTables }] = await Promise.all([
    import("../auth_schema/load_config.ts"),
    import("../../auth/accounts/describe_tables.ts"),
    import("../auth_schema/auth_table.ts"),
  ]);
  const config = await readProjectConfig(context);
  const schemaFile = resolve(root, config.auth.schemaFile);
  const loaded = await loadAuthConfig({
    root,
    functionsDir: config.functionsDir,
    from: (options.from as string | undefined) ?? config.auth.config,
    schemaFile,
  });
  const schema = loaded.config.schema ?? {};
  const tables = toAuthTables(await describeAuthTables(loaded.config), schema);
  const plan = await planChanges(root, config, tables, schema);
  const writes = options.check !== true && options["dry-run"] !== true;
  if (writes) applyGeneratedFiles(root, plan.changes);
  const isStale = plan.changes.some(({ change }) => change !== "unchanged");
  const exitCode = plan.findings.length > 0 || options.check === true && isStale
    ? ExitCode.Found
    : ExitCode.Done;
  report(output, plan, {
    tableCount: tables.length,
    isCheck: options.check === true,
    isDryRun: options["dry-run"] === true,
    needsSchema: loaded.config.schema === undefined,
  });
  return {
    exitCode,
    config: loaded.files,
    tables: tables.map(({ model, name, columns }) => ({
      model,
      name,
      columns: columns.map((column) => column.name),
    })),
    added: plan.added,
    statements: plan.statements,
    files: plan.changes.map(({ path, change }) => ({ path, change })),
    findings: plan.findings,
    kept: plan.kept,
  };
}

interface Changes {
  readonly changes: readonly FileChange[];
  readonly statements: readonly string[];
  /** Tables and columns that were added to the file with the tables. */
  readonly added: readonly string[];
  readonly findings: readonly string[];
  readonly kept: readonly string[];
}

async function planChanges(
  root: string,
  config: ResolvedConfig,
  tables: readonly AuthTable[],
  schema: Readonly<Record<string, unknown>>,
): Promise<Changes> {
  const [{ editSchemaFile }, { describeUnnamedTables, findForeignTables }, { planMigration }] =
    await Promise.all([
      import("../auth_schema/edit_schema.ts"),
      import("../auth_schema/foreign_tables.ts"),
      import("../auth_schema/plan_migration.ts"),
    ]);
  const file = resolve(root, config.auth.schemaFile);
  const path = toProjectPath(root, config.auth.schemaFile);
  const unnamed = await describeUnnamedTables(root, file, tables, schema);
  if (unnamed !== undefined) throw new ConfigurationError(unnamed);
  const foreign = findForeignTables(root, file, tables, schema);
  const own = tables.filter((table) => !foreign.tables.has(table.name));
  const edit = existsSync(file)
    ? { ...await editSchemaFile(root, file, own), change: "updated" as const }
    : {
      text: renderFile(own),
      added: own.map(({ name }) => name),
      findings: [],
      kept: [],
      change: "created" as const,
    };
  const folder = resolve(root, config.database.migrationsDir);
  const present = existsSync(folder) ? readMigrationFolder(folder) : undefined;
  const migration = planMigration(own, present?.files.map(({ sql }) => sql) ?? []);
  const migrationFiles = planMigrationFiles({
    dir: toProjectPath(root, config.database.migrationsDir),
    folder,
    present,
    name: "auth_schema",
    head: "Tables of better-auth, from trellis generate auth-schema.",
    statements: migration.statements,
    nowMs: Date.now(),
  });
  const isChanged = edit.added.length > 0 || edit.change === "created";
  return {
    changes: [
      isChanged ? { path, change: edit.change, text: edit.text } : { path, change: "unchanged" },
      ...migrationFiles,
    ],
    statements: migration.statements,
    added: edit.added,
    findings: [...new Set([...foreign.findings, ...edit.findings, ...migration.findings])],
    kept: edit.kept,
  };
}

interface ReportOptions {
  readonly tableCount: number;
  readonly isCheck: boolean;
  readonly isDryRun: boolean;
  readonly needsSchema: boolean;
}

function report(
  output: Output,
  { changes, statements, findings, kept }: Changes,
  { tableCount, isCheck, isDryRun, needsSchema }: ReportOptions,
): void {
  reportChanges(output, changes, isCheck, () => {});
  if (isDryRun) { for (const statement of statements) output.line(statement); }
  for (const finding of findings) output.line(`${output.red("error")} ${finding}`);
  for (const what of kept) output.warn(`${what} is kept: no option or plugin needs it`);
  if (needsSchema && !isCheck) {
    output.line("Set schema: authSchema in AuthConfig, and add the tables to the client's schema");
  }
  const isStale = changes.some(({ change }) => change !== "unchanged");
  output.line(
    `${output.bold(`${tableCount} tables`)}: ${describeState(output, isStale, isCheck, isDryRun)}`,
  );
}

function describeState(
  output: Output,
  isStale: boolean,
  isCheck: boolean,
  isDryRun: boolean,
): string {
  if (!isStale) return output.green("everything is up to date");
  if (isCheck) return "run trellis generate auth-schema";
  return isDryRun ? "nothing was written" : "done";
}
