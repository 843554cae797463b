import { createEvaluator } from "../analysis/evaluate.ts";
import { readHandlerDefinition } from "../analysis/handler_definition.ts";
import { Project } from "../analysis/project.ts";
import { readRouterDefinition } from "../analysis/router_definition.ts";
import type { FunctionFile } from "./function_files.ts";

/** The routes of a router as declared in its sources. */
export interface RouterRoutes {
  /** One entry for each route, with the file and name of the function. */
  readonly routes: readonly FunctionFile[];
  /** Errors with file and line: `src/functions/api/notes.router.ts:12: …`. */
  readonly errors: readonly string[];
  /** The files that declare the routes. */
  readonly files: readonly string[];
}

/** Reads the routes of a router from its sources, without executing them. */
export function readRouterRoutes(root: string, fn: FunctionFile): RouterRoutes {
  const project = new Project(root);
  const evaluator = createEvaluator(project);
  try {
    const definition = readHandlerDefinition(project, evaluator, fn.file);
    const { routes, unresolved } = readRouterDefinition(project, evaluator, fn, definition);
    const faults = [...definition.unresolved, ...unresolved];
    return {
      routes: routes.map(({ method, path }) => ({ ...fn, method, path })),
      errors: faults.map(({ node, message }) =>
        `${project.getPath(node)}:${project.getLine(node)}: ${message}`
      ),
      files: project.listFiles(),
    };
  } catch (error) {
    // a syntax error; the bundler reports it with its location
    if (!(error instanceof SyntaxError)) throw error;
    return { routes: [], errors: [], files: [fn.file, ...project.listFiles()] };
  }
}
