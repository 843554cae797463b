import { resolve } from "node:path";
import type { Finding, PermissionsAnalysis } from "../analysis/permissions.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import {
  applyGeneratedFiles,
  type FileChange,
  planGeneratedFiles,
  toProjectPath,
} from "../generated_files.ts";
import { describePlace, reportChanges } from "../generated_report.ts";
import type { Output } from "../output.ts";

/** `trellis generate permissions`. */
export const generatePermissions: Command = {
  name: "generate permissions",
  summary: "Writes the database role and the grants of each function, from its sources.",
  description: [
    "Reads every function's file and what it imports; nothing of it is run. A function is granted what the queries that it can\n" +
    "really reach declare (defineQuery, definePreparedQuery, RequiresTable), and what its use of @trellis/fn/auth needs.\n" +
    "Importing a file grants nothing.",
    "Writes one SQL file for each function that uses the database, for applyPermissions, and a Terraform map of functions to\n" +
    "roles. Files without the first line that says so are left alone; stale ones that have it are removed.",
    "What cannot be told from the text is named with file and line, and nothing is written.",
  ],
  options: [{ name: "check", description: "Write nothing; exit with 1 when a file is stale." }],
  examples: [
    ["trellis generate permissions", "write permissions/*.sql and infra/database_roles.tf"],
    ["trellis generate permissions --check", "in CI: fail when the files do not fit the sources"],
    [
      "trellis generate permissions --json | jq '.functions[] | .name, .tables'",
      "who needs which tables",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is as it should be.",
    [ExitCode.Found]:
      "Something cannot be told from the text, a file of yours is in the way, or (--check) a file is stale.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]:
      "It could not run: a folder or file is missing, cannot be read or is not valid.",
  },
  run,
};

async function run({ root, options, output }: CommandContext): Promise<ExitCode> {
  // the parser is loaded by who needs it, so that help comes at once
  const [
    { readConfig },
    { analysePermissions },
    { MARKER, renderPermissionFiles },
    { findFunctionFiles },
  ] = await Promise
    .all([
      import("../analysis/read_config.ts"),
      import("../analysis/permissions.ts"),
      import("../analysis/permission_files.ts"),
      import("../discovery/function_files.ts"),
    ]);
  const config = readConfig(root, options.config as string | undefined);
  const analysis = await analysePermissions({
    root,
    functions: findFunctionFiles(resolve(root, config.functionsDir)),
    extra: config.permissions.functions,
    onProgress: (done, total) => output.progress("Reading functions", done, total),
  });
  output.endProgress();
  const { functions } = analysis;
  const { errors, missed, warnings } = settle(analysis, config);
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
  const isStale = changes.some(({ change }) => change !== "unchanged");
  const isBlocked = changes.some(({ change }) => change === "kept");
  if (!options.check) applyGeneratedFiles(root, changes);
  const exitCode =
    errors.length > 0 || isBlocked || (options.check && (isStale || missed.length > 0))
      ? ExitCode.Found
      : ExitCode.Done;

  report(output, {
    analysis,
    roleCount: roles.size,
    errors,
    missed,
    warnings,
    changes,
    isCheck: options.check === true,
  });
  output.result({
    command: "generate permissions",
    exitCode,
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
    files: changes.map(({ path, change }) => ({ path, change })),
    unresolved: errors,
    missed,
    warnings,
  });
  return exitCode;
}

/** Who is listed in the configuration vouches for what the text does not tell. */
function settle(
  { functions, unresolved, missed, warnings }: PermissionsAnalysis,
  { permissions }: ResolvedConfig,
): { errors: Finding[]; missed: Finding[]; warnings: Finding[] } {
  const listed = Object.keys(permissions.functions);
  const strangers = listed.filter((name) => !functions.some((fn) => fn.name === name)).map((
    name,
  ): Finding => ({
    file: "trellis.config.ts",
    line: 1,
    message: `permissions.functions lists ${name}, which is no function`,
    functions: [],
  }));
  const isVouchedFor = (finding: Finding) =>
    finding.functions.every((name) => listed.includes(name));
  return {
    errors: [...unresolved.filter((finding) => !isVouchedFor(finding)), ...strangers],
    missed: missed.filter((finding) => !isVouchedFor(finding)),
    warnings: [...warnings, ...unresolved.filter(isVouchedFor), ...missed.filter(isVouchedFor)],
  };
}

interface Report {
  readonly analysis: PermissionsAnalysis;
  readonly roleCount: number;
  readonly errors: readonly Finding[];
  readonly missed: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly changes: readonly FileChange[];
  readonly isCheck: boolean;
}

function report(output: Output, report: Report): void {
  const { analysis, roleCount, errors, missed, warnings, changes, isCheck } = report;
  for (const warning of warnings) output.warn(describePlace(warning));
  for (const finding of missed) {
    if (isCheck) output.line(`${output.red("error")} ${describePlace(finding)}`);
    else output.warn(describePlace(finding));
  }
  for (const error of errors) output.line(`${output.red("error")} ${describePlace(error)}`);
  if (errors.length > 0) {
    return output.line(
      `Nothing was written: ${errors.length} ${
        errors.length === 1 ? "place" : "places"
      } cannot be told from the text. ` +
        "Write it out, or list what the functions need in permissions.functions of trellis.config.ts",
    );
  }
  reportChanges(output, changes, isCheck, (path) =>
    output.line(
      `${
        output.red("error")
      } ${path} is not ours: its first line does not say that it is generated. Move it away`,
    ));
  const { functions, queryCount } = analysis;
  output.line(
    `${output.bold(`${functions.length} functions`)}, ${queryCount} queries, ${roleCount} roles: ` +
      (changes.every(({ change }) => change === "unchanged")
        ? output.green("everything is up to date")
        : isCheck
        ? "run trellis generate permissions"
        : "done"),
  );
}
