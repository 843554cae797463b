// Tables of better-auth. trellis generate auth-schema adds missing tables and columns to this file and
// changes nothing else. Add columns of your own as needed.
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "@trellis/fn/auth/schema";
import { bigint, index, pgTable, text, unique, uuid } from "drizzle-orm/pg-core";

export const users = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  role: text("role").default("guest").notNull(),
});

export const sessions = pgTable("sessions", AUTH_SESSION_COLUMNS, (table) => [
  index("sessions_user_id_idx").on(table.userId),
]);

export const accounts = pgTable("accounts", AUTH_ACCOUNT_COLUMNS, (table) => [
  unique("accounts_provider_id_account_id_unique").on(table.providerId, table.accountId),
  index("accounts_user_id_idx").on(table.userId),
]);

export const verification = pgTable("verification", AUTH_VERIFICATION_COLUMNS, (table) => [
  index("verification_identifier_idx").on(table.identifier),
]);

export const rateLimits = pgTable("rate_limits", {
  id: uuid("id").defaultRandom().primaryKey(),
  key: text("key").notNull().unique(),
  count: bigint("count", { mode: "number" }).notNull(),
  lastRequest: bigint("last_request", { mode: "number" }).notNull(),
});

/** For AuthConfig.schema. */
export const authSchema = {
  user: users,
  session: sessions,
  account: accounts,
  verification,
  rateLimit: rateLimits,
};
