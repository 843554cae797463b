import type { AuthNeed, Effect, QueryDeclaration } from "./effects.ts";
import type { ts } from "./typescript.ts";
import type { TableName } from "./values.ts";

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
  /** The use of a handler's option `roles`. */
  readonly authRoles: ts.Node | undefined;
  /** True if auth routes write mails to the table of jobs. */
  readonly hasAuthMails: boolean;
  /** True if an auth configuration has plugins or lets users delete their account. */
  readonly isAuthExtended: boolean;
  /** Tables that replace those of the auth package, by model. */
  readonly authTables: ReadonlyMap<string, readonly AuthTable[]>;
  /** Columns of auth tables that session checks do not read, as `model.property`. */
  readonly hiddenFields: ReadonlySet<string>;
  readonly tableAccesses: readonly Extract<Effect, { kind: "table-access" }>[];
  readonly sequenceAccesses: readonly Extract<Effect, { kind: "sequence-access" }>[];
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

/** Collects the effects that say what reachable code uses. */
export class Findings implements Reached {
  readonly queries = new Set<QueryDeclaration>();
  readonly grants: Extract<Effect, { kind: "grant" }>[] = [];
  readonly jobs: Extract<Effect, { kind: "jobs" }>[] = [];
  readonly auth: Extract<Effect, { kind: "auth" }>[] = [];
  isAuthConfigured = false;
  hasAuthLimits = false;
  hasAuthHooks = false;
  authRoles: ts.Node | undefined = undefined;
  hasAuthMails = false;
  isAuthExtended = false;
  readonly authTables = new Map<string, AuthTable[]>();
  readonly hiddenFields = new Set<string>();
  readonly tableAccesses: Extract<Effect, { kind: "table-access" }>[] = [];
  readonly sequenceAccesses: Extract<Effect, { kind: "sequence-access" }>[] = [];
  readonly opaque = new Set<ts.Node>();
  readonly wrappers = new Map<ts.Node, string>();
  readonly variables: Extract<Effect, { kind: "env" | "env-definition" }>[] = [];
  sendsBySes = false;
  loadsSources = false;
  readonly unresolved: Unresolved[] = [];

  /** Adds an effect. Effects that only lead to other code are ignored. */
  add(effect: Effect): void {
    switch (effect.kind) {
      case "query":
        return void this.queries.add(effect.query);
      case "grant":
        return void this.grants.push(effect);
      case "jobs":
        return void this.jobs.push(effect);
      case "auth":
        return void this.auth.push(effect);
      case "auth-configured":
        return void (this.isAuthConfigured = true);
      case "auth-limits":
        return void (this.hasAuthLimits = true);
      case "auth-roles":
        return void (this.authRoles = effect.node);
      case "auth-hooks":
        return void (this.hasAuthHooks = true);
      case "auth-mails":
        return void (this.hasAuthMails = true);
      case "auth-extended":
        return void (this.isAuthExtended = true);
      case "auth-table":
        return void this.authTables.set(effect.model, [
          ...this.authTables.get(effect.model) ?? [],
          effect,
        ]);
      case "auth-hidden":
        return void this.hiddenFields.add(`${effect.model}.${effect.property}`);
      case "table-access":
        return void this.tableAccesses.push(effect);
      case "sequence-access":
        return void this.sequenceAccesses.push(effect);
      case "opaque-sql":
        return void this.opaque.add(effect.node);
      case "wrapper":
        return void this.wrappers.set(effect.node, effect.module);
      case "env":
      case "env-definition":
        return void this.variables.push(effect);
      case "ses":
        return void (this.sendsBySes = true);
      case "env-sources":
        return void (this.loadsSources = true);
      case "unresolved":
        return void this.unresolved.push(effect);
    }
  }
}
