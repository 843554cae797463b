import { hasModifier, listBoundNames } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** A declaration of a name that has a value at run time. */
export type Declaration =
  | ts.VariableDeclaration
  | ts.BindingElement
  | ts.ParameterDeclaration
  | ts.FunctionDeclaration
  | ts.FunctionExpression
  | ts.ClassLikeDeclaration
  | ts.EnumDeclaration
  | ts.ModuleDeclaration
  | ts.ImportSpecifier
  | ts.ImportClause
  | ts.NamespaceImport
  | ts.ImportEqualsDeclaration;

type Scope = Map<string, Declaration>;

const scopes: WeakMap<ts.Node, Scope> = new WeakMap();
const EMPTY: Scope = new Map();

/**
 * Finds the declaration of an identifier by the scoping rules of the language.
 *
 * @param name The identifier in an expression.
 * @returns The declaration in the same file, which may be an import; `undefined` for globals.
 */
export function findDeclaration(name: ts.Identifier): Declaration | undefined {
  for (let node: ts.Node = name.parent; node !== undefined; node = node.parent) {
    const found = getScope(node).get(name.text);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns the names that a node declares directly.
 *
 * @param node A file, a block, a function or another node with its own scope.
 */
export function getScope(node: ts.Node): ReadonlyMap<string, Declaration> {
  const known = scopes.get(node);
  if (known !== undefined) return known;
  const scope: Scope = new Map();
  if (ts.isSourceFile(node) || ts.isModuleBlock(node)) {
    addStatements(node.statements, scope);
    addHoisted(node, scope);
  } else if (ts.isBlock(node)) {
    addStatements(node.statements, scope);
  } else if (ts.isCaseBlock(node)) {
    for (const clause of node.clauses) addStatements(clause.statements, scope);
  } else if (ts.isFunctionLike(node)) {
    if (ts.isFunctionExpression(node) && node.name !== undefined) scope.set(node.name.text, node);
    for (const parameter of node.parameters) {
      addBinding(parameter as ts.ParameterDeclaration, scope);
    }
    const { body } = node as ts.FunctionLikeDeclaration;
    if (body !== undefined) addHoisted(body, scope);
  } else if (ts.isForStatement(node) || ts.isForOfStatement(node) || ts.isForInStatement(node)) {
    if (node.initializer !== undefined && ts.isVariableDeclarationList(node.initializer)) {
      for (const declaration of node.initializer.declarations) addBinding(declaration, scope);
    }
  } else if (ts.isCatchClause(node)) {
    if (node.variableDeclaration !== undefined) addBinding(node.variableDeclaration, scope);
  } else if (ts.isClassExpression(node) && node.name !== undefined) {
    scope.set(node.name.text, node);
  } else {
    return EMPTY;
  }
  scopes.set(node, scope);
  return scope;
}

function addBinding(
  declaration: ts.VariableDeclaration | ts.ParameterDeclaration,
  scope: Scope,
): void {
  if (ts.isIdentifier(declaration.name)) scope.set(declaration.name.text, declaration);
  else {for (const name of listBoundNames(declaration.name)) {
      scope.set(name.text, name.parent as ts.BindingElement);
    }}
}

function addStatements(statements: readonly ts.Statement[], scope: Scope): void {
  for (const statement of statements) {
    if (ts.isVariableStatement(statement)) {
      if (hasModifier(statement, ts.SyntaxKind.DeclareKeyword)) continue;
      for (const declaration of statement.declarationList.declarations) {
        addBinding(declaration, scope);
      }
    } else if (ts.isFunctionDeclaration(statement)) {
      if (statement.name !== undefined && statement.body !== undefined) {
        scope.set(statement.name.text, statement);
      }
    } else if (ts.isClassDeclaration(statement)) {
      if (statement.name !== undefined) scope.set(statement.name.text, statement);
    } else if (ts.isEnumDeclaration(statement)) {
      scope.set(statement.name.text, statement);
    } else if (ts.isModuleDeclaration(statement)) {
      // a namespace with the name of a function or class extends that declaration
      if (ts.isIdentifier(statement.name) && !scope.has(statement.name.text)) {
        scope.set(statement.name.text, statement);
      }
    } else if (ts.isImportDeclaration(statement)) {
      addImports(statement.importClause, scope);
    } else if (ts.isImportEqualsDeclaration(statement)) {
      scope.set(statement.name.text, statement);
    }
  }
}

function addImports(clause: ts.ImportClause | undefined, scope: Scope): void {
  if (clause === undefined || clause.isTypeOnly) return;
  if (clause.name !== undefined) scope.set(clause.name.text, clause);
  const bindings = clause.namedBindings;
  if (bindings === undefined) return;
  if (ts.isNamespaceImport(bindings)) scope.set(bindings.name.text, bindings);
  else {for (const element of bindings.elements) {
      if (!element.isTypeOnly) scope.set(element.name.text, element);
    }}
}

/** Adds `var` declarations, which belong to the enclosing function. */
function addHoisted(body: ts.Node, scope: Scope): void {
  if (!/\bvar\b/.test(body.getSourceFile().text)) return;
  function visit(node: ts.Node): void {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.BlockScoped) === 0) {
      for (const declaration of node.declarations) addBinding(declaration, scope);
    }
    ts.forEachChild(node, visit);
  }
  ts.forEachChild(body, visit);
}
