import type { BundleSyntax } from "./bundle_syntax.ts";
import { type AnyNode, listChildren, unwrap } from "./syntax_nodes.ts";

/** Visits a node and everything in it. */
export function visitAll(node: AnyNode, visit: (node: AnyNode) => void): void {
  visit(node);
  for (const child of listChildren(node)) visitAll(child, visit);
}

/** Returns the value of a property of an object literal. */
export function findProperty(object: AnyNode | undefined, name: string): AnyNode | undefined {
  const property = (object?.properties as AnyNode[] | undefined)?.findLast(({ key, computed }) =>
    !computed && getKey(key as AnyNode | undefined) === name
  );
  return property?.value as AnyNode | undefined;
}

/** Returns the name or the literal of a key. */
export function getKey(key: AnyNode | undefined): unknown {
  return key?.name ?? key?.value;
}

/** Checks whether a pattern gives something a name. */
export function bindsName(pattern: AnyNode, name: string): boolean {
  switch (pattern.type) {
    case "Identifier":
      return pattern.name === name;
    case "AssignmentPattern":
      return bindsName(pattern.left as AnyNode, name);
    case "RestElement":
      return bindsName(pattern.argument as AnyNode, name);
    case "ArrayPattern":
      return (pattern.elements as (AnyNode | null)[]).some((each) =>
        each !== null && bindsName(each, name)
      );
    case "ObjectPattern":
      return (pattern.properties as AnyNode[]).some((each) =>
        bindsName((each.value ?? each.argument) as AnyNode, name)
      );
    default:
      return false;
  }
}

/**
 * Finds the declaration of a name in a function: the `VariableDeclarator` of a constant, or the parameter, which may be a
 * pattern.
 *
 * @returns `undefined` for other names, such as those at the top level.
 */
export function findDeclaration(syntax: BundleSyntax, node: AnyNode): AnyNode | undefined {
  const name = node.name as string;
  for (let at = syntax.getParent(node); at !== undefined; at = syntax.getParent(at)) {
    if (/Function/.test(at.type)) {
      const parameter = (at.params as AnyNode[]).find((each) => bindsName(each, name));
      if (parameter !== undefined) return parameter;
    }
    if (at.type !== "BlockStatement") continue;
    for (const statement of at.body as AnyNode[]) {
      if (statement.type !== "VariableDeclaration") continue;
      const found = (statement.declarations as AnyNode[]).find(({ id, init }) =>
        (id as AnyNode).name === name && init !== null
      );
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Lists what the calls of a function give a parameter: the argument, its default, or the call that omits it. A rest
 * parameter gets several.
 *
 * @returns `undefined` if the function is handed on, has no name, or is not called.
 */
export function listArguments(syntax: BundleSyntax, parameter: AnyNode): AnyNode[] | undefined {
  const owner = syntax.getParent(parameter)!;
  const position = (owner.params as AnyNode[]).indexOf(parameter);
  const name = findFunctionName(syntax, owner);
  if (name === undefined) return undefined;
  const given: AnyNode[] = [];
  for (const reference of syntax.listReferences(name)) {
    const parent = syntax.getParent(reference)!;
    if (parent.type === "CallExpression" && parent.callee === reference) {
      const args = (parent.arguments as AnyNode[]).slice(position);
      const fallback = parameter.type === "AssignmentPattern" ? parameter.right as AnyNode : parent;
      given.push(...parameter.type === "RestElement" ? args : [args[0] ?? fallback]);
    } else if (!isHarmless(parent, reference)) return undefined;
  }
  return given.length === 0 ? undefined : given;
}

/** Checks for what esbuild adds: names of functions, and getters of modules. */
function isHarmless(parent: AnyNode, reference: AnyNode): boolean {
  if (parent.type === "CallExpression") {
    return /^__name\d*$/.test(String((parent.callee as AnyNode).name));
  }
  return parent.type === "AssignmentExpression" && parent.left === reference;
}

/** Returns the name that a function is declared with, or that a constant gives it. */
export function findFunctionName(syntax: BundleSyntax, fn: AnyNode): string | undefined {
  if (fn.type === "FunctionDeclaration") return (fn.id as AnyNode).name as string;
  let parent = syntax.getParent(fn);
  while (parent !== undefined && unwrap(parent) === fn) parent = syntax.getParent(parent);
  const holder = parent?.type === "VariableDeclarator"
    ? parent.id as AnyNode
    : parent?.type === "AssignmentExpression"
    ? parent.left as AnyNode
    : undefined;
  return holder?.type === "Identifier" ? holder.name as string : undefined;
}
