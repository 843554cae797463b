import type { Project, Target } from "./project.ts";
import { TRELLIS } from "./resolve_module.ts";
import type { SourceModule } from "./source_module.ts";
import { ts, unwrap } from "./typescript.ts";

/** The name of a table in a grant. */
export interface TableName {
  /** The schema; omitted if the search path of the connection decides. */
  readonly schema?: string;
  /** The name in the schema. */
  readonly name: string;
}

/** The statically known value of an expression. */
export type Value =
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "undefined" }
  /** An export of a package: `drizzle-orm/pg-core`, `pgTable`. */
  | { readonly kind: "package"; readonly module: string; readonly name: string }
  | { readonly kind: "namespace"; readonly module: SourceModule }
  | { readonly kind: "object"; readonly node: ts.ObjectLiteralExpression; readonly env: Env }
  | { readonly kind: "array"; readonly node: ts.ArrayLiteralExpression; readonly env: Env }
  | { readonly kind: "function"; readonly node: ts.FunctionLikeDeclaration }
  | { readonly kind: "class"; readonly node: ts.ClassLikeDeclaration }
  | { readonly kind: "table"; readonly table: TableName; readonly node?: ts.CallExpression }
  /** The result of `pgSchema(name)`. */
  | { readonly kind: "schema"; readonly name: string }
  /** The result of `pgTableCreator(rename)`. */
  | { readonly kind: "creator"; readonly rename: Value }
  /** The result of `createQueryFactory(getDb)`, and its functions. */
  | { readonly kind: "factory" }
  | { readonly kind: "define" }
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** Arguments by parameter, while the result of a function is evaluated. */
type Env = ReadonlyMap<ts.Node, Value> | undefined;

/** Evaluates expressions statically. */
export interface Evaluator {
  /** Evaluates an expression; `unknown` contains the node that cannot be evaluated. */
  evaluate(expression: ts.Expression, env?: Env): Value;
  /** Returns a member of a value. */
  getMember(value: Value, name: string, at: ts.Node): Value;
}

const MAX_DEPTH = 60;

/**
 * Creates the evaluator of a project's constants: strings, tables and exports of packages.
 *
 * @param project The project.
 * @param packageTables Tables that a package exports, by `package/path#name`.
 * @returns The evaluator.
 */
export function createEvaluator(
  project: Project,
  packageTables: ReadonlyMap<string, TableName>,
): Evaluator {
  return new ProjectEvaluator(project, packageTables);
}

class ProjectEvaluator implements Evaluator {
  readonly #project: Project;
  readonly #packageTables: ReadonlyMap<string, TableName>;
  readonly #known: Map<ts.Node, Value> = new Map();
  #depth = 0;

  constructor(project: Project, packageTables: ReadonlyMap<string, TableName>) {
    this.#project = project;
    this.#packageTables = packageTables;
  }

