import { DatabaseOperation } from "../../database/table_permission.ts";
import { asTable } from "./required_constants.ts";
import type { Collector } from "./collector.ts";
import { asObject, findProperty } from "./object_literals.ts";
import { isTrellis, printTable, type TableName, type Value } from "./values.ts";
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
    if (operation === undefined || table === undefined || isOther(unwrap(table))) return;
    const value = c.evaluator.evaluate(table);
    if (value.kind !== "table") {
      if (!isSubquery(value)) c.emit({ kind: "unknown-table", node: table });
      return;
    }
    const needed = [
      operation,
      ...operation === Select
        ? getLockOperations(c, call, value.table)
        : getLaterOperations(c, call),
    ];
    for (const each of new Set(needed)) {
      c.emit({
        kind: "table-access",
        node: table,
        table: value.table,
        operation: each,
        definition: value.node,
      });
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

/** Checks for a subquery or a common table, whose own tables are collected where it is built. */
function isSubquery(value: Value): boolean {
  return value.kind === "expression" && ts.isCallExpression(value.node) &&
    ts.isPropertyAccessExpression(value.node.expression) &&
    value.node.expression.name.text === "as";
}

/** Checks for a literal, as in `Array.from({ length: 3 })` and `map.delete("key")`. */
function isOther(node: ts.Expression): boolean {
  return ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node) ||
    ts.isLiteralExpression(node) || ts.isTemplateExpression(node) || ts.isFunctionLike(node);
}

/** Checks for an identifier or a member access: `notes`, `schema.notes`. */
function mayBeTable(expression: ts.Expression): boolean {
  return ts.isIdentifier(expression) || ts.isPropertyAccessExpression(expression);
}

/**
 * Returns the operations of a row lock, which needs UPDATE in addition to SELECT on the tables that it
 * locks (PostgreSQL 18, GRANT).
 */
function getLockOperations(
  c: Collector,
  call: ts.CallExpression,
  table: TableName,
): DatabaseOperation[] {
  const isLocked = listLaterCalls(call).some((later) =>
    later.name === "for" && locksTable(c, later.call, table)
  );
  return isLocked ? [Update] : [];
}

/** Checks whether `.for("update", { of })` locks a table: all of the statement without `of`. */
function locksTable({ evaluator }: Collector, lock: ts.CallExpression, table: TableName): boolean {
  const [, given] = lock.arguments;
  const options = given && asObject(evaluator.evaluate(given));
  const of = options && findProperty(evaluator, options, "of");
  if (of === undefined) return true;
  const value = evaluator.evaluate(of.node, of.bindings);
  const list = value.kind === "expression" && ts.isArrayLiteralExpression(value.node)
    ? value.node.elements.map((element) => evaluator.evaluate(element, value.bindings))
    : [value];
  return list.some((each) => each.kind !== "table" || printTable(each.table) === printTable(table));
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
    const value = METHODS[method.name.text] === Select && table !== undefined
      ? c.evaluator.evaluate(table)
      : undefined;
    if (value?.kind === "table" && locksTable(c, call, value.table)) {
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

function getLaterOperations(c: Collector, call: ts.CallExpression): DatabaseOperation[] {
  return listLaterCalls(call).flatMap(({ name, call: later }) => {
    if (name === "set") return later.arguments.some((set) => readsColumns(c, set)) ? [Select] : [];
    // with a conflict target its columns are read; without one no column is
    if (name === "onConflictDoNothing") return later.arguments.length > 0 ? [Select] : [];
    return LATER[name] ?? [];
  });
}

/** Checks whether the assignments of an UPDATE may read columns: `{ count: sql`${notes.count} + 1` }`. */
function readsColumns(c: Collector, set: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(unwrap(set))) return true;
  let found = false;
  function visit(node: ts.Node): void {
    if (ts.isPropertyAccessExpression(node)) {
      found ||= c.evaluator.evaluate(node.expression).kind === "table";
    }
    found ||= ts.isSpreadAssignment(node);
    ts.forEachChild(node, visit);
  }
  visit(set);
  return found;
}
