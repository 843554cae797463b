import type { AuthConfig } from "../../auth/config/config.ts";
import { isLoopbackUrl } from "../../auth/config/loopback.ts";
import { AUTH_SCHEMA_MAPPING } from "../../auth/tables/schema.ts";
import { listWords } from "../../sql/list_words.ts";
import type { Problem } from "../project/findings.ts";
import { findInstanceUse, listInstanceUses } from "../project/find_runs.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import { listDeciding, readsEnvironment } from "../project/environment_use.ts";
import { type AnyNode, getMemberName } from "../sources/syntax.ts";
import type { Place } from "../sources/source_positions.ts";
import { listMountedRoutes, MAIL_ROUTES } from "./auth_route_tables.ts";
import {
  AUTH_TABLES,
  type AuthNeed,
  getAuthOperations,
  getNeededColumns,
  needsTable,
} from "./auth_tables.ts";
import { findTableName, readColumns, type TableColumns } from "./drizzle_values.ts";
import { JOB_OPERATIONS, JOBS_TABLE } from "./job_needs.ts";
import type { TableName } from "./table_name.ts";
import type { ColumnGrant, TableNeed } from "./table_needs.ts";

/** Functions that use some tables of an instance of better-auth; they do not use its routes. */
const SESSION_NEEDS: Readonly<Record<string, AuthNeed>> = {
  validateSession: "check",
  validateSessionFromHeader: "check",
  refreshSession: "check",
  expireSession: "expire",
  listAuthEvents: "events",
  removeExpiredAuthRows: "cleanup",
};

/**
 * Models of the plugins that better-auth publishes (1.7, November 2026). Of a module that exports all
 * tables of a project, only these belong to better-auth.
 */
const PLUGIN_MODELS: readonly string[] = listWords(`
  apikey deviceCode invitation jwks member organization organizationRole
  oauthAccessToken oauthApplication oauthClient oauthConsent oauthRefreshToken passkey
  rateLimit scimProvider ssoProvider subscription team teamMember twoFactor
  walletAddress
`);

/** A use of the auth package. */
export interface AuthUse {
  readonly need: AuthNeed;
  readonly why: string;
  readonly place: Place;
  /** Patterns of the mounted routes; omitted for all routes. */
  readonly routes?: readonly string[];
  /** True if routes are only called as functions of `auth.api`, which no limit counts. */
  readonly isCalled?: boolean;
}

interface AuthTable {
  readonly name: TableName;
  readonly columns: TableColumns | undefined;
}

/** The configurations of a function: of sessions, API keys and limits. */
interface AuthSetup {
  readonly hasSessions: boolean;
  /** Tables by model. */
  readonly tables: ReadonlyMap<string, readonly AuthTable[]>;
  readonly hasLimits: boolean;
  readonly isExtended: boolean;
  readonly hasHooks: boolean;
  /** Columns with `returned: false`, as `model.property`. */
  readonly hiddenFields: ReadonlySet<string>;
}

/** What a function needs for accounts. */
export interface AuthNeeds {
  readonly tables: readonly TableNeed[];
  readonly usesAuth: boolean;
  readonly warnings: readonly Problem[];
  /** Mounted routes that are only known at run time. */
  readonly unresolved: readonly Problem[];
  /** True if it mounts some routes only. */
  readonly limitsRoutes: boolean;
}

/** Finds the auth tables that a function needs. */
export function readAuthNeeds(fn: LoadedFunction): AuthNeeds {
  const setup = readSetup(fn);
  const uses = listAuthUses(fn);
  const hasMails = fn.list("createAccountMails").length > 0;
  const tables = uses.flatMap((use): TableNeed[] => {
    const patterns = setup.hasHooks ? undefined : use.routes;
    const reason = `${use.why} (${use.place.file})`;
    const operations = getAuthOperations(use.need, setup.tables.keys(), {
      hasLimits: setup.hasLimits && use.isCalled !== true,
      isExtended: setup.isExtended,
      patterns,
    });
    const mails = use.need === "routes" && hasMails && mayMail(patterns)
      ? [{ table: JOBS_TABLE, operations: JOB_OPERATIONS.enqueue, reason: `mails of ${reason}` }]
      : [];
    const needs = Object.entries(operations).flatMap(([model, needed]) =>
      needed.length === 0 ? [] : listTables(setup, model)
        .filter(({ columns }) => needsTable(use.need, model, columns))
        .map(({ name, columns }): TableNeed => {
          const limits = needed.flatMap((operation): ColumnGrant[] => {
            const names = columns &&
              getNeededColumns(use.need, model, operation, columns, setup.hiddenFields);
            return names === undefined ? [] : [{ operation, columns: names }];
          });
          return {
            table: name,
            operations: needed.filter((operation) =>
              !limits.some((limit) => limit.operation === operation)
            ),
            columns: limits,
            reason,
          };
        })
    );
    return [...mails, ...needs];
  });
  return {
    tables,
    usesAuth: uses.length > 0,
    warnings: findProblems(fn, setup, uses),
    unresolved: findVariableRoutes(fn),
    limitsRoutes: uses.some(({ routes }) => routes !== undefined),
  };
}

