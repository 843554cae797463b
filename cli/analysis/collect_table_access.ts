import { DatabaseOperation } from "../../database/table_permission.ts";
import { asTable } from "./required_constants.ts";
import type { Collector } from "./collector.ts";
import { isTrellis } from "./values.ts";
import { getDeclaration, readNamedMember } from "./named_member.ts";
import { ts, unwrap } from "./typescript.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Methods of drizzle that take a table, with the operation they perform. */
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

/**
 * Additional operations required by later methods of the same statement (PostgreSQL reference of
 * INSERT, UPDATE and DELETE).
 */
const LATER: Readonly<Record<string, readonly DatabaseOperation[]>> = {
  where: [Select],
  returning: [Select],
  onConflictDoUpdate: [Select, Update],
};

/**
 * Collects the tables that a call accesses, to compare them with the declared ones. Yields no
 * grants.
 */
export function collectTableAccess(c: Collector, call: ts.CallExpression): void {
  const callee = unwrap(call.expression);
  collectLaterLock(c, call);
  if (!ts.isIdentifier(callee) || isDestructured(c, callee)) {
    const name = readNamedMember(c, callee)?.name ?? "";
    const operation = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
    const [table] = call.arguments;
    if (operation === undefined || table === undefined || !mayBeTable(table)) return;
    const value = c.evaluator.evaluate(table);
    if (value.kind !== "table") return;
    const needed = [
      operation,
      ...operation === Select ? getLockOperations(call) : getLaterOperations(call),
    ];
    for (const each of new Set(needed)) {
      c.emit({ kind: "table-access", node: table, table: value.table, operation: each });
    }
    return;
  }
  if (call.arguments.length < 2) return;
  const value = c.evaluator.evaluate(callee);
  if (
    value.kind !== "package" || !isTrellis(value.module) || !/^assertRows?Exist/.test(value.name)
  ) return;
  const node = call.arguments[1];
  const table = asTable(c.evaluator, c.evaluator.evaluate(node));
  if (table !== undefined) c.emit({ kind: "table-access", node, table, operation: Select });
}

/** Collects the tables in a template such as `sql`, with unknown operations. */
export function collectTemplateTables(c: Collector, template: ts.TemplateLiteral): void {
  if (!ts.isTemplateExpression(template)) return;
  for (const { expression } of template.templateSpans) {
    if (!mayBeTable(expression)) continue;
    const value = c.evaluator.evaluate(expression);
    if (value.kind === "table") {
      c.emit({ kind: "table-access", node: expression, table: value.table });
    }
  }
}

/** Checks for an identifier or a member access: `notes`, `schema.notes`. */
function mayBeTable(expression: ts.Expression): boolean {
  return ts.isIdentifier(expression) || ts.isPropertyAccessExpression(expression);
}

/**
 * Returns the operations of a row lock, which needs UPDATE in addition to SELECT (PostgreSQL 18,
 * GRANT).
 */
function getLockOperations(call: ts.CallExpression): DatabaseOperation[] {
  return listLaterCalls(call).some(({ name }) => name === "for") ? [Update] : [];
}

/** Collects a row lock on a statement in a variable: `query.for("update")`. */
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
      c.emit({ kind: "table-access", node: call, table: value.table, operation: Update });
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

function getLaterOperations(call: ts.CallExpression): DatabaseOperation[] {
  return listLaterCalls(call).flatMap(({ name, call: later }) => {
    // with a conflict target its columns are read; without one no column is
    if (name === "onConflictDoNothing") return later.arguments.length > 0 ? [Select] : [];
    return LATER[name] ?? [];
  });
}
