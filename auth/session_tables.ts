// The two tables that checking a session reads, apart from the others: a function that checks sessions makes no more.
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

/** The table that drizzle's `pgTable(name, columns)` gives. */
export type AuthTable<Name extends string, Columns extends Record<string, PgColumnBuilderBase>> =
  PgTableWithColumns<{
    name: Name;
    schema: undefined;
    columns: BuildColumns<Name, Columns, "pg">;
    dialect: "pg";
  }>;

/** The table `users`. */
export const authUsers: AuthTable<"users", AuthUserColumns> = pgTable("users", AUTH_USER_COLUMNS);

/** The table `sessions`: one row for each sign-in. Expired rows stay until a clean-up of yours removes them. */
export const authSessions: AuthTable<"sessions", AuthSessionColumns> = pgTable(
  "sessions",
  AUTH_SESSION_COLUMNS,
  (table) => [index("sessions_user_id_idx").on(table.userId)],
);
