import { getTableName } from "drizzle-orm";
import {
  AUTH_ROUTES_TABLE_PERMISSIONS,
  AUTH_SCHEMA_MAPPING,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
} from "../../auth/tables/schema.ts";
import { API_KEY_COLUMNS } from "../../auth/keys/api_key_options.ts";
import { rateLimits } from "../../database/rate_limits/table.ts";
import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import { getMountedOperations, type OperationsByModel } from "./auth_route_tables.ts";
import type { TableColumn, TableColumns } from "./drizzle_values.ts";
import type { TableName } from "./table_name.ts";

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

const { Select, Insert, Update, Delete } = DatabaseOperation;

type Model = keyof typeof AUTH_SCHEMA_MAPPING;

/** better-auth's model of the table that counts requests. */
const RATE_LIMIT = "rateLimit";

const MODELS = Object.keys(AUTH_SCHEMA_MAPPING) as Model[];

function getRouteOperations(model: Model): readonly DatabaseOperation[] {
  const name = getTableName(AUTH_SCHEMA_MAPPING[model]);
  return AUTH_ROUTES_TABLE_PERMISSIONS.find(({ table }) => table === name)?.operations ?? [];
}

/**
 * Operations on the auth tables by use of the auth package. Checking a session is one query on
 * sessions and users, plus an update if the session is due for extension. Ending a session is an
 * update. The routes need everything that `AUTH_ROUTES_TABLE_PERMISSIONS` lists.
 */
export const AUTH_OPERATIONS: Readonly<Record<AuthNeed, OperationsByModel>> = {
  check: { user: [Select], session: [Select, Update] },
  expire: { session: [Select, Update] },
  organization: { organization: [Select], member: [Select] },
  "api-key": { apikey: [Select, Update] },
  cleanup: { session: [Select, Delete], verification: [Select, Delete] },
  events: {},
  limits: { [RATE_LIMIT]: [Select, Insert, Update] },
  routes: Object.fromEntries(MODELS.map((model) => [model, getRouteOperations(model)])),
};

/** The tables of the owners of API keys. */
const API_KEY_OWNERS: readonly string[] = ["user", "organization"];

/** The table of the audit log. */
const AUDIT_MODEL = "authEvent";

/** Properties whose presence shows that rows of a table expire (auth/accounts/cleanup.ts). */
const EXPIRY_PROPERTIES = ["expiresAt", "lastRequest"];

/**
 * Checks whether a use of the auth package concerns a table.
 *
 * @param model The table's key in `AuthConfig.schema`.
 * @param columns The table's columns, if they are known.
 */
export function needsTable(
  need: AuthNeed,
  model: string,
  columns: TableColumns | undefined,
): boolean {
  return need !== "cleanup" || columns === undefined || model === AUDIT_MODEL ||
    EXPIRY_PROPERTIES.some((property) => columns.has(property));
}

type ColumnsOfOperation = Readonly<Partial<Record<DatabaseOperation, readonly string[]>>>;

const SESSION_UPDATE = ["expiresAt", "updatedAt"];

/**
 * Columns that checking or ending a session reads and writes, by property name (auth/sessions/sessions.ts).
 */
const AUTH_COLUMNS: Readonly<
  Partial<Record<AuthNeed, Readonly<Record<string, ColumnsOfOperation>>>>
> = {
  check: {
    user: {
      [Select]: ["id", "email", "name", "image", "emailVerified", "banned", "banExpires"],
    },
    session: {
      [Select]: ["id", "token", "expiresAt", "userId", "createdAt", "updatedAt"],
      [Update]: SESSION_UPDATE,
    },
  },
  expire: { session: { [Select]: ["id", "token", "expiresAt"], [Update]: SESSION_UPDATE } },
  organization: {
    organization: { [Select]: ["id", "name", "slug"] },
    member: { [Select]: ["id", "organizationId", "userId", "role"] },
  },
  "api-key": {
    user: { [Select]: ["id", "banned", "banExpires"] },
    organization: { [Select]: ["id"] },
    apikey: {
      [Select]: API_KEY_COLUMNS.filter((name) => name !== "updatedAt"),
      [Update]: ["lastRefillAt", "lastRequest", "remaining", "requestCount", "updatedAt"],
    },
  },
  cleanup: {
    session: { [Select]: ["id", "expiresAt"] },
    verification: { [Select]: ["id", "expiresAt"] },
  },
};

const BUILT_IN_COLUMNS: Readonly<Partial<Record<Model, object>>> = {
  user: AUTH_USER_COLUMNS,
  session: AUTH_SESSION_COLUMNS,
};

