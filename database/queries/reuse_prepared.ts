import { isKind } from "../entity_kind.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import type { StatementSession } from "../session/statement_session.ts";

/** Results of `.prepare(name)`, by name. */
export type PreparedByName = Map<string, object>;

type Method = (...args: unknown[]) => unknown;

/**
 * Methods that begin or refine a statement without sending it. Their calls are deferred: a
 * statement that is prepared already needs none of them, and building it would take most of the
 * query's time.
 */
const DEFERRED: ReadonlySet<PropertyKey> = new Set([
  "select",
  "selectDistinct",
  "selectDistinctOn",
  "insert",
  "update",
  "delete",
  "findMany",
  "findFirst",
  "from",
  "where",
  "groupBy",
  "having",
  "orderBy",
  "limit",
  "offset",
  "for",
  "values",
  "set",
  "returning",
  "leftJoin",
  "rightJoin",
  "innerJoin",
  "fullJoin",
  "crossJoin",
  "$dynamic",
  "onConflictDoNothing",
  "onConflictDoUpdate",
  "overridingSystemValue",
]);

/** One run of a query's function, with its deferred calls in order. */
class Run {
  readonly prepared: PreparedByName;
  readonly session: StatementSession | undefined;
  #calls: { on: Step; method: PropertyKey; args: unknown[]; result: Step }[] = [];

  constructor(prepared: PreparedByName, session: StatementSession | undefined) {
    this.prepared = prepared;
    this.session = session;
  }

  defer(on: Step, method: PropertyKey, args: unknown[]): object {
    const result = new Step(this, undefined);
    this.#calls.push({ on, method, args, result });
    return new Proxy(result, AS_BUILDER);
  }

  replay(): void {
    const calls = this.#calls;
    this.#calls = [];
    for (const { on, method, args, result } of calls) {
      const builder = on.builder as Record<PropertyKey, Method>;
      result.builder = builder[method](...args) as object;
    }
  }
}

/** Substitute for a client or builder. Its builder exists once the calls before it were replayed. */
class Step {
  readonly run: Run;
  builder: object | undefined;

  constructor(run: Run, builder: object | undefined) {
    this.run = run;
    this.builder = builder;
  }
}

/**
 * Creates a view of a client for one run of a query's function. `.prepare(name)` returns the
 * statement of an earlier run without building the SQL. All other calls act like those of the
 * client, in the same order.
 *
 * @param db The client.
 * @param prepared Statements that were prepared for this query by the client or its transactions;
 * updated.
 * @param session The client's session, if other sessions share the statements.
 * @returns The view.
 */
export function reusePrepared<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  prepared: PreparedByName,
  session?: StatementSession,
): DrizzleClient<TSchema> {
  const run = new Run(prepared, session);
  return new Proxy(new Step(run, db), AS_BUILDER) as unknown as DrizzleClient<TSchema>;
}

function getBuilder(step: Step): object {
  if (step.builder === undefined) step.run.replay();
  return step.builder as object;
}

function read(step: Step, key: PropertyKey): unknown {
  const { run } = step;
  if (step.builder === undefined) {
    // every builder has these methods, so the call needs no builder yet
    if (DEFERRED.has(key)) return (...args: unknown[]) => run.defer(step, key, args);
    if (key === "prepare") return (name: string) => prepareOnce(step, name);
  }
  const builder = getBuilder(step);
  const value: unknown = Reflect.get(builder, key);
  // relational queries hang below `query`, in one object per table
  if (typeof value === "object" && value !== null) {
    return key === "query" || "findMany" in value
      ? new Proxy(new Step(run, value), AS_BUILDER)
      : value;
  }
  if (typeof value !== "function") return value;
  if (DEFERRED.has(key)) return (...args: unknown[]) => run.defer(step, key, args);
  if (key === "prepare") return (name: string) => prepareOnce(step, name);
  return function callBuilder(...args: unknown[]): unknown {
    run.replay();
    const result: unknown = value.apply(builder, args);
    return isBuilder(result) ? new Proxy(new Step(run, result), AS_BUILDER) : result;
  };
}

function prepareOnce(step: Step, name: string): object {
  const { run } = step;
  const known = run.prepared.get(name);
  if (known !== undefined) return run.session === undefined ? known : run.session.bind(known);
  // deferred calls may change the same builder, even if their result was not used
  run.replay();
  const prepared = (getBuilder(step) as { prepare(name: string): object }).prepare(name);
  run.prepared.set(name, prepared);
  return prepared;
}

const AS_BUILDER: ProxyHandler<Step> = {
  get: read,
  set: (step, key, value) => Reflect.set(getBuilder(step), key, value),
  has: (step, key) => Reflect.has(getBuilder(step), key),
  getPrototypeOf: (step) => Reflect.getPrototypeOf(getBuilder(step)),
};

const FIRST_STEPS = ["prepare", "from", "values", "set"] as const;

/**
 * Checks whether a chain of calls continues with this value: not for promises, expressions and
 * subqueries.
 */
function isBuilder(value: unknown): value is object {
  if (typeof value !== "object" || value === null || value instanceof Promise) return false;
  if (["SQL", "Subquery", "View"].some((kind) => isKind(value, kind))) return false;
  return FIRST_STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}
