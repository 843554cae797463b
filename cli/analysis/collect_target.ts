import { listAssignments } from "./assignments.ts";
import { collectProcess } from "./collect_environment.ts";
import { collectPackage } from "./collect_package.ts";
import { isAuthTable } from "./required_constants.ts";
import type { Collector } from "./collector.ts";
import { isUnused, type Path } from "./effects.ts";
import { isTrellis } from "../project/resolve_module.ts";
import type { Target } from "./project.ts";
import { type Declaration, getScope } from "./scopes.ts";
import type { SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";

/** Collects the use of an identifier. */
export function collectName(c: Collector, name: ts.Identifier, path: Path): void {
  if (isUnused(path)) return;
  if (name.text === "undefined") return;
  collectTarget(c, c.project.getTarget(name), name, path);
}

/**
 * Collects the use of a resolved name.
 *
 * @param target The declaration, module or package that the name resolves to.
 */
export function collectTarget(c: Collector, target: Target, at: ts.Node, path: Path): void {
  switch (target.kind) {
    case "missing":
      // a missing file is reported at its import; a missing auth table falls back to the package's
      if (target.message !== undefined && !isAuthTable(path.at(-1))) {
        c.unresolved(at, target.message);
      }
      return;
    case "opaque":
      if (ts.isIdentifier(at) && at.text === "process") collectProcess(c, at, path);
      return c.unknown(at, path);
    case "package":
      return target.name === ""
        ? collectNamespace(c, at, target.module, path)
        : collectPackage(c, at, target.module, target.name, path);
    case "expression":
      return c.reach(target.node, path);
    case "namespace":
      return useNamespace(c, target.module, at, path);
    case "declaration":
      return useDeclaration(c, target.node, at, path);
  }
}

function useNamespace(c: Collector, module: SourceModule, at: ts.Node, path: Path): void {
  const [name, ...rest] = path;
  if (isUnused(path)) return;
  if (typeof name === "string" && !name.startsWith("\0")) {
    return collectTarget(c, c.project.findExport(module, name), at, rest);
  }
  c.unknown(at, path);
  for (const each of c.project.getExportNames(module)) {
    const target = c.project.findExport(module, each);
    // a type may be re-exported without the keyword "type"
    if (target.kind !== "missing") collectTarget(c, target, at, []);
  }
}

/** Collects the use of a package's namespace object. */
export function collectNamespace(c: Collector, node: ts.Node, module: string, path: Path): void {
  const [name, ...rest] = path;
  if (typeof name === "string" && !name.startsWith("\0")) {
    collectPackage(c, node, module, name, rest);
  } else if (isTrellis(module) && name === undefined) {
    c.unresolved(node, `all of ${module} is passed as a value: import the names that are used`);
  } else c.unknown(node, path);
}

function useDeclaration(c: Collector, node: Declaration, at: ts.Node, path: Path): void {
  if (ts.isBindingElement(node)) return useBinding(c, node, at, path);
  if (ts.isParameter(node)) {
    c.emit({ kind: "parameter", node, path });
    return node.initializer === undefined ? undefined : c.reach(node.initializer, path);
  }
  if (ts.isVariableDeclaration(node)) {
    const values = [...node.initializer === undefined ? [] : [node.initializer]];
    if ((node.parent.flags & ts.NodeFlags.Const) === 0) values.push(...listAssignments(node));
    for (const value of values) c.reach(value, path);
    return values.length === 0 ? c.unknown(at, path) : undefined;
  }
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return c.reach(node, path);
  if (ts.isModuleDeclaration(node) && node.body !== undefined && ts.isModuleBlock(node.body)) {
    const [name, ...rest] = path;
    for (const [key, member] of getScope(node.body)) {
      if (name === undefined || key === name) useDeclaration(c, member, at, rest);
    }
    return;
  }
  c.unknown(at, path);
}

/** Collects `const { list: [first] } = queries`: the path is prefixed with the way to the name. */
function useBinding(c: Collector, node: ts.BindingElement, at: ts.Node, path: Path): void {
  const pattern = node.parent;
  let inner: Path = path;
  if (ts.isArrayBindingPattern(pattern)) {
    inner = node.dotDotDotToken === undefined
      ? [String(pattern.elements.indexOf(node)), ...path]
      : [];
  } else if (node.dotDotDotToken === undefined) {
    const key = c.evaluator.getKey((node.propertyName ?? node.name) as ts.PropertyName);
    inner = key === undefined ? [] : [key, ...path];
  }
  if (inner.length === 0) c.unknown(at, path);
  if (node.initializer !== undefined) c.reach(node.initializer, path);
  const holder = pattern.parent;
  if (ts.isBindingElement(holder)) return useBinding(c, holder, at, inner);
  useDeclaration(c, holder, at, inner);
}
