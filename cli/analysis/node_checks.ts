import { ts } from "./typescript.ts";

/** Checks whether other nodes contain a node. */
export function isWithin(node: ts.Node, scope: readonly ts.Node[]): boolean {
  return scope.some((each) =>
    node.getSourceFile() === each.getSourceFile() && node.pos >= each.pos && node.end <= each.end
  );
}

/** Checks whether an identifier refers to a member of the enclosing enum: `B = A`. */
export function isEnumMember(name: ts.Identifier): boolean {
  for (let node: ts.Node = name.parent; node !== undefined; node = node.parent) {
    if (ts.isEnumDeclaration(node)) {
      return node.members.some((member) => member.name.getText() === name.text);
    }
  }
  return false;
}

/** Checks whether an identifier is the target of an assignment. */
export function isAssigned(name: ts.Identifier): boolean {
  const { parent } = name;
  if (ts.isPrefixUnaryExpression(parent) || ts.isPostfixUnaryExpression(parent)) {
    return parent.operator === ts.SyntaxKind.PlusPlusToken ||
      parent.operator === ts.SyntaxKind.MinusMinusToken;
  }
  return ts.isBinaryExpression(parent) && parent.left === name &&
    parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
    parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment;
}

/**
 * Checks whether a node is the leftmost part of the operand of `new` or `@`. A call in that
 * position needs parentheses: `new (schema())()`.
 */
export function isLeftmostOfNew(part: ts.Node): boolean {
  let node = part;
  while (ts.isPropertyAccessExpression(node.parent) && node.parent.expression === node) {
    node = node.parent;
  }
  return ts.isDecorator(node.parent) ||
    (ts.isNewExpression(node.parent) && node.parent.expression === node);
}
