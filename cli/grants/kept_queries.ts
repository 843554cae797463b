import type { CallExpression, NewExpression } from "acorn";
import type { BundleSyntax } from "../project/bundle_syntax.ts";
import { findDeclaration } from "../project/declarations.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import { listExportedNames } from "../project/value_uses.ts";
import {
  type AnyNode,
  getAssignedName,
  getMemberName,
  isCallee,
  isFunction,
  isNaming,
} from "../sources/syntax.ts";

/** A part of a bundle that holds a query although no code names it. */
interface Holder {
  readonly node: AnyNode;
  readonly name: string;
  /** True for a member of an object or class, false for a function or constant. */
  readonly isMember: boolean;
}

/** The holder; `undefined` if code may reach the node; `"seen"` if the search has been there. */
type Search = Holder | undefined | "seen";

/**
 * Finds a query that only stays in the bundle because esbuild removes no parts of an object, a class or a function: the
 * function is granted its tables, but may never run it.
 *
 * @param name The name of the query.
 * @returns How to split the code; `undefined` if some code may run the query.
 */
export function findKeptQuery(
  fn: LoadedFunction,
  definition: PlacedDefinition,
  name: string,
): Problem | undefined {
  const holder = findStart(fn, definition);
  if (holder === undefined || holder === "seen") return undefined;
  const message = holder.isMember
    ? describeMember(name, holder.name)
    : `${name} is granted, but only ${holder.name} has it, which nothing uses: remove it`;
  return { place: fn.getPlace(holder.node), message };
}

/** Searches from the definition, or from the constant with the result of a wrapper that makes it. */
function findStart(fn: LoadedFunction, definition: PlacedDefinition): Search {
  const { syntax } = fn;
  const call = fn.findCall(definition);
  if (call === undefined) return undefined;
  const around = syntax.declarations.get(fn.findName(definition) ?? "");
  if (around === undefined || !/Function/.test(around.type)) {
    return findHolder(syntax, call, true, new Set());
  }
  const made = [...syntax.declarations].find(([each]) =>
    fn.evaluateName(each) === definition.value
  );
  return made && findNameHolder(syntax, made[1], made[0], new Set());
}

/**
 * Describes a query in a member of an object or class that no code names.
 *
 * @param query The name of the query.
 * @param member The name of the member.
 */
export function describeMember(query: string, member: string): string {
  return `${query} is granted, but no code names the member ${member} that has it: if the function does not need it, ` +
    "export each member as a constant of its own";
}

/**
 * Climbs from a node to what holds it, through the constants and functions on the way.
 *
 * @param isValue False for code that runs where it is.
 */
function findHolder(
  syntax: BundleSyntax,
  start: AnyNode,
  isValue: boolean,
  seen: Set<AnyNode>,
): Search {
  let node = start;
  for (let parent = syntax.getParent(node); parent !== undefined;) {
    const member = isValue ? getMember(parent, node) : undefined;
    if (
      member !== undefined && !syntax.readNames.has(member) && !isGivenToPackage(syntax, parent)
    ) {
      return { node: parent, name: member, isMember: true };
    }
    const name = isValue ? getAssignedName(parent, node) : undefined;
    if (name !== undefined) return findNameHolder(syntax, parent, name, seen);
    // a value that is handed to a call may be used there
    if (isCall(parent) && parent.callee !== node && !isNaming(parent)) isValue = false;
    // a function that is called at once runs where it is
    const call = syntax.getParent(parent);
    if (isFunction(parent) && !isCallee(parent, call)) isValue = true;
    if (parent.type === "FunctionDeclaration" && parent.id !== null) {
      return findNameHolder(syntax, parent, parent.id.name, seen);
    }
    node = parent;
    parent = call;
  }
  return undefined;
}

function findNameHolder(
  syntax: BundleSyntax,
  node: AnyNode,
  name: string,
  seen: Set<AnyNode>,
): Search {
  if (seen.has(node)) return "seen";
  seen.add(node);
  const references = syntax.listReferences(name).filter((each) => {
    const call = syntax.getParent(each)!;
    return !(isNaming(call) && syntax.getParent(call)?.type === "ExpressionStatement");
  });
  if (references.length === 0) {
    const isExported = listExportedNames(syntax.program).has(name);
    return isExported ? undefined : { node, name, isMember: false };
  }
  const found = references.map((reference) => {
    const parent = syntax.getParent(reference)!;
    const isCalled = isCallee(reference, parent);
    const isOwner = parent.type === "MemberExpression" && parent.object === reference;
    return findHolder(syntax, reference, !isCalled && !isOwner, seen);
  });
  if (found.includes(undefined)) return undefined;
  return found.find((each) => each !== "seen") ?? "seen";
}

/** Checks for a property of an object literal that is given to a function of a package, which may read it. */
function isGivenToPackage(syntax: BundleSyntax, property: AnyNode): boolean {
  let at = property;
  while (/^(?:Property|ObjectExpression)$/.test(at.type)) at = syntax.getParent(at)!;
  if (!isCall(at)) return false;
  let owner: AnyNode = at.callee;
  while (owner.type === "MemberExpression") owner = owner.object;
  return owner.type === "Identifier" && owner.name !== "Object" &&
    !syntax.declarations.has(owner.name) && findDeclaration(syntax, owner) === undefined;
}

function isCall(node: AnyNode): node is CallExpression | NewExpression {
  return node.type === "CallExpression" || node.type === "NewExpression";
}

/** Returns the name of a member of an object or class that has a value. */
function getMember(parent: AnyNode, node: AnyNode): string | undefined {
  if (!/^(?:Property|MethodDefinition|PropertyDefinition)$/.test(parent.type)) return undefined;
  const { value, kind } = parent as { readonly value?: unknown; readonly kind?: string };
  return value === node && kind !== "constructor" ? getMemberName(parent) : undefined;
}