  evaluate(expression: ts.Expression, env?: Env): Value {
    if (env === undefined) {
      const value = this.#known.get(expression);
      if (value !== undefined) return value;
    }
    if (this.#depth > MAX_DEPTH) return unknown(expression);
    // an expression that refers to itself is unknown
    if (env === undefined) this.#known.set(expression, unknown(expression));
    this.#depth++;
    try {
      const value = this.#compute(expression, env);
      if (env === undefined) this.#known.set(expression, value);
      return value;
    } finally {
      this.#depth--;
    }
  }

  #compute(expression: ts.Expression, env: Env): Value {
    const node = unwrap(expression);
    if (node !== expression) return this.evaluate(node, env);
    if (ts.isStringLiteralLike(node)) return { kind: "string", text: node.text };
    if (ts.isNumericLiteral(node)) return { kind: "string", text: node.text };
    if (ts.isTemplateExpression(node)) return this.#evaluateTemplate(node, env);
    if (ts.isObjectLiteralExpression(node)) return { kind: "object", node, env };
    if (ts.isArrayLiteralExpression(node)) return { kind: "array", node, env };
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) {
      return { kind: "function", node };
    }
    if (ts.isClassExpression(node)) return { kind: "class", node };
    if (ts.isIdentifier(node)) return this.#evaluateName(node, env);
    if (ts.isAwaitExpression(node)) return this.evaluate(node.expression, env);
    if (ts.isPropertyAccessExpression(node)) {
      return this.getMember(this.evaluate(node.expression, env), node.name.text, node);
    }
    if (ts.isElementAccessExpression(node)) {
      const key = this.evaluate(node.argumentExpression, env);
      return key.kind === "string"
        ? this.getMember(this.evaluate(node.expression, env), key.text, node)
        : unknown(node);
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
      return join([this.evaluate(node.left, env), this.evaluate(node.right, env)], node);
    }
    if (ts.isCallExpression(node)) return this.#evaluateCall(node, env);
    return unknown(node);
  }

  #evaluateTemplate(node: ts.TemplateExpression, env: Env): Value {
    const parts = node.templateSpans.flatMap((span): Value[] => [
      this.evaluate(span.expression, env),
      { kind: "string", text: span.literal.text },
    ]);
    return join([{ kind: "string", text: node.head.text }, ...parts], node);
  }

  #evaluateName(name: ts.Identifier, env: Env): Value {
    if (name.text === "undefined") return { kind: "undefined" };
    return this.#evaluateTarget(this.#project.getTarget(name), name, env);
  }

  #evaluateTarget(target: Target, at: ts.Node, env?: Env): Value {
    if (target.kind === "expression") return this.evaluate(target.node);
    if (target.kind === "namespace") return { kind: "namespace", module: target.module };
    if (target.kind === "package") return this.#getPackageValue(target.module, target.name);
    if (target.kind !== "declaration") return unknown(at);
    const { node } = target;
    if (ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node)) {
      return { kind: "function", node };
    }
    if (ts.isClassLike(node)) return { kind: "class", node };
    if (ts.isVariableDeclaration(node)) {
      const isConst = (node.parent.flags & ts.NodeFlags.Const) !== 0;
      return node.initializer !== undefined && isConst
        ? this.evaluate(node.initializer, env)
        : unknown(at);
    }
    if (ts.isParameter(node)) return env?.get(node) ?? unknown(at);
    if (ts.isBindingElement(node)) return this.#evaluateBinding(node, at, env);
    return unknown(at);
  }

  #evaluateBinding(node: ts.BindingElement, at: ts.Node, env: Env): Value {
    const pattern = node.parent;
    const holder = pattern.parent;
    let whole: Value;
    if (ts.isBindingElement(holder)) whole = this.#evaluateBinding(holder, at, env);
    else if (ts.isVariableDeclaration(holder) && holder.initializer !== undefined) {
      whole = this.evaluate(holder.initializer, env);
    } else whole = (ts.isParameter(holder) ? env?.get(holder) : undefined) ?? unknown(at);
    if (
      !ts.isObjectBindingPattern(pattern) || node.dotDotDotToken !== undefined ||
      node.initializer !== undefined
    ) {
      return unknown(at);
    }
    const key = node.propertyName ?? node.name;
    return ts.isIdentifier(key) || ts.isStringLiteralLike(key)
      ? this.getMember(whole, key.text, at)
      : unknown(at);
  }

  #getPackageValue(module: string, name: string): Value {
    const table = this.#packageTables.get(`${module}#${name}`);
    return table === undefined ? { kind: "package", module, name } : { kind: "table", table };
  }

  getMember(value: Value, name: string, at: ts.Node): Value {
    switch (value.kind) {
      case "namespace":
        return this.#evaluateTarget(this.#project.findExport(value.module, name), at);
      case "package":
        return this.#getPackageValue(
          value.module,
          value.name === "" ? name : `${value.name}.${name}`,
        );
      case "factory":
        return name === "defineQuery" || name === "definePreparedQuery"
          ? { kind: "define" }
          : unknown(at);
      case "object": {
        const found = this.#getProperty(value, name);
        return found ?? unknown(at);
      }
      case "schema":
      case "creator":
      case "table":
        // a method; its result is evaluated with the call
        return { kind: "unknown", node: at };
      default:
        return unknown(at);
    }
  }

  #getProperty({ node, env }: Value & { kind: "object" }, name: string): Value | undefined {
    for (const property of [...node.properties].reverse()) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.evaluate(property.expression, env);
        if (spread.kind !== "object") return unknown(property);
        const found = this.#getProperty(spread, name);
        if (found !== undefined) return found;
        continue;
      }
      const key = property.name;
      const text = ts.isComputedPropertyName(key)
        ? this.evaluate(key.expression, env)
        : { kind: "string", text: key.text };
      if (text.kind !== "string") return unknown(property);
      if ((text as { text: string }).text !== name) continue;
      if (ts.isPropertyAssignment(property)) return this.evaluate(property.initializer, env);
      if (ts.isShorthandPropertyAssignment(property)) return this.#evaluateName(property.name, env);
      if (ts.isMethodDeclaration(property)) return { kind: "function", node: property };
      return unknown(property);
    }
    return undefined;
  }

  #evaluateCall(node: ts.CallExpression, env: Env): Value {
    const callee = unwrap(node.expression);
    if (ts.isPropertyAccessExpression(callee)) {
      const owner = this.evaluate(callee.expression, env);
      const method = callee.name.text;
      if (owner.kind === "schema" && /^(?:table|view|materializedView)$/.test(method)) {
        return this.#table(node, env, owner.name);
      }
      // methods that configure a table and return it
      if (owner.kind === "table") {
        return /^(?:enableRLS|as|existing|with|using)$/.test(method) ? owner : unknown(node);
      }
    }
    const value = this.evaluate(callee, env);
    if (value.kind === "creator") {
      const name = this.#argument(node, 0, env);
      return this.#table(node, env, undefined, this.#apply(value.rename, [name], node));
    }
    if (value.kind === "function") {
      return this.#apply(
        value,
        node.arguments.map((each) => this.evaluate(each, env)),
        node,
      );
    }
    if (value.kind !== "package") return unknown(node);
    return this.#callPackage(node, value.module, value.name, env);
  }

  #callPackage(node: ts.CallExpression, module: string, name: string, env: Env): Value {
    if (isTrellis(module)) {
      return name === "createQueryFactory" ? { kind: "factory" } : unknown(node);
    }
    if (module !== "drizzle-orm" && !module.startsWith("drizzle-orm/")) return unknown(node);
    switch (name) {
      case "pgTable":
      case "pgTable.withRLS":
      case "pgView":
      case "pgMaterializedView":
        return this.#table(node, env);
      case "pgSchema": {
        const schema = this.#argument(node, 0, env);
        return schema.kind === "string"
          ? { kind: "schema", name: schema.text }
          : unknown(node.arguments[0] ?? node);
      }
      case "pgTableCreator":
        return { kind: "creator", rename: this.#argument(node, 0, env) };
      case "alias":
      case "aliasedTable":
        return this.#argument(node, 0, env);
      case "getTableName":
      case "getTableUniqueName": {
        const named = this.#argument(node, 0, env);
        return named.kind === "table"
          ? { kind: "string", text: printTable(named.table) }
          : unknown(node);
      }
      default:
        return unknown(node);
    }
  }

  #table(
    node: ts.CallExpression,
    env: Env,
    schema?: string,
    given: Value = this.#argument(node, 0, env),
  ): Value {
    if (given.kind !== "string") {
      return given.kind === "unknown" ? given : unknown(node.arguments[0] ?? node);
    }
    return { kind: "table", table: { schema, name: given.text }, node };
  }

  #argument(node: ts.CallExpression, index: number, env: Env): Value {
    const given = node.arguments[index];
    return given === undefined || ts.isSpreadElement(given)
      ? unknown(node)
      : this.evaluate(given, env);
  }

  /** Evaluates a function whose body is an expression, or a `return` after constants. */
  #apply(value: Value, given: readonly Value[], at: ts.Node): Value {
    if (value.kind !== "function" || value.node.body === undefined) return unknown(at);
    const { node } = value;
    const env = new Map<ts.Node, Value>();
    node.parameters.forEach((parameter, index) => {
      if (parameter.dotDotDotToken === undefined && given[index] !== undefined) {
        env.set(parameter, given[index]);
      }
    });
    if (!ts.isBlock(node.body!)) return this.evaluate(node.body!, env);
    const { statements } = node.body;
    const last = statements.at(-1);
    const isPlain = statements.slice(0, -1).every((each) => ts.isVariableStatement(each));
    return isPlain && last !== undefined && ts.isReturnStatement(last) &&
        last.expression !== undefined
      ? this.evaluate(last.expression, env)
      : unknown(at);
  }
}

/**
 * Checks whether a specifier is this package or one of its entry points.
 *
 * @param module A package's specifier.
 */
export function isTrellis(module: string): boolean {
  return module === TRELLIS || module.startsWith(`${TRELLIS}/`);
}

/**
 * Formats a table name as in declarations: `app.notes`.
 *
 * @param table The table.
 */
export function printTable(table: TableName): string {
  return table.schema === undefined ? table.name : `${table.schema}.${table.name}`;
}

function unknown(node: ts.Node): Value {
  return { kind: "unknown", node };
}

function join(parts: readonly Value[], at: ts.Node): Value {
  let text = "";
  for (const part of parts) {
    if (part.kind !== "string") return part.kind === "unknown" ? part : unknown(at);
    text += part.text;
  }
  return { kind: "string", text };
}
