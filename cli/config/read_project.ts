import { resolve } from "node:path";
import type { CommandContext } from "../terminal/command.ts";
import type { ResolvedConfig } from "./config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";

/** The configuration and the functions of a project. */
export interface Project {
  readonly config: ResolvedConfig;
  readonly functions: readonly FunctionFile[];
}

type ProjectContext = Pick<CommandContext, "root" | "options">;

/**
 * Reads the configuration of a command's project.
 *
 * @throws {ConfigurationError} If the configuration is invalid.
 */
export async function readProjectConfig(
  { root, options }: ProjectContext,
): Promise<ResolvedConfig> {
  // imported on demand: help does not need it
  const { readConfig } = await import("./read_config.ts");
  return await readConfig(root, options.config as string | undefined);
}

/**
 * Reads the configuration of a command's project and finds its functions. Their names and kinds
 * depend on the configuration.
 *
 * @param context The project and the option `--config`.
 * @throws {ConfigurationError} If the configuration or the folder of functions is invalid.
 */
export async function readProject(context: ProjectContext): Promise<Project> {
  const config = await readProjectConfig(context);
  const { findFunctionFiles } = await import("../discovery/function_files.ts");
  const folder = resolve(context.root, config.functionsDir);
  return { config, functions: findFunctionFiles(folder, config) };
}
