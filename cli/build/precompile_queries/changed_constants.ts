import { isAssignment } from "../../analysis/assignments.ts";
import type { Project } from "../../analysis/project.ts";
import { findDeclaration } from "../../analysis/scopes.ts";
import { findNamespaceMember } from "../../analysis/slice_names.ts";
import type { SourceModule } from "../../analysis/source_module.ts";
import { ts, unwrap } from "../../analysis/typescript.ts";
import { visitValues } from "../../analysis/value_references.ts";

/** Methods that change their object, and functions that change their first argument. */
export const CHANGING: ReadonlySet<string> = new Set(
  ("push pop shift unshift splice sort reverse fill copyWithin add set delete clear append " +
    "assign defineProperty defineProperties setPrototypeOf deleteProperty").split(" "),
);
const CHANGING_ARGUMENT: ReadonlySet<string> = new Set(["Object", "Reflect"]);

/** Finds constants whose objects the program changes, so that their values depend on the moment. */
export class ChangedConstants {
  readonly #project: Project;
  readonly #changed: Map<ts.Node, ts.Node> = new Map();

  /**
   * @param project The sources.
   * @param modules The modules in which constants may be changed.
   */
  constructor(project: Project, modules: Iterable<SourceModule>) {
    this.#project = project;
    for (const { source } of modules) this.#visit(source);
  }

  /**
   * Finds the change of a constant on which code depends, also through other constants.
   *
   * @param root The code.
   * @returns The change, or `undefined` if there is none.
   */
  find(root: ts.Node): ts.Node | undefined {
    for (const node of this.reach(root)) {
      const changed = this.#changed.get(node);
      if (changed !== undefined) return changed;
    }
    return undefined;
  }

  /** Lists code with the declarations to which it refers, also through other declarations. */
  *reach(root: ts.Node): Generator<ts.Node> {
    const seen = new Set<ts.Node>();
    const pending = [root];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      yield node;
      for (const found of this.#listDeclarations(node)) {
        if (seen.has(found)) continue;
        seen.add(found);
        pending.push(found);
      }
    }
  }

  #listDeclarations(node: ts.Node): ts.Node[] {
    const found: ts.Node[] = [];
    const add = (expression: ts.Expression): boolean => {
      const declaration = this.#getDeclaration(expression);
      if (declaration !== undefined) found.push(declaration);
      return declaration !== undefined;
    };
    visitValues(node, { name: (name) => void add(name), member: add, special: () => {} });
    return found;
  }

  /** Returns the declaration of a name or of a namespace's member, as a whole. */
  #getDeclaration(expression: ts.Expression): ts.Node | undefined {
    if (ts.isIdentifier(expression) && findDeclaration(expression) === undefined) return undefined;
    const target = findNamespaceMember(this.#project, expression);
    if (target?.kind !== "declaration") return undefined;
    let node: ts.Node = target.node;
    while (ts.isBindingElement(node)) node = node.parent.parent;
    return node;
  }

  #visit(node: ts.Node): void {
    const changed = getChanged(node);
    const declaration = changed && this.#getRootDeclaration(changed);
    if (declaration !== undefined) this.#changed.set(declaration, node);
    ts.forEachChild(node, (child) => this.#visit(child));
  }

  #getRootDeclaration(expression: ts.Expression): ts.Node | undefined {
    for (let node = unwrap(expression);; node = unwrap(node.expression)) {
      const declaration = this.#getDeclaration(node);
      if (declaration !== undefined) return declaration;
      if (!ts.isPropertyAccessExpression(node) && !ts.isElementAccessExpression(node)) {
        return undefined;
      }
    }
  }
}

/** Returns the object that a node changes. */
function getChanged(node: ts.Node): ts.Expression | undefined {
  if (ts.isBinaryExpression(node) && isAssignment(node)) return getOwner(node.left);
  if (ts.isDeleteExpression(node)) return getOwner(node.expression);
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const isStep = node.operator === ts.SyntaxKind.PlusPlusToken ||
      node.operator === ts.SyntaxKind.MinusMinusToken;
    return isStep ? getOwner(node.operand) : undefined;
  }
  if (!ts.isCallExpression(node)) return undefined;
  const callee = unwrap(node.expression);
  if (!ts.isPropertyAccessExpression(callee) || !CHANGING.has(callee.name.text)) return undefined;
  const { expression } = callee;
  const isGlobal = ts.isIdentifier(expression) && CHANGING_ARGUMENT.has(expression.text);
  return isGlobal ? node.arguments[0] : expression;
}

function getOwner(node: ts.Expression): ts.Expression | undefined {
  const member = unwrap(node);
  return ts.isPropertyAccessExpression(member) || ts.isElementAccessExpression(member)
    ? member.expression
    : undefined;
}
