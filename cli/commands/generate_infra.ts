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
import type { Problem } from "../infra/infra_plan.ts";
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
    "If something cannot be determined statically, file and line are reported and nothing is written.",
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
  // imported on demand: help does not need the parser
  const [
    { readConfig },
    { findFunctionFiles },
    { readFunctions },
    { renderInfra, MARKER, FIRST_LINE },
    settings,
    modules,
  ] = await Promise.all([
    import("../analysis/read_config.ts"),
    import("../discovery/function_files.ts"),
    import("../infra/read_functions.ts"),
    import("../infra/render_infra.ts"),
    import("../infra/check_settings.ts"),
    Promise.all([import("../infra/modules_path.ts"), import("../infra/module_sources.ts")]),
  ]);
  const [{ resolveModulesPath }, { COPIES, planModuleSources }] = modules;
  const configFile = (options.config as string | undefined) ?? "trellis.config.ts";
  const config = readConfig(root, options.config as string | undefined);
  const { infra } = config;
  const dir = toProjectPath(root, infra.dir);
  const given = options["modules-path"] as string | undefined ?? infra.modulesPath;
  const modulesPath = await resolveModulesPath({ projectDir: root, modulesPath: given });
  const files = findFunctionFiles(resolve(root, config.functionsDir));
  const sources = await readFunctions({
    root,
    files,
    settings: infra.functions,
    onProgress: (done, total) => output.progress("Reading functions", done, total),
  });
  output.endProgress();

  const { getSource, copies } = planModuleSources(
    root,
    resolve(root, dir),
    modulesPath,
    given !== undefined,
  );
  const settingErrors = settings.checkSettings(infra, files);
  // invalid settings would cause follow-up errors
  const rendered = settingErrors.length > 0 ? undefined : renderInfra({
    functions: sources.functions,
    config,
    projectName: infra.projectName ??
      (await import("../infra/project_name.ts")).readProjectName(root),
    distDir: relative(resolve(root, dir), resolve(root, config.build.dir)).split(sep).join("/"),
    moduleSource: getSource,
  });
  const { withRole = [], variables = [] } = rendered ?? {};
  const locate = createLocator(sources.functions, configFile, root);
  const found = rendered === undefined ? settingErrors : [
    ...rendered.errors,
    ...findMissingRoles(root, dir, toProjectPath(root, config.permissions.terraformFile), withRole),
  ];
  const errors = [...sources.errors, ...found.map(locate)];
  const warnings = [...sources.warnings, ...(rendered?.warnings ?? []).map(locate)];

  const texts = new Map([...rendered?.files ?? []].map(([name, text]) => [`${dir}/${name}`, text]));
  for (const [path, text] of copies(rendered?.modules ?? [])) {
    texts.set(`${dir}/${COPIES}/${path}`, `# ${FIRST_LINE}\n\n${text}`);
  }
  const changes = errors.length > 0 ? [] : planGeneratedFiles({
    root,
    files: texts,
    marker: MARKER,
    ownFolders: [dir, ...MODULE_FOLDERS.map((name) => `${dir}/${COPIES}/${name}`)],
  });
  const isStale = changes.some(({ change }) => change !== "unchanged" && change !== "kept");
  if (!options.check) applyGeneratedFiles(root, changes);
  const exitCode = errors.length > 0 || (options.check && isStale) ? ExitCode.Found : ExitCode.Done;

  report(output, {
    functionCount: sources.functions.length,
    errors,
    warnings,
    changes,
    isCheck: options.check === true,
  });
  output.result({
    command: "generate infra",
    exitCode,
    functions: sources.functions.map((
      { name, kind, source, method, path, routeKey, options: own, variables },
    ) => ({
      name,
      kind,
      file: source,
      method,
      path,
      routeKey,
      options: own,
      environment: variables.map(({ name, isRequired }) => ({ name, isRequired })),
    })),
    variables: variables.map(({ name, description, default: fallback, isSensitive }) => ({
      name,
      description,
      isRequired: fallback === undefined,
      isSensitive: isSensitive === true,
    })),
    files: changes.map(({ path, change }) => ({ path, change })),
    unresolved: errors,
    warnings,
  });
  return exitCode;
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
      message:
        `permissions.terraformFile is ${file}, but the generated files refer to it: move it to ${dir}/`,
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

interface Report {
  readonly functionCount: number;
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly changes: readonly FileChange[];
  readonly isCheck: boolean;
}

function report(
  output: Output,
  { functionCount, errors, warnings, changes, isCheck }: Report,
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
  output.line(
    `${output.bold(`${functionCount} functions`)}, ${
      changes.filter(({ change }) => change !== "removed").length
    } files: ` +
      (isUpToDate
        ? output.green("everything is up to date")
        : isCheck
        ? "run trellis generate infra"
        : "done"),
  );
}
