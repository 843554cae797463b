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
import type { Evaluator, TableName, Value } from "./values.ts";
import { ts } from "./typescript.ts";

/** Everything that is reachable from a piece of code. */
export interface Reached {
  readonly queries: ReadonlySet<QueryDeclaration>;
  readonly grants: readonly Extract<Effect, { kind: "grant" }>[];
  /** Uses of the table of jobs. */
  readonly jobs: readonly Extract<Effect, { kind: "jobs" }>[];
  readonly auth: readonly {
    readonly need: AuthNeed;
    readonly why: string;
    readonly node: ts.Node;
    /** Patterns of the mounted routes; omitted for all routes. */
    readonly routes?: readonly string[];
  }[];
  /** True if `configureSessionAuth` is called. */
  readonly isAuthConfigured: boolean;
  /** True if the limits of auth routes may count in the database. */
  readonly hasAuthLimits: boolean;
  /** True if an auth configuration has plugins or hooks, which may do anything in each route. */
  readonly hasAuthHooks: boolean;
  /** True if auth routes write mails to the table of jobs. */
  readonly hasAuthMails: boolean;
  /** True if an auth configuration has plugins or lets users delete their account. */
  readonly isAuthExtended: boolean;
  /** Tables that replace those of the auth package, by model. */
  readonly authTables: ReadonlyMap<string, readonly AuthTable[]>;
  /** Columns of auth tables that session checks do not read, as `model.property`. */
  readonly hiddenFields: ReadonlySet<string>;
  readonly tableAccesses: readonly Extract<Effect, { kind: "table-access" }>[];
  /** SQL whose tables cannot be determined. */
  readonly opaque: ReadonlySet<ts.Node>;
  /** Uses of packages that depend on this one. */
  readonly wrappers: ReadonlyMap<ts.Node, string>;
  readonly variables: readonly Extract<Effect, { kind: "env" | "env-definition" }>[];
  /** True if mails are sent through Amazon SES. */
  readonly sendsBySes: boolean;
  /** True if `loadSources` is called. */
  readonly loadsSources: boolean;
  readonly unresolved: readonly Unresolved[];
}

/** A table that replaces a table of the auth package. */
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
 *
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
  return new ReachableCode(collection, evaluator, enterQueries).run(roots);
}

class ReachableCode implements Reached {
  readonly #collection: Collection;
  readonly #evaluator: Evaluator;
  readonly #enterQueries: boolean;
  readonly #seen = new Set<Unit>();
  readonly #work: Unit[] = [];
  readonly queries = new Set<QueryDeclaration>();
  readonly grants: Extract<Effect, { kind: "grant" }>[] = [];
  readonly auth: Extract<Effect, { kind: "auth" }>[] = [];
  readonly jobs: Extract<Effect, { kind: "jobs" }>[] = [];
  isAuthExtended = false;
  readonly authTables = new Map<string, AuthTable[]>();
  readonly hiddenFields = new Set<string>();
  readonly tableAccesses: Extract<Effect, { kind: "table-access" }>[] = [];
  readonly opaque = new Set<ts.Node>();
  readonly wrappers = new Map<ts.Node, string>();
  readonly variables: Extract<Effect, { kind: "env" | "env-definition" }>[] = [];
  readonly unresolved: Unresolved[] = [];
  readonly #parameters = new Map<ts.Node, Parameter>();
  readonly #deferred = new Map<ts.Node, Parameter>();
  readonly #escaped = new Set<ts.Node>();
  readonly #classes = new Set<ts.ClassLikeDeclaration>();
  readonly #dispatches: { node: ts.ClassLikeDeclaration; path: Path }[] = [];
  /** Arguments of `configureMail` until code is found that sends mails. */
  readonly #transports: Unit[] = [];
  #sendsMail = false;
  /** Configurations of sessions until code is found that runs the auth routes. */
  readonly #authFunctions: Unit[] = [];
  #hasAuthRoutes = false;
  sendsBySes = false;
  isAuthConfigured = false;
  hasAuthLimits = false;
  hasAuthMails = false;
  loadsSources = false;
  hasAuthHooks = false;

  constructor(collection: Collection, evaluator: Evaluator, enterQueries: boolean) {
    this.#collection = collection;
    this.#evaluator = evaluator;
    this.#enterQueries = enterQueries;
  }

  /** Follows the roots to everything reachable. */
  run(roots: readonly Unit[]): Reached {
    for (const root of roots) this.#visit(root);
    // parameters without any argument are known only after everything reachable was visited
    while (this.#work.length > 0) {
      this.#followAll();
      for (const all of [this.#parameters, this.#deferred]) {
        for (const [node, parameter] of all) this.#releaseUnknown(node, parameter);
      }
    }
    for (const [node, { paths, arguments: given }] of this.#parameters) {
      if (given.length > 0) continue;
      for (const required of new Set(paths.map((path) => path.at(-1)).filter(isRequiredConstant))) {
        this.#addUnresolvedParameter(node, required);
      }
    }
    return this;
  }

  #visit(unit: Unit): void {
    if (this.#seen.has(unit)) return;
    this.#seen.add(unit);
    this.#work.push(unit);
  }

  #visitNode(node: ts.Node, path: Path): void {
    const { unit, cut } = this.#collection.units.get(node, path);
    this.#visit(unit);
    const required = cut.at(-1);
    if (isRequiredConstant(required)) this.#addUnresolvedParameter(node, required);
    this.#visitArguments(cut);
  }

