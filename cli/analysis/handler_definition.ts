import { isTrellis } from "../project/resolve_module.ts";
import type { Evaluator, Literal, ScopedExpression } from "./values.ts";
import { asObject, findProperty, getProperty, readProperty } from "./object_literals.ts";
import type { Project } from "./project.ts";
import { ts, unwrap } from "./typescript.ts";

/** The definition of a file's `handler`. */
export interface HandlerDefinition {
  /**
   * The function of this package that creates the handler: `defineApiHandler`, `createAuthHandler`.
   * Omitted if another function creates it or it is unknown; then `unresolved` has an entry.
   */
  readonly definer?: string;
  /** The expression that creates the handler; the source file if it exports no handler. */
  readonly node: ts.Node;
  /** The line of `node`, 1-based. */
  readonly line: number;
  /** The options, if they are an object literal; found through variables and wrappers. */
  readonly options?: ts.ObjectLiteralExpression;
  /** `defineRouter`: the handlers by route. */
  readonly routes?: ScopedExpression;
  /** Code that cannot be resolved: any option may be set there. */
  readonly unresolved: readonly { readonly node: ts.Node; readonly message: string }[];
  /**
   * Returns the expression of an option after following all references; `undefined` if it is
   * omitted or unknown.
   */
  getExpression(option: string): ts.Expression | undefined;
  /** Returns the value of an option; `undefined` if it is omitted. */
  getLiteral(option: string): Literal | undefined;
}

/**
 * The index of the options argument, for functions that take the options first; `define…Handler`
 * takes them in a separate call.
 */
const OPTIONS_INDEX: Readonly<Record<string, number>> = {
  createAuthCleanupHandler: 1,
  createAuthHandler: 1,
  defineJobQueueHandler: 0,
  defineJobRelayHandler: 0,
  defineJobStreamHandler: 0,
  defineMigrationHandler: 0,
  defineRouter: 1,
  withObservability: 1,
};

/** Maximum depth of nested wrappers. */
const MAX_WRAPPERS = 20;

interface Found {
  readonly definer?: string;
  readonly node: ts.Node;
  /** The options argument, if there is one. */
  readonly options?: ScopedExpression;
  /** `defineRouter`: the handlers by route. */
  readonly routes?: ScopedExpression;
  readonly message?: string;
}

/**
 * Finds how a file's `handler` is defined and with which options. Follows re-exports, variables,
 * spreads and wrappers such as `const api = (options) => defineApiHandler({ ...options, auth:
 * "session" })`. Static analysis only.
 *
 * @param file Absolute path of the function's file.
 * @returns The definition. Options are read on demand.
 *
 * @example
 * ```ts ignore
 * const { definer, getLiteral } = readHandlerDefinition(project, evaluator,
 * "/app/src/functions/api/notes.get.ts");
 * const auth = getLiteral("auth");
 * ```
 */
export function readHandlerDefinition(
  project: Project,
  evaluator: Evaluator,
  file: string,
): HandlerDefinition {
  return describe(project, evaluator, new HandlerFinder(project, evaluator).find(file));
}

/**
 * Finds how the handler that an expression gives is defined, such as a route of a router.
 *
 * @returns The definition. Options are read on demand.
 */
export function readHandlerExpression(
  project: Project,
  evaluator: Evaluator,
  expression: ScopedExpression,
): HandlerDefinition {
  return describe(project, evaluator, new HandlerFinder(project, evaluator).findIn(expression, 0));
}

function describe(project: Project, evaluator: Evaluator, found: Found): HandlerDefinition {
  const given = found.options && evaluator.evaluate(found.options.node, found.options.bindings);
  const options = given && asObject(given);
  const unresolved: { node: ts.Node; message: string }[] = [];
  if (found.message !== undefined) unresolved.push({ node: found.node, message: found.message });
  if (options !== undefined) {
    const hidden = getProperty(evaluator, options, NO_OPTION);
    if (hidden !== undefined && "unknown" in hidden) {
      unresolved.push({
        node: hidden.unknown,
        message: `some options of ${found.definer} cannot be determined statically`,
      });
    }
  } else if (found.options !== undefined && given?.kind !== "undefined") {
    unresolved.push({
      node: found.options.node,
      message: `the options of ${found.definer} cannot be determined statically`,
    });
  }

  return {
    definer: found.definer,
    node: found.node,
    line: project.getLine(found.node),
    options: options?.node,
    routes: found.routes,
    unresolved,
    getExpression(option): ts.Expression | undefined {
      const property = options && findProperty(evaluator, options, option);
      if (property === undefined) return undefined;
      const end = evaluator.evaluate(property.node, property.bindings);
      return end.kind === "expression"
        ? end.node
        : end.kind === "undefined"
        ? undefined
        : property.node;
    },
    getLiteral(option): Literal | undefined {
      if (options === undefined) {
        return unresolved.length > 0 ? { kind: "unknown", node: unresolved[0].node } : undefined;
      }
      const literal = readProperty(evaluator, options, option);
      return literal?.kind === "known" && literal.value === undefined ? undefined : literal;
    },
  };
}

