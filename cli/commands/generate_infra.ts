import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Finding } from "../analysis/findings.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import {
  applyGeneratedFiles,
  type FileChange,
  planGeneratedFiles,
  toProjectPath,
} from "../generated_files.ts";
import { formatDiagnostic, reportChanges, summarizeList } from "../generated_report.ts";
import {
  type InfraFunction,
  listRoutes,
  type Problem,
  type TerraformVariable,
} from "../infra/infra_plan.ts";
import { findRenamedFunctions } from "../infra/renamed_functions.ts";
import type { ModuleSources } from "../infra/module_sources.ts";
import type { FunctionSources } from "../infra/read_functions.ts";
import type { Output } from "../output.ts";

/** The command `trellis generate infra`. */
export const generateInfra: Command = {
  name: "generate infra",
  summary: "Generates Terraform: functions with triggers, environment variables and IAM policies.",
  description: [
    "Reads every function's file and its imports without executing them. Timeout, memory, concurrency,\n" +
    "storage, retries and dead-letter queues come from the handler's options, routes from file paths,\n" +
    "and environment variables from the code that a function can reach (getRequiredEnv,\n" +
    "getOptionalEnv, defineEnv, process.env). Other settings, such as the pattern of an event rule,\n" +
    "belong in infra of trellis.config.ts.",
    "Writes one file for each function and one for each kind of shared resource. Files without the\n" +
    "generated first line are never changed; stale generated files are removed. Secrets are never\n" +
    "written: they become Terraform variables.",
    "If something cannot be determined statically, file and " +
    "line are reported and nothing is written.",
  ],
  options: [
    { name: "check", description: "Write nothing; exit with 1 if a file is stale." },
    {
      name: "modules-path",
      value: "folder",
      description: "Folder of the Terraform modules. Default: the one in the package.",
    },
  ],
  examples: [
    ["trellis generate infra", "write infra/*.tf"],
    ["trellis generate infra --check", "in CI: fail if the files do not match the sources"],
    ["trellis generate infra --modules-path vendor/trellis", "use a copy of the modules"],
    ["trellis generate infra --json | jq '.variables'", "list the variables that Terraform needs"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is up to date.",
    [ExitCode.Found]:
      "Something cannot be determined or would be rejected by AWS, or (--check) a file is stale.",
    [ExitCode.Usage]: "The command line is invalid.",
    [ExitCode.Failed]: "It could not run: a folder or file is missing, unreadable or invalid.",
  },
  run,
};

async function run({ root, options, output }: CommandContext): Promise<ExitCode> {
  const plan = await planFiles({ root, options, output });
  const { sources, variables, errors, warnings, changes } = plan;
  const isStale = changes.some(({ change }) => change !== "unchanged" && change !== "kept");
  if (!options.check) applyGeneratedFiles(root, changes);
  const exitCode = errors.length > 0 || (options.check && isStale) ? ExitCode.Found : ExitCode.Done;

  report(output, plan, options.check === true);
  output.result({
    command: "generate infra",
    exitCode,
    functions: sources.functions.map(describeFunction),
    variables: variables.map(describeVariable),
    files: changes.map(({ path, change }) => ({ path, change })),
    unresolved: errors,
    warnings,
  });
  return exitCode;
}

/** The files to write, and everything that was found. */
interface FilePlan {
  readonly sources: FunctionSources;
  readonly variables: readonly TerraformVariable[];
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** Empty if there are errors. */
  readonly changes: readonly FileChange[];
}

/** Reads the functions and plans the files without writing them. */
async function planFiles(
  { root, options, output }: Pick<CommandContext, "root" | "options" | "output">,
): Promise<FilePlan> {
  // imported on demand: help does not need the parser
  const [{ readConfig }, { findFunctionFiles }, { readFunctions }, { checkSettings }] =
    await Promise.all([
      import("../analysis/read_config.ts"),
      import("../discovery/function_files.ts"),
      import("../infra/read_functions.ts"),
      import("../infra/check_settings.ts"),
    ]);
  const given = options.config as string | undefined;
  const config = readConfig(root, given);
  const { infra } = config;
  const dir = toProjectPath(root, infra.dir);
  const modules = await findModules(root, dir, options["modules-path"] ?? infra.modulesPath);
  const files = findFunctionFiles(resolve(root, config.functionsDir), config);
  const sources = await readFunctions({
    root,
    files,
    settings: infra.functions,
    onProgress: (done, total) => output.progress("Reading functions", done, total),
  });
  output.endProgress();

  const locate = createLocator(
    [...sources.functions, ...listRoutes(sources.functions)],
    given ?? "trellis.config.ts",
    root,
  );
  const settingErrors = checkSettings(infra, sources.functions);
  // invalid settings would cause follow-up errors
  if (settingErrors.length > 0) {
    const errors = [...sources.errors, ...settingErrors.map(locate)];
    return { sources, variables: [], errors, warnings: sources.warnings, changes: [] };
  }
  const { renderInfra, MARKER, FIRST_LINE } = await import("../infra/render_infra.ts");
  const rendered = renderInfra({
    functions: sources.functions,
    config,
    projectName: infra.projectName ??
      (await import("../infra/project_name.ts")).readProjectName(root),
    distDir: relative(resolve(root, dir), resolve(root, config.build.dir)).split(sep).join("/"),
    moduleSource: modules.getSource,
  });
  const roleFile = toProjectPath(root, config.permissions.terraformFile);
  const found = [...rendered.errors, ...findMissingRoles(root, dir, roleFile, rendered.withRole)];
  const errors = [...sources.errors, ...found.map(locate)];
  const texts = new Map([...rendered.files].map(([name, text]) => [`${dir}/${name}`, text]));
  for (const [path, text] of modules.copies(rendered.modules)) {
    texts.set(`${dir}/${modules.folder}/${path}`, `# ${FIRST_LINE}\n\n${text}`);
  }
  return {
    sources,
    variables: rendered.variables,
    errors,
    warnings: [
      ...sources.warnings,
      ...rendered.warnings.map(locate),
      ...findRenamedFunctions(sources.functions, resolve(root, dir), config.functionsDir).map(
        locate,
      ),
    ],
    changes: errors.length > 0 ? [] : planGeneratedFiles({
      root,
      files: texts,
      marker: MARKER,
      ownFolders: [dir, ...MODULE_FOLDERS.map((name) => `${dir}/${modules.folder}/${name}`)],
    }),
  };
}

/** Finds the Terraform modules, and how the generated files refer to them. */
async function findModules(
  root: string,
  dir: string,
  modulesPath: unknown,
): Promise<ModuleSources & { readonly folder: string }> {
  const [{ resolveModulesPath }, { COPIES, planModuleSources }] = await Promise.all([
    import("../infra/modules_path.ts"),
    import("../infra/module_sources.ts"),
  ]);
  const given = modulesPath as string | undefined;
  const found = await resolveModulesPath({ projectDir: root, modulesPath: given });
  const isGiven = given !== undefined;
  return { ...planModuleSources(root, resolve(root, dir), found, isGiven), folder: COPIES };
}

function describeFunction(fn: InfraFunction): object {
  const { name, kind, source, method, path, routeKey, options, variables } = fn;
  const environment = variables.map(({ name, isRequired }) => ({ name, isRequired }));
  const routes = fn.routes?.map(({ method, path, options }) => ({ method, path, options }));
  return { name, kind, file: source, method, path, routes, routeKey, options, environment };
}

function describeVariable(variable: TerraformVariable): object {
  const { name, description, default: fallback, isSensitive } = variable;
  const isRequired = fallback === undefined;
  return { name, description, isRequired, isSensitive: isSensitive === true };
}

/** Folders of all modules that may be copied: unused copies in them are removed. */
const MODULE_FOLDERS = [
  "core",
  "database/distsql",
  "event-bus",
  "function",
  "queue",
  "rest-api",
  "storage",
  "topic",
  "websocket-api",
] as const;

type Locate = (problem: Problem) => Finding;

function createLocator(
  functions: readonly { readonly name: string; readonly source: string; readonly line: number }[],
  configFile: string,
  root: string,
): Locate {
  const byName = new Map(functions.map((fn) => [fn.name, fn]));
  const path = resolve(root, configFile);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return ({ message, functionName }) => {
    const fn = byName.get(functionName ?? "");
    const isAboutSetting = /\binfra\.\w+/.exec(message)?.index === 0 || fn === undefined;
    if (!isAboutSetting) return { file: fn.source, line: fn.line, message, functions: [fn.name] };
    // the last part of the setting's path that occurs in the file
    const words = /\binfra(?:\.\w+)+/.exec(message)?.[0].split(".").slice(1).reverse() ?? [];
    const found = words.map((word) =>
      lines.findIndex((line) => new RegExp(`\\b${word}\\b`).test(line))
    ).find((at) => at >= 0);
    return {
      file: configFile,
      line: (found ?? 0) + 1,
      message,
      functions: fn === undefined ? [] : [fn.name],
    };
  };
}

/**
 * Checks that the map of `generate permissions` contains the roles that the generated files refer
 * to.
 */
function findMissingRoles(
  root: string,
  dir: string,
  file: string,
  functions: readonly string[],
): Problem[] {
  if (functions.length === 0) return [];
  if (dirname(file) !== dir) {
    return [{
      message: `permissions.terraformFile is ${file}, but the ` +
        `generated files refer to it: move it to ${dir}/`,
    }];
  }
  const text = existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "";
  const missing = functions.filter((name) => !new RegExp(`^\\s*${name}\\s*=`, "m").test(text));
  if (missing.length === 0) return [];
  return [{
    message: `${file} has no database role for ${
      summarizeList(missing)
    }: run trellis generate permissions first`,
  }];
}

function report(
  output: Output,
  { sources, errors, warnings, changes }: FilePlan,
  isCheck: boolean,
): void {
  for (const warning of warnings) output.warn(formatDiagnostic(warning));
  for (const error of errors) output.line(`${output.red("error")} ${formatDiagnostic(error)}`);
  if (errors.length > 0) {
    return output.line(
      `Nothing was written: ${errors.length} ${errors.length === 1 ? "error" : "errors"}`,
    );
  }
  reportChanges(
    output,
    changes,
    isCheck,
    (path) =>
      output.warn(
        `${path} was not generated (its first line is different) and is kept`,
      ),
  );
  const isUpToDate = changes.every(({ change }) => change === "unchanged" || change === "kept");
  const fileCount = changes.filter(({ change }) => change !== "removed").length;
  let outcome = isCheck ? "run trellis generate infra" : "done";
  if (isUpToDate) outcome = output.green("everything is up to date");
  const functionCount = output.bold(`${sources.functions.length} functions`);
  output.line(`${functionCount}, ${fileCount} files: ${outcome}`);
}
