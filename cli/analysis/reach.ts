import type { Collection } from "./collect.ts";
import {
  type AuthNeed,
  DEFER,
  type Effect,
  isCall,
  type Path,
  type QueryDeclaration,
  type Unit,
} from "./effects.ts";
import { getSubject, isRequiredConstant } from "./required_constants.ts";
import type { Evaluator, TableName, Value } from "./evaluate.ts";
import { ts } from "./typescript.ts";

/** Everything that is reachable from a piece of code. */
export interface Reached {
  readonly queries: ReadonlySet<QueryDeclaration>;
  readonly grants: readonly Extract<Effect, { kind: "grant" }>[];
  readonly auth: readonly {
    readonly need: AuthNeed;
    readonly why: string;
    readonly node: ts.Node;
  }[];
  /** True if `configureSessionAuth` is called. */
  readonly isAuthConfigured: boolean;
  /** Tables that replace those of the auth package, by model. */
  readonly authTables: ReadonlyMap<string, readonly AuthTable[]>;
  readonly tableAccesses: readonly Extract<Effect, { kind: "table-access" }>[];
  /** SQL whose tables cannot be determined. */
  readonly opaque: ReadonlySet<ts.Node>;
  /** Uses of packages that depend on this one. */
  readonly wrappers: ReadonlyMap<ts.Node, string>;
  readonly variables: readonly Extract<Effect, { kind: "env" | "env-definition" }>[];
  readonly unresolved: readonly Unresolved[];
}

/** A table that replaces one of the auth package's. */
export interface AuthTable {
  readonly table: TableName;
  /** The call that creates it, if there is a definition. */
  readonly definition?: ts.CallExpression;
}

/** Code that cannot be resolved. */
export type Unresolved = Omit<Extract<Effect, { kind: "unresolved" }>, "kind">;

/**
 * Arguments and uses of a parameter. Arguments of the initializers of module constants
 * (`memoize(query)`) are kept apart until the constant is used: otherwise one use of `memoize`
 * would reach the queries of all.
 */
interface Parameter {
  /**
   * True if arguments are treated as used completely, because a recursive function would produce
   * paths without end.
   */
  isWhole: boolean;
  readonly paths: Path[];
  readonly arguments: ts.Expression[];
  /** Number of paths whose call arguments are already visited. */
  released: number;
}

const UNKNOWN_PARAMETER = {
  grants:
    "the value of this parameter cannot be determined statically, but tables or auth depend on it",
  environment:
    "the value of this parameter cannot be determined statically, but the name of an environment variable depends on it",
} as const;

/** Maximum number of paths of a parameter. Only recursive functions exceed it. */
const MAX_PATHS = 100;

/**
 * Follows effects from some units to everything reachable. Arguments are combined with the uses of
 * their parameters, and members of a class with those of the subclasses in use.
 * @param collection The effects.
 * @param evaluator Evaluates constants.
 * @param roots The units to begin with.
 * @param enterQueries False skips the bodies of queries.
 * @returns Everything reachable.
 */
