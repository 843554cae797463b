import type { BundleSyntax } from "./bundle_syntax.ts";
import type { Identifier } from "acorn";
import {
  type AnyNode,
  childrenOf,
  findProperty,
  getMemberName,
  isReference,
  unwrap,
} from "../sources/syntax.ts";
import { bindsName, findDeclaration, findValue, listArguments } from "./declarations.ts";

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
  const member = node.type === "MemberExpression" && !node.computed
    ? getMemberName(node)
    : undefined;
  if (node.type === "MemberExpression" && member !== undefined) {
    return listDeciding(syntax, node.object, member).some(reads);
  }
  return childrenOf(node).some((child) =>
    !(child.type === "Identifier" && !isReference(child, node)) && reads(child)
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
    return node.properties.flatMap((each) =>
      each.type === "SpreadElement" ? decide(each.argument) : []
    );
  }
  const values = node.type === "Identifier" ? listValues(syntax, node, seen) : [];
  return values.length === 0 ? [node] : values.flatMap(decide);
}

/** Lists the expressions that a name may stand for: of a constant, or what calls give a parameter. */
function listValues(syntax: BundleSyntax, node: Identifier, seen: Set<string>): AnyNode[] {
  const local = findDeclaration(syntax, node);
  if (local?.kind !== "parameter") {
    const value = findValue(syntax, node);
    return value === undefined ? [] : [value];
  }
  const given = listArguments(syntax, local) ?? [];
  const pattern = local.pattern.type === "AssignmentPattern" ? local.pattern.left : local.pattern;
  const properties = pattern.type === "ObjectPattern" ? pattern.properties : [];
  const property = properties.find((each) =>
    each.type === "Property" && bindsName(each.value, node.name)
  );
  const name = property && getMemberName(property);
  return name === undefined
    ? given
    : given.flatMap((each) => listDeciding(syntax, each, name, seen));
}
