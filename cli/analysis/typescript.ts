/** The only import of TypeScript (5.9 or 6). It is used as a parser, without type checking. */
import ts from "typescript";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { PARSER_PACKAGE } from "../optional_packages.ts";

if (typeof ts.createSourceFile !== "function") {
  throw new ConfigurationError(
    `TypeScript ${ts.version} has no JavaScript API, which trellis ` +
      `uses to parse sources. Install a version that has it in ` +
      `this project: npm install --save-dev "typescript@${PARSER_PACKAGE.typescript}"`,
  );
}

export { ts };

/**
 * Removes parentheses and type assertions around an expression: `(value as Type)!` becomes `value`.
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