/** A name that no object has: looking it up visits every spread. */
const NO_OPTION = "\0";

/** Finds the expression that creates a handler. */
class HandlerFinder {
  readonly #project: Project;
  readonly #evaluator: Evaluator;

  constructor(project: Project, evaluator: Evaluator) {
    this.#project = project;
    this.#evaluator = evaluator;
  }

  /** Finds the handler of a file. */
  find(file: string): Found {
    const module = this.#project.read(file);
    const target = this.#project.findExport(module, "handler");
    if (target.kind === "missing") {
      return {
        node: module.source,
        message: "the file does not export a handler. Write export " +
          "const handler = defineApiHandler({ … })(…)",
      };
    }
    if (target.kind === "expression") return this.findIn({ node: target.node }, 0);
    if (target.kind !== "declaration") return { node: module.source, message: UNKNOWN_HANDLER };
    const { node } = target;
    if (ts.isFunctionDeclaration(node) || ts.isClassLike(node)) return { node };
    if (!ts.isVariableDeclaration(node) || node.initializer === undefined) {
      return { node, message: UNKNOWN_HANDLER };
    }
    if ((node.parent.flags & ts.NodeFlags.Const) === 0) {
      return {
        node,
        message: "the handler is declared with let, so it may be reassigned. Use const",
      };
    }
    return this.findIn({ node: node.initializer }, 0);
  }

  /** Finds the handler that an expression gives. */
  findIn(expression: ScopedExpression, wrappers: number): Found {
    const resolution = this.#evaluator.evaluate(expression.node, expression.bindings);
    if (resolution.kind === "function") return { node: resolution.node };
    if (resolution.kind !== "expression") {
      return { node: expression.node, message: UNKNOWN_HANDLER };
    }
    if (!ts.isCallExpression(resolution.node) || wrappers > MAX_WRAPPERS) {
      return { node: resolution.node, message: UNKNOWN_HANDLER };
    }
    return this.#findInCall({ node: resolution.node, bindings: resolution.bindings }, wrappers);
  }

  #findInCall(
    { node, bindings }: ScopedExpression & { readonly node: ts.CallExpression },
    wrappers: number,
  ): Found {
    const direct = this.#getTrellisFunction(node.expression, bindings);
    if (direct !== undefined) {
      // define…Handler returns a function; calling that returns the handler
      if (!Object.hasOwn(OPTIONS_INDEX, direct)) return { node, message: UNKNOWN_HANDLER };
      return {
        definer: direct,
        node,
        options: argument(node, OPTIONS_INDEX[direct], bindings),
        routes: direct === "defineRouter" ? argument(node, 0, bindings) : undefined,
      };
    }
    const maker = this.#evaluator.evaluate(node.expression, bindings);
    if (maker.kind === "expression" && ts.isCallExpression(maker.node)) {
      const definer = this.#getTrellisFunction(maker.node.expression, maker.bindings);
      if (definer !== undefined && /^define\w+Handler$/.test(definer)) {
        return { definer, node, options: argument(maker.node, 0, maker.bindings) };
      }
    }
    // a function that wraps our handler, such as an error tracker, does not change its options
    for (const each of node.arguments) {
      const inner = ts.isSpreadElement(each)
        ? undefined
        : this.findIn({ node: each, bindings }, wrappers + 1);
      if (inner?.definer !== undefined) return inner;
    }
    return this.#comesFromAnotherPackage(node, bindings)
      ? { node }
      : { node, message: UNKNOWN_HANDLER };
  }

  /** Checks for handlers such as `middy(run).use(guard)`. */
  #comesFromAnotherPackage(
    node: ts.Expression,
    bindings: ScopedExpression["bindings"],
  ): boolean {
    let root = node;
    while (ts.isCallExpression(root) || ts.isPropertyAccessExpression(root)) {
      root = unwrap(root.expression);
    }
    const resolution = this.#evaluator.evaluate(root, bindings);
    if (resolution.kind === "package") return !isTrellis(resolution.module);
    return resolution.kind === "expression" && resolution.node !== root &&
      this.#comesFromAnotherPackage(resolution.node, resolution.bindings);
  }

  #getTrellisFunction(
    callee: ts.Expression,
    bindings: ScopedExpression["bindings"],
  ): string | undefined {
    const value = this.#evaluator.evaluate(callee, bindings);
    return value.kind === "package" && isTrellis(value.module) ? value.name : undefined;
  }
}

const UNKNOWN_HANDLER = "the definition of the handler cannot be determined statically. " +
  "Write export const handler = define…Handler({ … })(…)";

function argument(
  node: ts.CallExpression,
  index: number,
  bindings: ScopedExpression["bindings"],
): ScopedExpression | undefined {
  const given = node.arguments[index] as ts.Expression | undefined;
  return given && { node: given, bindings };
}
