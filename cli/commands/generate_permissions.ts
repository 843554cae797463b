import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import { compareText, type Finding } from "../project/findings.ts";
import { MARKER, renderPermissionFiles } from "../grants/permission_files.ts";
import type { FunctionPermissions, PermissionsAnalysis } from "../grants/permissions.ts";
import type { Trigger } from "../grants/trigger_needs.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { finishGenerated } from "../terminal/finish_generated.ts";
import { count } from "../terminal/generated_report.ts";
import { planGeneratedFiles, toProjectPath } from "../files/generated_files.ts";
import { readProject } from "../config/read_project.ts";
import { type DeclaredSchema, findObject } from "../../distsql/schema/declared_schema.ts";
import { printTable, type TableName } from "../grants/table_name.ts";
import type { ColumnGrant } from "../grants/table_needs.ts";

/** The command `trellis generate permissions`. */
export const generatePermissions: Command = {
  name: "generate permissions",
  packages: ["acorn", "esbuild"],
  summary: "Generates a database role with minimal grants for each function.",
  description: [
    "Bundles every function and loads it in a process of its own, without the variables of the environment,\n" +
    "without the network and without a database. A function is granted the tables that the queries in its\n" +
    "bundle declare (defineQuery, definePreparedQuery, RequiresTable) or that the SQL of its statements names\n" +
    "(defineStatement), and those that its use of @trellis/fn/auth needs. Importing a file alone grants nothing:\n" +
    "queries that the function does not use are not in its bundle.",
    "Writes one SQL file for each function that uses the database, for applyPermissions, and a\n" +
    "Terraform map from functions to roles. Files without the generated first line are never changed;\n" +
    "stale generated files are removed.",
    "If a function cannot be loaded, or something is only known at run time, file and " +
    "line are reported and nothing is written. Tables and columns that no migration creates are warnings.",
    "A hint names a query that a function may not need, and how to split the code that keeps it in the bundle.",
  ],
  options: [{ name: "check", description: "Write nothing; exit with 1 if a file is stale." }],
  examples: [
    ["trellis generate permissions", "write permissions/*.sql and infra/database_roles.tf"],
    ["trellis generate permissions --check", "in CI: fail if the files do not match the sources"],
    [
      "trellis generate permissions --json | jq '.functions[] | .name, .tables'",
      "list the tables of each function",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is up to date.",
    [ExitCode.Found]: "A function cannot be loaded, a declaration misses a table or\n" +
      "operation (the files are written without it), an unmanaged file " +
      "exists at an output path, or (--check) a file is stale.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { root, output } = context;
  // imported on demand: help does not need them
  const [{ analysePermissions }, { checkAuthTables }] = await Promise.all([
    import("../grants/permissions.ts"),
    import("../auth_schema/check_tables.ts"),
  ]);
  const project = await readProject(context);
  const { config } = project;
  const unchecked = await checkAuthTables(root, config);
  if (unchecked !== undefined) output.warn(unchecked);
  const migrations = readMigrations(resolve(root, config.database.migrationsDir));
  const analysis = await analysePermissions({
    root,
    functions: project.functions,
    extra: config.permissions.functions,
    created: listCreatedFunctions(migrations),
    triggers: await readMigrationTriggers(migrations),
    onProgress: (done, total) => output.progress("Loading functions", done, total),
  });
  output.endProgress();
  const { functions } = analysis;
  const { errors, missed, ...grants } = applyExplicitGrants(analysis, config);
  const warnings = [
    ...grants.warnings,
    ...await findUncreated(functions, migrations, config.database.migrationsDir),
  ];
  const { files, roles } = renderPermissionFiles(functions, {
    dir: toProjectPath(root, config.permissions.dir),
    terraformFile: toProjectPath(root, config.permissions.terraformFile),
    rolePrefix: config.permissions.rolePrefix,
  });
  const changes = errors.length > 0 ? [] : planGeneratedFiles({
    root,
    files,
    marker: MARKER,
    ownFolders: [toProjectPath(root, config.permissions.dir)],
  });
  return finishGenerated(generatePermissions, context, {
    errors,
    missed,
    warnings,
    hints: analysis.hints,
    changes,
    kept: "error",
    summary: `${output.bold(count(functions.length, "function"))}, ${
      count(analysis.queryCount, "query", "queries")
    }, ${count(roles.size, "role")}`,
    advice: ". Correct them, or list the grants in permissions.functions of trellis.config.ts",
    result: {
      functions: functions.map(({ name, file, usesDatabase, tables }) => ({
        name,
        file,
        role: usesDatabase ? roles.get(name) : null,
        tables: tables.map(({ table, operations, columns, neededBy }) => ({
          ...table,
          operations,
          columns,
          neededBy,
        })),
      })),
    },
  });
}

/** Reads the SQL of the migrations; nothing in a project without migrations. */
function readMigrations(folder: string): string[] {
  return existsSync(folder) ? readMigrationFolder(folder).files.map(({ sql }) => sql) : [];
}

/** Lists the names of the functions that migrations create, without their schemas. */
function listCreatedFunctions(migrations: readonly string[]): Set<string> {
  const part = '(?:"[^"]+"|[\\w$]+)';
  const pattern = new RegExp(
    `\\bcreate\\s+(?:or\\s+replace\\s+)?function\\s+(?:${part}\\s*\\.\\s*)?(?:"([^"]+)"|([\\w$]+))`,
    "gi",
  );
  return new Set(
    migrations.flatMap((sql) =>
      [...sql.matchAll(pattern)].map(([, quoted, plain]) => quoted ?? plain.toLowerCase())
    ),
  );
}

async function readMigrationTriggers(migrations: readonly string[]): Promise<Trigger[]> {
  if (!migrations.some((sql) => /\btrigger\b/i.test(sql))) return [];
  const [{ loadSqlReader }, { readTriggers }] = await Promise.all([
    import("../grants/sql_access.ts"),
    import("../grants/trigger_needs.ts"),
  ]);
  return await readTriggers(migrations, await loadSqlReader());
}

/** Finds what no migration creates. */
async function findUncreated(
  functions: readonly FunctionPermissions[],
  migrations: readonly string[],
  folder: string,
): Promise<Finding[]> {
  if (migrations.length === 0) return [];
  const { readDeclaredSchema } = await import("../../distsql/schema/fold_statement.ts");
  return findMissingTables(functions, readDeclaredSchema(migrations), folder);
}

/**
 * Turns errors about functions in `permissions.functions` into warnings: their explicit grants are
 * assumed to be complete.
 */
function applyExplicitGrants(
  { functions, unresolved, missed, warnings }: PermissionsAnalysis,
  { permissions }: ResolvedConfig,
): { errors: Finding[]; missed: Finding[]; warnings: Finding[] } {
  const listed = Object.keys(permissions.functions);
  const unknown = listed.filter((name) => !functions.some((fn) => fn.name === name)).map((
    name,
  ): Finding => ({
    file: "trellis.config.ts",
    line: 1,
    message: `permissions.functions.${name} does not match a function`,
    functions: [],
  }));
  const isExplicit = (finding: Finding) => finding.functions.every((name) => listed.includes(name));
  return {
    errors: [...unresolved.filter((finding) => !isExplicit(finding)), ...unknown],
    missed: missed.filter((finding) => !isExplicit(finding)),
    warnings: [...warnings, ...unresolved.filter(isExplicit), ...missed.filter(isExplicit)],
  };
}

/**
 * Finds tables and columns that functions use but no migration creates: the first request that needs
 * one would fail.
 *
 * @param functions The functions with their tables.
 * @param declared What the migrations create.
 * @param folder The migrations folder, for messages.
 * @returns One finding for each table and column.
 */
export function findMissingTables(
  functions: readonly FunctionPermissions[],
  declared: DeclaredSchema,
  folder: string,
): Finding[] {
  const found = new Map<string, Finding & { functions: string[] }>();
  for (const { name, file, tables } of functions) {
    for (const { table, columns = [] } of tables) {
      for (const missing of describeMissing(declared, table, columns)) {
        const message = `no file in ${folder} creates ${missing}`;
        const finding = found.get(message) ?? { file, line: 1, message, functions: [] };
        finding.functions.push(name);
        found.set(message, finding);
      }
    }
  }
  return [...found.values()].sort((a, b) => compareText(a.message, b.message));
}

function describeMissing(
  declared: DeclaredSchema,
  table: TableName,
  columns: readonly ColumnGrant[],
): string[] {
  if (findObject(declared.views, table) !== undefined) return [];
  const found = findObject(declared.tables, table);
  if (found === undefined) return [`the table ${printTable(table)}`];
  if (!found.isComplete) return [];
  const present = new Set(found.columns.map(({ name }) => name));
  const needed = new Set(columns.flatMap((grant) => grant.columns));
  return [...needed].filter((name) => !present.has(name)).map((name) =>
    `the column ${name} of ${printTable(table)}`
  );
}
