import { getBaseClass, getConstructor } from "./class_declarations.ts";
import { isAssignment } from "./assignments.ts";
import { bindArguments } from "./collect_function.ts";
import { collectRequiredTables } from "./collect_query.ts";
import type { Collector } from "./collector.ts";
import { CALL, INSTANCE, isCall, isNotCalled, isUnused, NONE, type Path } from "./effects.ts";
import { hasModifier } from "./source_module.ts";
import { ts } from "./typescript.ts";

/**
 * Collects the use of a class: static members, instances created with `new`, or its evaluation.
 */
export function collectClass(c: Collector, node: ts.ClassLikeDeclaration, path: Path): void {
  const [first, ...rest] = path;
  if (isUnused(path)) return evaluateClass(c, node);
  if (first === undefined || first === CALL) {
    construct(c, node, undefined);
    useMembers(c, node, []);
    return useMembers(c, node, [INSTANCE]);
  }
  if (isCall(first)) {
    construct(c, node, first.call.arguments ?? []);
    const base = getBaseClass(node);
    // without its own constructor, the class passes the arguments to its base class
    if (base !== undefined && getConstructor(node) === undefined) c.reach(base, [first, NONE]);
    return isUnused(rest) ? undefined : c.reach(node, [INSTANCE, ...rest]);
  }
  if (first === "prototype") return useMembers(c, node, [INSTANCE, ...rest]);
  useMembers(c, node, path);
}

function isStatic(member: ts.ClassElement): boolean {
  return hasModifier(member, ts.SyntaxKind.StaticKeyword);
}

/** Collects the code that runs when the class is evaluated. */
function evaluateClass(c: Collector, node: ts.ClassLikeDeclaration): void {
  const base = getBaseClass(node);
  if (base !== undefined) c.use(base, [NONE]);
  for (const decorator of ts.canHaveDecorators(node) ? ts.getDecorators(node) ?? [] : []) {
    c.use(decorator.expression, [NONE]);
  }
  for (const member of node.members) {
    if (ts.isClassStaticBlockDeclaration(member)) c.run(member.body, [NONE]);
    else if (
      ts.isPropertyDeclaration(member) && isStatic(member) && member.initializer !== undefined
    ) {
      c.use(member.initializer, [NONE]);
    }
  }
}

/** Collects the code that runs when an instance is created. */
function construct(
  c: Collector,
  node: ts.ClassLikeDeclaration,
  given: readonly ts.Expression[] | undefined,
): void {
  for (const member of node.members) {
    if (ts.isPropertyDeclaration(member) && !isStatic(member) && member.initializer !== undefined) {
      c.use(member.initializer, [NONE]);
    }
  }
  const own = getConstructor(node);
  if (own !== undefined) {
    if (given !== undefined) bindArguments(c, own, given);
    c.run(own.body!, [NONE]);
  }
}

/** Uses a member of the class or of its instances; all members if the path names none. */
function useMembers(c: Collector, node: ts.ClassLikeDeclaration, path: Path): void {
  const isInstance = path[0] === INSTANCE;
  const [name, ...rest] = isInstance ? path.slice(1) : path;
  const base = getBaseClass(node);
  let found = false;
  for (const member of node.members) {
    if (ts.isConstructorDeclaration(member)) {
      if (!isInstance) continue;
      for (const parameter of member.parameters) {
        if (!ts.isParameterPropertyDeclaration(parameter, member)) continue;
        if (name !== undefined && parameter.name.getText() !== name) continue;
        found = true;
        c.emit({ kind: "parameter", node: parameter, path: rest });
        if (parameter.initializer !== undefined) c.reach(parameter.initializer, rest);
      }
    } else if (
      isStatic(member) !== isInstance && (name === undefined || getName(c, member) === name)
    ) {
      found = useMember(c, member, rest) || found;
    } else if (
      member.name !== undefined && getName(c, member) === undefined &&
      isStatic(member) !== isInstance
    ) {
      useMember(c, member, []);
    }
  }
  for (const assigned of listAssignedMembers(node)) {
    if (name !== undefined && assigned.name !== name) continue;
    found = true;
    c.reach(assigned.value, rest);
  }
  if (base !== undefined && (name === undefined || !found)) c.reach(base, path);
  else if (!found) c.release(path);
}

function getName(c: Collector, member: ts.ClassElement): string | undefined {
  return member.name === undefined ? undefined : c.evaluator.getKey(member.name);
}

function useMember(c: Collector, member: ts.ClassElement, path: Path): boolean {
  if (ts.isPropertyDeclaration(member)) {
    if (member.initializer !== undefined) c.reach(member.initializer, path);
    return member.initializer !== undefined;
  }
  if (ts.isMethodDeclaration(member)) {
    if (member.body === undefined) return false;
    if (!isNotCalled(path)) collectRequiredTables(c, member);
    c.reach(member, path);
    return true;
  }
  if (ts.isAccessor(member)) {
    // an assignment calls the setter, which does not use the assigned value further
    c.reach(member, ts.isGetAccessor(member) ? [CALL, ...path] : [CALL]);
    return true;
  }
  return false;
}

const assignedByClass: WeakMap<ts.Node, { name: string; value: ts.Expression }[]> = new WeakMap();

/** Lists assignments such as `this.repository = ...` anywhere in the class. */
function listAssignedMembers(
  node: ts.ClassLikeDeclaration,
): readonly { name: string; value: ts.Expression }[] {
  let assigned = assignedByClass.get(node);
  if (assigned !== undefined) return assigned;
  assignedByClass.set(node, assigned = []);
  function visit(child: ts.Node): void {
    if (ts.isBinaryExpression(child) && isAssignment(child)) {
      const left = child.left;
      if (
        ts.isPropertyAccessExpression(left) && left.expression.kind === ts.SyntaxKind.ThisKeyword
      ) {
        assigned!.push({ name: left.name.text, value: child.right });
      }
    }
    ts.forEachChild(child, visit);
  }
  if (/\bthis\b/.test(node.getText())) ts.forEachChild(node, visit);
  return assigned;
}