/**
 * Operations of routes that plugins and the deletion of users add: one-time codes count attempts in
 * `verification`, and the plugins admin and anonymous delete users.
 */
const EXTENDED_OPERATIONS: OperationsByModel = {
  user: [Select, Insert, Update, Delete],
  verification: [Select, Insert, Update, Delete],
};

/** Parts of auth configurations that routes need more operations for. */
export interface AuthSettingsUse {
  /** True if requests are served whose limits may count in the database. */
  readonly hasLimits: boolean;
  /** True if the configuration has plugins or lets users delete their account. */
  readonly isExtended: boolean;
  /** Patterns of the mounted routes, if their operations are known; omitted for all routes. */
  readonly patterns?: readonly string[];
}

/** The four tables of the mounted routes. Without `user.deleteUser` no route deletes users. */
function getPatternOperations(patterns: readonly string[], isExtended: boolean): OperationsByModel {
  const { user = [], ...others } = getMountedOperations(patterns);
  const none = Object.fromEntries(MODELS.map((model) => [model, []]));
  return {
    ...none,
    ...others,
    user: user.filter((each) => isExtended || each !== Delete),
  };
}

/**
 * Returns the operations on each auth table for a use of the auth package.
 * @param models The keys of `AuthConfig.schema`. The routes of plugins may do anything with their
 * tables.
 * @param settings What the configuration contains.
 */
export function getAuthOperations(
  need: AuthNeed,
  models: Iterable<string>,
  { hasLimits, isExtended, patterns }: AuthSettingsUse,
): OperationsByModel {
  const all = [...models];
  const added = all.filter((model) => !MODELS.includes(model as Model));
  const grant = (names: readonly string[], operations: readonly DatabaseOperation[]) => ({
    ...AUTH_OPERATIONS[need],
    ...Object.fromEntries(names.map((model) => [model, operations])),
  });
  switch (need) {
    case "routes":
      // events of the audit log are only added
      return {
        ...grant(added.filter((model) => model !== AUDIT_MODEL && model !== RATE_LIMIT), [
          Select,
          Insert,
          Update,
          Delete,
        ]),
        ...added.includes(AUDIT_MODEL) && { [AUDIT_MODEL]: [Select, Insert] },
        ...patterns === undefined
          ? isExtended && EXTENDED_OPERATIONS
          : getPatternOperations(patterns, isExtended),
        ...hasLimits && AUTH_OPERATIONS.limits,
      };
    case "cleanup":
      return {
        ...grant(added, [Select, Delete]),
        ...hasLimits && { [RATE_LIMIT]: [Select, Delete] },
      };
    case "events":
      return grant(added.filter((model) => model === AUDIT_MODEL), [Select]);
    case "api-key":
      // the owners of keys
      return grant(all.filter((model) => API_KEY_OWNERS.includes(model)), [Select]);
    default:
      return AUTH_OPERATIONS[need];
  }
}

/**
 * Returns the columns that a use of the auth package needs for an operation.
 *
 * @param model The table's key in `AuthConfig.schema`.
 * @param columns The table's columns.
 * @param hiddenFields Columns with `returned: false`, as `model.property`.
 * @returns Column names in the database; `undefined` if the operation needs the whole table.
 */
export function getNeededColumns(
  need: AuthNeed,
  model: string,
  operation: DatabaseOperation,
  columns: TableColumns,
  hiddenFields: ReadonlySet<string> = new Set(),
): string[] | undefined {
  const properties = AUTH_COLUMNS[need]?.[model]?.[operation];
  if (properties === undefined) return undefined;
  const builtIn = BUILT_IN_COLUMNS[model as Model] ?? {};
  const isNeeded = (property: string, { isSetOnUpdate }: TableColumn) =>
    properties.includes(property) || (operation === Update && isSetOnUpdate) ||
    // a check reads the columns that the application and plugins added, an end of a session does not
    (need === "check" && operation === Select && !Object.hasOwn(builtIn, property) &&
      !hiddenFields.has(`${model}.${property}`));
  return [...columns].filter(([property, column]) => isNeeded(property, column)).map((
    [, { name }],
  ) => name);
}

/** Names of the auth tables by model. */
export const AUTH_TABLES: Readonly<Record<string, TableName>> = {
  ...Object.fromEntries(
    MODELS.map((model) => [model, { name: getTableName(AUTH_SCHEMA_MAPPING[model]) }]),
  ),
  [RATE_LIMIT]: { name: getTableName(rateLimits) },
};
