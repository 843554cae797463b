import { collectNamespace, collectTarget } from "./collect_target.ts";
import { collectQuery, collectStatement } from "./collect_query.ts";
import { collectThis } from "./collect_this.ts";
import type { Collector } from "./collector.ts";
import { CALL, DEFER, isNotCalled, isUnused, LOAD, NONE, type Path } from "./effects.ts";
import { ts, unwrap } from "./typescript.ts";

/** Collects a call: the code it runs and how its result is used. */
export function collectCall(c: Collector, node: ts.CallExpression, path: Path): void {
  const callee = unwrap(node.expression);
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return useImport(c, node, path);
  if (
    ts.isIdentifier(callee) && callee.text === "require" &&
    c.project.getTarget(callee).kind === "opaque"
  ) {
    return useImport(c, node, path);
  }
  if (callee.kind === ts.SyntaxKind.SuperKeyword) {
    for (const argument of node.arguments) c.use(argument, [NONE]);
    return collectThis(c, callee, [c.units.getStep(node), NONE]);
  }
  if (ts.isPropertyAccessExpression(callee)) {
    if (usePromise(c, node, callee, path)) return;
    const [only, ...others] = node.arguments;
    if (only !== undefined && others.length === 0 && isTransparent(c, callee)) {
      return c.use(only, path);
    }
  }
  if (useQueryDeclaration(c, node, callee, path)) return;
  for (const argument of node.arguments) c.use(argument, [path[0] === DEFER ? DEFER : NONE]);
  c.use(callee, [c.units.getStep(node), ...path]);
}

/** Built-in functions that return their argument, or a promise of it. */
const TRANSPARENT = ["Object.freeze", "Object.seal", "Promise.all", "Promise.resolve"];

function isTransparent(c: Collector, callee: ts.PropertyAccessExpression): boolean {
  const owner = callee.expression;
  return ts.isIdentifier(owner) && TRANSPARENT.includes(`${owner.text}.${callee.name.text}`) &&
    c.project.getTarget(owner).kind === "opaque";
}

const QUERY_NAMES: ReadonlySet<string> = new Set([
  "defineQuery",
  "definePreparedQuery",
  "defineStatement",
]);

function useQueryDeclaration(
  c: Collector,
  node: ts.CallExpression,
  callee: ts.Expression,
  path: Path,
): boolean {
  const name = ts.isPropertyAccessExpression(callee)
    ? callee.name
    : ts.isIdentifier(callee)
    ? callee
    : undefined;
  const value = c.evaluator.evaluate(callee);
  if (value.kind === "define") {
    if (isNotCalled(path)) return true;
    if (value.isStatement) collectStatement(c, node, path);
    else collectQuery(c, node, path);
    return true;
  }
  const hasQueryName = name !== undefined && QUERY_NAMES.has(name.text);
  if (
    hasQueryName && (value.kind === "unknown" || value.kind === "expression") && !isNotCalled(path)
  ) {
    c.unresolved(
      node,
      `${name!.text} cannot be traced to createQueryFactory`,
      "grants",
    );
  }
  return false;
}

/** Collects `promise.then(use)`: a promise is treated like the value it resolves to. */
function usePromise(
  c: Collector,
  node: ts.CallExpression,
  callee: ts.PropertyAccessExpression,
  path: Path,
): boolean {
  const [first] = node.arguments;
  const method = callee.name.text;
  if (method === "catch" || method === "finally") {
    c.use(callee.expression, path[0] === DEFER ? [NONE] : path);
  } else if (method === "then" && first !== undefined) {
    const parameter = ts.isFunctionLike(first)
      ? first.parameters[0] as ts.ParameterDeclaration | undefined
      : undefined;
    c.use(callee.expression, [NONE]);
    if (!ts.isFunctionLike(first)) c.reach(callee.expression, []);
    else if (parameter !== undefined) {
      c.emit({ kind: "bind", node: parameter, argument: callee.expression });
    }
    c.use(first, [CALL, ...path[0] === DEFER ? [NONE] : path]);
    for (const other of node.arguments.slice(1)) c.use(other, []);
    return true;
  } else {
    return false;
  }
  for (const argument of node.arguments) c.use(argument, []);
  return true;
}

/** Collects `import(...)` and `require(...)`. */
function useImport(c: Collector, node: ts.CallExpression, path: Path): void {
  const [given] = node.arguments;
  for (const specifier of given === undefined ? [undefined] : getSpecifiers(c, given)) {
    if (specifier === undefined) {
      c.unresolved(node, "the name of an imported module is computed at run time");
      continue;
    }
    load(c, specifier);
    const found = c.project.resolve(specifier);
    if (isUnused(path) || found.kind === "missing") continue;
    if (found.kind === "package") collectNamespace(c, node, found.name, path);
    else if (found.kind === "file") {
      collectTarget(c, { kind: "namespace", module: c.project.read(found.path) }, node, path);
    } else c.release(path);
  }
}

function getSpecifiers(c: Collector, given: ts.Expression): (ts.StringLiteralLike | undefined)[] {
  const node = unwrap(given);
  if (ts.isStringLiteralLike(node)) return [node];
  if (ts.isConditionalExpression(node)) {
    return [...getSpecifiers(c, node.whenTrue), ...getSpecifiers(c, node.whenFalse)];
  }
  if (!ts.isIdentifier(node)) return [undefined];
  const target = c.project.getTarget(node);
  if (target.kind !== "declaration" || !ts.isVariableDeclaration(target.node)) return [undefined];
  const { initializer, parent } = target.node;
  return initializer !== undefined && (parent.flags & ts.NodeFlags.Const) !== 0 &&
      ts.isStringLiteralLike(initializer)
    ? [initializer]
    : [undefined];
}

/** Collects the evaluation of the module that a specifier resolves to. */
export function load(c: Collector, specifier: ts.StringLiteralLike): void {
  const found = c.project.resolve(specifier);
  if (found.kind === "missing") c.unresolved(specifier, `cannot find module "${specifier.text}"`);
  if (found.kind !== "file") return;
  const { unit } = c.units.get(c.project.read(found.path).source, [LOAD]);
  c.emit({ kind: "load", unit });
}
