import { listLoadedModules } from "./loaded_modules.ts";
import { DatabaseOperation } from "../../database/table_permission.ts";
import type { Collector } from "./collector.ts";
import { printTable, type TableName } from "./values.ts";
import { readNamedMember } from "./named_member.ts";
import type { SourceModule } from "./source_module.ts";
import { ts, unwrap } from "./typescript.ts";

/**
 * Collects the tables of drizzle's relational queries: `db.query.notes.findMany({ with: { author:
 * true } })`.
 */
export function collectRelationalQuery(c: Collector, call: ts.CallExpression): void {
  const method = unwrap(call.expression);
  if (!ts.isPropertyAccessExpression(method) || !/^find(?:Many|First)$/.test(method.name.text)) {
    return;
  }
  const member = unwrap(method.expression);
  const isElement = ts.isElementAccessExpression(member);
  const owner = isElement ? member.expression : readNamedMember(c, member)?.owner;
  if (owner === undefined || readNamedMember(c, owner)?.name !== "query") return;
  const key = readNamedMember(c, member)?.name;
  const declarations = readDeclarations(c, c.project.getModule(call));
  const table = key === undefined ? undefined : declarations.tables.get(key);
  if (table === undefined) return c.emit({ kind: "opaque-sql", node: call });
  collectTable(c, call, table, call.arguments[0], declarations);
}

/** Declarations of the modules that a file loads. */
interface Declarations {
  /** Tables by the name of their constant, or by their key in an object of tables. */
  readonly tables: ReadonlyMap<string, TableName>;
  /** Tables of drizzle's `relations(table, …)`, by table and relation. */
  readonly relations: ReadonlyMap<string, TableName>;
}

function collectTable(
  c: Collector,
  node: ts.Node,
  table: TableName,
  options: ts.Expression | undefined,
  declarations: Declarations,
): void {
  c.emit({ kind: "table-access", node, table, operation: DatabaseOperation.Select });
  const settings = options === undefined ? undefined : unwrap(options);
  if (settings === undefined) return;
  if (!ts.isObjectLiteralExpression(settings)) {
    if (!isSwitch(settings)) c.emit({ kind: "opaque-sql", node });
    return;
  }
  for (const property of settings.properties) {
    if (ts.isSpreadAssignment(property)) c.emit({ kind: "opaque-sql", node });
    if (!ts.isPropertyAssignment(property) || property.name.getText() !== "with") continue;
    const relations = unwrap(property.initializer);
    if (!ts.isObjectLiteralExpression(relations)) c.emit({ kind: "opaque-sql", node });
    else {for (const relation of relations.properties) {
        collectRelation(c, node, table, relation, declarations);
      }}
  }
}

function collectRelation(
  c: Collector,
  node: ts.Node,
  table: TableName,
  relation: ts.ObjectLiteralElementLike,
  declarations: Declarations,
): void {
  const name = relation.name?.getText().replace(/^["']|["']$/g, "");
  const target = declarations.relations.get(`${printTable(table)}.${name}`);
  if (target === undefined || !ts.isPropertyAssignment(relation)) {
    return c.emit({ kind: "opaque-sql", node });
  }
  collectTable(c, node, target, relation.initializer, declarations);
}

/** Checks for the boolean in `with: { author: true }`. */
function isSwitch(node: ts.Expression): boolean {
  return node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword;
}

const known: WeakMap<SourceModule, Declarations> = new WeakMap();

function readDeclarations(c: Collector, from: SourceModule): Declarations {
  let declarations = known.get(from);
  if (declarations !== undefined) return declarations;
  const tables = new Map<string, TableName>();
  const relations = new Map<string, TableName>();
  declarations = { tables, relations };
  known.set(from, declarations);
  for (const { source } of listLoadedModules(c.project, [from.path])) visit(source);
  return declarations;

  function visit(node: ts.Node): void {
    if (
      ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) ||
      ts.isShorthandPropertyAssignment(node)
    ) {
      const value = ts.isShorthandPropertyAssignment(node) ? node.name : node.initializer;
      if (value !== undefined && mayBeTable(value)) readTable(node.name.getText(), value);
    } else if (ts.isCallExpression(node)) readRelations(node);
    ts.forEachChild(node, visit);
  }

  function readTable(name: string, value: ts.Expression): void {
    const found = c.evaluator.evaluate(value);
    if (found.kind === "table") tables.set(name, found.table);
  }

  function readRelations(call: ts.CallExpression): void {
    const callee = unwrap(call.expression);
    if (!ts.isIdentifier(callee) || callee.text !== "relations" || call.arguments.length < 2) {
      return;
    }
    const table = c.evaluator.evaluate(call.arguments[0]);
    const fn = unwrap(call.arguments[1]);
    if (table.kind !== "table" || !ts.isArrowFunction(fn)) return;
    const body = unwrap(fn.body as ts.Expression);
    if (!ts.isObjectLiteralExpression(body)) return;
    for (const property of body.properties) {
      if (!ts.isPropertyAssignment(property)) continue;
      const relation = unwrap(property.initializer);
      if (!ts.isCallExpression(relation) || relation.arguments.length === 0) continue;
      const target = c.evaluator.evaluate(relation.arguments[0]);
      if (target.kind === "table") {
        relations.set(`${printTable(table.table)}.${property.name.getText()}`, target.table);
      }
    }
  }
}

function mayBeTable(node: ts.Expression): boolean {
  const value = unwrap(node);
  return ts.isCallExpression(value) || ts.isIdentifier(value) ||
    ts.isPropertyAccessExpression(value);
}
