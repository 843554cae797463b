import { isTrellis } from "./evaluate.ts";
import {
  compute,
  getEnumValue,
  listOperands,
  type Literal,
  PACKAGE_ENUMS,
} from "./literal_values.ts";
import type { Project, Target } from "./project.ts";
import { TRELLIS } from "./resolve_module.ts";
import type { SourceModule } from "./source_module.ts";
import { ts, unwrap } from "./typescript.ts";

export type { Literal };

/** Arguments by parameter, of the calls around an expression. */
export type Bindings = ReadonlyMap<ts.ParameterDeclaration, ScopedExpression | undefined>;

/** An expression with the arguments that its function was called with. */
export interface ScopedExpression {
  readonly node: ts.Expression;
  readonly bindings?: Bindings;
}

/** The result of following references from an expression. */
export type Resolution =
  | { readonly kind: "expression"; readonly node: ts.Expression; readonly bindings?: Bindings }
  | { readonly kind: "package"; readonly module: string; readonly name: string }
  | { readonly kind: "namespace"; readonly module: SourceModule }
  | { readonly kind: "enum"; readonly node: ts.EnumDeclaration }
  | {
    readonly kind: "function";
    readonly node: ts.FunctionLikeDeclaration;
    readonly bindings?: Bindings;
  }
  | { readonly kind: "undefined" }
  | { readonly kind: "unknown"; readonly node: ts.Node };

/** A property of an object; `unknown` if a spread or a computed name may define it. */
export type Property = ScopedExpression | { readonly unknown: ts.Node } | undefined;

/** The property names of an object, or the node that makes them unknown. */
export type Names = { readonly names: readonly string[] } | { readonly unknown: ts.Node };

/** Reads literals statically. */
export interface LiteralReader {
  /** Returns the value of an expression. */
  read(expression: ScopedExpression): Literal;
  /** Follows variables, imports, members and calls of simple functions. */
  follow(expression: ScopedExpression): Resolution;
  /** Returns a property of an object literal, including spread objects. */
  getProperty(
    object: ScopedExpression & { readonly node: ts.ObjectLiteralExpression },
    name: string,
  ): Property;
  /** Returns the property names of an object, including spread objects. */
  getNames(expression: ScopedExpression): Names;
  /**
   * Returns the result of a function whose body is an expression, or a `return` after constants.
   */
  getResult(
    fn: Resolution & { kind: "function" },
    call: ScopedExpression & { readonly node: ts.CallExpression },
  ): ScopedExpression | undefined;
}

/** Maximum depth, which stops circular references. */
const MAX_DEPTH = 100;

/** Functions that return their argument. */
const TRANSPARENT_GLOBALS = ["Object.freeze", "Object.seal"];

/**
 * Creates the reader of a project's literals.
 *
 * @param project The project.
 * @returns The reader.
 */
export function createLiteralReader(project: Project): LiteralReader {
  return new ProjectLiteralReader(project);
}

class ProjectLiteralReader implements LiteralReader {
  readonly #project: Project;
  #depth = 0;

  constructor(project: Project) {
    this.#project = project;
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

  follow(expression: ScopedExpression): Resolution {
    return this.#deeper<Resolution>(
      expression.node,
      () => this.#computeResolution(expression),
      unknown,
    );
  }

