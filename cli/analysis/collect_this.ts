import { getBaseClass } from "./class_declarations.ts";
import type { Collector } from "./collector.ts";
import { INSTANCE, isCall, isUnused, type Path } from "./effects.ts";
import { hasModifier } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** Finds the class that `this` belongs to, and whether `this` is the class itself. */
export function findEnclosingClass(
  node: ts.Node,
): { node: ts.ClassLikeDeclaration; isStatic: boolean } | undefined {
  const owner = findEnclosingOwner(node);
  return owner !== undefined && "isStatic" in owner ? owner : undefined;
}

function findEnclosingOwner(
  node: ts.Node,
):
  | { node: ts.ClassLikeDeclaration; isStatic: boolean }
  | { node: ts.ObjectLiteralExpression }
  | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isClassElement(at) && ts.isClassLike(at.parent)) {
      const isStatic = ts.isClassStaticBlockDeclaration(at) ||
        hasModifier(at, ts.SyntaxKind.StaticKeyword);
      return { node: at.parent, isStatic };
    }
    if (ts.isObjectLiteralElementLike(at) && (ts.isMethodDeclaration(at) || ts.isAccessor(at))) {
      return { node: at.parent as ts.ObjectLiteralExpression };
    }
    if (ts.isFunctionDeclaration(at)) return undefined;
    if (ts.isFunctionExpression(at)) {
      return ts.isPropertyAssignment(at.parent) ? { node: at.parent.parent } : undefined;
    }
  }
  return undefined;
}

/**
 * Collects the use of `this` or `super`.
 *
 * @param node The keyword.
 */
export function collectThis(c: Collector, node: ts.Node, path: Path): void {
  if (isUnused(path)) return;
  const owner = findEnclosingOwner(node);
  if (owner === undefined) return c.unknown(node, path);
  if (!("isStatic" in owner)) return c.reach(owner.node, path);
  const member = owner.isStatic ? path : [INSTANCE, ...path];
  if (node.kind === ts.SyntaxKind.SuperKeyword) {
    const base = getBaseClass(owner.node);
    return base === undefined ? c.release(path) : c.reach(base, isCall(path[0]) ? path : member);
  }
  c.reach(owner.node, member);
  c.emit({ kind: "dispatch", node: owner.node, path: member });
}
