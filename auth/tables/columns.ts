import type { HasDefault, IsPrimaryKey, NotNull } from "drizzle-orm";
import type {
  PgBooleanBuilderInitial,
  PgTextBuilderInitial,
  PgTimestampBuilderInitial,
  PgUUIDBuilderInitial,
} from "drizzle-orm/pg-core";
import { boolean, text, timestamp, uuid } from "drizzle-orm/pg-core";

type Text<Name extends string> = PgTextBuilderInitial<Name, [string, ...string[]]>;
type Id = IsPrimaryKey<NotNull<HasDefault<PgUUIDBuilderInitial<"id">>>>;
type Instant<Name extends string> = NotNull<PgTimestampBuilderInitial<Name>>;
type SetByDefault<Name extends string> = NotNull<HasDefault<PgTimestampBuilderInitial<Name>>>;

/** The columns of {@link AUTH_USER_COLUMNS}. */
export type AuthUserColumns = {
  /** Primary key, a UUID. */
  id: Id;
  /** Display name. */
  name: NotNull<Text<"name">>;
  /** Email address, in lower case, unique. */
  email: NotNull<Text<"email">>;
  /** True once the address is confirmed. */
  emailVerified: NotNull<HasDefault<PgBooleanBuilderInitial<"email_verified">>>;
  /** URL of a picture. */
  image: Text<"image">;
  /** Creation time of the row. */
  createdAt: SetByDefault<"created_at">;
  /** Time of the last change of the row. */
  updatedAt: HasDefault<SetByDefault<"updated_at">>;
};

/** The columns of {@link AUTH_SESSION_COLUMNS}. */
export type AuthSessionColumns = {
  /** Primary key, a UUID. */
  id: Id;
  /** Expiry time of the session. */
  expiresAt: Instant<"expires_at">;
  /** Unique token of the session. */
  token: NotNull<Text<"token">>;
  /** Creation time of the row. */
  createdAt: SetByDefault<"created_at">;
  /** Time of the last change of the row. */
  updatedAt: HasDefault<SetByDefault<"updated_at">>;
  /** IP address of the sign-in. */
  ipAddress: Text<"ip_address">;
  /** User agent of the sign-in. */
  userAgent: Text<"user_agent">;
  /** Id of the user. */
  userId: NotNull<PgUUIDBuilderInitial<"user_id">>;
};

/** The columns of {@link AUTH_ACCOUNT_COLUMNS}. */
export type AuthAccountColumns = {
  /** Primary key, a UUID. */
  id: Id;
  /** The user's id at the provider. */
  accountId: NotNull<Text<"account_id">>;
  /** The provider's id; `credential` for email and password. */
  providerId: NotNull<Text<"provider_id">>;
  /** Id of the user. */
  userId: NotNull<PgUUIDBuilderInitial<"user_id">>;
  /** The provider's access token, encrypted with `encryptOAuthTokens`. */
  accessToken: Text<"access_token">;
  /** The provider's refresh token, encrypted with `encryptOAuthTokens`. */
  refreshToken: Text<"refresh_token">;
  /** The provider's id token, encrypted with `encryptOAuthTokens`. */
  idToken: Text<"id_token">;
  /** Expiry time of the access token. */
  accessTokenExpiresAt: PgTimestampBuilderInitial<"access_token_expires_at">;
  /** Expiry time of the refresh token. */
  refreshTokenExpiresAt: PgTimestampBuilderInitial<"refresh_token_expires_at">;
  /** Granted scopes. */
  scope: Text<"scope">;
  /** Hash of the password (scrypt), for `credential`. */
  password: Text<"password">;
  /** Creation time of the row. */
  createdAt: SetByDefault<"created_at">;
  /** Time of the last change of the row. */
  updatedAt: HasDefault<SetByDefault<"updated_at">>;
};

