import type { DatabaseOperation } from "../../database/table_permission.ts";
import type { TableName } from "./evaluate.ts";
import type { ts } from "./typescript.ts";

/** A call on the way from a value to what is used of it, with the arguments that a function's parameters take. */
export interface CallStep {
  readonly call: ts.CallExpression | ts.NewExpression;
  readonly id: string;
}

/** One step from a value to what is used of it: a member's name, a call, or one of the marks below. */
export type Step = string | CallStep;

/**
 * What is used of a value: `["list", call]` is the result of calling its member `list`; an empty path is all of it, so
 * that functions may be called and members taken by whoever gets it.
 */
export type Path = readonly Step[];

/** Nothing: the expression is evaluated for its effect. */
export const NONE = "\0none";
/** Nothing yet: the initializer of a module's constant, whose use is told by the references to the constant. */
export const DEFER = "\0defer";
/** A call from unknown places. */
export const CALL = "\0call";
/** Members of an instance in place of the class's own. */
export const INSTANCE = "\0instance";
/** The evaluation of a module. */
export const LOAD = "\0load";
/** What begins the path of a value that must be told from the text. */
export const AUTH_MODE = "\0auth";
/** As {@link AUTH_MODE}: a list of tables of the declaration with this number. */
export const TABLES = "\0tables:";
/** As {@link AUTH_MODE}: an entry of such a list. */
export const ENTRY = "\0entry:";
/** As {@link AUTH_MODE}: a table in place of one of the auth package's. */
export const AUTH_TABLE = "\0model:";
/** As {@link AUTH_MODE}: the name of an environment variable that must be set, or that may be. */
export const ENV_NAME = "\0env:";

/** What cannot be told where a value is not: grants, or environment variables; none of the two where it may be either. */
export type Subject = "grants" | "environment";

/** A piece of the program with what is used of it. Its effects do not depend on who reaches it. */
export interface Unit {
  readonly node: ts.Node;
  readonly path: Path;
  readonly key: string;
  effects?: readonly Effect[];
}

/** A query's declaration, or a method's, with its tables. */
export interface QueryDeclaration {
  readonly id: number;
  readonly name: string;
  readonly node: ts.Node;
  /** The list of tables. */
  readonly tables: Unit;
  /** What runs when the query runs. */
  readonly body: readonly Unit[];
  /** The function whose text may be compared with the tables. */
  readonly fn?: ts.Node;
}

/** What the auth package does with its tables. */
export type AuthNeed = "check" | "expire" | "routes";

/** What a piece of the program leads to. */
export type Effect =
  | { readonly kind: "unit"; readonly unit: Unit }
  | { readonly kind: "load"; readonly unit: Unit }
  | { readonly kind: "parameter"; readonly node: ts.ParameterDeclaration; readonly path: Path }
  | {
    readonly kind: "bind";
    readonly node: ts.ParameterDeclaration;
    readonly argument: ts.Expression;
  }
  /** A function that is handed on: others may call it with anything. */
  | { readonly kind: "escape"; readonly node: ts.SignatureDeclaration }
  /** `this.member` in a class: an instance of a subclass has its own. */
  | { readonly kind: "dispatch"; readonly node: ts.ClassLikeDeclaration; readonly path: Path }
  | { readonly kind: "query"; readonly query: QueryDeclaration }
  | {
    readonly kind: "grant";
    readonly query: number;
    readonly table: TableName;
    readonly operations: readonly DatabaseOperation[];
    /** The drizzle table, where there is one. */
    readonly definition?: ts.CallExpression;
  }
  | { readonly kind: "auth"; readonly need: AuthNeed; readonly why: string; readonly node: ts.Node }
  | { readonly kind: "auth-configured" }
  | {
    readonly kind: "auth-table";
    readonly model: string;
    readonly table: TableName;
    /** The call that makes the drizzle table, where there is one. */
    readonly definition?: ts.CallExpression;
  }
  | {
    readonly kind: "touch";
    readonly node: ts.Node;
    readonly table: TableName;
    readonly operation?: DatabaseOperation;
  }
  /** SQL whose tables cannot be told from the text. */
  | { readonly kind: "opaque-sql"; readonly node: ts.Node }
  /** A package that depends on this one: what it does with sessions and tables does not show. */
  | { readonly kind: "wrapper"; readonly node: ts.Node; readonly module: string }
  /** An environment variable that is read. */
  | {
    readonly kind: "env";
    readonly name: string;
    readonly isRequired: boolean;
    readonly node: ts.Node;
  }
  /** What `defineEnv` is given. */
  | { readonly kind: "env-definition"; readonly definition: ts.Expression; readonly node: ts.Node }
  | {
    readonly kind: "unresolved";
    readonly node: ts.Node;
    readonly message: string;
    /** What it keeps from being told; both when left out. */
    readonly subject?: Subject;
  };

/**
 * Longer paths are cut, and so are those that name a member twice, as a walk along a list or a tree does: else a loop such as
 * `node = node.left ?? node.right` would go on for ever. Cutting only ever adds to what is used.
 */
const MAX_STEPS = 12;

function lengthToKeep(path: Path): number {
  const end = Math.min(path.length, MAX_STEPS);
  for (let at = 1; at < end; at++) {
    const step = path[at];
    if (typeof step === "string" && !step.startsWith("\0") && path.indexOf(step) < at) return at;
  }
  return end;
}

/** Makes units, one for each node and path. */
export class Units {
  readonly #known: Map<ts.Node, Map<string, Unit>> = new Map();
  readonly #steps: Map<ts.Node, CallStep> = new Map();

  /** The unit of a node and a path, and the calls whose arguments were cut off with the end of the path. */
  of(node: ts.Node, path: Path): { unit: Unit; cut: Path } {
    const length = lengthToKeep(path);
    const kept = length < path.length ? path.slice(0, length) : path;
    const key = kept.map((step) => typeof step === "string" ? step : step.id).join("\0/");
    let ofNode = this.#known.get(node);
    if (ofNode === undefined) this.#known.set(node, ofNode = new Map());
    let unit = ofNode.get(key);
    if (unit === undefined) ofNode.set(key, unit = { node, path: kept, key });
    return { unit, cut: path.slice(kept.length) };
  }

  /** The step that a call is. */
  getStep(call: ts.CallExpression | ts.NewExpression): CallStep {
    let step = this.#steps.get(call);
    if (step === undefined) this.#steps.set(call, step = { call, id: `\0${this.#steps.size}` });
    return step;
  }
}

/**
 * Whether nothing is used of a value.
 *
 * @param path What is used.
 */
export function isUnused(path: Path): boolean {
  return path[0] === NONE || path[0] === DEFER;
}

/**
 * Whether a step is a call, and of which kind.
 *
 * @param step The step.
 */
export function isCall(step: Step | undefined): step is CallStep {
  return typeof step === "object";
}

/**
 * Whether nothing runs of a function or a query: `query.bind(null)` alone does not call it.
 *
 * @param path What is used.
 */
export function isNotCalled(path: Path): boolean {
  return isUnused(path) || path[0] === "bind" && isCall(path[1]) && isUnused(path.slice(2));
}