/** What to write where the mounted routes are only known at run time. */
export const ROUTES_ADVICE =
  "the grants depend on the mounted routes: write the option routes of createAuthHandler as literals";

/** Finds handlers of auth routes that take the mounted routes from the environment. */
function findVariableRoutes(fn: LoadedFunction): Problem[] {
  return fn.list("createAuthHandler").flatMap((definition): Problem[] => {
    const options = fn.findCall(definition)?.arguments[1];
    const deciding = options === undefined ? [] : listDeciding(fn.syntax, options, "routes");
    const node = deciding.find((each) => readsEnvironment(fn.syntax, each));
    if (node === undefined) return [];
    return [{
      place: fn.getPlace(node),
      message: `the routes come from an environment variable, but ${ROUTES_ADVICE}`,
    }];
  });
}

/** Lists the uses of the auth package. */
export function listAuthUses(fn: LoadedFunction): AuthUse[] {
  const { syntax } = fn;
  const handlers = fn.list("defineApiHandler", "defineWebSocketHandler").flatMap(
    ({ args: [options], place }): AuthUse[] => {
      const { organization } = getNeeds(options);
      const mode = getMode(options);
      return [
        ...mode === "session" ? [{ need: "check", why: "auth: session", place } as const] : [],
        ...mode === "api-key" ? [{ need: "api-key", why: "auth: api-key", place } as const] : [],
        ...organization !== undefined
          ? [{ need: "organization", why: "organization of the session", place } as const]
          : [],
      ];
    },
  );
  const definitions = [
    ...fn.list("createAuthHandler").map(({ name, place, args }): AuthUse => ({
      need: "routes",
      why: name,
      place,
      routes: (args[1] as { routes?: readonly string[] } | undefined)?.routes,
    })),
    ...fn.list("createAuthCleanupHandler").map(({ name, place }): AuthUse => ({
      need: "cleanup",
      why: name,
      place,
    })),
    // a module that many functions load may configure the limits that few of them have
    ...findLimited(fn) === undefined ? [] : fn.list("configureRateLimits").map((
      { name, place },
    ): AuthUse => ({ need: "limits", why: name, place })),
  ];
  const called = listInstanceUses(syntax).flatMap((use): AuthUse[] => {
    const place = fn.getPlace(use.node);
    if (Object.hasOwn(SESSION_NEEDS, use.name)) {
      return [{ need: SESSION_NEEDS[use.name], why: use.name, place }];
    }
    const instance = findInstanceUse(syntax, use);
    return instance === "none"
      ? []
      : [{ need: "routes", why: use.name, place, isCalled: instance === "api" }];
  });
  return [...handlers, ...definitions, ...called];
}

/** Returns the mode of the option `auth`: by name, or of a value that carries its check. */
function getMode(options: unknown): unknown {
  const { auth } = (options ?? {}) as { auth?: unknown };
  return typeof auth === "object" && auth !== null ? (auth as { mode?: unknown }).mode : auth;
}

/** Returns what the value of the option `auth` asks of callers. */
function getNeeds(options: unknown): { readonly organization?: unknown; readonly roles?: unknown } {
  const { auth } = (options ?? {}) as { auth?: { needs?: object } | string };
  return (typeof auth === "object" ? auth?.needs : undefined) ?? {};
}

type Config = Partial<AuthConfig> & Readonly<Record<string, unknown>>;

/** Lists the configurations of sessions and of instances that a function loads. */
export function listAuthConfigs(fn: LoadedFunction): Config[] {
  const sessions = fn.list("configureSessionAuth", "defineAuth");
  return [...sessions.map(({ args }) => args[1] as Config), ...listInstanceConfigs(fn)]
    .filter((config) => typeof config === "object" && config !== null);
}

function readSetup(fn: LoadedFunction): AuthSetup {
  const configs = listAuthConfigs(fn);
  const tables = new Map<string, AuthTable[]>();
  function add(model: string, value: unknown): void {
    const name = findTableName(value);
    if (name === undefined) return;
    const known = tables.get(model) ?? [];
    tables.set(model, [...known, { name, columns: readColumns(value as object) }]);
  }
  for (const { schema } of configs) addSchema(schema, add);
  for (const { args: [, options] } of fn.list("configureRateLimits")) {
    add("rateLimit", (options as { table?: unknown } | undefined)?.table);
  }
  return {
    hasSessions: fn.list("configureSessionAuth", "defineAuth").length > 0,
    tables,
    hasLimits: configs.some(mayLimit),
    isExtended: configs.some(({ plugins, user }) =>
      plugins !== undefined ||
      (user as { deleteUser?: unknown } | undefined)?.deleteUser !== undefined
    ),
    hasHooks: configs.some((config) =>
      ["plugins", "hooks", "databaseHooks"].some((name) => config[name] !== undefined)
    ),
    hiddenFields: new Set(configs.flatMap(listHiddenFields)),
  };
}

/** Lists the configurations of the instances that a function creates. */
function listInstanceConfigs(fn: LoadedFunction): Config[] {
  return fn.syntax.uses.flatMap(({ name, args }) => {
    if ((name !== "createAuth" && name !== "getAuth") || args?.[1] === undefined) return [];
    return [readConfig(fn, args[1])];
  });
}