export function reach(
  collection: Collection,
  evaluator: Evaluator,
  roots: readonly Unit[],
  enterQueries = true,
): Reached {
  const seen = new Set<Unit>();
  const work: Unit[] = [];
  const queries = new Set<QueryDeclaration>();
  const grants: Extract<Effect, { kind: "grant" }>[] = [];
  const auth: Extract<Effect, { kind: "auth" }>[] = [];
  const authTables = new Map<string, AuthTable[]>();
  const tableAccesses: Extract<Effect, { kind: "table-access" }>[] = [];
  const opaque = new Set<ts.Node>();
  const wrappers = new Map<ts.Node, string>();
  const variables: Extract<Effect, { kind: "env" | "env-definition" }>[] = [];
  const unresolved: Unresolved[] = [];
  const parameters = new Map<ts.Node, Parameter>();
  const deferred = new Map<ts.Node, Parameter>();
  const escaped = new Set<ts.Node>();
  const classes = new Set<ts.ClassLikeDeclaration>();
  const dispatches: { node: ts.ClassLikeDeclaration; path: Path }[] = [];
  let isAuthConfigured = false;

  function visit(unit: Unit): void {
    if (seen.has(unit)) return;
    seen.add(unit);
    work.push(unit);
  }

  function visitNode(node: ts.Node, path: Path): void {
    const { unit, cut } = collection.units.get(node, path);
    visit(unit);
    const required = cut.at(-1);
    if (isRequiredConstant(required)) addUnresolvedParameter(node, required);
    visitArguments(cut);
  }

  function addUnresolvedParameter(node: ts.Node, required: string): void {
    const subject = getSubject(required);
    unresolved.push({ node, message: UNKNOWN_PARAMETER[subject], subject });
  }

  function visitArguments(path: Path): void {
    for (const step of path) {
      for (const argument of isCall(step) ? step.call.arguments ?? [] : []) visitNode(argument, []);
    }
  }

  function getParameter(node: ts.Node, user: Unit): Parameter {
    const all = user.path.at(-1) === DEFER ? deferred : parameters;
    let parameter = all.get(node);
    if (parameter === undefined) {
      all.set(node, parameter = { isWhole: false, paths: [], arguments: [], released: 0 });
    }
    return parameter;
  }

  function follow(effect: Effect, from: Unit): void {
    switch (effect.kind) {
      case "unit":
      case "load":
        return visit(effect.unit);
      case "parameter": {
        const parameter = getParameter(effect.node, from);
        parameter.paths.push(effect.path);
        // a required constant is always looked up by its own path
        const isExact = !parameter.isWhole || isRequiredConstant(effect.path.at(-1));
        parameter.isWhole ||= parameter.paths.length > MAX_PATHS;
        if (isExact) {
          for (const argument of parameter.arguments) {
            visitNode(argument, effect.path);
          }
        }
        if (parameter.isWhole) {
          for (const argument of parameter.arguments) {
            visitNode(argument, []);
          }
        }
        return;
      }
      case "bind": {
        const parameter = getParameter(effect.node, from);
        parameter.arguments.push(effect.argument);
        for (const path of parameter.paths) {
          if (!parameter.isWhole || isRequiredConstant(path.at(-1))) {
            visitNode(effect.argument, path);
          }
        }
        if (parameter.isWhole) visitNode(effect.argument, []);
        return;
      }
      case "escape":
        return void escaped.add(effect.node);
      case "dispatch":
        dispatches.push(effect);
        for (const other of classes) dispatch(other, effect);
        return;
      case "query":
        queries.add(effect.query);
        visit(effect.query.tables);
        if (enterQueries) { for (const unit of effect.query.body) visit(unit); }
        return;
      case "grant":
        return void grants.push(effect);
      case "auth":
        return void auth.push(effect);
      case "auth-configured":
        isAuthConfigured = true;
        return;
      case "auth-table":
        authTables.set(effect.model, [...authTables.get(effect.model) ?? [], effect]);
        return;
      case "opaque-sql":
        return void opaque.add(effect.node);
      case "wrapper":
        return void wrappers.set(effect.node, effect.module);
      case "table-access":
        return void tableAccesses.push(effect);
      case "env":
      case "env-definition":
        return void variables.push(effect);
      case "unresolved":
        return void unresolved.push(effect);
    }
  }

  function dispatch(
    subclass: ts.ClassLikeDeclaration,
    { node, path }: { node: ts.Node; path: Path },
  ): void {
    if (subclass !== node && extendsClass(evaluator, subclass, node)) visitNode(subclass, path);
  }

  /** Visits the arguments of calls to a parameter that may be an unknown function. */
  function releaseUnknown(node: ts.Node, parameter: Parameter): void {
    if (parameter.arguments.length > 0 && !escaped.has(node.parent)) return;
    for (const path of parameter.paths.slice(parameter.released)) {
      if (path.at(-1) !== DEFER) visitArguments(path);
    }
    parameter.released = parameter.paths.length;
  }

  function followAll(): void {
    for (let unit = work.pop(); unit !== undefined; unit = work.pop()) {
      if (ts.isClassLike(unit.node) && !classes.has(unit.node)) {
        classes.add(unit.node);
        for (const each of dispatches) dispatch(unit.node, each);
      }
      for (const effect of collection.getEffects(unit)) follow(effect, unit);
    }
  }

  for (const root of roots) visit(root);
  // parameters without any argument are known only after everything reachable was visited
  while (work.length > 0) {
    followAll();
    for (const all of [parameters, deferred]) {
      for (const [node, parameter] of all) releaseUnknown(node, parameter);
    }
  }
  for (const [node, { paths, arguments: given }] of parameters) {
    if (given.length > 0) continue;
    for (const required of new Set(paths.map((path) => path.at(-1)).filter(isRequiredConstant))) {
      addUnresolvedParameter(node, required);
    }
  }
  return {
    queries,
    grants,
    auth,
    isAuthConfigured,
    authTables,
    tableAccesses,
    opaque,
    wrappers,
    variables,
    unresolved,
  };
}

function extendsClass(evaluator: Evaluator, node: ts.ClassLikeDeclaration, base: ts.Node): boolean {
  const seen = new Set<ts.Node>();
  for (let at: ts.ClassLikeDeclaration | undefined = node; at !== undefined && !seen.has(at);) {
    seen.add(at);
    const clause: ts.HeritageClause | undefined = at.heritageClauses?.find((each) =>
      each.token === ts.SyntaxKind.ExtendsKeyword
    );
    const parent: Value | undefined = clause?.types[0] === undefined
      ? undefined
      : evaluator.evaluate(clause.types[0].expression);
    at = parent?.kind === "class" ? parent.node : undefined;
    if (at === base) return true;
  }
  return false;
}