  #computeResolution({ node: expression, bindings }: ScopedExpression): Resolution {
    const node = unwrap(expression);
    if (ts.isIdentifier(node)) {
      return node.text === "undefined"
        ? { kind: "undefined" }
        : this.#resolveTarget(this.#project.getTarget(node), node, bindings);
    }
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) {
      return { kind: "function", node, bindings };
    }
    if (ts.isPropertyAccessExpression(node)) {
      return this.#getMember(
        this.follow({ node: node.expression, bindings }),
        node.name.text,
        node,
      );
    }
    if (ts.isElementAccessExpression(node)) {
      const key = this.read({ node: node.argumentExpression, bindings });
      if (key.kind === "unknown") return unknown(key.node);
      if (typeof key.value === "object") return unknown(node);
      return this.#getMember(
        this.follow({ node: node.expression, bindings }),
        String(key.value),
        node,
      );
    }
    if (ts.isCallExpression(node)) return this.#resolveCall(node, bindings);
    return { kind: "expression", node, bindings };
  }

  #resolveTarget(target: Target, at: ts.Node, bindings?: Bindings): Resolution {
    if (target.kind === "expression") return this.follow({ node: target.node });
    if (target.kind === "namespace" || target.kind === "package") return target;
    // the configuration is not executed, so it may use the enum without an import
    if (target.kind === "opaque" && ts.isIdentifier(at) && Object.hasOwn(PACKAGE_ENUMS, at.text)) {
      return { kind: "package", module: TRELLIS, name: at.text };
    }
    if (target.kind !== "declaration") return unknown(at);
    const { node } = target;
    if (ts.isEnumDeclaration(node)) return { kind: "enum", node };
    if (ts.isFunctionDeclaration(node)) return { kind: "function", node, bindings };
    if (ts.isVariableDeclaration(node)) {
      const isConst = (node.parent.flags & ts.NodeFlags.Const) !== 0;
      return node.initializer !== undefined && isConst
        ? this.follow({ node: node.initializer, bindings })
        : unknown(at);
    }
    if (ts.isParameter(node)) return this.#resolveParameter(node, at, bindings);
    return ts.isBindingElement(node) ? this.#resolveBinding(node, at, bindings) : unknown(at);
  }

  #resolveParameter(
    node: ts.ParameterDeclaration,
    at: ts.Node,
    bindings?: Bindings,
  ): Resolution {
    if (bindings === undefined || !bindings.has(node)) return unknown(at);
    const given = bindings.get(node);
    const resolution: Resolution = given === undefined ? { kind: "undefined" } : this.follow(given);
    return resolution.kind === "undefined" && node.initializer !== undefined
      ? this.follow({ node: node.initializer, bindings })
      : resolution;
  }

  /** Resolves a name in `const { limits: { timeout } } = settings`. */
  #resolveBinding(node: ts.BindingElement, at: ts.Node, bindings?: Bindings): Resolution {
    const { parent: pattern } = node;
    const holder = pattern.parent;
    const whole = ts.isBindingElement(holder)
      ? this.#resolveBinding(holder, at, bindings)
      : ts.isParameter(holder)
      ? this.#resolveParameter(holder, at, bindings)
      : holder.initializer !== undefined && (holder.parent.flags & ts.NodeFlags.Const) !== 0
      ? this.follow({ node: holder.initializer, bindings })
      : unknown(at);
    if (node.dotDotDotToken !== undefined) return unknown(at);
    const key = ts.isArrayBindingPattern(pattern)
      ? String(pattern.elements.indexOf(node))
      : this.#getName((node.propertyName ?? node.name) as ts.PropertyName, bindings);
    const resolution = key === undefined ? unknown(at) : this.#getMember(whole, key, at);
    return resolution.kind === "undefined" && node.initializer !== undefined
      ? this.follow({ node: node.initializer, bindings })
      : resolution;
  }

  #getMember(owner: Resolution, name: string, at: ts.Node): Resolution {
    switch (owner.kind) {
      case "namespace":
        return this.#resolveTarget(this.#project.findExport(owner.module, name), at);
      case "package":
        return {
          kind: "package",
          module: owner.module,
          name: owner.name === "" ? name : `${owner.name}.${name}`,
        };
      case "enum": {
        const value = enumMember(owner.node, name);
        return value === undefined ? unknown(at) : { kind: "expression", node: value };
      }
      case "expression": {
        const { node } = owner;
        if (ts.isObjectLiteralExpression(node)) {
          const property = this.getProperty({ node, bindings: owner.bindings }, name);
          if (property === undefined) return { kind: "undefined" };
          return "unknown" in property ? unknown(property.unknown) : this.follow(property);
        }
        if (
          ts.isArrayLiteralExpression(node) && /^\d+$/.test(name) &&
          !node.elements.some(ts.isSpreadElement)
        ) {
          const element = node.elements[Number(name)];
          return element === undefined
            ? { kind: "undefined" }
            : this.follow({ node: element, bindings: owner.bindings });
        }
        return unknown(at);
      }
      case "unknown":
        return owner;
      default:
        return unknown(at);
    }
  }

  #resolveCall(node: ts.CallExpression, bindings?: Bindings): Resolution {
    const [only] = node.arguments;
    const callee = this.follow({ node: node.expression, bindings });
    if (only !== undefined && node.arguments.length === 1 && this.#isTransparent(node, callee)) {
      return this.follow({ node: only, bindings });
    }
    if (callee.kind !== "function") return { kind: "expression", node, bindings };
    const result = this.getResult(callee, { node, bindings });
    return result === undefined ? { kind: "expression", node, bindings } : this.follow(result);
  }

  #isTransparent(node: ts.CallExpression, callee: Resolution): boolean {
    if (callee.kind === "package") {
      return isTrellis(callee.module) && callee.name === "defineConfig";
    }
    const name = unwrap(node.expression);
    return ts.isPropertyAccessExpression(name) && ts.isIdentifier(name.expression) &&
      TRANSPARENT_GLOBALS.includes(`${name.expression.text}.${name.name.text}`) &&
      this.#project.getTarget(name.expression).kind === "opaque";
  }

  getResult(
    fn: Resolution & { kind: "function" },
    { node: call, bindings }: ScopedExpression & { readonly node: ts.CallExpression },
  ): ScopedExpression | undefined {
    const { body, parameters, asteriskToken } = fn.node;
    if (
      body === undefined || asteriskToken !== undefined || call.arguments.some(ts.isSpreadElement)
    ) return undefined;
    if (parameters.some((parameter) => parameter.dotDotDotToken !== undefined)) return undefined;
    const inner = new Map(fn.bindings);
    parameters.forEach((parameter, index) => {
      const argument = call.arguments[index] as ts.Expression | undefined;
      inner.set(parameter, argument && { node: argument, bindings });
    });
    const result = ts.isBlock(body) ? returned(body) : body;
    return result && { node: result, bindings: inner };
  }

  getProperty(
    { node, bindings }: ScopedExpression & { readonly node: ts.ObjectLiteralExpression },
    name: string,
  ): Property {
    for (const property of [...node.properties].reverse()) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.follow({ node: property.expression, bindings });
        if (spread.kind === "undefined") continue;
        if (spread.kind !== "expression" || !ts.isObjectLiteralExpression(spread.node)) {
          return { unknown: spread.kind === "unknown" ? spread.node : property };
        }
        const found = this.getProperty({ node: spread.node, bindings: spread.bindings }, name);
        if (found !== undefined) return found;
        continue;
      }
      const key = this.#getName(property.name, bindings);
      if (key === undefined) return { unknown: property };
      if (key !== name) continue;
      if (ts.isPropertyAssignment(property)) return { node: property.initializer, bindings };
      return ts.isShorthandPropertyAssignment(property)
        ? { node: property.name, bindings }
        : { unknown: property };
    }
    return undefined;
  }

  getNames(expression: ScopedExpression): Names {
    const resolution = this.follow(expression);
    if (resolution.kind === "undefined") return { names: [] };
    if (resolution.kind !== "expression" || !ts.isObjectLiteralExpression(resolution.node)) {
      return { unknown: resolution.kind === "unknown" ? resolution.node : expression.node };
    }
    const names = new Set<string>();
    for (const property of resolution.node.properties) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.getNames({ node: property.expression, bindings: resolution.bindings });
        if ("unknown" in spread) return spread;
        for (const name of spread.names) names.add(name);
        continue;
      }
      const name = this.#getName(property.name, resolution.bindings);
      if (name === undefined) return { unknown: property };
      names.add(name);
    }
    return { names: [...names] };
  }

  #getName(name: ts.PropertyName, bindings?: Bindings): string | undefined {
    if (!ts.isComputedPropertyName(name)) return name.text;
    const key = this.read({ node: name.expression, bindings });
    return key.kind === "known" && typeof key.value !== "object" ? String(key.value) : undefined;
  }

  read(expression: ScopedExpression): Literal {
    return this.#deeper<Literal>(expression.node, () => this.#computeLiteral(expression), unknown);
  }

  #computeLiteral(expression: ScopedExpression): Literal {
    const resolution = this.follow(expression);
    if (resolution.kind === "undefined") return { kind: "known", value: undefined };
    if (resolution.kind === "unknown") return resolution;
    if (resolution.kind === "package") {
      const value = getEnumValue(resolution.module, resolution.name);
      return value === undefined ? unknown(expression.node) : { kind: "known", value };
    }
    if (resolution.kind !== "expression") return unknown(expression.node);
    const { node, bindings } = resolution;
    if (ts.isStringLiteralLike(node)) return { kind: "known", value: node.text };
    if (ts.isNumericLiteral(node)) {
      return { kind: "known", value: Number(node.text.replaceAll("_", "")) };
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) return { kind: "known", value: true };
    if (node.kind === ts.SyntaxKind.FalseKeyword) return { kind: "known", value: false };
    if (node.kind === ts.SyntaxKind.NullKeyword) return { kind: "known", value: null };
    const parts = listOperands(node);
    if (parts === undefined) {
      return ts.isObjectLiteralExpression(node) ? this.#readObject(node, bindings) : unknown(node);
    }
    const values: unknown[] = [];
    for (const part of parts) {
      const value = this.read({
        node: ts.isSpreadElement(part) ? part.expression : part,
        bindings,
      });
      if (value.kind === "unknown") return value;
      if (!ts.isSpreadElement(part)) values.push(value.value);
      else if (Array.isArray(value.value)) values.push(...value.value);
      else return unknown(part);
    }
    return compute(node, values);
  }

  #readObject(node: ts.ObjectLiteralExpression, bindings?: Bindings): Literal {
    const result = new Map<string, unknown>();
    for (const property of node.properties) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.read({ node: property.expression, bindings });
        if (spread.kind === "unknown") return spread;
        for (const [key, value] of Object.entries(spread.value ?? {})) result.set(key, value);
        continue;
      }
      const key = this.#getName(property.name, bindings);
      if (key === undefined) return unknown(property.name);
      const initializer = ts.isPropertyAssignment(property)
        ? property.initializer
        : ts.isShorthandPropertyAssignment(property)
        ? property.name
        : undefined;
      if (initializer === undefined) return unknown(property);
      const value = this.read({ node: initializer, bindings });
      if (value.kind === "unknown") return value;
      result.set(key, value.value);
    }
    return { kind: "known", value: Object.fromEntries(result) };
  }
}

function enumMember(node: ts.EnumDeclaration, name: string): ts.Expression | undefined {
  return node.members.find((member) =>
    !ts.isComputedPropertyName(member.name) && member.name.text === name
  )
    ?.initializer;
}

function returned({ statements }: ts.Block): ts.Expression | undefined {
  const last = statements.at(-1);
  const isPlain = statements.slice(0, -1).every((each) => ts.isVariableStatement(each));
  return isPlain && last !== undefined && ts.isReturnStatement(last) ? last.expression : undefined;
}

function unknown(node: ts.Node): { kind: "unknown"; node: ts.Node } {
  return { kind: "unknown", node };
}
