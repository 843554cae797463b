import type { BundleSyntax } from "./bundle_syntax.ts";
import { bindsName, findDeclaration, findProperty, getKey, listArguments } from "./declarations.ts";
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
  const reads = (each: AnyNode) => readsEnvironment(syntax, each, seen);
  if (node.type === "Identifier") {
    return node.name === "__trellisEnvironment" ||
      listValues(syntax, node, new Set()).some(reads);
  }
  if (node.type === "MemberExpression" && !node.computed) {
    const name = (node.property as AnyNode).name as string;
    return listDeciding(syntax, node.object as AnyNode, name).some(reads);
  }
  const isNamed = node.type === "Property" && !node.computed;
  return listChildren(node).some((child) =>
    !(isNamed && child === node.key && child !== node.value) && reads(child)
  );
}

/** Lists the expressions that decide a property of an object, through spreads, constants and parameters. */
export function listDeciding(
  syntax: BundleSyntax,
  expression: AnyNode,
  name: string,
  seen: Set<string> = new Set(),
): AnyNode[] {
  const node = unwrap(expression);
  // functions may call each other
  const step = `${node.start}:${node.end}:${name}`;
  if (seen.has(step)) return [];
  seen.add(step);
  const decide = (each: AnyNode) => listDeciding(syntax, each, name, seen);
  if (node.type === "ObjectExpression") {
    const own = findProperty(node, name);
    if (own !== undefined) return [own];
    return (node.properties as AnyNode[]).filter(({ type }) => type === "SpreadElement")
      .flatMap(({ argument }) => decide(argument as AnyNode));
  }
  const values = node.type === "Identifier" ? listValues(syntax, node, seen) : [];
  return values.length === 0 ? [node] : values.flatMap(decide);
}

/** Lists the expressions that a name may stand for: of a constant, or what calls give a parameter. */
function listValues(syntax: BundleSyntax, node: AnyNode, seen: Set<string>): AnyNode[] {
  const name = node.name as string;
  const local = findDeclaration(syntax, node);
  if (local === undefined) {
    const declaration = syntax.declarations.get(name);
    return declaration === undefined ? [] : [declaration];
  }
  if (local.type === "VariableDeclarator") return [local.init as AnyNode];
  const given = listArguments(syntax, local) ?? [];
  const pattern = local.type === "AssignmentPattern" ? local.left as AnyNode : local;
  const properties = pattern.type === "ObjectPattern" ? pattern.properties as AnyNode[] : [];
  const property = properties.find(({ value }) => value && bindsName(value as AnyNode, name));
  return property === undefined
    ? given
    : given.flatMap((each) =>
      listDeciding(syntax, each, String(getKey(property.key as AnyNode)), seen)
    );
}
