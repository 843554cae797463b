import { listLoadedModules } from "../../analysis/loaded_modules.ts";
import { Project } from "../../analysis/project.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import type { ModulePaths } from "../module_paths.ts";
import { PureExpressions } from "./pure_expression.ts";
import { readSchemaModule, type SchemaModuleSource } from "./schema_module.ts";

/** The schemas in the sources of all functions. */
export interface SchemaSources {
  readonly project: Project;
  readonly expressions: PureExpressions;
  /** Modules of the project by path. */
  readonly modules: ReadonlyMap<string, SchemaModuleSource>;
  /** Returns the modules of the project that a file loads, with the file itself. */
  listModules(file: string): SchemaModuleSource[];
}

/**
 * Reads the schemas in the sources of functions.
 *
 * @throws {SyntaxError} If a file cannot be parsed.
 */
export function readSchemaSources(
  root: string,
  files: readonly string[],
  paths: ModulePaths,
): SchemaSources {
  const project = new Project(root);
  const expressions = new PureExpressions(project);
  const modules = new Map<string, SchemaModuleSource>();

  const isOwn = (path: string) => paths.getPackage(path) === undefined;

  function listModules(file: string): SchemaModuleSource[] {
    return listLoadedModules(project, [file], isOwn).map(readModule);
  }

  function readModule(module: SourceModule): SchemaModuleSource {
    let source = modules.get(module.path);
    if (source === undefined) {
      modules.set(module.path, source = readSchemaModule(project, module, expressions));
    }
    return source;
  }

  for (const file of files) listModules(file);
  return { project, expressions, modules, listModules };
}
