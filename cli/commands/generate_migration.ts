import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { checkMigrationName, planMigration } from "../auth_schema/migration_file.ts";
import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { isDeployedToDistSql, namesDistSql } from "../database/deployed_to_distsql.ts";
import { printFindings } from "../database/print_findings.ts";
import { sourceFiles } from "../discovery/source_files.ts";
import { applyGeneratedFiles, type FileChange, toProjectPath } from "../files/generated_files.ts";
import { isLocked } from "../files/instance_lock.ts";
import { count } from "../terminal/generated_report.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { parseDecisions } from "../schema_migration/decisions.ts";
import { type Difference, GENERATED_HEAD } from "../schema_migration/difference.ts";

/** The command `trellis generate migration`. */
export const generateMigration: Command = {
  name: "generate migration",
  packages: ["acorn", "esbuild"],
  summary: "Writes the migration of a change of the drizzle schema.",
  description: [
    "Applies the migrations to an embedded PostgreSQL in memory, creates the tables of src/schema.ts\n" +
    "(database.schemaFiles) beside it, and compares the two databases. The statements run there too, so\n" +
    "they are known to lead to the schema. No other database is opened.",
    "Compared are tables, columns, defaults, constraints, indexes, enums, sequences, views, policies and schemas,\n" +
    "by their definitions and not by the names of constraints and indexes. Nothing is guessed and\n" +
    "nothing is dropped without --drop: what only the migrations have is listed and stays. A statement\n" +
    "that can lose data or fail on present rows has a comment in the file.",
    "If the project is deployed to Aurora DSQL, nothing is written that its translation refuses.",
  ],
  args: [{
    name: "name",
    description: "Name of the file, such as add_title. Not with --check.",
    isOptional: true,
  }],
  options: [
    {
      name: "rename",
      value: "old=new",
      description: "Tables and columns to rename: notes.body=text,notes=entries.",
    },
    {
      name: "drop",
      value: "names",
      description:
        "What to drop: notes,notes.body,notes_id_seq, or notes:notes_title_idx for an index, " +
        "constraint or option of a view.",
    },
    {
      name: "keep",
      value: "names",
      description: "Undeclared tables and columns that stay, comma-separated.",
    },
    {
      name: "expand",
      description:
        "Keep the old columns of renames, with triggers that keep both equal, until --drop.",
    },
    { name: "check", description: "Write nothing; exit with 1 if a migration is missing." },
    { name: "dry-run", description: "Write nothing; print the migration." },
  ],
  examples: [
    ["trellis generate migration add_title", "write migrations/0002_add_title.sql"],
    ["trellis generate migration rename_body --rename notes.body=text", "rename a column"],
    [
      "trellis generate migration add_text --rename notes.body=text --expand",
      "the same while a release runs that uses the old name",
    ],
    ["trellis generate migration drop_tags --drop tags,notes.tag_id", "drop a table and a column"],
    ["trellis generate migration --check", "in CI: fail if the schema has no migration"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done, or there is no difference.",
    [ExitCode.Found]: "A change needs a decision, Aurora DSQL refuses a " +
      "statement, or (--check) a migration is missing.",
    [ExitCode.Failed]: "It could not run: a migration fails, a module " +
      "cannot be loaded, or a package is not installed.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, options } = context;
  const isCheck = options.check === true;
  const isDryRun = options["dry-run"] === true;
  const name = readName(context);
  const [{ listSchemaFiles, loadSchema }, { planDifference }] = await Promise.all([
    import("../schema_migration/load_schema.ts"),
    import("../schema_migration/plan_difference.ts"),
  ]);
  const decisions = parseDecisions(options);
  const config = await readProjectConfig(context);
  const files = listSchemaFiles(root, config);
  const folder = resolve(root, config.database.migrationsDir);
  const refused = decisions.isExpand === true && isForDistSql(root, config);
  const difference = refused ? EXPAND_REFUSED : await context.output.step(
    "Comparing the schema with the migrations",
    async () =>
      await planDifference({
        migrationsFolder: existsSync(folder) ? folder : undefined,
        exports: await loadSchema(root, files),
        decisions,
      }),
  );
  const place = { root, migrationsDir: config.database.migrationsDir };
  const changes = planMigration(place, { name, head: GENERATED_HEAD }, difference.steps);
  const findings = changes.length === 0 ? [] : await findRefused(root, config, changes);
  const isRefused = findings.some(({ severity }) => severity === "error");
  const isBlocked = difference.problems.length > 0 || isRefused;
  if (!isCheck && !isDryRun && !isBlocked) applyGeneratedFiles(root, changes);
  const isFound = isBlocked || isCheck && changes.length > 0;
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;
  report(context, { difference, changes, findings, isBlocked });
  return {
    exitCode,
    schema: files,
    statements: difference.steps,
    files: isBlocked ? [] : changes.map(({ path, change }) => ({ path, change })),
    problems: difference.problems,
    kept: difference.kept,
    open: difference.open,
    findings,
  };
}

const EXPAND_REFUSED: Difference = {
  steps: [],
  problems: [
    "--expand needs triggers, which Aurora DSQL does not have. Declare the new column beside the old " +
    "one, deploy a release that writes both, fill the new column with UPDATE, deploy a release that " +
    "uses only the new column, and drop the old one in a later migration",
  ],
  kept: [],
  open: [],
};

function readName({ args, options }: CommandContext): string {
  const [name] = args;
  if (name === undefined) {
    if (options.check === true) return "schema";
    throw new UsageError("Missing argument <name>, such as add_title: trellis generate migration");
  }
  checkMigrationName(name);
  return name;
}

function isForDistSql(root: string, config: ResolvedConfig): boolean {
  const parent = dirname(config.functionsDir);
  const sources = resolve(root, parent === "." ? config.functionsDir : parent);
  const hasSource = () => existsSync(sources) && sourceFiles(sources).some(namesDistSql);
  return isDeployedToDistSql(config, hasSource);
}

/** Finds what Aurora DSQL refuses, if the project is deployed there. */
async function findRefused(
  root: string,
  config: ResolvedConfig,
  changes: readonly FileChange[],
): Promise<PlanFinding[]> {
  if (!isForDistSql(root, config)) return [];
  const { migrationsDir, translation } = config.database;
  const dir = toProjectPath(root, migrationsDir);
  const check = await import("../schema_migration/check_distsql.ts");
  return check.findRefused(resolve(root, migrationsDir), dir, changes, translation);
}

interface Outcome {
  readonly difference: Difference;
  readonly changes: readonly FileChange[];
  readonly findings: readonly PlanFinding[];
  readonly isBlocked: boolean;
}

function report({ root, output, options }: CommandContext, outcome: Outcome): void {
  const { difference: { steps, problems, kept, open }, changes, findings, isBlocked } = outcome;
  const isWritten = options.check !== true && options["dry-run"] !== true && !isBlocked;
  for (const problem of problems) output.error(problem);
  printFindings(output, findings, changes[0] === undefined ? "" : dirname(changes[0].path));
  for (const { sql, risk } of steps) {
    if (options["dry-run"] === true) output.line(`${sql};`);
    if (risk !== undefined) output.warn(`${sql}: ${risk}`);
  }
  if (kept.length > 0) {
    output.warn(
      `kept, because the schema does not declare it: ${kept.join(", ")}. --drop removes ` +
        "tables, columns, indexes, constraints, sequences and options of views",
    );
  }
  for (const each of open) output.warn(each);
  const isServed = isLocked(join(root, ".trellis", "dev", "lock"));
  const word = options.check === true ? "missing" : "planned";
  if (!isBlocked) {
    for (const { path, change } of changes) output.line(`${isWritten ? change : word} ${path}`);
  }
  output.line(
    `${output.bold(count(steps.length, "statement"))}: ${describe(outcome, isWritten, isServed)}`,
  );
}

function describe(
  { changes, isBlocked }: Outcome,
  isWritten: boolean,
  isServed: boolean,
): string {
  if (isBlocked) return "nothing was written";
  if (changes.length === 0) return "the migrations match the schema";
  if (!isWritten) return "nothing was written";
  return isServed
    ? "read the file, then type m and press Enter in trellis dev, which holds it"
    : "read the file, then trellis db migrate";
}
