import { resolve } from "node:path";
import type { CommandContext } from "./command.ts";
import type { ResolvedConfig } from "./config/config.ts";
import type { FunctionFile } from "./discovery/function_files.ts";

/** The configuration and the functions of a project. */
export interface Project {
  readonly config: ResolvedConfig;
  readonly functions: readonly FunctionFile[];
}

/**
 * Reads the configuration of a command's project and finds its functions. Their names and kinds
 * depend on the configuration.
 *
 * @param context The project and the option `--config`.
 * @throws {ConfigurationError} If the configuration or the folder of functions is invalid.
 */
export async function readProject(
  { root, options }: Pick<CommandContext, "root" | "options">,
): Promise<Project> {
  // imported on demand: help does not need the parser
  const [{ readConfig }, { findFunctionFiles }] = await Promise.all([
    import("./analysis/read_config.ts"),
    import("./discovery/function_files.ts"),
  ]);
  const config = readConfig(root, options.config as string | undefined);
  return { config, functions: findFunctionFiles(resolve(root, config.functionsDir), config) };
}
