import { getBaseClass } from "./class_declarations.ts";
import type { Collection } from "./collect.ts";
import { DEFER, type Effect, isCall, type Path, type Unit } from "./effects.ts";
import { Reached } from "./reached.ts";
import { getSubject, isRequiredConstant } from "./required_constants.ts";
import { ts } from "./typescript.ts";
import type { Evaluator, Value } from "./values.ts";

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
 * @param roots The units to begin with.
 * @param enterQueries False skips the bodies of queries.
 */
export function reach(
  collection: Collection,
  evaluator: Evaluator,
  roots: readonly Unit[],
  enterQueries = true,
): Reached {
  return new ReachableCode(collection, evaluator, enterQueries).run(roots);
}

/** Units that are reachable only if something else is. */
class HeldUnits {
  readonly #held: Unit[] = [];
  #isReleased = false;

  /** Adds a unit; returns it if the condition holds already. */
  add(unit: Unit): Unit[] {
    if (this.#isReleased) return [unit];
    this.#held.push(unit);
    return [];
  }

  /** Notes that the condition holds, and returns the units so far. */
  release(): Unit[] {
    this.#isReleased = true;
    return this.#held.splice(0);
  }
}

class ReachableCode {
  readonly #collection: Collection;
  readonly #evaluator: Evaluator;
  readonly #enterQueries: boolean;
  readonly #reached = new Reached();
  readonly #seen = new Set<Unit>();
  readonly #work: Unit[] = [];
  readonly #parameters = new Map<ts.Node, Parameter>();
  readonly #deferred = new Map<ts.Node, Parameter>();
  readonly #escaped = new Set<ts.Node>();
  readonly #classes = new Set<ts.ClassLikeDeclaration>();
  readonly #dispatches: { node: ts.ClassLikeDeclaration; path: Path }[] = [];
  /** Arguments of `configureMail`, until code is found that sends mails. */
  readonly #transports = new HeldUnits();
  /** Configurations of sessions, until code is found that runs the auth routes. */
  readonly #authFunctions = new HeldUnits();

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
    return this.#reached;
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
    const message = UNKNOWN_PARAMETER[subject];
    this.#reached.add({ kind: "unresolved", node, message, subject });
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
      case "parameter":
        return this.#followUse(this.#getParameter(effect.node, from), effect.path);
      case "bind":
        return this.#bind(this.#getParameter(effect.node, from), effect.argument);
      case "escape":
        return void this.#escaped.add(effect.node);
      case "dispatch":
        this.#dispatches.push(effect);
        for (const other of this.#classes) this.#dispatch(other, effect);
        return;
      case "query":
        if (effect.query.tables !== undefined) this.#visit(effect.query.tables);
        if (this.#enterQueries) this.#visitAll(effect.query.body);
        break;
      case "auth":
        if (effect.need === "routes") this.#visitAll(this.#authFunctions.release());
        break;
      case "auth-functions":
        return this.#visitAll(this.#authFunctions.add(effect.unit));
      case "mail-worker":
        return this.#visitAll(this.#transports.release());
      case "mail-transport":
        return this.#visitAll(this.#transports.add(effect.unit));
    }
    this.#reached.add(effect);
  }

  #visitAll(units: readonly Unit[]): void {
    for (const unit of units) this.#visit(unit);
  }

  #followUse(parameter: Parameter, path: Path): void {
    parameter.paths.push(path);
    // a required constant is always looked up by its own path
    const isExact = !parameter.isWhole || isRequiredConstant(path.at(-1));
    parameter.isWhole ||= parameter.paths.length > MAX_PATHS;
    for (const argument of parameter.arguments) {
      if (isExact) this.#visitNode(argument, path);
      if (parameter.isWhole) this.#visitNode(argument, []);
    }
  }

  #bind(parameter: Parameter, argument: ts.Expression): void {
    parameter.arguments.push(argument);
    for (const path of parameter.paths) {
      if (!parameter.isWhole || isRequiredConstant(path.at(-1))) this.#visitNode(argument, path);
    }
    if (parameter.isWhole) this.#visitNode(argument, []);
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
    const parent: ts.Expression | undefined = getBaseClass(at);
    const value: Value | undefined = parent && evaluator.evaluate(parent);
    at = value?.kind === "class" ? value.node : undefined;
    if (at === base) return true;
  }
  return false;
}
