import { builtinModule } from "../../env/builtin_module.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { withoutContext } from "../../observability/invocation_context.ts";
import { isKind } from "../session/drizzle_table.ts";
import type { PreparedQuery } from "../session/prepared_query.ts";
import {
  buildingTemplate,
  type CallValues,
  createParameter,
  findParameter,
  ParameterUseError,
} from "../session/statement_template.ts";

/** Function that builds a statement from a client and the parameters. */
export type StatementBuilder = (db: object, p: object) => PromiseLike<unknown>;

/** A statement that was built, and the parameters that it needs. */
export interface BuiltStatement {
  readonly query: PreparedQuery;
  readonly names: readonly string[];
  /**
   * Builds the statement for the values of a call, and compares. It finds what cannot be observed: a
   * function that compares a parameter with `===`, or a variable that has changed.
   *
   * @throws {ConfigurationError} If the values give another statement.
   */
  readonly compare: (values: CallValues) => void;
}

/** A client that builds statements and sends none. */
export interface BuilderClient {
  readonly _: {
    readonly session: {
      prepareQuery(
        query: unknown,
        fields: undefined,
        name: string,
        isResponseInArrayMode: boolean,
      ): PreparedQuery;
    };
  };
}

/** One run of a builder. */
interface Attempt {
  readonly query: PreparedQuery;
  /** How often the builder read each parameter. */
  readonly reads: ReadonlyMap<string, number>;
}

/**
 * Runs a builder.
 *
 * @param name The statement's name.
 * @param builder The builder.
 * @param db Builds statements and sends none.
 * @param read Returns the value of a parameter in this run.
 */
function attempt(
  name: string,
  builder: StatementBuilder,
  db: BuilderClient,
  read: (name: string) => unknown,
): Attempt {
  const reads = new Map<string, number>();
  const query = buildingTemplate(() => {
    const built: unknown = withoutContext(
      () => refuse("the context of a request"),
      () => withoutChance(() => builder(db, createParams(reads, read))),
    );
    return prepare(name, built, db);
  });
  return { query, reads };
}

/** Creates `p`. A `Proxy`, because the names of the parameters exist in types only. */
function createParams(reads: Map<string, number>, read: (name: string) => unknown): object {
  function refuse(): never {
    throw new TypeError(
      "p cannot be spread or listed: name each parameter, such as { title: p.title }",
    );
  }
  return new Proxy(Object.freeze({}), {
    get(_, name) {
      if (typeof name === "symbol") return undefined;
      reads.set(name, (reads.get(name) ?? 0) + 1);
      return read(name);
    },
    ownKeys: refuse,
    has: refuse,
    getOwnPropertyDescriptor: refuse,
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
  });
}

/** Returns the prepared query of what a builder returned. */
function prepare(name: string, built: unknown, db: BuilderClient): PreparedQuery {
  const statement = built as { prepare?: unknown; getQuery?: unknown } | undefined;
  if (typeof statement?.prepare === "function") return statement.prepare(name);
  // db.execute(sql`…`)
  if (typeof statement?.getQuery === "function") {
    return db._.session.prepareQuery(statement.getQuery(), undefined, name, false);
  }
  const isPromise = built instanceof Promise;
  // its statement cannot be sent
  if (isPromise) built.catch(() => {});
  throw new TypeError(
    isPromise
      ? "the builder returns a promise: return the statement itself, without await, async, then() and execute()"
      : "the builder must return a statement, such as db.select().from(notes)",
  );
}

/**
 * Builds a statement with parameters and with nulls. What differs but the parameters depends on a value
 * or on chance.
 *
 * @param name The statement's name.
 * @param builder Builds the statement.
 * @param db Builds statements and sends none.
 * @throws {ConfigurationError} If the statement depends on a value.
 */
