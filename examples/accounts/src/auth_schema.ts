// Tables of better-auth. trellis generate auth-schema adds missing tables and columns to this file and
// changes nothing else. Add columns of your own as needed.
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "@trellis/fn/auth/schema";
import {
  bigint,
  boolean,
  index,
  pgTable,
  text,
  timestamp,
  unique,
  uuid,
} from "drizzle-orm/pg-core";

export const users = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  role: text("role"),
  banned: boolean("banned").default(false),
  banReason: text("ban_reason"),
  banExpires: timestamp("ban_expires", { withTimezone: true }),
  isAnonymous: boolean("is_anonymous").default(false),
  twoFactorEnabled: boolean("two_factor_enabled").default(false),
  username: text("username").unique(),
  displayUsername: text("display_username"),
});

export const sessions = pgTable("sessions", {
  ...AUTH_SESSION_COLUMNS,
  impersonatedBy: text("impersonated_by"),
  activeOrganizationId: text("active_organization_id"),
  secondFactorAt: timestamp("second_factor_at", { withTimezone: true }),
}, (table) => [
  index("sessions_user_id_idx").on(table.userId),
]);

export const accounts = pgTable("accounts", AUTH_ACCOUNT_COLUMNS, (table) => [
  unique("accounts_provider_id_account_id_unique").on(table.providerId, table.accountId),
  index("accounts_user_id_idx").on(table.userId),
]);

export const verification = pgTable("verification", AUTH_VERIFICATION_COLUMNS, (table) => [
  index("verification_identifier_idx").on(table.identifier),
]);

export const organizations = pgTable("organizations", {
  id: uuid("id").defaultRandom().primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull().unique(),
  logo: text("logo"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  metadata: text("metadata"),
});

export const members = pgTable("members", {
  id: uuid("id").defaultRandom().primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  userId: uuid("user_id").notNull(),
  role: text("role").default("member").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
}, (table) => [
  index("members_organization_id_idx").on(table.organizationId),
  index("members_user_id_idx").on(table.userId),
]);

export const invitations = pgTable("invitations", {
  id: uuid("id").defaultRandom().primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  email: text("email").notNull(),
  role: text("role"),
  status: text("status").default("pending").notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).defaultNow().notNull(),
  inviterId: uuid("inviter_id").notNull(),
}, (table) => [
  index("invitations_organization_id_idx").on(table.organizationId),
  index("invitations_email_idx").on(table.email),
]);

export const passkeys = pgTable("passkeys", {
  id: uuid("id").defaultRandom().primaryKey(),
  name: text("name"),
  publicKey: text("public_key").notNull(),
  userId: uuid("user_id").notNull(),
  credentialID: text("credential_id").notNull(),
  counter: bigint("counter", { mode: "number" }).notNull(),
  deviceType: text("device_type").notNull(),
  backedUp: boolean("backed_up").notNull(),
  transports: text("transports"),
  createdAt: timestamp("created_at", { withTimezone: true }),
  aaguid: text("aaguid"),
}, (table) => [
  index("passkeys_user_id_idx").on(table.userId),
  index("passkeys_credential_id_idx").on(table.credentialID),
]);

export const twoFactors = pgTable("two_factors", {
  id: uuid("id").defaultRandom().primaryKey(),
  secret: text("secret").notNull(),
  backupCodes: text("backup_codes").notNull(),
  userId: uuid("user_id").notNull(),
  verified: boolean("verified").default(true),
  failedVerificationCount: bigint("failed_verification_count", { mode: "number" }).default(0),
  lockedUntil: timestamp("locked_until", { withTimezone: true }),
}, (table) => [
  index("two_factors_secret_idx").on(table.secret),
  index("two_factors_user_id_idx").on(table.userId),
]);

export const authEvents = pgTable("auth_events", {
  id: uuid("id").defaultRandom().primaryKey(),
  kind: text("kind").notNull(),
  userId: text("user_id"),
  actorId: text("actor_id"),
  address: text("address"),
  userAgent: text("user_agent"),
  createdAt: timestamp("created_at", { withTimezone: true }).defaultNow().notNull(),
}, (table) => [
  index("auth_events_user_id_idx").on(table.userId),
  index("auth_events_created_at_idx").on(table.createdAt),
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
  organization: organizations,
  member: members,
  invitation: invitations,
  passkey: passkeys,
  twoFactor: twoFactors,
  authEvent: authEvents,
  rateLimit: rateLimits,
};
