import type { Collector } from "./collector.ts";
import { isTrellis } from "./values.ts";
import { getDeclaration, readNamedMember } from "./named_member.ts";
import { readSqlSequences } from "./sql_sequences.ts";
import { PLACEHOLDER, readSqlTables } from "./sql_tables.ts";
import { ts, unwrap } from "./typescript.ts";
import { quoteName } from "../../sql/quote.ts";

/** Methods of a driver's client that take SQL text. */
const CLIENT_METHODS: ReadonlySet<string> = new Set(["unsafe", "query", "exec"]);
/** Methods that resolve to a client. */
const CONNECTING: ReadonlySet<string> = new Set(["connect", "reserve"]);
/** Methods that pass a client to their callback. */
const SCOPING: ReadonlySet<string> = new Set(["begin", "savepoint", "transaction", "runExclusive"]);
/** Names under which programs keep drizzle's client; other things have a method `execute`, too. */
const CLIENT_NAMES: ReadonlySet<string> = new Set([
  "client",
  "database",
  "db",
  "transaction",
  "trx",
  "tx",
  "getDb",
  "getDrizzleClient",
]);
/** Methods of drizzle that accept SQL text as a table source. */
const SOURCES = /^(?:from|\w+Join(?:Lateral)?)$/;

/**
 * Collects the tables of SQL text that is passed to a driver: `db.$client.unsafe("…")`,
 * `db.execute("…")`, `sql.raw("…")`.
 */
export function collectSqlCall(c: Collector, call: ts.CallExpression): void {
  const callee = unwrap(call.expression);
  const [given] = call.arguments;
  if (!ts.isPropertyAccessExpression(callee) || given === undefined) return;
  const text = unwrap(given);
  if (callee.name.text === "execute") {
    const constant = c.evaluator.readText(text);
    if (constant !== undefined) collectText(c, call, constant);
    else if (ts.isTemplateExpression(text)) collectText(c, call, readText(c, text));
    else if (isNamedClient(callee.expression) && isComputedText(c, text)) {
      reportOpaque(c, call);
    }
  } else if (SOURCES.test(callee.name.text) && ts.isTaggedTemplateExpression(text)) {
    if (isSql(c, text.tag)) collectText(c, call, `SELECT * FROM ${readText(c, text.template)}`);
  } else if (isSqlMember(c, callee, "raw")) {
    const constant = c.evaluator.readText(text);
    if (constant !== undefined) collectText(c, call, constant);
    else if (isWholeStatement(call)) reportOpaque(c, call);
  } else if (CLIENT_METHODS.has(callee.name.text) && isClient(c, callee.expression)) {
    const constant = c.evaluator.readText(text);
    if (constant !== undefined) collectText(c, call, constant);
    else if (ts.isTemplateExpression(text)) collectText(c, call, readText(c, text));
    else reportOpaque(c, call);
  }
}

/** Collects the tables in a template with drizzle's `sql` or a driver's client as its tag. */
export function collectSqlTemplate(c: Collector, node: ts.TaggedTemplateExpression): void {
  if (isSql(c, node.tag) || isClient(c, node.tag)) collectText(c, node, readText(c, node.template));
}

function collectText(c: Collector, node: ts.Node, text: string): void {
  const { tables, hasUnknownTable } = readSqlTables(text);
  for (const { table, operations } of tables) {
    for (const operation of operations) c.emit({ kind: "table-access", node, table, operation });
  }
  for (const use of readSqlSequences(text)) c.emit({ kind: "sequence-access", node, ...use });
  if (hasUnknownTable) reportOpaque(c, node);
}

function reportOpaque(c: Collector, node: ts.Node): void {
  c.emit({ kind: "opaque-sql", node });
}

/** Returns the text with tables and constant parts inserted, and placeholders for the rest. */
function readText(c: Collector, template: ts.TemplateLiteral | ts.StringLiteralLike): string {
  if (!ts.isTemplateExpression(template)) return template.text;
  return template.templateSpans.reduce(
    (text, { expression, literal }) => text + readPart(c, unwrap(expression)) + literal.text,
    template.head.text,
  );
}