export function buildForAllValues(
  name: string,
  builder: StatementBuilder,
  db: BuilderClient,
): BuiltStatement {
  function refuse(reason: string, cause?: unknown): never {
    throw new ConfigurationError(`defineStatement("${name}"): ${reason}`, { cause });
  }
  function decides(parameter: string, cause?: unknown): never {
    refuse(`p.${parameter} decides the form of the statement, use defineQuery`, cause);
  }
  function build(isNull: (name: string) => boolean): Attempt {
    try {
      return attempt(name, builder, db, (one) => isNull(one) ? null : createParameter(one));
    } catch (error) {
      if (error instanceof ParameterUseError) decides(error.parameter, error);
      throw error;
    }
  }
  if (comparesRenamed(builder)) {
    refuse(
      "a parameter gets another name in a builder that compares, which can decide the form of the statement: " +
        "write p.x where the value belongs, or use defineQuery",
    );
  }
  let first: Attempt;
  try {
    first = build(() => false);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    refuse(error instanceof Error ? error.message : String(error), error);
  }
  const names = [...first.reads.keys()];
  const isSame = (isNull: (name: string) => boolean): boolean => {
    try {
      return !differ(first, build(isNull), isNull);
    } catch {
      return false;
    }
  };
  // drizzle 1.0 does not convert the items of an array
  const item = first.query.getQuery().params.flatMap((param) =>
    Array.isArray(param) ? param.flat(Infinity) : []
  ).map(findParameter).find((facts) => facts !== undefined);
  if (item !== undefined) decides(item.name);
  if (!isSame(() => true)) {
    if (!isSame(() => false)) {
      refuse("its text or a value in it differs from run to run: pass the value as a parameter");
    }
    decides(names.find((one) => !isSame((name) => name === one)) ?? names.join(", p."));
  }
  const { query, reads } = first;
  const { params, sql } = query.getQuery();
  const bound = params.map((param) => findParameter(getValue(param))?.key);
  for (const [parameter, count] of reads) {
    // a value that the builder compares leaves no other trace
    if (bound.filter((key) => key === parameter).length < count) decides(parameter);
  }
  if (params.some((param) => getValue(param) === undefined)) {
    refuse("it binds undefined: pass the value as a parameter, or null for NULL");
  }
  // drizzle expands lists, but it has no list yet
  const list = /\bin \$(\d+)/.exec(sql);
  if (list !== null) decides(bound[Number(list[1]) - 1] ?? "");
  function compare(given: CallValues): void {
    // drizzle leaves out an offset of 0 and a negative limit
    const isDropped = (value: unknown): boolean => typeof value === "number" && value <= 0;
    const values = Object.fromEntries(
      names.map((one) => [one, isDropped(given[one]) ? 1 : given[one]]),
    );
    const filled = fillOrSkip(query, values);
    if (filled === undefined) return;
    const own = attempt(name, builder, db, (one) => values[one]).query.getQuery();
    const isSame = own.sql === sql && own.params.length === params.length &&
      own.params.every((param, at) => {
        const facts = findParameter(getValue(params[at]));
        if (facts === undefined) return isDeepStrictEqual(param, params[at]);
        if (facts.key === undefined) return findParameter(getValue(param))?.read === facts.read;
        // a column may encode a value in another way each time
        return isDeepStrictEqual(param, filled[at]) ||
          !isDeepStrictEqual(query.fill(values)[at], filled[at]);
      });
    if (isSame) return;
    refuse(
      "the values of this call give another statement: a function that the builder calls compares a parameter, " +
        "or a variable that it reads has changed, use defineQuery",
    );
  }
  return { query, names, compare };
}

/** Returns the parameters of a call; `undefined` if a value changes the text or does not fit its column. */
function fillOrSkip(query: PreparedQuery, values: CallValues): unknown[] | undefined {
  try {
    return query.fill(values);
  } catch {
    return undefined;
  }
}