/** The columns of {@link AUTH_VERIFICATION_COLUMNS}. */
export type AuthVerificationColumns = {
  /** Primary key, a UUID. */
  id: Id;
  /** Identifier that is verified, such as an email address. */
  identifier: NotNull<Text<"identifier">>;
  /** Secret value of the verification. */
  value: NotNull<Text<"value">>;
  /** Expiry time of the verification. */
  expiresAt: Instant<"expires_at">;
  /** Creation time of the row. */
  createdAt: SetByDefault<"created_at">;
  /** Time of the last change of the row. */
  updatedAt: HasDefault<SetByDefault<"updated_at">>;
};

function id(): Id {
  return uuid("id").defaultRandom().primaryKey();
}

function instant<Name extends string>(name: Name): PgTimestampBuilderInitial<Name> {
  return timestamp(name, { withTimezone: true });
}

function createdAt(): SetByDefault<"created_at"> {
  return instant("created_at").defaultNow().notNull();
}

function updatedAt(): HasDefault<SetByDefault<"updated_at">> {
  return instant("updated_at").defaultNow().notNull().$onUpdate(() => new Date());
}

/**
 * Returns an object whose properties are new builders each time they are read. drizzle's builders
 * keep the name of their first table, which becomes part of the names of unique constraints, so
 * tables must not share them.
 */
function createColumns<T extends object>(
  builders: { readonly [Name in keyof T]: () => T[Name] },
): T {
  const columns = {} as T;
  for (const [name, get] of Object.entries(builders)) {
    Object.defineProperty(columns, name, { get: get as () => unknown, enumerable: true });
  }
  return columns;
}

/**
 * Columns of the users table. Spread them into your own table to add columns.
 *
 * @example
 * ```ts
 * import { AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
 * import { pgTable, text } from "drizzle-orm/pg-core";
 *
 * const users = pgTable("users", { ...AUTH_USER_COLUMNS, locale: text("locale").notNull().default("en") });
 * console.log(users.email.name, users.locale.name); // email locale
 * ```
 */
export const AUTH_USER_COLUMNS: AuthUserColumns = /* @__PURE__ */ createColumns({
  id,
  name: () => text("name").notNull(),
  email: () => text("email").notNull().unique(),
  emailVerified: () => boolean("email_verified").default(false).notNull(),
  image: () => text("image"),
  createdAt,
  updatedAt,
});

/** Columns of the sessions table. Spread them into your own table to add columns. */
export const AUTH_SESSION_COLUMNS: AuthSessionColumns = /* @__PURE__ */ createColumns({
  id,
  expiresAt: () => instant("expires_at").notNull(),
  token: () => text("token").notNull().unique(),
  createdAt,
  updatedAt,
  ipAddress: () => text("ip_address"),
  userAgent: () => text("user_agent"),
  userId: () => uuid("user_id").notNull(),
});

/**
 * Columns of the accounts table: passwords and identity providers. Spread them into your own table
 * to add columns.
 */
export const AUTH_ACCOUNT_COLUMNS: AuthAccountColumns = /* @__PURE__ */ createColumns({
  id,
  accountId: () => text("account_id").notNull(),
  providerId: () => text("provider_id").notNull(),
  userId: () => uuid("user_id").notNull(),
  accessToken: () => text("access_token"),
  refreshToken: () => text("refresh_token"),
  idToken: () => text("id_token"),
  accessTokenExpiresAt: () => instant("access_token_expires_at"),
  refreshTokenExpiresAt: () => instant("refresh_token_expires_at"),
  scope: () => text("scope"),
  password: () => text("password"),
  createdAt,
  updatedAt,
});

/**
 * Columns of the table of pending verifications. Spread them into your own table to add columns.
 */
export const AUTH_VERIFICATION_COLUMNS: AuthVerificationColumns = /* @__PURE__ */ createColumns({
  id,
  identifier: () => text("identifier").notNull(),
  value: () => text("value").notNull(),
  expiresAt: () => instant("expires_at").notNull(),
  createdAt,
  updatedAt,
});
