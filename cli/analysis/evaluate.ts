import { AUTH_METHODS } from "./auth_mode.ts";
import { callDrizzle, callDrizzleValue, isDrizzle, type ScopedCall } from "./drizzle_tables.ts";
import { PACKAGE_ENUMS, toLiteral } from "./literals.ts";
import { getProperty } from "./object_literals.ts";
import type { Project, Target } from "./project.ts";
import { TRELLIS } from "../project/resolve_module.ts";
import { ts, unwrap } from "./typescript.ts";
import { isTrellis } from "../project/resolve_module.ts";
import {
  type Bindings,
  type Evaluator,
  type Literal,
  type ScopedExpression,
  type TableName,
  unknown,
  type Value,
} from "./values.ts";

/** Maximum depth, which stops circular references. */
const MAX_DEPTH = 100;

/** Functions that return their argument. */
const TRANSPARENT_GLOBALS = ["Object.freeze", "Object.seal"];

/**
 * Creates the evaluator of a project's constants: literals, tables and exports of packages.
 *
 * @param packageTables Tables that a package exports, by `package/path#name`.
 */
export function createEvaluator(
  project: Project,
  packageTables: ReadonlyMap<string, TableName> = new Map(),
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

  #deeper<T>(node: ts.Node, work: () => T, otherwise: (node: ts.Node) => T): T {
    if (this.#depth > MAX_DEPTH) return otherwise(node);
    this.#depth++;
    try {
      return work();
    } finally {
      this.#depth--;
    }
  }

  evaluate(node: ts.Expression, bindings?: Bindings): Value {
    if (bindings !== undefined) {
      return this.#deeper<Value>(node, () => this.#compute(unwrap(node), bindings), unknown);
    }
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    // an expression that refers to itself is unknown
    this.#known.set(node, unknown(node));
    const value = this.#deeper<Value>(node, () => this.#compute(unwrap(node)), unknown);
    this.#known.set(node, value);
    return value;
  }

  #compute(node: ts.Expression, bindings?: Bindings): Value {
    if (ts.isIdentifier(node)) {
      return node.text === "undefined"
        ? { kind: "undefined" }
        : this.#evaluateTarget(this.#project.getTarget(node), node, bindings);
    }
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) {
      return { kind: "function", node, bindings };
    }
    if (ts.isClassExpression(node)) return { kind: "class", node };
    if (ts.isAwaitExpression(node)) return this.evaluate(node.expression, bindings);
    if (ts.isPropertyAccessExpression(node)) {
      return this.getMember(this.evaluate(node.expression, bindings), node.name.text, node);
    }
    if (ts.isElementAccessExpression(node)) {
      const key = this.read(node.argumentExpression, bindings);
      if (key.kind === "unknown") return key;
      return typeof key.value === "object"
        ? unknown(node)
        : this.getMember(this.evaluate(node.expression, bindings), String(key.value), node);
    }
    if (ts.isCallExpression(node)) return this.#evaluateCall(node, bindings);
    return { kind: "expression", node, bindings };
  }

  #evaluateTarget(target: Target, at: ts.Node, bindings?: Bindings): Value {
    if (target.kind === "expression") return this.evaluate(target.node);
    if (target.kind === "namespace") return target;
    if (target.kind === "package") return this.#getPackageValue(target.module, target.name);
    // the configuration is not executed, so it may use the enum without an import
    if (target.kind === "opaque" && ts.isIdentifier(at) && Object.hasOwn(PACKAGE_ENUMS, at.text)) {
      return { kind: "package", module: TRELLIS, name: at.text };
    }
    if (target.kind !== "declaration") return unknown(at);
    const { node } = target;
    if (ts.isEnumDeclaration(node)) return { kind: "enum", node };
    if (ts.isClassLike(node)) return { kind: "class", node };
    if (ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node)) {
      return { kind: "function", node, bindings };
    }
    if (ts.isVariableDeclaration(node)) return this.#evaluateVariable(node, at, bindings);
    if (ts.isParameter(node)) return this.#evaluateParameter(node, at, bindings);
    return ts.isBindingElement(node) ? this.#evaluateBinding(node, at, bindings) : unknown(at);
  }

  #evaluateVariable(node: ts.VariableDeclaration, at: ts.Node, bindings?: Bindings): Value {
    const isConst = (node.parent.flags & ts.NodeFlags.Const) !== 0;
    return node.initializer !== undefined && isConst
      ? this.evaluate(node.initializer, bindings)
      : unknown(at);
  }

  #evaluateParameter(node: ts.ParameterDeclaration, at: ts.Node, bindings?: Bindings): Value {
    if (bindings === undefined || !bindings.has(node)) return unknown(at);
    const given = bindings.get(node);
    const value: Value = given === undefined
      ? { kind: "undefined" }
      : this.evaluate(given.node, given.bindings);
    return value.kind === "undefined" && node.initializer !== undefined
      ? this.evaluate(node.initializer, bindings)
      : value;
  }

  /** Evaluates a name in `const { limits: { timeout } } = settings`. */
  #evaluateBinding(node: ts.BindingElement, at: ts.Node, bindings?: Bindings): Value {
    const { parent: pattern } = node;
    const holder = pattern.parent;
    if (node.dotDotDotToken !== undefined) return unknown(at);
    const key = ts.isArrayBindingPattern(pattern)
      ? String(pattern.elements.indexOf(node))
      : this.getKey((node.propertyName ?? node.name) as ts.PropertyName, bindings);
    if (key === undefined) return unknown(at);
    let whole: Value;
    if (ts.isBindingElement(holder)) whole = this.#evaluateBinding(holder, at, bindings);
    else if (ts.isParameter(holder)) whole = this.#evaluateParameter(holder, at, bindings);
    else whole = this.#evaluateVariable(holder, at, bindings);
    const value = this.getMember(whole, key, at);
    return value.kind === "undefined" && node.initializer !== undefined
      ? this.evaluate(node.initializer, bindings)
      : value;
  }

  #getPackageValue(module: string, name: string): Value {
    const table = this.#packageTables.get(`${module}#${name}`);
    return table === undefined ? { kind: "package", module, name } : { kind: "table", table };
  }

  getMember(owner: Value, name: string, at: ts.Node): Value {
    switch (owner.kind) {
      case "namespace":
        return this.#evaluateTarget(this.#project.findExport(owner.module, name), at);
      case "package":
        return this.#getPackageValue(
          owner.module,
          owner.name === "" ? name : `${owner.name}.${name}`,
        );
      case "factory":
        if (name === "defineStatement") return { kind: "define", isStatement: true };
        return name === "defineQuery" || name === "definePreparedQuery"
          ? { kind: "define", isStatement: false }
          : unknown(at);
      case "enum": {
        const value = findEnumMember(owner.node, name);
        return value === undefined ? unknown(at) : { kind: "expression", node: value };
      }
      case "expression":
        return this.#getElement(owner, name, at);
      case "unknown":
        return owner;
      default:
        return unknown(at);
    }
  }

  #getElement({ node, bindings }: ScopedExpression, name: string, at: ts.Node): Value {
    if (ts.isObjectLiteralExpression(node)) {
      const property = getProperty(this, { node, bindings }, name);
      if (property === undefined) return { kind: "undefined" };
      if (!("unknown" in property)) return this.evaluate(property.node, property.bindings);
      return ts.isMethodDeclaration(property.unknown)
        ? { kind: "function", node: property.unknown }
        : unknown(property.unknown);
    }
    const isList = ts.isArrayLiteralExpression(node) && /^\d+$/.test(name) &&
      !node.elements.some(ts.isSpreadElement);
    if (!isList) return unknown(at);
    const element = node.elements[Number(name)] as ts.Expression | undefined;
    return element === undefined ? { kind: "undefined" } : this.evaluate(element, bindings);
  }

  #evaluateCall(node: ts.CallExpression, bindings?: Bindings): Value {
    const name = unwrap(node.expression);
    const owner = ts.isPropertyAccessExpression(name)
      ? this.evaluate(name.expression, bindings)
      : undefined;
    const method = owner && (name as ts.PropertyAccessExpression).name.text;
    const callee = owner === undefined
      ? this.evaluate(name, bindings)
      : this.getMember(owner, method!, name);
    const call = { node, bindings };
    const [only] = node.arguments;
    if (only !== undefined && node.arguments.length === 1 && this.#isTransparent(name, callee)) {
      return this.evaluate(only, bindings);
    }
    if (callee.kind === "function") {
      const spread = node.arguments.findIndex(ts.isSpreadElement);
      const given = node.arguments.slice(0, spread < 0 ? undefined : spread);
      const result = this.call(
        callee,
        given.map((each) => ({ node: each, bindings })),
        spread >= 0,
      );
      return result ?? { kind: "expression", node, bindings };
    }
    const value = callee.kind === "package"
      ? this.#callPackage(call, callee.module, callee.name)
      : callDrizzleValue(this, call, owner ?? callee, method);
    return value ?? { kind: "expression", node, bindings };
  }

  #callPackage(
    call: ScopedCall,
    module: string,
    name: string,
  ): Value | undefined {
    if (isDrizzle(module)) return callDrizzle(this, call, name);
    if (!isTrellis(module)) return undefined;
    const mode = AUTH_METHODS[name];
    if (mode !== undefined) {
      return { kind: "expression", node: ts.factory.createStringLiteral(mode) };
    }
    return name === "createQueryFactory" ? { kind: "factory" } : undefined;
  }

  #isTransparent(name: ts.Expression, callee: Value): boolean {
    if (callee.kind === "package") {
      return isTrellis(callee.module) && callee.name === "defineConfig";
    }
    return ts.isPropertyAccessExpression(name) && ts.isIdentifier(name.expression) &&
      TRANSPARENT_GLOBALS.includes(`${name.expression.text}.${name.name.text}`) &&
      this.#project.getTarget(name.expression).kind === "opaque";
  }

  call(fn: Value, given: readonly ScopedExpression[], hasMore = false): Value | undefined {
    const result = fn.kind === "function" ? getResult(fn.node) : undefined;
    if (fn.kind !== "function" || result === undefined) return undefined;
    const inner = new Map(fn.bindings);
    fn.node.parameters.forEach((parameter, index) => {
      const isKnown = index < given.length || !hasMore;
      if (isKnown && parameter.dotDotDotToken === undefined) inner.set(parameter, given[index]);
    });
    return this.evaluate(result, inner);
  }

  getKey(name: ts.PropertyName, bindings?: Bindings): string | undefined {
    return ts.isComputedPropertyName(name) ? this.readText(name.expression, bindings) : name.text;
  }

  read(node: ts.Expression, bindings?: Bindings): Literal {
    return this.#deeper<Literal>(
      node,
      () => this.toLiteral(this.evaluate(node, bindings), node),
      unknown,
    );
  }

  toLiteral(value: Value, at: ts.Node): Literal {
    return toLiteral(this, value, at);
  }

  readText(node: ts.Expression, bindings?: Bindings): string | undefined {
    const literal = this.read(node, bindings);
    return literal.kind === "known" && /^(?:string|number)$/.test(typeof literal.value)
      ? String(literal.value)
      : undefined;
  }
}

/** Returns the result of a function whose body is an expression, or a `return` after constants. */
function getResult({ body, asteriskToken }: ts.FunctionLikeDeclaration): ts.Expression | undefined {
  if (body === undefined || asteriskToken !== undefined) return undefined;
  if (!ts.isBlock(body)) return body;
  const last = body.statements.at(-1);
  const isPlain = body.statements.slice(0, -1).every((each) => ts.isVariableStatement(each));
  return isPlain && last !== undefined && ts.isReturnStatement(last) ? last.expression : undefined;
}

function findEnumMember(node: ts.EnumDeclaration, name: string): ts.Expression | undefined {
  return node.members.find((member) =>
    !ts.isComputedPropertyName(member.name) && member.name.text === name
  )?.initializer;
}