/** Reads a configuration; what is only known at run time may have plugins and hooks. */
function readConfig(fn: LoadedFunction, node: AnyNode): Config {
  const whole = fn.evaluate(node);
  if (whole.isKnown) return whole.value as Config;
  if (node.type !== "ObjectExpression") return { plugins: [] };
  const config: Record<string, unknown> = {};
  for (const property of node.properties) {
    if (property.type === "SpreadElement") {
      Object.assign(config, readConfig(fn, property.argument));
      continue;
    }
    const name = getMemberName(property);
    if (name === undefined) {
      Object.assign(config, readConfig(fn, property.value));
      continue;
    }
    const value = fn.evaluate(property.value);
    config[name] = value.isKnown ? value.value : UNKNOWN;
  }
  return config as Config;
}

/** An option that is only known at run time. */
const UNKNOWN = {};

/** Adds the tables of a schema: of a module that exports all tables of a project, only those of better-auth. */
function addSchema(schema: unknown, add: (model: string, value: unknown) => void): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const [model, { get }] of Object.entries(Object.getOwnPropertyDescriptors(schema))) {
    const isKnown = Object.hasOwn(AUTH_SCHEMA_MAPPING, model) || PLUGIN_MODELS.includes(model);
    // esbuild makes members of modules getters
    if (get === undefined || isKnown) add(model, (schema as Record<string, unknown>)[model]);
  }
}

/** Checks whether the limits of a configuration may count in the database, as auth/resolve_config.ts does. */
function mayLimit({ rateLimit, baseURL }: Config): boolean {
  const { storage = "database", enabled } = (rateLimit ?? {}) as {
    storage?: unknown;
    enabled?: unknown;
  };
  if (storage !== "database") return false;
  const isLocal = typeof baseURL === "string" && isLoopbackUrl(baseURL);
  return (enabled ?? !isLocal) !== false;
}

function listHiddenFields(config: Config): string[] {
  return ["user", "session"].flatMap((model) => {
    const { additionalFields = {} } = (config[model] ?? {}) as {
      additionalFields?: Record<string, { returned?: boolean }>;
    };
    return Object.entries(additionalFields).filter(([, field]) => field?.returned === false)
      .map(([property]) => `${model}.${property}`);
  });
}

/** Lists the tables of a model: those of the configurations, else that of the package. */
function listTables({ tables }: AuthSetup, model: string): readonly AuthTable[] {
  const known = tables.get(model);
  if (known !== undefined) return known;
  const own = AUTH_TABLES[model];
  if (own === undefined) return [];
  const table = Object.hasOwn(AUTH_SCHEMA_MAPPING, model)
    ? AUTH_SCHEMA_MAPPING[model as keyof typeof AUTH_SCHEMA_MAPPING]
    : undefined;
  return [{ name: own, columns: table && readColumns(table) }];
}

/** Checks whether the mounted routes can send mails. */
function mayMail(patterns: readonly string[] | undefined): boolean {
  return patterns === undefined ||
    listMountedRoutes(patterns).some((route) => MAIL_ROUTES.includes(route));
}

/** Finds handlers whose auth mode, limits or options are not configured. */
function findProblems(
  fn: LoadedFunction,
  { hasSessions, tables, hiddenFields }: AuthSetup,
  uses: readonly AuthUse[],
): Problem[] {
  const find = (why: string) => uses.find((use) => use.why === why);
  const setups = [
    [
      find("auth: session"),
      hasSessions,
      "auth is 'session', but no module that the function loads calls configureSessionAuth: requests will fail",
    ],
    [
      find("organization of the session"),
      tables.has("organization") && tables.has("member"),
      "the option organization needs the tables organization and member in AuthConfig.schema: requests will fail",
    ],
    [
      findRoles(fn),
      !hasSessions || hasRole(tables) && !hiddenFields.has("user.role"),
      "the option roles needs the column role in the table user of AuthConfig.schema: requests will fail",
    ],
    [
      findLimited(fn),
      fn.list("configureRateLimits").length > 0,
      "a handler has rateLimit, but no module that the function loads calls configureRateLimits: requests will fail",
    ],
  ] as const;
  return setups.flatMap(([use, isConfigured, message]) =>
    use === undefined || isConfigured ? [] : [{ place: use.place, message }]
  );
}

/** Finds a handler that counts its requests. */
function findLimited(fn: LoadedFunction): PlacedDefinition | undefined {
  return fn.list("defineApiHandler").findLast(({ args: [options] }) =>
    (options as { rateLimit?: unknown } | undefined)?.rateLimit !== undefined
  );
}

function findRoles(fn: LoadedFunction): PlacedDefinition | undefined {
  return fn.list("defineApiHandler").findLast(({ args: [options] }) =>
    getNeeds(options).roles !== undefined
  );
}

function hasRole(tables: AuthSetup["tables"]): boolean {
  return (tables.get("user") ?? []).some(({ columns }) => columns?.has("role") ?? true);
}
