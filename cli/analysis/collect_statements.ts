import type { Collector } from "./collector.ts";
import { DEFER, NONE, type Path } from "./effects.ts";
import { ts } from "./typescript.ts";

/**
 * Collects the code that statements run. Functions and classes run only when they are used.
 *
 * @param node A statement, a block or a file.
 */
export function collectStatements(c: Collector, node: ts.Node, result: Path): void {
  if (ts.isExpression(node)) return c.use(node, [NONE]);
  if (ts.isTypeNode(node) || ts.isFunctionDeclaration(node)) return;
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
  if (ts.isClassDeclaration(node)) return c.reach(node, [NONE]);
  if (ts.isReturnStatement(node)) {
    if (node.expression !== undefined) collectResult(c, node.expression, result);
  } else if (ts.isThrowStatement(node)) {
    c.use(node.expression, []);
  } else if (ts.isExportAssignment(node)) {
    c.use(node.expression, [DEFER]);
  } else if (ts.isForOfStatement(node)) {
    c.use(node.expression, []);
    collectStatements(c, node.initializer, result);
    collectStatements(c, node.statement, result);
  } else if (ts.isVariableDeclaration(node)) {
    if (node.initializer !== undefined) c.use(node.initializer, [isDeferred(node) ? DEFER : NONE]);
    collectDefaults(c, node.name);
  } else {
    ts.forEachChild(node, (child) => collectStatements(c, child, result));
  }
}

/** Collects an expression that is returned by a function. */
export function collectResult(c: Collector, expression: ts.Expression, result: Path): void {
  c.use(expression, [NONE]);
  if (result[0] !== NONE && result[0] !== DEFER) c.use(expression, result);
}

function collectDefaults(c: Collector, name: ts.BindingName): void {
  if (ts.isIdentifier(name)) return;
  for (const element of name.elements) {
    if (!ts.isBindingElement(element)) continue;
    if (element.initializer !== undefined) c.use(element.initializer, [NONE]);
    collectDefaults(c, element.name);
  }
}

/**
 * Checks whether a variable's initializer is collected when the variable is used: a call such as
 * `memoize(query)` may run its arguments only then. A variable without references is initialized
 * for its side effect (`setInterval(...)`).
 */
function isDeferred(node: ts.VariableDeclaration): boolean {
  const statement = node.parent.parent;
  if (!ts.isVariableStatement(statement) || !ts.isSourceFile(statement.parent)) return false;
  if (statement.modifiers?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)) {
    return true;
  }
  if (!ts.isIdentifier(node.name)) return true;
  const mentions = statement.parent.text.match(
    new RegExp(`(?<![\\w$])${node.name.text.replaceAll("$", "\\$")}(?![\\w$])`, "g"),
  );
  return mentions !== null && mentions.length > 1;
}
