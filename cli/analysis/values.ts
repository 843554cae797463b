import type { SourceModule } from "./source_module.ts";
import type { ts } from "./typescript.ts";

/** The name of a table in a grant. */
export interface TableName {
  /** The schema; omitted if the search path of the connection decides. */
  readonly schema?: string;
  /** The name in the schema. */
  readonly name: string;
}

/** Arguments by parameter, of the calls around an expression. */
export type Bindings = ReadonlyMap<ts.ParameterDeclaration, ScopedExpression | undefined>;

/** An expression with the arguments that its function was called with. */
export interface ScopedExpression {
  readonly node: ts.Expression;
  readonly bindings?: Bindings;
}

/** An object literal with the arguments that its function was called with. */
export interface ScopedObject extends ScopedExpression {
  readonly node: ts.ObjectLiteralExpression;
}

/** The result of following references from an expression. */
export type Value =
  /** An expression that refers to nothing else: a literal, an object, a call of unknown code. */
  | { readonly kind: "expression"; readonly node: ts.Expression; readonly bindings?: Bindings }
  | {
    readonly kind: "function";
    readonly node: ts.FunctionLikeDeclaration;
    readonly bindings?: Bindings;
  }
  | { readonly kind: "class"; readonly node: ts.ClassLikeDeclaration }
  | { readonly kind: "enum"; readonly node: ts.EnumDeclaration }
  | { readonly kind: "undefined" }
  /** An export of a package: `drizzle-orm/pg-core`, `pgTable`. */
  | { readonly kind: "package"; readonly module: string; readonly name: string }
  | { readonly kind: "namespace"; readonly module: SourceModule }
  | { readonly kind: "table"; readonly table: TableName; readonly node?: ts.CallExpression }
  /** The result of `pgSchema(name)`. */
  | { readonly kind: "schema"; readonly name: string }
  /** The result of `pgTableCreator(rename)`. */
  | { readonly kind: "creator"; readonly rename: Value }
  /** The result of `createQueryFactory(getDb)`, and its functions. */
  | { readonly kind: "factory" }
  | { readonly kind: "define"; readonly isStatement: boolean }
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** The constant value of an expression. */
export type Literal =
  | { readonly kind: "known"; readonly value: unknown }
  /** The node whose value is only known at run time. */
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** Evaluates expressions statically. */
export interface Evaluator {
  /** Follows variables, imports, members and calls of simple functions. */
  evaluate(node: ts.Expression, bindings?: Bindings): Value;
  /** Returns a member of a value. */
  getMember(value: Value, name: string, at: ts.Node): Value;
  /**
   * Returns the result of a function whose body is an expression, or a `return` after constants;
   * `undefined` for others. `hasMore` is true if unknown arguments follow the given ones.
   */
  call(fn: Value, given: readonly ScopedExpression[], hasMore?: boolean): Value | undefined;
  /** Returns the constant that a value is; `at` is reported if it is not constant. */
  toLiteral(value: Value, at: ts.Node): Literal;
  /** Returns the constant value of an expression. */
  read(node: ts.Expression, bindings?: Bindings): Literal;
  /** Returns an expression's constant string or number as text; `undefined` for other values. */
  readText(node: ts.Expression, bindings?: Bindings): string | undefined;
  /** Returns the name of a property; `undefined` if it is computed at run time. */
  getKey(name: ts.PropertyName, bindings?: Bindings): string | undefined;
}

/** Creates the result for a node whose value is only known at run time. */
export function unknown(node: ts.Node): { kind: "unknown"; node: ts.Node } {
  return { kind: "unknown", node };
}

/** Formats a table name as in declarations: `app.notes`. */
export function printTable(table: TableName): string {
  return table.schema === undefined ? table.name : `${table.schema}.${table.name}`;
}

/** Parses a declared table name: `app.notes` is `notes` in the schema `app`. */
export function parseTable(text: string): TableName {
  const dot = text.indexOf(".");
  return dot < 0 ? { name: text } : { schema: text.slice(0, dot), name: text.slice(dot + 1) };
}
