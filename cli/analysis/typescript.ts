/** The one place that names the parser of TypeScript 5.9 or 6; no types are checked. */
import ts from "typescript";
import { ConfigurationError } from "../../errors/http_errors.ts";

if (typeof ts.createSourceFile !== "function") {
  throw new ConfigurationError(
    `TypeScript ${ts.version} has no JavaScript API, which trellis reads sources with. Install one that has it for ` +
      'this project: npm install --save-dev "typescript@^6"',
  );
}

export { ts };

/**
 * An expression without parentheses and types around it: `(value as Type)!` is `value`.
 *
 * @param expression The expression.
 */
export function unwrap(expression: ts.Expression): ts.Expression {
  let node = expression;
  while (
    ts.isParenthesizedExpression(node) || ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) || ts.isTypeAssertionExpression(node) ||
    ts.isExpressionWithTypeArguments(node) ||
    ts.isPartiallyEmittedExpression(node)
  ) node = node.expression;
  return node;
}
