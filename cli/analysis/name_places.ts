import { ts } from "./typescript.ts";

/**
 * Whether a node is in one of others.
 *
 * @param node The node.
 * @param scope The others.
 */
export function isWithin(node: ts.Node, scope: readonly ts.Node[]): boolean {
  return scope.some((each) =>
    node.getSourceFile() === each.getSourceFile() && node.pos >= each.pos && node.end <= each.end
  );
}

/**
 * Whether a name means a member of the enum around it: `B = A`.
 *
 * @param name The name.
 */
export function isEnumMember(name: ts.Identifier): boolean {
  for (let node: ts.Node = name.parent; node !== undefined; node = node.parent) {
    if (ts.isEnumDeclaration(node)) {
      return node.members.some((member) => member.name.getText() === name.text);
    }
  }
  return false;
}

/**
 * Whether a name is assigned where it stands.
 *
 * @param name The name.
 */
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
 * Whether a node begins what `new` or `@` takes: in `new Schema()` a call in the place of the name would take the arguments for
 * itself.
 *
 * @param part The node.
 */
export function isLeftmostOfNew(part: ts.Node): boolean {
  let node = part;
  while (ts.isPropertyAccessExpression(node.parent) && node.parent.expression === node) {
    node = node.parent;
  }
  return ts.isDecorator(node.parent) ||
    (ts.isNewExpression(node.parent) && node.parent.expression === node);
}
