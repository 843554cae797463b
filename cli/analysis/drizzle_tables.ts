import { ts } from "./typescript.ts";
import { type Bindings, type Evaluator, printTable, unknown, type Value } from "./values.ts";

/** Methods of a schema that create a table. */
const CREATING: ReadonlySet<string> = new Set(["table", "view", "materializedView"]);
/** Methods that configure a table and return it. */
const CONFIGURING: ReadonlySet<string> = new Set([
  "enableRLS",
  "as",
  "existing",
  "with",
  "using",
]);

/** A call with the arguments that its enclosing function was called with. */
export interface ScopedCall {
  readonly node: ts.CallExpression;
  readonly bindings?: Bindings;
}

/**
 * Evaluates a call of drizzle that returns a table, a schema or a creator of tables.
 *
 * @param name The exported name: `pgTable`.
 * @returns The value; `undefined` for other functions.
 */
export function callDrizzle(
  evaluator: Evaluator,
  call: ScopedCall,
  name: string,
): Value | undefined {
  const { node, bindings } = call;
  const first = getFirstArgument(node);
  switch (name) {
    case "pgTable":
    case "pgTable.withRLS":
    case "pgView":
    case "pgMaterializedView":
      return createTable(evaluator, call);
    case "pgSchema": {
      const schema = first && evaluator.readText(first, bindings);
      return schema === undefined ? unknown(first ?? node) : { kind: "schema", name: schema };
    }
    case "pgTableCreator":
      return first && { kind: "creator", rename: evaluator.evaluate(first, bindings) };
    case "alias":
    case "aliasedTable":
      return first && evaluator.evaluate(first, bindings);
    default:
      return undefined;
  }
}

/**
 * Evaluates a call of a method of a drizzle schema or table, or of a creator of tables.
 *
 * @param method The name of the method; omitted for a creator.
 * @returns The value; `undefined` for other calls.
 */
export function callDrizzleValue(
  evaluator: Evaluator,
  call: ScopedCall,
  owner: Value,
  method?: string,
): Value | undefined {
  if (owner.kind === "creator" && method === undefined) {
    const node = getFirstArgument(call.node);
    const given = node === undefined ? [] : [{ node, bindings: call.bindings }];
    const name = evaluator.call(owner.rename, given, node === undefined);
    return name && toTable(evaluator, call, name);
  }
  if (owner.kind === "schema" && CREATING.has(method!)) {
    return createTable(evaluator, call, owner.name);
  }
  return owner.kind === "table" && CONFIGURING.has(method!) ? owner : undefined;
}

/**
 * Reads `getTableName(table)`.
 *
 * @returns The name; `undefined` for other calls.
 */
export function readTableName(
  evaluator: Evaluator,
  { node, bindings }: ScopedCall,
): string | undefined {
  const callee = evaluator.evaluate(node.expression, bindings);
  const isNamed = callee.kind === "package" && isDrizzle(callee.module) &&
    (callee.name === "getTableName" || callee.name === "getTableUniqueName");
  const first = isNamed ? getFirstArgument(node) : undefined;
  const table = first && evaluator.evaluate(first, bindings);
  return table?.kind === "table" ? printTable(table.table) : undefined;
}

/** Checks whether a specifier is drizzle or an entry point of it. */
export function isDrizzle(module: string): boolean {
  return module === "drizzle-orm" || module.startsWith("drizzle-orm/");
}

function getFirstArgument(node: ts.CallExpression): ts.Expression | undefined {
  const first = node.arguments[0] as ts.Expression | undefined;
  return first === undefined || ts.isSpreadElement(first) ? undefined : first;
}

function createTable(evaluator: Evaluator, call: ScopedCall, schema?: string): Value {
  const first = getFirstArgument(call.node);
  return first === undefined
    ? unknown(call.node)
    : toTable(evaluator, call, evaluator.evaluate(first, call.bindings), schema);
}

function toTable(evaluator: Evaluator, { node }: ScopedCall, name: Value, schema?: string): Value {
  const literal = evaluator.toLiteral(name, node.arguments[0] ?? node);
  if (literal.kind === "unknown") return literal;
  return typeof literal.value === "string"
    ? { kind: "table", table: { schema, name: literal.value }, node }
    : unknown(node.arguments[0] ?? node);
}