  #addUnresolvedParameter(node: ts.Node, required: string): void {
    const subject = getSubject(required);
    this.unresolved.push({ node, message: UNKNOWN_PARAMETER[subject], subject });
  }

  #visitArguments(path: Path): void {
    for (const step of path) {
      for (const argument of isCall(step) ? step.call.arguments ?? [] : []) {
        this.#visitNode(argument, []);
      }
    }
  }

  #getParameter(node: ts.Node, user: Unit): Parameter {
    const all = user.path.at(-1) === DEFER ? this.#deferred : this.#parameters;
    let parameter = all.get(node);
    if (parameter === undefined) {
      all.set(node, parameter = { isWhole: false, paths: [], arguments: [], released: 0 });
    }
    return parameter;
  }

  #follow(effect: Effect, from: Unit): void {
    switch (effect.kind) {
      case "unit":
      case "load":
        return this.#visit(effect.unit);
      case "parameter": {
        const parameter = this.#getParameter(effect.node, from);
        parameter.paths.push(effect.path);
        // a required constant is always looked up by its own path
        const isExact = !parameter.isWhole || isRequiredConstant(effect.path.at(-1));
        parameter.isWhole ||= parameter.paths.length > MAX_PATHS;
        if (isExact) {
          for (const argument of parameter.arguments) {
            this.#visitNode(argument, effect.path);
          }
        }
        if (parameter.isWhole) {
          for (const argument of parameter.arguments) {
            this.#visitNode(argument, []);
          }
        }
        return;
      }
      case "bind": {
        const parameter = this.#getParameter(effect.node, from);
        parameter.arguments.push(effect.argument);
        for (const path of parameter.paths) {
          if (!parameter.isWhole || isRequiredConstant(path.at(-1))) {
            this.#visitNode(effect.argument, path);
          }
        }
        if (parameter.isWhole) this.#visitNode(effect.argument, []);
        return;
      }
      case "escape":
        return void this.#escaped.add(effect.node);
      case "dispatch":
        this.#dispatches.push(effect);
        for (const other of this.#classes) this.#dispatch(other, effect);
        return;
      case "query":
        this.queries.add(effect.query);
        this.#visit(effect.query.tables);
        if (this.#enterQueries) { for (const unit of effect.query.body) this.#visit(unit); }
        return;
      case "grant":
        return void this.grants.push(effect);
      case "auth":
        this.auth.push(effect);
        if (effect.need === "routes") {
          this.#hasAuthRoutes = true;
          for (const unit of this.#authFunctions.splice(0)) this.#visit(unit);
        }
        return;
      case "auth-functions":
        if (this.#hasAuthRoutes) return this.#visit(effect.unit);
        return void this.#authFunctions.push(effect.unit);
      case "jobs":
        return void this.jobs.push(effect);
      case "mail-worker":
        this.#sendsMail = true;
        for (const unit of this.#transports.splice(0)) this.#visit(unit);
        return;
      case "mail-transport":
        if (this.#sendsMail) return this.#visit(effect.unit);
        return void this.#transports.push(effect.unit);
      case "ses":
        this.sendsBySes = true;
        return;
      case "auth-configured":
        this.isAuthConfigured = true;
        return;
      case "env-sources":
        this.loadsSources = true;
        return;
      case "auth-extended":
        this.isAuthExtended = true;
        return;
      case "auth-hidden":
        this.hiddenFields.add(`${effect.model}.${effect.property}`);
        return;
      case "auth-limits":
        this.hasAuthLimits = true;
        return;
      case "auth-hooks":
        this.hasAuthHooks = true;
        return;
      case "auth-mails":
        this.hasAuthMails = true;
        return;
      case "auth-table":
        this.authTables.set(effect.model, [...this.authTables.get(effect.model) ?? [], effect]);
        return;
      case "opaque-sql":
        return void this.opaque.add(effect.node);
      case "wrapper":
        return void this.wrappers.set(effect.node, effect.module);
      case "table-access":
        return void this.tableAccesses.push(effect);
      case "env":
      case "env-definition":
        return void this.variables.push(effect);
      case "unresolved":
        return void this.unresolved.push(effect);
    }
  }

  #dispatch(
    subclass: ts.ClassLikeDeclaration,
    { node, path }: { node: ts.Node; path: Path },
  ): void {
    if (subclass !== node && extendsClass(this.#evaluator, subclass, node)) {
      this.#visitNode(subclass, path);
    }
  }

  /** Visits the arguments of calls to a parameter that may be an unknown function. */
  #releaseUnknown(node: ts.Node, parameter: Parameter): void {
    if (parameter.arguments.length > 0 && !this.#escaped.has(node.parent)) return;
    for (const path of parameter.paths.slice(parameter.released)) {
      if (path.at(-1) !== DEFER) this.#visitArguments(path);
    }
    parameter.released = parameter.paths.length;
  }

  #followAll(): void {
    for (let unit = this.#work.pop(); unit !== undefined; unit = this.#work.pop()) {
      if (ts.isClassLike(unit.node) && !this.#classes.has(unit.node)) {
        this.#classes.add(unit.node);
        for (const each of this.#dispatches) this.#dispatch(unit.node, each);
      }
      for (const effect of this.#collection.getEffects(unit)) this.#follow(effect, unit);
    }
  }
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
