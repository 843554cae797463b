import { listLoadedModules } from "./loaded_modules.ts";
import { asObject, getProperty } from "./object_literals.ts";
import type { Project } from "./project.ts";
import { ts } from "./typescript.ts";
import { isTrellis } from "../project/resolve_module.ts";
import type { Evaluator, Literal, ScopedExpression } from "./values.ts";

/** The header of API keys without `apiKeyHeaders`. */
export const DEFAULT_API_KEY_HEADER = "x-api-key";

type Unknown = Extract<Literal, { kind: "unknown" }>;

/**
 * Reads the headers of API keys: `apiKeyHeaders` in calls of `configureApiKeyAuth`.
 *
 * @param files Absolute paths of the functions with API keys.
 * @param onUnknown Reports headers that are only known at run time.
 * @returns The headers of each configuration, in the order of the code.
 */
export function readApiKeyHeaders(
  project: Project,
  evaluator: Evaluator,
  files: readonly string[],
  onUnknown: (node: ts.Node) => void,
): { readonly call: ts.Node; readonly headers: readonly string[] }[] {
  return findCalls(project, files).flatMap((call) =>
    readCall(evaluator, call).flatMap((headers) => {
      if (!("kind" in headers)) return [{ call, headers }];
      onUnknown(headers.node);
      return [];
    })
  );
}

/** Finds the calls in the modules that functions load. */
function findCalls(project: Project, files: readonly string[]): ts.CallExpression[] {
  const calls: ts.CallExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isConfiguration(project, node.expression)) calls.push(node);
    ts.forEachChild(node, visit);
  };
  for (const { source } of listLoadedModules(project, files)) {
    if (source.text.includes("configureApiKeyAuth")) visit(source);
  }
  return calls;
}

function isConfiguration(project: Project, callee: ts.Expression): boolean {
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
  if (!ts.isIdentifier(name) || name.text !== "configureApiKeyAuth") return false;
  if (name !== callee) return true;
  const target = project.getTarget(name);
  return target.kind === "package" && isTrellis(target.module);
}

/** Reads the settings of the plugin, which are a list if it has several configurations. */
function readCall(evaluator: Evaluator, call: ts.CallExpression): (readonly string[] | Unknown)[] {
  const [, argument] = call.arguments;
  const options = argument && asObject(evaluator.evaluate(argument));
  if (options === undefined) return [asUnknown(argument ?? call)];
  const plugin = getProperty(evaluator, options, "plugin");
  if (plugin === undefined) return [[DEFAULT_API_KEY_HEADER]];
  if ("unknown" in plugin) return [asUnknown(plugin.unknown)];
  const { node, bindings } = plugin;
  const value = evaluator.evaluate(node, bindings);
  if (value.kind !== "expression" || !ts.isArrayLiteralExpression(value.node)) {
    return [readHeaders(evaluator, plugin)];
  }
  return value.node.elements.map((element) =>
    ts.isSpreadElement(element)
      ? asUnknown(element)
      : readHeaders(evaluator, { node: element, bindings: value.bindings })
  );
}

/** Returns the headers of a configuration, or the code that is only known at run time. */
function readHeaders(
  evaluator: Evaluator,
  { node, bindings }: ScopedExpression,
): readonly string[] | Unknown {
  const settings = asObject(evaluator.evaluate(node, bindings));
  if (settings === undefined) return asUnknown(node);
  const given = getProperty(evaluator, settings, "apiKeyHeaders");
  if (given === undefined) return [DEFAULT_API_KEY_HEADER];
  if ("unknown" in given) return asUnknown(given.unknown);
  const literal = evaluator.read(given.node, given.bindings);
  if (literal.kind === "unknown") return literal;
  const names = [literal.value ?? DEFAULT_API_KEY_HEADER].flat();
  return names.every((name) => typeof name === "string") ? names : asUnknown(given.node);
}

function asUnknown(node: ts.Node): Unknown {
  return { kind: "unknown", node };
}
