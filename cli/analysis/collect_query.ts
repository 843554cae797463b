import type { Collector } from "./collector.ts";
import { CALL, type Path, type QueryDeclaration, TABLES } from "./effects.ts";
import { isTrellis } from "../project/resolve_module.ts";
import { ts } from "./typescript.ts";

const byNode: WeakMap<ts.Node, QueryDeclaration> = new WeakMap();

/** Properties of a query other than its function: reading them runs nothing. */
const METADATA = ["queryName", "tables", "transaction"];

/** Collects the use of a `defineQuery(options, fn)`. */
export function collectQuery(c: Collector, node: ts.CallExpression, path: Path): void {
  if (METADATA.includes(path[0] as string)) return;
  c.release(path);
  c.use(node.expression, []);
  let query = byNode.get(node);
  if (query === undefined) {
    const [options, fn] = node.arguments;
    if (
      options === undefined || fn === undefined || ts.isSpreadElement(options) ||
      ts.isSpreadElement(fn)
    ) {
      return c.unresolved(
        node,
        "the options and the function of this query must be its two arguments",
        "grants",
      );
    }
    const id = c.queries.length;
    query = {
      id,
      name: getName(c, node, options, fn),
      node,
      tables: c.units.get(options, ["tables", TABLES + id]).unit,
      body: [
        c.units.get(fn, [CALL]).unit,
        ...["retry", "name", "logInput"].map((option) => c.units.get(options, [option]).unit),
      ],
      fn,
    };
    byNode.set(node, query);
    c.queries.push(query);
  }
  c.emit({ kind: "query", query });
}

/** Collects the use of a `defineStatement(name, builder, options)`. */
export function collectStatement(c: Collector, node: ts.CallExpression, path: Path): void {
  if (METADATA.includes(path[0] as string)) return;
  c.release(path);
  c.use(node.expression, []);
  let query = byNode.get(node);
  if (query === undefined) {
    const [name, fn, options] = node.arguments as readonly (ts.Expression | undefined)[];
    if (name === undefined || fn === undefined || node.arguments.some(ts.isSpreadElement)) {
      return c.unresolved(
        node,
        "the name and the builder of this statement must be its first arguments",
        "grants",
      );
    }
    const id = c.queries.length;
    const declared = options &&
      c.evaluator.getMember(c.evaluator.evaluate(options), "tables", options);
    const hasTables = declared !== undefined && declared.kind !== "undefined";
    query = {
      id,
      name: c.evaluator.readText(name) ?? "a statement",
      node,
      tables: hasTables ? c.units.get(options!, ["tables", TABLES + id]).unit : undefined,
      body: [
        c.units.get(fn, [CALL]).unit,
        ...options === undefined
          ? []
          : [["map", CALL], ["retry"]].map((option) => c.units.get(options, option).unit),
      ],
      fn,
    };
    byNode.set(node, query);
    c.queries.push(query);
  }
  c.emit({ kind: "query", query });
}

function getName(
  c: Collector,
  node: ts.CallExpression,
  options: ts.Expression,
  fn: ts.Expression,
): string {
  const given = c.evaluator.getMember(c.evaluator.evaluate(options), "name", options);
  const literal = c.evaluator.toLiteral(given, options);
  if (literal.kind === "known" && typeof literal.value === "string") return literal.value;
  const value = c.evaluator.evaluate(fn);
  const named = value.kind === "function" ? value.node.name : undefined;
  if (named !== undefined) return named.getText();
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) {
    return parent.name.getText();
  }
  return "a query";
}

/** Collects the tables that `RequiresTable` declares for a method. */
export function collectRequiredTables(c: Collector, member: ts.MethodDeclaration): void {
  for (const decorator of ts.getDecorators(member) ?? []) {
    const { expression } = decorator;
    const callee = ts.isCallExpression(expression)
      ? c.evaluator.evaluate(expression.expression)
      : undefined;
    if (
      callee?.kind !== "package" || !isTrellis(callee.module) || callee.name !== "RequiresTable"
    ) {
      c.use(expression, []);
      continue;
    }
    const [tables] = (expression as ts.CallExpression).arguments;
    if (tables === undefined) {
      c.unresolved(decorator, "RequiresTable lacks its list of tables", "grants");
      continue;
    }
    let query = byNode.get(decorator);
    if (query === undefined) {
      const id = c.queries.length;
      const owner = (member.parent as ts.ClassLikeDeclaration).name?.text ?? "a class";
      query = {
        id,
        name: `${owner}.${member.name.getText()}`,
        node: decorator,
        tables: c.units.get(tables, [TABLES + id]).unit,
        body: [],
        fn: member,
      };
      byNode.set(decorator, query);
      c.queries.push(query);
    }
    c.emit({ kind: "query", query });
  }
}
