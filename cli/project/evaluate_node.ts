import type { BundleSyntax } from "./bundle_syntax.ts";
import type { Evaluated } from "./loaded_function.ts";
import { type AnyNode, childrenOf } from "../sources/syntax.ts";

/** Nodes that read values and run no code but that of getters. */
const CONSTANT = new Set([
  "Literal",
  "TemplateLiteral",
  "TemplateElement",
  "Identifier",
  "MemberExpression",
  "ChainExpression",
  "ObjectExpression",
  "ArrayExpression",
  "Property",
  "SpreadElement",
  "UnaryExpression",
  "BinaryExpression",
  "LogicalExpression",
  "ConditionalExpression",
]);

/**
 * Creates the function that evaluates constant expressions of a bundle in its own scope.
 *
 * @param run Evaluates a text in the scope of the bundle.
 */
export function createEvaluate(
  syntax: BundleSyntax,
  text: string,
  run: (source: string) => unknown,
): (node: AnyNode) => Evaluated {
  function isConstant(node: AnyNode): boolean {
    if (!CONSTANT.has(node.type)) return false;
    if (node.type === "Identifier") {
      return syntax.declarations.has(node.name) || node.name === "undefined" ||
        syntax.findExport(node) !== undefined;
    }
    if (node.type === "MemberExpression" && !node.computed) return isConstant(node.object);
    if (node.type === "Property" && !node.computed) return isConstant(node.value);
    return childrenOf(node).every(isConstant);
  }
  return function evaluate(node): Evaluated {
    if (!isConstant(node)) return { isKnown: false };
    try {
      return { isKnown: true, value: run(`(${text.slice(node.start, node.end)})`) };
    } catch {
      return { isKnown: false };
    }
  };
}
