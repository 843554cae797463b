import { DatabaseOperation } from "../../database/table_permission.ts";
import { parseTable } from "./collect_sink.ts";
import type { Collector } from "./collector.ts";
import { isTrellis } from "./evaluate.ts";
import { getDeclaration, readNamedMember } from "./named_member.ts";
import { ts, unwrap } from "./typescript.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** drizzle's methods that take a table, and what they do with it. */
const METHODS: Readonly<Record<string, DatabaseOperation>> = {
  from: Select,
  leftJoin: Select,
  rightJoin: Select,
  innerJoin: Select,
  fullJoin: Select,
  crossJoin: Select,
  leftJoinLateral: Select,
  innerJoinLateral: Select,
  crossJoinLateral: Select,
  $count: Select,
  insert: Insert,
  update: Update,
  delete: Delete,
};

/** What later methods of the same statement need besides (PostgreSQL's reference of INSERT, UPDATE and DELETE). */
const LATER: Readonly<Record<string, readonly DatabaseOperation[]>> = {
  where: [Select],
  returning: [Select],
  onConflictDoUpdate: [Select, Update],
};

/**
 * Notes which tables a call touches, to compare with what is declared. It gives no grants.
 *
 * @param c The collector.
 * @param call The call.
 */
export function collectTouches(c: Collector, call: ts.CallExpression): void {
  const callee = unwrap(call.expression);
  collectLaterLock(c, call);
  if (!ts.isIdentifier(callee) || isDestructured(c, callee)) {
    const name = readNamedMember(c, callee)?.name ?? "";
    const operation = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
    const [table] = call.arguments;
    if (operation === undefined || table === undefined || !mayBeTable(table)) return;
    const value = c.evaluator.evaluate(table);
    if (value.kind !== "table") return;
    const needed = [operation, ...operation === Select ? lockNeeds(call) : laterNeeds(call)];
    for (const each of new Set(needed)) {
      c.emit({ kind: "touch", node: table, table: value.table, operation: each });
    }
    return;
  }
  if (call.arguments.length < 2) return;
  const value = c.evaluator.evaluate(callee);
  if (
    value.kind !== "package" || !isTrellis(value.module) || !/^assertRows?Exist/.test(value.name)
  ) return;
  const table = c.evaluator.evaluate(call.arguments[1]);
  if (table.kind !== "table" && table.kind !== "string") return;
  const named = table.kind === "table" ? table.table : parseTable(table.text);
  c.emit({ kind: "touch", node: call.arguments[1], table: named, operation: Select });
}

/**
 * Notes the tables that stand in a template such as `sql`: what is done with them is not known.
 *
 * @param c The collector.
 * @param template The template.
 */
export function collectTemplateTouches(c: Collector, template: ts.TemplateLiteral): void {
  if (!ts.isTemplateExpression(template)) return;
  for (const { expression } of template.templateSpans) {
    if (!mayBeTable(expression)) continue;
    const value = c.evaluator.evaluate(expression);
    if (value.kind === "table") c.emit({ kind: "touch", node: expression, table: value.table });
  }
}

/** A name or a member: `notes`, `schema.notes`. */
function mayBeTable(expression: ts.Expression): boolean {
  return ts.isIdentifier(expression) || ts.isPropertyAccessExpression(expression);
}

/** A row lock needs UPDATE beside SELECT (PostgreSQL 18, GRANT). */
function lockNeeds(call: ts.CallExpression): DatabaseOperation[] {
  return listLaterCalls(call).some(({ name }) => name === "for") ? [Update] : [];
}

/** Notes a row lock on a statement that stands in a variable: `query.for("update")`. */
function collectLaterLock(c: Collector, call: ts.CallExpression): void {
  const callee = unwrap(call.expression);
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== "for") return;
  const declaration = getDeclaration(c, unwrap(callee.expression));
  if (declaration === undefined || !ts.isVariableDeclaration(declaration)) return;
  let at = declaration.initializer && unwrap(declaration.initializer);
  while (at !== undefined && ts.isCallExpression(at)) {
    const method = unwrap(at.expression);
    if (!ts.isPropertyAccessExpression(method)) return;
    const [table] = at.arguments;
    const value = method.name.text === "from" && table !== undefined
      ? c.evaluator.evaluate(table)
      : undefined;
    if (value?.kind === "table") {
      c.emit({ kind: "touch", node: call, table: value.table, operation: Update });
    }
    at = unwrap(method.expression);
  }
}

function isDestructured(c: Collector, callee: ts.Identifier): boolean {
  const declaration = getDeclaration(c, callee);
  return declaration !== undefined && ts.isBindingElement(declaration);
}

/** Lists the methods that are called on the result, in order. */
function listLaterCalls(call: ts.CallExpression): { name: string; call: ts.CallExpression }[] {
  const later: { name: string; call: ts.CallExpression }[] = [];
  let at: ts.Node = call;
  while (ts.isPropertyAccessExpression(at.parent) && ts.isCallExpression(at.parent.parent)) {
    later.push({ name: at.parent.name.text, call: at.parent.parent });
    at = at.parent.parent;
  }
  return later;
}

function laterNeeds(call: ts.CallExpression): DatabaseOperation[] {
  return listLaterCalls(call).flatMap(({ name, call: later }) => {
    // with a conflict's target its columns are read; without one nothing is
    if (name === "onConflictDoNothing") return later.arguments.length > 0 ? [Select] : [];
    return LATER[name] ?? [];
  });
}
