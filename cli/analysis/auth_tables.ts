import { getTableName } from "drizzle-orm";
import {
  AUTH_ROUTES_TABLE_PERMISSIONS,
  AUTH_SCHEMA_MAPPING,
  authAccounts,
  authSessions,
  authUsers,
  authVerification,
} from "../../auth/schema.ts";
import { DatabaseOperation } from "../../core/mod.ts";
import type { AuthNeed } from "./effects.ts";
import type { TableName } from "./evaluate.ts";
import { TRELLIS } from "./resolve_module.ts";

const { Select, Update } = DatabaseOperation;

type Model = keyof typeof AUTH_SCHEMA_MAPPING;

const MODELS = Object.keys(AUTH_SCHEMA_MAPPING) as Model[];

function operationsOfRoutes(model: Model): readonly DatabaseOperation[] {
  const name = getTableName(AUTH_SCHEMA_MAPPING[model]);
  return AUTH_ROUTES_TABLE_PERMISSIONS.find(({ table }) => table === name)?.operations ?? [];
}

/**
 * What each use of the auth package does with its tables. Checking a session is one query over sessions and users, and an
 * update when the session is due to be extended; ending one is an update; the routes do all that
 * `AUTH_ROUTES_TABLE_PERMISSIONS` lists.
 */
export const AUTH_OPERATIONS: Readonly<
  Record<AuthNeed, Readonly<Partial<Record<Model, readonly DatabaseOperation[]>>>>
> = {
  check: { user: [Select], session: [Select, Update] },
  expire: { session: [Select, Update] },
  routes: Object.fromEntries(MODELS.map((model) => [model, operationsOfRoutes(model)])),
};

/** The auth tables' names by model. */
export const AUTH_TABLES: Readonly<Record<string, TableName>> = Object.fromEntries(
  MODELS.map((model) => [model, { name: getTableName(AUTH_SCHEMA_MAPPING[model]) }]),
);

/** The tables that the package exports, by entry point and name. */
export const PACKAGE_TABLES: ReadonlyMap<string, TableName> = new Map(
  ["auth", "auth/schema"].flatMap((entry) =>
    [
      ...Object.entries({ authUsers, authSessions, authAccounts, authVerification }),
      ...MODELS.map((model) => [`AUTH_SCHEMA_MAPPING.${model}`, AUTH_SCHEMA_MAPPING[model]] as const),
    ].map(([name, table]) => [`${TRELLIS}/${entry}#${name}`, { name: getTableName(table) }] as const)
  ),
);
