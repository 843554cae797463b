/**
 * The four auth tables for drizzle, for your own schemas, migrations and queries. This entry point
 * does not load better-auth.
 *
 * @example
 * ```ts
 * import { AUTH_TABLE_PERMISSIONS, authUsers } from "@trellis/fn/auth/schema";
 *
 * console.log(authUsers.emailVerified.name); // email_verified
 * console.log(AUTH_TABLE_PERMISSIONS[0]); // { table: "users", operations: [ "SELECT", "INSERT", "UPDATE" ] }
 * ```
 *
 * @module
 */
import type { BuildColumns, Many, One, Relations } from "drizzle-orm";
import * as drizzle from "drizzle-orm";
import {
  index,
  type PgColumnBuilderBase,
  pgTable,
  type PgTableWithColumns,
  unique,
} from "drizzle-orm/pg-core";
// database/mod.ts would add clients and migrations to bundles that only need these tables
import { assertDrizzleVersion, isDrizzleOne } from "../../database/session/drizzle_version.ts";
import {
  DatabaseOperation,
  type TablePermission,
} from "../../database/queries/table_permission.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
  type AuthAccountColumns,
  type AuthSessionColumns,
  type AuthUserColumns,
  type AuthVerificationColumns,
} from "./columns.ts";

assertDrizzleVersion("@trellis/fn/auth/schema");

/** drizzle 1.0 has `defineRelations` instead, which needs all tables of a project. */
const relations: typeof drizzle.relations = isDrizzleOne
  ? (() => undefined) as unknown as typeof drizzle.relations
  : drizzle.relations;

export {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
  type AuthAccountColumns,
  type AuthSessionColumns,
  type AuthUserColumns,
  type AuthVerificationColumns,
} from "./columns.ts";
export { AUTH_MIGRATION_SQL } from "./migration.ts";

/** Return type of drizzle's `pgTable(name, columns)`. */
export type AuthTable<Name extends string, Columns extends Record<string, PgColumnBuilderBase>> =
  PgTableWithColumns<{
    name: Name;
    schema: undefined;
    columns: BuildColumns<Name, Columns, "pg">;
    dialect: "pg";
  }>;

/** The table `users`. */
export const authUsers: AuthTable<"users", AuthUserColumns> = pgTable("users", AUTH_USER_COLUMNS);

/** The table `sessions`: one row per sign-in. Expired rows are kept until you delete them. */
export const authSessions: AuthTable<"sessions", AuthSessionColumns> = pgTable(
  "sessions",
  AUTH_SESSION_COLUMNS,
  (table) => [index("sessions_user_id_idx").on(table.userId)],
);

/** The table `accounts`: passwords and identity providers of users. */
export const authAccounts: AuthTable<"accounts", AuthAccountColumns> = pgTable(
  "accounts",
  AUTH_ACCOUNT_COLUMNS,
  (
    table,
  ) => [
    unique().on(table.providerId, table.accountId),
    index("accounts_user_id_idx").on(table.userId),
  ],
);

/** The table `verification`: pending verifications, such as the state of an OAuth sign-in. */
export const authVerification: AuthTable<"verification", AuthVerificationColumns> = pgTable(
  "verification",
  AUTH_VERIFICATION_COLUMNS,
  (table) => [index("verification_identifier_idx").on(table.identifier)],
);

/**
 * Drizzle relations of `users`. `experimentalJoins` needs all three relations in the client's
 * schema. With drizzle 1.0 they are undefined, because it has `defineRelations` instead.
 */
export const authUserRelations: Relations<
  "users",
  { sessions: Many<"sessions">; accounts: Many<"accounts"> }
> = relations(
  authUsers,
  ({ many }) => ({ sessions: many(authSessions), accounts: many(authAccounts) }),
);

/** Drizzle relations of `sessions`. */
export const authSessionRelations: Relations<"sessions", { user: One<"users", true> }> = relations(
  authSessions,
  ({ one }) => ({
    user: one(authUsers, { fields: [authSessions.userId], references: [authUsers.id] }),
  }),
);

/** Drizzle relations of `accounts`. */
export const authAccountRelations: Relations<"accounts", { user: One<"users", true> }> = relations(
  authAccounts,
  ({ one }) => ({
    user: one(authUsers, { fields: [authAccounts.userId], references: [authUsers.id] }),
  }),
);

/** Tables by better-auth's model names. `createAuth` uses it by default. */
export const AUTH_SCHEMA_MAPPING: {
  readonly user: typeof authUsers;
  readonly session: typeof authSessions;
  readonly account: typeof authAccounts;
  readonly verification: typeof authVerification;
} = {
  user: authUsers,
  session: authSessions,
  account: authAccounts,
  verification: authVerification,
};

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Table operations of functions that use auth. The grants generator reads it. */
export const AUTH_TABLE_PERMISSIONS: TablePermission[] = [
  { table: "users", operations: [Select, Insert, Update] },
  { table: "sessions", operations: [Select, Insert, Update, Delete] },
  { table: "accounts", operations: [Select, Insert, Delete] },
  { table: "verification", operations: [Select, Insert, Delete] },
];

/**
 * Table operations of the function that serves better-auth's routes: {@link AUTH_TABLE_PERMISSIONS},
 * updates of `accounts`, which happen when a user signs in with a provider again or changes a
 * password, and the table that counts requests.
 */
export const AUTH_ROUTES_TABLE_PERMISSIONS: TablePermission[] = [
  ...AUTH_TABLE_PERMISSIONS.map(({ table, operations }) => ({
    table,
    operations: table === "accounts" ? [Select, Insert, Update, Delete] : [...operations],
  })),
  { table: "rate_limits", operations: [Select, Insert, Update] },
];
