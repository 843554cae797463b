import type { Expression, Identifier, Pattern, SpreadElement } from "acorn";
import {
  type AnyNode,
  type FunctionNode,
  getAssignedName,
  isCallee,
  isFunction,
  isNaming,
  unwrap,
} from "../sources/syntax.ts";
import type { BundleSyntax } from "./bundle_syntax.ts";

/** Checks whether a pattern gives something a name. */
export function bindsName(pattern: Pattern, name: string): boolean {
  switch (pattern.type) {
    case "Identifier":
      return pattern.name === name;
    case "AssignmentPattern":
      return bindsName(pattern.left, name);
    case "RestElement":
      return bindsName(pattern.argument, name);
    case "ArrayPattern":
      return pattern.elements.some((each) => each !== null && bindsName(each, name));
    case "ObjectPattern":
      return pattern.properties.some((each) =>
        bindsName(each.type === "RestElement" ? each.argument : each.value, name)
      );
    default:
      return false;
  }
}

/** What gives a name in a function its value: the first value of a constant, or a parameter, which may be a pattern. */
export type LocalDeclaration =
  | { readonly kind: "constant"; readonly value: Expression }
  | { readonly kind: "parameter"; readonly pattern: Pattern; readonly owner: FunctionNode };

/**
 * Finds the declaration of a name in a function.
 *
 * @returns `undefined` for other names, such as those at the top level.
 */
export function findDeclaration(
  syntax: BundleSyntax,
  node: Identifier,
): LocalDeclaration | undefined {
  for (let at = syntax.getParent(node); at !== undefined; at = syntax.getParent(at)) {
    if (isFunction(at)) {
      const pattern = at.params.find((each) => bindsName(each, node.name));
      if (pattern !== undefined) return { kind: "parameter", pattern, owner: at };
    }
    if (at.type !== "BlockStatement") continue;
    for (const statement of at.body) {
      if (statement.type !== "VariableDeclaration") continue;
      for (const { id, init } of statement.declarations) {
        const isNamed = id.type === "Identifier" && id.name === node.name;
        if (isNamed && init) return { kind: "constant", value: init };
      }
    }
  }
  return undefined;
}

/** Finds the value that a name is declared with: of a constant in a function, or at the top level. */
export function findValue(syntax: BundleSyntax, node: Identifier): AnyNode | undefined {
  const local = findDeclaration(syntax, node);
  if (local === undefined) return syntax.declarations.get(node.name);
  return local.kind === "constant" ? local.value : undefined;
}

/**
 * Lists what the calls of a function give a parameter: the argument, its default, or the call that omits it. A rest
 * parameter gets several.
 *
 * @returns `undefined` if the function is handed on, has no name, or is not called.
 */
export function listArguments(
  syntax: BundleSyntax,
  { pattern, owner }: Extract<LocalDeclaration, { kind: "parameter" }>,
): (Expression | SpreadElement)[] | undefined {
  const position = owner.params.indexOf(pattern);
  const name = findFunctionName(syntax, owner);
  if (name === undefined) return undefined;
  const given: (Expression | SpreadElement)[] = [];
  for (const reference of syntax.listReferences(name)) {
    const parent = syntax.getParent(reference)!;
    if (isCallee(reference, parent)) {
      const args = parent.arguments.slice(position);
      const fallback = pattern.type === "AssignmentPattern" ? pattern.right : parent;
      given.push(...pattern.type === "RestElement" ? args : [args[0] ?? fallback]);
    } else if (!isHarmless(parent, reference)) return undefined;
  }
  return given.length === 0 ? undefined : given;
}

/** Checks for what esbuild adds: names of functions, and getters of modules. */
function isHarmless(parent: AnyNode, reference: AnyNode): boolean {
  return isNaming(parent) || parent.type === "AssignmentExpression" && parent.left === reference;
}

/** Returns the name that a function is declared with, or that a constant gives it. */
export function findFunctionName(syntax: BundleSyntax, fn: FunctionNode): string | undefined {
  if (fn.type === "FunctionDeclaration") return fn.id?.name;
  let value: AnyNode = fn;
  let parent = syntax.getParent(fn);
  while (parent !== undefined && unwrap(parent) === fn) {
    value = parent;
    parent = syntax.getParent(parent);
  }
  return getAssignedName(parent, value);
}
