import { type Declaration, findDeclaration } from "./scopes.ts";
import { ts } from "./typescript.ts";

const byFile: WeakMap<ts.SourceFile, Map<ts.Node, ts.Expression[]>> = new WeakMap();

/**
 * Returns the expressions assigned to a variable after its declaration, such as `repository ??=
 * createRepository()`.
 *
 * @param declaration The variable's declaration.
 */
export function listAssignments(declaration: Declaration): readonly ts.Expression[] {
  const source = declaration.getSourceFile();
  let assigned = byFile.get(source);
  if (assigned === undefined) {
    byFile.set(source, assigned = new Map());
    const all = assigned;
    const visit = (node: ts.Node): void => {
      if (ts.isBinaryExpression(node) && isAssignment(node) && ts.isIdentifier(node.left)) {
        const target = findDeclaration(node.left);
        if (target !== undefined) all.set(target, [...all.get(target) ?? [], node.right]);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return assigned.get(declaration) ?? [];
}

/** Checks whether an expression assigns its right side: `=`, `??=`, `||=`, `&&=`. */
export function isAssignment(node: ts.BinaryExpression): boolean {
  switch (node.operatorToken.kind) {
    case ts.SyntaxKind.EqualsToken:
    case ts.SyntaxKind.QuestionQuestionEqualsToken:
    case ts.SyntaxKind.BarBarEqualsToken:
    case ts.SyntaxKind.AmpersandAmpersandEqualsToken:
      return true;
    default:
      return false;
  }
}
