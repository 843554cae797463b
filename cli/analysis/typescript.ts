/**
 * The one place that names the parser. TypeScript 5.9 is the last version whose compiler can be used from JavaScript; only
 * its parser is used, no types are checked.
 */
import ts from "typescript";

export { ts };

/**
 * An expression without parentheses and types around it: `(value as Type)!` is `value`.
 *
 * @param expression The expression.
 */
export function unwrap(expression: ts.Expression): ts.Expression {
  let node = expression;
  while (
    ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) || ts.isTypeAssertionExpression(node) || ts.isExpressionWithTypeArguments(node) ||
    ts.isPartiallyEmittedExpression(node)
  ) node = node.expression;
  return node;
}
