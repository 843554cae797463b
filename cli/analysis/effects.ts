import type { DatabaseOperation } from "../../database/table_permission.ts";
import type { TableName } from "./values.ts";
import type { ts } from "./typescript.ts";

/** A call in a path, with the arguments that are bound to the parameters of a function. */
export interface CallStep {
  readonly call: ts.CallExpression | ts.NewExpression;
  readonly id: string;
}

/** A step of a path: the name of a member, a call, or a mark listed below. */
export type Step = string | CallStep;

/**
 * How a value is used: `["list", call]` means that its member `list` is called. An empty path means
 * that the whole value is used in an unknown way: any member may be read and any function called.
 */
export type Path = readonly Step[];

/** The value is not used: the expression is evaluated for its effect. */
export const NONE = "\0none";
/** The initializer of a module constant. References to the constant determine its use. */
export const DEFER = "\0defer";
/** A call from unknown code. */
export const CALL = "\0call";
/** Selects the members of an instance instead of static ones. */
export const INSTANCE = "\0instance";
/** The evaluation of a module. */
export const LOAD = "\0load";
/**
 * Required constant: the auth mode of a handler. A required constant is the first step of the path
 * of a value that must be known statically.
 */
export const AUTH_MODE = "\0auth";
/** Required constant: the option `organization` of a handler. */
export const ORGANIZATION = "\0organization";
/** Required constant: the `additionalFields` of an auth table. */
export const AUTH_FIELDS = "\0fields:";
/** Required constant: the list of tables of the query with this id. */
export const TABLES = "\0tables:";
/** Required constant: an entry of such a list. */
export const ENTRY = "\0entry:";
/** Required constant: a table that replaces a table of the auth package. */
export const AUTH_TABLE = "\0model:";
/** All tables of an auth schema: the project's own, and those of better-auth's plugins. */
export const AUTH_SCHEMA = "\0auth-schema";
/** Plugins of an auth configuration, or its option `user.deleteUser`. */
export const AUTH_EXTENSION = "\0auth-extension";
/** Required constant: the name of a required or optional environment variable. */
export const ENV_NAME = "\0env:";

/** The result that is incomplete if a value is unknown. Omitted if it may be either. */
export type Subject = "grants" | "environment";

/** A piece of code and its use. Its effects do not depend on who reaches it. */
export interface Unit {
  readonly node: ts.Node;
  readonly path: Path;
  readonly key: string;
  effects?: readonly Effect[];
}

/** The declaration of a query or method with its tables. */
export interface QueryDeclaration {
  readonly id: number;
  readonly name: string;
  readonly node: ts.Node;
  /** The list of tables; `undefined` for a statement whose tables are those of its builder. */
  readonly tables: Unit | undefined;
  /** The code that runs when the query runs. */
  readonly body: readonly Unit[];
  /** The function whose table accesses are compared with the declared tables. */
  readonly fn?: ts.Node;
}

/** A use of the auth package that needs its tables. */
export type AuthNeed =
  | "api-key"
  | "check"
  | "cleanup"
  | "events"
  | "expire"
  | "limits"
  | "organization"
  | "routes";

/** A use of the table of jobs. */
export type JobNeed = "enqueue" | "work" | "relay" | "read" | "change";

/** What a function does with the objects of a bucket. */
export type BucketAccess = "list" | "read" | "write" | "delete";

/** Everything that a function can do with a bucket. */
export const BUCKET_ACCESSES: readonly BucketAccess[] = ["list", "read", "write", "delete"];

