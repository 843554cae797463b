import type { BundleSyntax } from "../project/bundle_syntax.ts";
import { findDeclaration } from "../project/declarations.ts";
import type { Problem } from "../project/findings.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import type { AnyNode } from "../project/syntax_nodes.ts";

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
    const name = isValue ? getName(parent, node) : undefined;
    if (name !== undefined) return findNameHolder(syntax, parent, name, seen);
    // a value that is handed to a call may be used there
    if (
      /^(?:Call|New)Expression$/.test(parent.type) && parent.callee !== node && !isNamer(parent)
    ) {
      isValue = false;
    }
    // a function that is called at once runs where it is
    const call = syntax.getParent(parent);
    const runsAtOnce = call?.type === "CallExpression" && call.callee === parent;
    if (/Function/.test(parent.type) && !runsAtOnce) isValue = true;
    if (parent.type === "FunctionDeclaration") {
      return findNameHolder(syntax, parent, (parent.id as AnyNode).name as string, seen);
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
    return !(isNamer(call) && syntax.getParent(call)?.type === "ExpressionStatement");
  });
  if (references.length === 0) {
    return isExported(syntax, name) ? undefined : { node, name, isMember: false };
  }
  const found = references.map((reference) => {
    const parent = syntax.getParent(reference)!;
    const isCalled = parent.type === "CallExpression" && parent.callee === reference;
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
  if (!/^(?:Call|New)Expression$/.test(at.type)) return false;
  let owner = at.callee as AnyNode;
  while (owner.type === "MemberExpression") owner = owner.object as AnyNode;
  return owner.type === "Identifier" && owner.name !== "Object" &&
    !syntax.declarations.has(owner.name as string) &&
    findDeclaration(syntax, owner) === undefined;
}

/** Returns the name of a member of an object or class that has a value. */
function getMember(parent: AnyNode, node: AnyNode): string | undefined {
  if (!/^(?:Property|MethodDefinition|PropertyDefinition)$/.test(parent.type)) return undefined;
  if (parent.computed || parent.value !== node || parent.kind === "constructor") return undefined;
  const { name, value } = parent.key as { name?: string; value?: unknown };
  return name ?? String(value);
}

/** Returns the name of a constant or variable that has a value. */
function getName(parent: AnyNode, node: AnyNode): string | undefined {
  const holder = parent.type === "VariableDeclarator" && parent.init === node
    ? parent.id
    : parent.type === "AssignmentExpression" && parent.right === node
    ? parent.left
    : undefined;
  return (holder as { name?: string } | undefined)?.name;
}

/** Checks for esbuild's `__name(value, "name")`. */
function isNamer(call: AnyNode): boolean {
  return call.type === "CallExpression" &&
    /^__name\d*$/.test(String((call.callee as AnyNode).name));
}

function isExported({ program }: BundleSyntax, name: string): boolean {
  return (program.body as AnyNode[]).some(({ specifiers, type }) =>
    type === "ExportNamedDeclaration" &&
    (specifiers as AnyNode[]).some(({ local }) => (local as AnyNode).name === name)
  );
}
