import type { HasDefault, IsPrimaryKey, NotNull } from "drizzle-orm";
import type {
  PgBooleanBuilderInitial,
  PgTextBuilderInitial,
  PgTimestampBuilderInitial,
  PgUUIDBuilderInitial,
} from "drizzle-orm/pg-core";
import { boolean, text, timestamp, uuid } from "drizzle-orm/pg-core";

// Each property is a getter that returns new builders. drizzle's builders keep the name of their
// first table, which becomes part of the names of unique constraints, so tables must not share
// them.

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
export const AUTH_USER_COLUMNS: AuthUserColumns = {
  get id() {
    return id();
  },
  get name() {
    return text("name").notNull();
  },
  get email() {
    return text("email").notNull().unique();
  },
  get emailVerified() {
    return boolean("email_verified").default(false).notNull();
  },
  get image() {
    return text("image");
  },
  get createdAt() {
    return createdAt();
  },
  get updatedAt() {
    return updatedAt();
  },
};

/** Columns of the sessions table. Spread them into your own table to add columns. */
export const AUTH_SESSION_COLUMNS: AuthSessionColumns = {
  get id() {
    return id();
  },
  get expiresAt() {
    return instant("expires_at").notNull();
  },
  get token() {
    return text("token").notNull().unique();
  },
  get createdAt() {
    return createdAt();
  },
  get updatedAt() {
    return updatedAt();
  },
  get ipAddress() {
    return text("ip_address");
  },
  get userAgent() {
    return text("user_agent");
  },
  get userId() {
    return uuid("user_id").notNull();
  },
};

/**
 * Columns of the accounts table: passwords and identity providers. Spread them into your own table
 * to add columns.
 */
export const AUTH_ACCOUNT_COLUMNS: AuthAccountColumns = {
  get id() {
    return id();
  },
  get accountId() {
    return text("account_id").notNull();
  },
  get providerId() {
    return text("provider_id").notNull();
  },
  get userId() {
    return uuid("user_id").notNull();
  },
  get accessToken() {
    return text("access_token");
  },
  get refreshToken() {
    return text("refresh_token");
  },
  get idToken() {
    return text("id_token");
  },
  get accessTokenExpiresAt() {
    return instant("access_token_expires_at");
  },
  get refreshTokenExpiresAt() {
    return instant("refresh_token_expires_at");
  },
  get scope() {
    return text("scope");
  },
  get password() {
    return text("password");
  },
  get createdAt() {
    return createdAt();
  },
  get updatedAt() {
    return updatedAt();
  },
};

/**
 * Columns of the table of pending verifications. Spread them into your own table to add columns.
 */
export const AUTH_VERIFICATION_COLUMNS: AuthVerificationColumns = {
  get id() {
    return id();
  },
  get identifier() {
    return text("identifier").notNull();
  },
  get value() {
    return text("value").notNull();
  },
  get expiresAt() {
    return instant("expires_at").notNull();
  },
  get createdAt() {
    return createdAt();
  },
  get updatedAt() {
    return updatedAt();
  },
};
