import { parseRouteKey } from "../../router/route_key.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { nameRoute } from "../discovery/route_files.ts";
import { type HandlerDefinition, readHandlerExpression } from "./handler_definition.ts";
import { asObject, findProperty, getNames } from "./object_literals.ts";
import type { Project } from "./project.ts";
import type { ts } from "./typescript.ts";
import type { Evaluator } from "./values.ts";

/** A route of a router, with its handler. */
export interface RouteDefinition {
  /** Method in upper case; `ANY` matches all methods. */
  readonly method: string;
  /** `/notes/{noteId}` */
  readonly path: string;
  /** The route's name, which is unique in the project: `NotesApiNotesByNoteIdGet`. */
  readonly name: string;
  /** The definition of the handler. */
  readonly definition: HandlerDefinition;
}

/** The routes of a router, and code that cannot be resolved. */
export interface RouterDefinition {
  readonly routes: readonly RouteDefinition[];
  readonly unresolved: readonly { readonly node: ts.Node; readonly message: string }[];
}

/**
 * Reads the routes of a function that `defineRouter` creates. Static analysis only.
 *
 * @param definition The definition of the function's handler.
 * @returns The routes in the order of their declaration; empty for other functions.
 */
export function readRouterDefinition(
  project: Project,
  evaluator: Evaluator,
  fn: Pick<FunctionFile, "name">,
  { definer, node, routes: given }: HandlerDefinition,
): RouterDefinition {
  if (definer !== "defineRouter") return { routes: [], unresolved: [] };
  if (given === undefined) return { routes: [], unresolved: [{ node, message: UNKNOWN_ROUTES }] };
  const names = getNames(evaluator, given);
  if ("unknown" in names) {
    return { routes: [], unresolved: [{ node: names.unknown, message: UNKNOWN_ROUTES }] };
  }
  const object = asObject(evaluator.evaluate(given.node, given.bindings));
  const routes: RouteDefinition[] = [];
  const unresolved: { node: ts.Node; message: string }[] = [];
  for (const key of names.names) {
    const handler = object && findProperty(evaluator, object, key);
    if (handler === undefined) {
      unresolved.push({ node: given.node, message: `${key}: ${UNKNOWN_ROUTES}` });
      continue;
    }
    try {
      const { method, path } = parseRouteKey(key);
      const definition = readHandlerExpression(project, evaluator, handler);
      routes.push({ method, path, name: `${fn.name}${nameRoute(method, path)}`, definition });
      unresolved.push(...definition.unresolved);
    } catch (error) {
      unresolved.push({ node: handler.node, message: (error as Error).message });
    }
  }
  return { routes, unresolved };
}

const UNKNOWN_ROUTES = "the routes cannot be determined statically. Write " +
  'defineRouter({ "GET /notes": listNotes, … }) with fixed keys';
