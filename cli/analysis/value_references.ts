import { ts } from "./typescript.ts";

/** Callbacks of {@link visitValues}. */
export interface ValueVisitor {
  /** Called for an identifier that refers to a value. `isShorthand` is true for `{ name }`. */
  name(name: ts.Identifier, isShorthand: boolean): void;
  /**
   * Called for a member access, before its parts are visited.
   *
   * @returns True to skip its parts.
   */
  member(node: ts.PropertyAccessExpression): boolean;
  /**
   * Called for `import.meta`, `import()`, and an `await` outside of functions; their parts are
   * skipped.
   */
  special(node: ts.Node, what: string): void;
}

/**
 * Visits the identifiers in a node that refer to values at run time. Skips types, keys, labels and
 * the names that the node itself declares.
 *
 * @param visitor The callbacks.
 */
export function visitValues(root: ts.Node, visitor: ValueVisitor): void {
  let functionDepth = 0;

  function visitName(name: ts.PropertyName | ts.BindingName | undefined): void {
    if (name === undefined) return;
    if (ts.isComputedPropertyName(name)) visit(name.expression);
    else if (ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) {
      name.elements.forEach(visit);
    }
  }

  function visitRest(node: ts.Node, name: ts.Node | undefined): void {
    ts.forEachChild(node, (child) => child === name ? undefined : visit(child));
  }

  function visit(node: ts.Node): void {
    if (ts.isExpressionWithTypeArguments(node)) return visit(node.expression);
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
      return;
    }
    if (ts.isTypeParameterDeclaration(node)) return;
    if (ts.isIdentifier(node)) return visitor.name(node, false);
    if (ts.isPropertyAccessExpression(node)) {
      return visitor.member(node) ? undefined : visit(node.expression);
    }
    if (ts.isShorthandPropertyAssignment(node)) {
      visitor.name(node.name, true);
      return node.objectAssignmentInitializer && visit(node.objectAssignmentInitializer);
    }
    if (ts.isMetaProperty(node)) {
      return node.keywordToken === ts.SyntaxKind.ImportKeyword
        ? visitor.special(node, "import.meta")
        : undefined;
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      return visitor.special(node, "import()");
    }
    if (ts.isAwaitExpression(node) && functionDepth === 0) return visitor.special(node, "await");
    if (ts.isBreakOrContinueStatement(node)) return;
    if (ts.isLabeledStatement(node)) return visit(node.statement);
    if (ts.isHeritageClause(node)) {
      return node.token === ts.SyntaxKind.ExtendsKeyword ? node.types.forEach(visit) : undefined;
    }
    if (ts.isBindingElement(node)) {
      visitName(node.propertyName);
      visitName(node.name);
      return node.initializer && visit(node.initializer);
    }
    if (ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isPropertyAssignment(node)) {
      visitName(node.name);
      return visitRest(node, node.name);
    }
    if (ts.isFunctionLike(node)) {
      visitName(node.name as ts.PropertyName | undefined);
      functionDepth++;
      visitRest(node, node.name);
      functionDepth--;
      return;
    }
    if (ts.isPropertyDeclaration(node) || ts.isEnumMember(node)) {
      visitName(node.name as ts.PropertyName);
      functionDepth++;
      visitRest(node, node.name);
      functionDepth--;
      return;
    }
    if (ts.isClassLike(node) || ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node)) {
      return visitRest(node, node.name);
    }
    ts.forEachChild(node, visit);
  }

  visit(root);
}
