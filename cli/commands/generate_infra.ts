import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Finding } from "../analysis/permissions.ts";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import {
  applyGeneratedFiles,
  type FileChange,
  planGeneratedFiles,
  toProjectPath,
} from "../generated_files.ts";
import { describePlace, getSome, reportChanges } from "../generated_report.ts";
import type { Fault } from "../infra/infra_plan.ts";
import type { Output } from "../output.ts";

/** `trellis generate infra`. */
export const generateInfra: Command = {
  name: "generate infra",
  summary:
    "Writes the Terraform of the project: each function, its trigger, its environment and its rights.",
  description: [
    "Reads every function's file and what it imports; nothing of it is run. Timeout, memory, concurrency, storage, retries and\n" +
    "dead letters come from the handler's options, routes from the files' paths, environment variables from what a function\n" +
    "can really reach (getRequiredEnv, getOptionalEnv, defineEnv, process.env). What files do not tell, such as the pattern of\n" +
    "an event rule, stands in infra of trellis.config.ts.",
    "Writes one file for each function and one for each kind of thing that they share. A file without the first line that says\n" +
    "so is yours and is left alone; stale ones that have it are removed. Values of secrets are never written: variables are.",
    "What cannot be told from the text is named with file and line, and nothing is written.",
  ],
  options: [
    { name: "check", description: "Write nothing; exit with 1 when a file is stale." },
    {
      name: "modules-path",
      value: "folder",
      description: "Folder of the Terraform modules; the package's own without it.",
    },
  ],
  examples: [
    ["trellis generate infra", "write infra/*.tf"],
    ["trellis generate infra --check", "in CI: fail when the files do not fit the sources"],
    ["trellis generate infra --modules-path vendor/trellis", "use a copy of the modules"],
    ["trellis generate infra --json | jq '.variables'", "what Terraform must be given"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: every file is as it should be.",
    [ExitCode.Found]:
      "Something cannot be told or would be refused by AWS, or (--check) a file is stale.",
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
  const settingFaults = settings.checkSettings(infra, files);
  // what is not of the right kind would only lead to more complaints
  const rendered = settingFaults.length > 0 ? undefined : renderInfra({
    functions: sources.functions,
    config,
    projectName: infra.projectName ??
      (await import("../infra/project_name.ts")).readProjectName(root),
    distDir: relative(resolve(root, dir), resolve(root, config.build.dir)).split(sep).join("/"),
    moduleSource: getSource,
  });
  const { withRole = [], variables = [] } = rendered ?? {};
  const place = placeFaults(sources.functions, configFile, root);
  const faults = rendered === undefined ? settingFaults : [
    ...rendered.faults,
    ...missingRoles(root, dir, toProjectPath(root, config.permissions.terraformFile), withRole),
  ];
  const errors = [...sources.errors, ...faults.map(place)];
  const warnings = [...sources.warnings, ...(rendered?.warnings ?? []).map(place)];

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

/** Every module that is copied where packages lie in a cache, as folders: copies that are not used any more are cleared. */
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

type Place = (fault: Fault) => Finding;

function placeFaults(
  functions: readonly { readonly name: string; readonly source: string; readonly line: number }[],
  configFile: string,
  root: string,
): Place {
  const byName = new Map(functions.map((fn) => [fn.name, fn]));
  const path = resolve(root, configFile);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return ({ message, functionName }) => {
    const fn = byName.get(functionName ?? "");
    const isAboutSetting = /\binfra\.\w+/.exec(message)?.index === 0 || fn === undefined;
    if (!isAboutSetting) return { file: fn.source, line: fn.line, message, functions: [fn.name] };
    // the last name of the setting that the file has
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

/** The generated files refer to roles by function: the map of `generate permissions` must have them. */
function missingRoles(
  root: string,
  dir: string,
  file: string,
  functions: readonly string[],
): Fault[] {
  if (functions.length === 0) return [];
  if (dirname(file) !== dir) {
    return [{
      message:
        `permissions.terraformFile is ${file}, but functions take their database roles from it: put it into ${dir}/`,
    }];
  }
  const text = existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "";
  const missing = functions.filter((name) => !new RegExp(`^\\s*${name}\\s*=`, "m").test(text));
  if (missing.length === 0) return [];
  return [{
    message: `${file} has no database role for ${
      getSome(missing)
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
  for (const warning of warnings) output.warn(describePlace(warning));
  for (const error of errors) output.line(`${output.red("error")} ${describePlace(error)}`);
  if (errors.length > 0) {
    return output.line(
      `Nothing was written: ${errors.length} ${errors.length === 1 ? "thing" : "things"} to mend`,
    );
  }
  reportChanges(
    output,
    changes,
    isCheck,
    (path) =>
      output.warn(
        `${path} is yours (its first line does not say that it is generated): left alone`,
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