function readPart(c: Collector, part: ts.Expression): string {
  const value = c.evaluator.evaluate(part);
  if (value.kind === "table") {
    const { schema, name } = value.table;
    return schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`;
  }
  const callee = ts.isCallExpression(part) ? unwrap(part.expression) : undefined;
  if (!ts.isCallExpression(part) || callee === undefined || part.arguments.length === 0) {
    return ts.isTaggedTemplateExpression(part) && isSql(c, part.tag)
      ? readText(c, part.template)
      : PLACEHOLDER;
  }
  const argument = c.evaluator.readText(part.arguments[0]);
  if (argument === undefined || !ts.isPropertyAccessExpression(callee)) return PLACEHOLDER;
  if (isSqlMember(c, callee, "identifier")) return quoteName(argument);
  return isSqlMember(c, callee, "raw") ? argument : PLACEHOLDER;
}

/** Checks for drizzle's `sql`. */
function isSql(c: Collector, node: ts.Expression): boolean {
  const value = c.evaluator.evaluate(node);
  return value.kind === "package" && value.name === "sql" &&
    (isTrellis(value.module) || /^drizzle-orm(?:\/|$)/.test(value.module));
}

function isSqlMember(c: Collector, callee: ts.PropertyAccessExpression, name: string): boolean {
  return callee.name.text === name && isSql(c, callee.expression);
}

/** Checks for `db.$client`, and for the connections and transactions that it provides. */
function isClient(c: Collector, expression: ts.Expression): boolean {
  const outer = unwrap(expression);
  const node = ts.isAwaitExpression(outer) ? unwrap(outer.expression) : outer;
  if (ts.isCallExpression(node)) return isClientCall(c, node, CONNECTING);
  if (readNamedMember(c, node)?.name === "$client") return true;
  const declaration = getDeclaration(c, node);
  if (declaration === undefined) return false;
  if (ts.isVariableDeclaration(declaration)) {
    return declaration.initializer !== undefined && isClient(c, declaration.initializer);
  }
  const owner = ts.isParameter(declaration) ? declaration.parent.parent : undefined;
  return owner !== undefined && ts.isCallExpression(owner) && isClientCall(c, owner, SCOPING);
}

function isClientCall(c: Collector, call: ts.CallExpression, names: ReadonlySet<string>): boolean {
  const callee = unwrap(call.expression);
  return ts.isPropertyAccessExpression(callee) && names.has(callee.name.text) &&
    isClient(c, callee.expression);
}

/** Checks for `db`, `this.db`, `await getDb()` and the like. */
function isNamedClient(expression: ts.Expression): boolean {
  const outer = unwrap(expression);
  const value = ts.isAwaitExpression(outer) ? unwrap(outer.expression) : outer;
  const named = ts.isCallExpression(value) ? unwrap(value.expression) : value;
  if (ts.isPropertyAccessExpression(named)) return CLIENT_NAMES.has(named.name.text);
  return ts.isIdentifier(named) && CLIENT_NAMES.has(named.text);
}

/** Checks for text that is put together at run time or passed in as a `string`. */
function isComputedText(c: Collector, text: ts.Expression): boolean {
  if (ts.isBinaryExpression(text)) return text.operatorToken.kind === ts.SyntaxKind.PlusToken;
  const declaration = getDeclaration(c, text);
  return declaration !== undefined && ts.isParameter(declaration) &&
    declaration.type?.kind === ts.SyntaxKind.StringKeyword;
}

/** Checks whether `sql.raw(text)` is the whole executed statement and not part of a template. */
function isWholeStatement(call: ts.CallExpression): boolean {
  const { parent } = call;
  return ts.isCallExpression(parent) && ts.isPropertyAccessExpression(parent.expression) &&
    parent.expression.name.text === "execute";
}
