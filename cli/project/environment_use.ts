import type { BundleSyntax } from "./bundle_syntax.ts";
import { type AnyNode, listChildren, unwrap } from "./syntax_nodes.ts";

/** Functions of this package that read the environment. */
const ENVIRONMENT = ["defineEnv", "getOptionalEnv", "getRequiredEnv", "secret"];

/** Checks whether an expression, or what it names, reads environment variables. */
export function readsEnvironment(
  syntax: BundleSyntax,
  node: AnyNode,
  seen: Set<AnyNode> = new Set(),
): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const known = syntax.findExport(node);
  if (known !== undefined) return ENVIRONMENT.includes(known.name);
  if (node.type === "Identifier") {
    const declaration = syntax.declarations.get(node.name as string);
    return node.name === "__trellisEnvironment" ||
      declaration !== undefined && readsEnvironment(syntax, declaration, seen);
  }
  const isNamed = (node.type === "MemberExpression" || node.type === "Property") && !node.computed;
  return listChildren(node).some((child) =>
    !(isNamed && (child === node.property || child === node.key && child !== node.value)) &&
    readsEnvironment(syntax, child, seen)
  );
}

/** Lists the expressions that decide a property of an object, through spreads and constants. */
export function listDeciding(syntax: BundleSyntax, expression: AnyNode, name: string): AnyNode[] {
  const node = unwrap(expression);
  if (node.type === "ObjectExpression") {
    const properties = node.properties as AnyNode[];
    const own = properties.findLast(({ key, computed }) => {
      const { name: given, value } = (key ?? {}) as { name?: unknown; value?: unknown };
      return !computed && (given ?? value) === name;
    });
    if (own !== undefined) return [own.value as AnyNode];
    return properties.filter(({ type }) => type === "SpreadElement").flatMap((each) =>
      listDeciding(syntax, each.argument as AnyNode, name)
    );
  }
  const declaration = node.type === "Identifier"
    ? syntax.declarations.get(node.name as string)
    : undefined;
  return declaration === undefined ? [node] : listDeciding(syntax, declaration, name);
}