/** Start of a function's text up to its second parameter, which is a name or a pattern. */
const SECOND_PARAMETER = /^[^(]*\(\s*(?:[\w$]+|\{[^}]*\})\s*,\s*([\w$]+|\{)/;

/** Code that distinguishes values without another trace: conditions see the null of the second run. */
const COMPARISON =
  /[=!]==|\b(?:switch|typeof|instanceof)\b|\b(?:Object|Array|Number)\.is|\.(?:includes|indexOf|has|get|find\w*|some|every)\(/;

/**
 * Checks the text of a builder for `const { role } = p` or `const role = p.role` beside a comparison. A
 * name can be compared without another read of `p`, and a comparison with `===` cannot be observed.
 */
function comparesRenamed(builder: StatementBuilder): boolean {
  const text = Function.prototype.toString.call(builder);
  const p = SECOND_PARAMETER.exec(text)?.[1];
  if (p === undefined || !COMPARISON.test(text)) return false;
  const name = p.replaceAll("$", "\\$");
  return p === "{" ||
    new RegExp(`\\}\\s*=\\s*${name}(?![\\w$])|[^=!<>]=\\s*${name}\\s*[.[]`).test(text);
}

/** Compares two runs of a builder, of which the second may have nulls for parameters. */
function differ(
  first: Attempt,
  second: Attempt,
  isNull: (name: string) => boolean = () => false,
): boolean {
  const one = first.query.getQuery();
  const other = second.query.getQuery();
  if (one.sql !== other.sql || one.params.length !== other.params.length) return true;
  return one.params.some((param, at) => !isSameParam(param, other.params[at], isNull));
}

function isSameParam(
  param: unknown,
  other: unknown,
  isNull: (name: string) => boolean,
): boolean {
  const own = findParameter(getValue(param));
  const others = findParameter(getValue(other));
  if (own === undefined || others === undefined) {
    if (own?.key !== undefined && isNull(own.key)) return getValue(other) === null;
    return own === others && isDeepStrictEqual(param, other);
  }
  if (own.key === undefined) return others.key === undefined && own.read === others.read;
  return own.key === others.key && !isNull(own.key);
}

/** Compares values of any type. Importing `node:util` would read all its members, which loads worker threads too. */
function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  return Object.is(one, other) || builtinModule("node:util")!.isDeepStrictEqual(one, other);
}

/** Returns the value of drizzle's `Param`, or the value itself. */
function getValue(param: unknown): unknown {
  return isKind(param, "Param") ? (param as { value: unknown }).value : param;
}

/**
 * Runs synchronous work that must give the same result each time. Until it returns, reading the clock or
 * a random number throws.
 *
 * @param work The work.
 * @returns Its result.
 */
function withoutChance<T>(work: () => T): T {
  const { Date: RealDate } = globalThis;
  const { random } = Math;
  const { Now } = (globalThis as { Temporal?: { Now: object } }).Temporal ?? { Now: {} };
  const clocks = Object.getOwnPropertyDescriptors(Now);
  globalThis.Date = createDate(RealDate);
  Math.random = () => refuse("a random number");
  for (const [name, { value }] of Object.entries(clocks)) {
    if (typeof value !== "function") continue;
    Object.defineProperty(Now, name, { value: () => refuse("the clock"), configurable: true });
  }
  try {
    return work();
  } finally {
    globalThis.Date = RealDate;
    Math.random = random;
    Object.defineProperties(Now, clocks);
  }
}

function createDate(RealDate: DateConstructor): DateConstructor {
  class GivenDate extends RealDate {
    constructor(...parts: []) {
      if (parts.length === 0) refuse("the clock");
      super(...parts);
    }
    static override now(): never {
      return refuse("the clock");
    }
    static override [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof RealDate;
    }
  }
  return GivenDate as unknown as DateConstructor;
}

function refuse(source: string): never {
  throw new TypeError(
    `the builder reads ${source}, but runs once for all calls: pass the value as a parameter`,
  );
}
