import type { Collector } from "./collector.ts";
import { ts, unwrap } from "./typescript.ts";

/** A member of a value: `db.query`, `db["query"]`, or a constant with that value. */
export interface NamedMember {
  readonly name: string;
  /** The owner of the member; omitted for a name in a destructuring pattern. */
  readonly owner?: ts.Expression;
}

/**
 * Reads a member access, directly or through a constant: `const { query } = db`, `const rows = db.query`.
 *
 * @returns The member; `undefined` for other expressions and computed names.
 */
export function readNamedMember(c: Collector, expression: ts.Expression): NamedMember | undefined {
  const node = unwrap(expression);
  if (ts.isPropertyAccessExpression(node)) return { name: node.name.text, owner: node.expression };
  if (ts.isElementAccessExpression(node)) {
    const name = c.evaluator.readText(node.argumentExpression);
    return name === undefined ? undefined : { name, owner: node.expression };
  }
  const declaration = getDeclaration(c, node);
  if (declaration === undefined) return undefined;
  if (ts.isBindingElement(declaration)) {
    return { name: (declaration.propertyName ?? declaration.name).getText() };
  }
  if (!ts.isVariableDeclaration(declaration) || declaration.initializer === undefined) {
    return undefined;
  }
  return readNamedMember(c, declaration.initializer);
}

/** Finds the declaration of a name. */
export function getDeclaration(c: Collector, node: ts.Node): ts.Node | undefined {
  if (!ts.isIdentifier(node)) return undefined;
  const target = c.project.getTarget(node);
  return target.kind === "declaration" ? target.node : undefined;
}
