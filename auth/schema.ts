/**
 * The four auth tables for drizzle, without the auth library: for schemas, migrations and queries of your own.
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
import { type Many, type One, type Relations, relations } from "drizzle-orm";
import { index, pgTable, unique } from "drizzle-orm/pg-core";
// the file itself: database/mod.ts would bring clients and migrations into bundles that only want these tables
import { DatabaseOperation, type TablePermission } from "../database/table_permission.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
  type AuthAccountColumns,
  type AuthVerificationColumns,
} from "./columns.ts";
import { authSessions, type AuthTable, authUsers } from "./session_tables.ts";

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
export { authSessions, type AuthTable, authUsers } from "./session_tables.ts";

/** The table `accounts`: how a user signs in, by password or at a provider. */
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

/** The table `verification`: what waits to be confirmed, such as the state of a provider's sign-in. */
export const authVerification: AuthTable<"verification", AuthVerificationColumns> = pgTable(
  "verification",
  AUTH_VERIFICATION_COLUMNS,
  (table) => [index("verification_identifier_idx").on(table.identifier)],
);

/** Drizzle relations of `users`; `experimentalJoins` needs the three of them in the client's schema. */
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

/** The tables by the model names that the auth library uses. `createAuth` applies it by itself. */
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

/** What a function that uses this package's auth does with the four tables: the source of its database grants. */
export const AUTH_TABLE_PERMISSIONS: TablePermission[] = [
  { table: "users", operations: [Select, Insert, Update] },
  { table: "sessions", operations: [Select, Insert, Update, Delete] },
  { table: "accounts", operations: [Select, Insert, Delete] },
  { table: "verification", operations: [Select, Insert, Delete] },
];

/**
 * What the function that serves the auth library's routes does with the tables: {@link AUTH_TABLE_PERMISSIONS} and updates of
 * `accounts`, which the library makes when a user signs in at a provider again or changes a password.
 */
export const AUTH_ROUTES_TABLE_PERMISSIONS: TablePermission[] = AUTH_TABLE_PERMISSIONS.map((
  { table, operations },
) => ({
  table,
  operations: table === "accounts" ? [Select, Insert, Update, Delete] : [...operations],
}));
