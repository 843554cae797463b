import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { toPortablePath } from "../files/inside_folder.ts";
import type { Finding } from "../project/findings.ts";
import { readConfig } from "../config/read_config.ts";
import type { CommandContext } from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { findFunctionFiles } from "../discovery/function_files.ts";
import { type FileChange, planGeneratedFiles, toProjectPath } from "../files/generated_files.ts";
import { summarizeList } from "../terminal/generated_report.ts";
import { checkSettings } from "./check_settings.ts";
import { type InfraFunction, listRoutes, type Problem } from "./infra_plan.ts";
import { COPIES, findOwnModules, type ModuleSources, planModuleSources } from "./module_sources.ts";
import { resolveModulesPath } from "./modules_path.ts";
import { MODULES_MANIFEST } from "./modules_manifest.ts";
import { readProjectName } from "./project_name.ts";
import { type FunctionSources, readFunctions } from "./read_functions.ts";
import { FIRST_LINE, MARKER, type RenderedInfra, renderInfra } from "./render_infra.ts";
import type { PlannedSource } from "./sources.ts";
import { relative } from "node:path/posix";
import { snakeCase } from "../discovery/snake_case.ts";

/** The files to write, and everything that was found. */
export interface FilePlan extends Pick<RenderedInfra, "variables" | "logins" | "sharedLogins"> {
  readonly sources: FunctionSources;
  readonly config: ResolvedConfig;
  readonly projectName: string;
  /** Absolute path of the folder of the files. */
  readonly folder: string;
  /** Secrets and parameters that the functions read. */
  readonly secrets: readonly PlannedSource[];
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** Empty if there are errors. */
  readonly changes: readonly FileChange[];
}

/**
 * Finds the beginning of the names of all resources, and the folder of the files.
 *
 * @throws {ConfigurationError} If the project has no name, or the folder is not in the project.
 */
export function locateInfra(
  root: string,
  { infra }: ResolvedConfig,
): Pick<FilePlan, "projectName" | "folder"> {
  return {
    projectName: infra.projectName ?? readProjectName(root),
    folder: resolve(root, toProjectPath(root, infra.dir)),
  };
}

/**
 * Reads the functions and plans the files of `generate infra` without writing them.
 *
 * @param context The project, the options `config` and `modules-path`, and the output for progress.
 * @returns The files, and the errors that prevent writing them.
 */
export async function planFiles(
  { root, options, output }: Pick<CommandContext, "root" | "options" | "output">,
): Promise<FilePlan> {
  const given = options.config as string | undefined;
  const config = await readConfig(root, given);
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

  const { projectName, folder } = locateInfra(root, config);
  const common = { sources, config, projectName, folder };
  const locate = createLocator(
    [...sources.functions, ...listRoutes(sources.functions)],
    given ?? "trellis.config.ts",
    root,
  );
  const settingErrors = checkSettings(infra, sources.functions);
  // invalid settings would cause follow-up errors
  if (settingErrors.length > 0) {
    const errors = [...sources.errors, ...settingErrors.map(locate)];
    const { warnings } = sources;
    const none = { variables: [], secrets: [], logins: [], sharedLogins: [], changes: [] };
    return { ...common, ...none, errors, warnings };
  }
  const rendered = renderInfra({
    functions: sources.functions,
    infra,
    projectName,
    distDir: toPortablePath(resolve(root, dir), resolve(root, config.build.dir)),
    moduleSource: modules.getSource,
    loginVariable: config.permissions.logins === "shared" ? undefined : config.database.urlEnv,
  });
  const roleFile = toProjectPath(root, config.permissions.terraformFile);
  const found = [...rendered.errors, ...findMissingRoles(root, dir, roleFile, rendered.withRole)];
  const errors = [...sources.errors, ...found.map(locate)];
  const texts = new Map([...rendered.files].map(([name, text]) => [`${dir}/${name}`, text]));
  const own = findOwnModules(resolve(root, dir), (text) => text.includes(MARKER));
  for (const [path, text] of modules.copies(new Set([...rendered.modules, ...own]))) {
    texts.set(`${dir}/${modules.folder}/${path}`, `# ${FIRST_LINE}\n\n${text}`);
  }
  return {
    ...common,
    variables: rendered.variables,
    secrets: rendered.sources,
    logins: rendered.logins,
    sharedLogins: rendered.sharedLogins,
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
      ownFolders: [
        dir,
        `${dir}/stages`,
        ...[...MODULE_FOLDERS].map((name) => `${dir}/${modules.folder}/${name}`),
      ],
    }),
  };
}

/** Finds the Terraform modules, and how the generated files refer to them. */
async function findModules(
  root: string,
  dir: string,
  modulesPath: unknown,
): Promise<ModuleSources & { readonly folder: string }> {
  const given = modulesPath as string | undefined;
  const found = await resolveModulesPath({ projectDir: root, modulesPath: given });
  const isGiven = given !== undefined;
  return { ...planModuleSources(root, resolve(root, dir), found, isGiven), folder: COPIES };
}

/** Folders of all modules that may be copied: unused copies in them are removed. */
const MODULE_FOLDERS: ReadonlySet<string> = new Set(Object.keys(MODULES_MANIFEST).map(dirname));

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

/**
 * Finds functions whose names got a method because another file of the path was added. Terraform
 * would replace them.
 *
 * @param dir Absolute path of the generated files of the last run.
 * @param functionsDir Folder of the functions, relative to the project.
 */
function findRenamedFunctions(
  functions: readonly InfraFunction[],
  dir: string,
  functionsDir: string,
): Problem[] {
  return functions.flatMap(({ name, shortName, source }): Problem[] => {
    if (shortName === undefined || !wasGenerated(dir, shortName, source)) return [];
    const entry = `${JSON.stringify(relative(functionsDir, source))}: ${JSON.stringify(shortName)}`;
    return [{
      functionName: name,
      message:
        `${shortName} is now called ${name}, because another method of its path has a file: ` +
        "Terraform replaces the function. To keep the name, add " +
        `functionNames: { ${entry} } to trellis.config.ts`,
    }];
  });
}

function wasGenerated(dir: string, name: string, source: string): boolean {
  const file = join(dir, `fn_${snakeCase(name)}.tf`);
  return existsSync(file) && readFileSync(file, "utf8").includes(`# ${name}: ${source}\n`);
}