/** An effect of a piece of code. */
export type Effect =
  | { readonly kind: "unit"; readonly unit: Unit }
  | { readonly kind: "load"; readonly unit: Unit }
  | { readonly kind: "parameter"; readonly node: ts.ParameterDeclaration; readonly path: Path }
  | {
    readonly kind: "bind";
    readonly node: ts.ParameterDeclaration;
    readonly argument: ts.Expression;
  }
  /** A function that is passed as a value: any code may call it with any arguments. */
  | { readonly kind: "escape"; readonly node: ts.SignatureDeclaration }
  /** `this.member` in a class: a subclass may override the member. */
  | { readonly kind: "dispatch"; readonly node: ts.ClassLikeDeclaration; readonly path: Path }
  | { readonly kind: "query"; readonly query: QueryDeclaration }
  | {
    readonly kind: "grant";
    readonly query: number;
    readonly table: TableName;
    readonly operations: readonly DatabaseOperation[];
    /** The drizzle table, if there is a definition. */
    readonly definition?: ts.CallExpression;
  }
  | {
    readonly kind: "auth";
    readonly need: AuthNeed;
    readonly why: string;
    readonly node: ts.Node;
    /** Patterns of the mounted routes; omitted for all routes. */
    readonly routes?: readonly string[];
    /** True if routes are only called as functions of `auth.api`, which no limit counts. */
    readonly isCalled?: boolean;
  }
  | { readonly kind: "jobs"; readonly need: JobNeed; readonly why: string; readonly node: ts.Node }
  /** Code that sends the mails of the outbox. */
  | { readonly kind: "mail-worker"; readonly node: ts.Node }
  /** An argument of `configureMail`, which only code that sends mails uses. */
  | { readonly kind: "mail-transport"; readonly unit: Unit }
  /** A transport through Amazon SES. */
  | { readonly kind: "ses"; readonly node: ts.Node }
  | { readonly kind: "auth-configured" }
  /** The option `roles` of a handler. */
  | { readonly kind: "auth-roles"; readonly node: ts.Node }
  /** The configuration of sessions, whose functions only the auth routes call. */
  | { readonly kind: "auth-functions"; readonly unit: Unit }
  | { readonly kind: "auth-extended" }
  /** Plugins and hooks of an auth configuration, which may do anything in each route. */
  | { readonly kind: "auth-hooks" }
  /** A column with `returned: false` in `additionalFields`: session checks do not read it. */
  | { readonly kind: "auth-hidden"; readonly model: string; readonly property: string }
  /** Mails of accounts, which auth routes write to the table of jobs. */
  | { readonly kind: "auth-mails" }
  /** Auth routes whose limits may count in the database. */
  | { readonly kind: "auth-limits" }
  | {
    readonly kind: "auth-table";
    readonly model: string;
    readonly table: TableName;
    /** The call that creates the drizzle table, if there is a definition. */
    readonly definition?: ts.CallExpression;
  }
  /** A package that depends on this one: its use of sessions and tables is unknown. */
  | { readonly kind: "wrapper"; readonly node: ts.Node; readonly module: string }
  /** An environment variable that is read. */
  | {
    readonly kind: "env";
    readonly name: string;
    readonly isRequired: boolean;
    /** True for `secret(name)`, which reads the variable's source by itself. */
    readonly isLoaded?: boolean;
    readonly node: ts.Node;
  }
  /** The use of an upload; `node` has the options, which name the bucket. */
  | {
    readonly kind: "upload";
    readonly node: ts.Expression;
    readonly access: readonly BucketAccess[];
    /** Beginning of the keys; empty if it is not known. */
    readonly prefix: string;
  }
  /** `loadSources()`, which reads the sources of all variables. */
  | { readonly kind: "env-sources" }
  /** The argument of `defineEnv`. */
  | { readonly kind: "env-definition"; readonly definition: ts.Expression; readonly node: ts.Node }
  | {
    readonly kind: "unresolved";
    readonly node: ts.Node;
    readonly message: string;
    /** The incomplete result; both if omitted. */
    readonly subject?: Subject;
  };

/**
 * Maximum length of a path. Paths that name a member twice are cut as well, as in a loop over a
 * list or tree such as `node = node.left ?? node.right`, which would never end. Cutting a path only
 * ever adds uses.
 */
const MAX_STEPS = 12;

function getKeptLength(path: Path): number {
  const end = Math.min(path.length, MAX_STEPS);
  for (let at = 1; at < end; at++) {
    const step = path[at];
    if (typeof step === "string" && !step.startsWith("\0") && path.indexOf(step) < at) return at;
  }
  return end;
}

/** Creates units and returns the same unit for the same node and path. */
export class Units {
  readonly #known: Map<ts.Node, Map<string, Unit>> = new Map();
  readonly #steps: Map<ts.Node, CallStep> = new Map();

  /** Returns the unit of a node and path, and the steps that were cut off. */
  get(node: ts.Node, path: Path): { unit: Unit; cut: Path } {
    const length = getKeptLength(path);
    const kept = length < path.length ? path.slice(0, length) : path;
    const key = kept.map((step) => typeof step === "string" ? step : step.id).join("\0/");
    let known = this.#known.get(node);
    if (known === undefined) this.#known.set(node, known = new Map());
    let unit = known.get(key);
    if (unit === undefined) known.set(key, unit = { node, path: kept, key });
    return { unit, cut: path.slice(kept.length) };
  }

  /** Returns the step of a call. */
  getStep(call: ts.CallExpression | ts.NewExpression): CallStep {
    let step = this.#steps.get(call);
    if (step === undefined) this.#steps.set(call, step = { call, id: `\0${this.#steps.size}` });
    return step;
  }
}

/** Checks whether a value is unused. */
export function isUnused(path: Path): boolean {
  return path[0] === NONE || path[0] === DEFER;
}

/** Checks whether a step is a call with known arguments. */
export function isCall(step: Step | undefined): step is CallStep {
  return typeof step === "object";
}

/**
 * Checks whether a function or query is not called: `query.bind(null)` alone does not call it.
 */
export function isNotCalled(path: Path): boolean {
  return isUnused(path) || path[0] === "bind" && isCall(path[1]) && isUnused(path.slice(2));
}
