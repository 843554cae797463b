import { listLoadedModules } from "../analysis/loaded_modules.ts";
import { asObject, getProperty } from "../analysis/object_literals.ts";
import type { Project } from "../analysis/project.ts";
import { ts } from "../analysis/typescript.ts";
import { type Evaluator, isTrellis, type Literal } from "../analysis/values.ts";

/**
 * Reads the header of API keys: the first of `apiKeyHeaders` in calls of `configureApiKeyAuth`.
 *
 * @param project The sources.
 * @param evaluator Evaluates constants.
 * @param files Absolute paths of the functions with API keys.
 * @param warn Reports code that cannot be resolved, and headers that differ.
 * @returns The header; `undefined` for the default.
 */
export function readApiKeyHeader(
  project: Project,
  evaluator: Evaluator,
  files: readonly string[],
  warn: (node: ts.Node, message: string) => void,
): string | undefined {
  const headers = new Set<string | undefined>();
  for (const call of findCalls(project, files)) {
    const header = readHeader(evaluator, call);
    if (typeof header === "object") {
      warn(
        header.node,
        "apiKeyHeaders cannot be determined statically, so the document names x-api-key: use a literal value",
      );
      continue;
    }
    headers.add(header);
    if (headers.size === 2) {
      warn(call, "API keys have several headers, of which the document can name only one");
    }
  }
  return headers.values().next().value;
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

/** Returns the header, or the code that is only known at run time. */
function readHeader(
  evaluator: Evaluator,
  call: ts.CallExpression,
): string | undefined | Extract<Literal, { kind: "unknown" }> {
  const unknown = (node: ts.Node) => ({ kind: "unknown", node }) as const;
  const [, argument] = call.arguments;
  const options = argument && asObject(evaluator.evaluate(argument));
  if (options === undefined) return unknown(argument ?? call);
  const plugin = getProperty(evaluator, options, "plugin");
  if (plugin === undefined) return undefined;
  if ("unknown" in plugin) return unknown(plugin.unknown);
  const settings = asObject(evaluator.evaluate(plugin.node, plugin.bindings));
  // several configurations are a list
  if (settings === undefined) return unknown(plugin.node);
  const headers = getProperty(evaluator, settings, "apiKeyHeaders");
  if (headers === undefined) return undefined;
  if ("unknown" in headers) return unknown(headers.unknown);
  const literal = evaluator.read(headers.node, headers.bindings);
  if (literal.kind === "unknown") return literal;
  const [first] = [literal.value].flat();
  return typeof first === "string" ? first : undefined;
}
