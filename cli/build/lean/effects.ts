import { PURE_GLOBALS } from "../../analysis/pure_globals.ts";
import { findDeclaration } from "../../analysis/scopes.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { CHANGING } from "../precompile_queries/changed_constants.ts";

/** Other methods after which an object is not the same as before. */
const STATEFUL: ReadonlySet<string> = new Set(
  "next return throw exec test freeze seal preventExtensions set call apply".split(" "),
);

/**
 * Finds code that may change an object or a variable, or that waits.
 *
 * @param root The code. Functions in it count as if they were called.
 */
export function findEffect(root: ts.Node): ts.Node | undefined {
  if (ts.isTypeNode(root)) return undefined;
  return hasEffect(root) ? root : ts.forEachChild(root, findEffect);
}

function hasEffect(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
  }
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    return node.operator === ts.SyntaxKind.PlusPlusToken ||
      node.operator === ts.SyntaxKind.MinusMinusToken;
  }
  if (ts.isNewExpression(node)) return !isPureGlobal(node.expression);
  if (ts.isCallExpression(node)) return isImport(node) || isChangingCall(node);
  return ts.isDeleteExpression(node) || ts.isAwaitExpression(node) || ts.isYieldExpression(node) ||
    ts.isForOfStatement(node) || ts.isDecorator(node);
}

function isImport({ expression }: ts.CallExpression): boolean {
  return expression.kind === ts.SyntaxKind.ImportKeyword;
}

function isChangingCall({ expression }: ts.CallExpression): boolean {
  const callee = unwrap(expression);
  if (ts.isElementAccessExpression(callee)) return true;
  if (!ts.isPropertyAccessExpression(callee)) return false;
  return CHANGING.has(callee.name.text) || STATEFUL.has(callee.name.text);
}

function isPureGlobal(node: ts.Expression): boolean {
  return ts.isIdentifier(node) && findDeclaration(node) === undefined &&
    PURE_GLOBALS.has(node.text);
}
