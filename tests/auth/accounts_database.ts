import { boolean, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import * as schema from "../../auth/tables/schema.ts";
import { openAuthDatabase } from "./auth_database.ts";

/** Tables of an application that adds columns, and those of better-auth's plugins organization and admin. */
export const users = pgTable("people", {
  ...schema.AUTH_USER_COLUMNS,
  plan: text("plan").notNull().default("free"),
  internalNote: text("internal_note"),
  role: text("role"),
  banned: boolean("banned"),
  banReason: text("ban_reason"),
  banExpires: timestamp("ban_expires", { withTimezone: true }),
});
export const sessions = pgTable("visits", {
  ...schema.AUTH_SESSION_COLUMNS,
  activeOrganizationId: text("active_organization_id"),
  impersonatedBy: text("impersonated_by"),
});
const organization = pgTable("organizations", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull().unique(),
  logo: text("logo"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  metadata: text("metadata"),
});
const member = pgTable("members", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  userId: uuid("user_id").notNull(),
  role: text("role").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
});
const invitation = pgTable("invitations", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  email: text("email").notNull(),
  role: text("role"),
  status: text("status").notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  inviterId: uuid("inviter_id").notNull(),
});

export const accountsSchema = { user: users, session: sessions, organization, member, invitation };

/** The statements that make the tables which the four built-in ones do not cover. */
const TABLES = `
CREATE TABLE people (LIKE users INCLUDING ALL, plan text NOT NULL DEFAULT 'free', internal_note text, role text,
  banned boolean, ban_reason text, ban_expires timestamptz);
CREATE TABLE visits (LIKE sessions INCLUDING ALL, active_organization_id text, impersonated_by text);
CREATE TABLE organizations (id uuid PRIMARY KEY, name text NOT NULL, slug text NOT NULL UNIQUE, logo text,
  created_at timestamptz NOT NULL, metadata text);
CREATE TABLE members (id uuid PRIMARY KEY, organization_id uuid NOT NULL, user_id uuid NOT NULL, role text NOT NULL,
  created_at timestamptz NOT NULL);
CREATE TABLE invitations (id uuid PRIMARY KEY, organization_id uuid NOT NULL, email text NOT NULL, role text,
  status text NOT NULL, expires_at timestamptz NOT NULL, created_at timestamptz NOT NULL, inviter_id uuid NOT NULL);
ALTER TABLE accounts DROP CONSTRAINT IF EXISTS accounts_user_id_fkey;`;

/** Opens an embedded database with these tables. */
export async function openAccountsDatabase(): ReturnType<typeof openAuthDatabase> {
  const opened = await openAuthDatabase();
  await opened.pglite.exec(TABLES);
  return opened;
}
