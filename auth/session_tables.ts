// The tables of session checks are in this file, so that functions which only check sessions create
// no others.
import type { BuildColumns } from "drizzle-orm";
import {
  index,
  type PgColumnBuilderBase,
  pgTable,
  type PgTableWithColumns,
} from "drizzle-orm/pg-core";
import {
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  type AuthSessionColumns,
  type AuthUserColumns,
} from "./columns.ts";

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
