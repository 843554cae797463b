import { getTableColumns, is, Table } from "drizzle-orm";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
} from "../core/option_rules.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import {
  type ResolvedProviders,
  resolveProviders,
  type SocialProvidersConfig,
} from "./providers.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "./columns.ts";
import { authSessions, authUsers } from "./session_tables.ts";

/** What {@link createAuth} needs to know. The object is read once: later changes to it have no effect. */
export interface AuthConfig {
  /**
   * Signs session tokens and encrypts what is encrypted, the same in every function: at least 32 random characters. A
   * shorter one is refused unless `baseURL` is a loopback address such as `http://localhost:3000`.
   */
  secret: string;
  /**
   * Where the auth routes are reached from outside, such as `https://api.example.com`. Without a path the routes are
   * under `/api/auth`; with one, they are under that path.
   */
  baseURL: string;
  /** Origins of browser applications, beside `baseURL`'s own, that may call the auth routes. */
  trustedOrigins?: string[];
  /**
   * Seconds that a session lasts, at most 400 days (the limit of browsers for cookies).
   * @default 2_592_000 (30 days)
   */
  sessionExpiresIn?: number;
  /**
   * A session that is used is extended when this many seconds have gone by since it was last extended.
   * @default 86_400 (24 hours)
   */
  sessionUpdateAge?: number;
  /** Identity providers for sign-in. */
  socialProviders?: SocialProvidersConfig;
  /**
   * Tables of your own in place of the built-in ones, under the keys `user`, `session`, `account`, `verification`. They have
   * the property names of the built-in ones; names in the database, more columns and text ids are up to you.
   */
  schema?: Record<string, unknown>;
  /**
   * Whether cookies carry `Secure` and the name prefix `__Secure-`.
   * @default true
   */
  useSecureCookies?: boolean;
  /**
   * Whether ids are made by the database (the column's default) in place of `crypto.randomUUID()`.
   * @default false
   */
  databaseGenerateId?: boolean;
  /**
   * Whether the providers' tokens are stored encrypted.
   * @default false
   */
  encryptOAuthTokens?: boolean;
  /**
   * Whether better-auth reads a session with its user in one query. Needs the relations of `./auth/schema` in the
   * database client's schema. Session checks of this package are one query either way.
   * @default false
   */
  experimentalJoins?: boolean;
}

/** The tables by better-auth's model names; a consumer's own have at least these columns. */
export type AuthSchema = typeof SESSION_TABLES & Readonly<Record<string, unknown>>;

/** An {@link AuthConfig} that was checked, with its defaults. */
export interface AuthSettings {
  readonly secret: string;
  readonly baseURL: string;
  readonly trustedOrigins: readonly string[];
  readonly sessionExpiresIn: number;
  readonly sessionUpdateAge: number;
  readonly providers: ResolvedProviders;
  readonly schema: AuthSchema;
  readonly useSecureCookies: boolean;
  readonly databaseGenerateId: boolean;
  readonly encryptOAuthTokens: boolean;
  readonly experimentalJoins: boolean;
}

const RULES = {
  secret: ANY_OPTION,
  baseURL: ANY_OPTION,
  trustedOrigins: [isListOfTexts, 'a list of origins such as ["https://app.example.com"]'],
  sessionExpiresIn: ANY_OPTION,
  sessionUpdateAge: ANY_OPTION,
  socialProviders: OBJECT_OPTION,
  schema: OBJECT_OPTION,
  useSecureCookies: BOOLEAN_OPTION,
  databaseGenerateId: BOOLEAN_OPTION,
  encryptOAuthTokens: BOOLEAN_OPTION,
  experimentalJoins: BOOLEAN_OPTION,
} as const satisfies Record<keyof AuthConfig, OptionRule>;

const DAY_SECONDS = 86_400;
const MIN_SECRET_LENGTH = 32;
const MAX_COOKIE_SECONDS = 400 * DAY_SECONDS; // RFC 6265bis section 5.5; better-auth refuses to sign in above it

/**
 * Checks a configuration and fills in its defaults.
 *
 * @param config As the application gives it.
 * @returns The settings.
 * @throws {ConfigurationError} When a key is unknown, or a value is missing or invalid. The message never has the secret.
 */
export function resolveAuthConfig(config: AuthConfig): AuthSettings {
  checkOptions("AuthConfig", config, RULES, "AuthConfig.");
  const {
    sessionExpiresIn = 30 * DAY_SECONDS,
    sessionUpdateAge = DAY_SECONDS,
    trustedOrigins = [],
  } = config;
  if (typeof config.secret !== "string" || config.secret === "") {
    throw new ConfigurationError(
      "AuthConfig.secret is missing: set it to at least 32 random characters",
    );
  }
  const { hostname } = parseBaseUrl(config.baseURL);
  if (config.secret.length < MIN_SECRET_LENGTH && !isLoopback(hostname)) {
    throw new ConfigurationError(
      `AuthConfig.secret is too short for ${hostname}: set it to at least ${MIN_SECRET_LENGTH} random characters, such as ` +
        "the output of: openssl rand -base64 32",
    );
  }
  if (!(sessionExpiresIn > 0 && sessionExpiresIn <= MAX_COOKIE_SECONDS)) {
    throw new ConfigurationError(
      `AuthConfig.sessionExpiresIn must be above 0 and at most ${MAX_COOKIE_SECONDS} seconds, got ${sessionExpiresIn}`,
    );
  }
  if (!(sessionUpdateAge >= 0 && sessionUpdateAge < Infinity)) {
    throw new ConfigurationError(
      `AuthConfig.sessionUpdateAge must be a number of seconds from 0, got ${sessionUpdateAge}`,
    );
  }
  return {
    secret: config.secret,
    baseURL: config.baseURL,
    trustedOrigins,
    sessionExpiresIn,
    sessionUpdateAge,
    providers: resolveProviders(config.socialProviders),
    schema: resolveSchema(config.schema),
    useSecureCookies: config.useSecureCookies ?? true,
    databaseGenerateId: config.databaseGenerateId ?? false,
    encryptOAuthTokens: config.encryptOAuthTokens ?? false,
    experimentalJoins: config.experimentalJoins ?? false,
  };
}

function parseBaseUrl(baseURL: unknown): URL {
  // the first call of URL.canParse costs a fresh process 1.5 ms, and this one none
  let url: URL | undefined;
  try {
    url = typeof baseURL === "string" ? new URL(baseURL) : undefined;
  } catch {
    // reported below
  }
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new ConfigurationError(
      `AuthConfig.baseURL must be an absolute http or https URL such as "https://api.example.com", got ${
        JSON.stringify(baseURL)
      }`,
    );
  }
  return url;
}

/** Whether a URL's host is the machine itself (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3). */
function isLoopback(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname);
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** The default tables that checking a session needs; the library gets the others when it starts. */
const SESSION_TABLES: { readonly user: typeof authUsers; readonly session: typeof authSessions } = {
  user: authUsers,
  session: authSessions,
};

/** What each model's table must have. */
const MODEL_COLUMNS: Readonly<Record<string, object>> = {
  user: AUTH_USER_COLUMNS,
  session: AUTH_SESSION_COLUMNS,
  account: AUTH_ACCOUNT_COLUMNS,
  verification: AUTH_VERIFICATION_COLUMNS,
};

function resolveSchema(own: Record<string, unknown> | undefined): AuthSchema {
  if (own === undefined) return SESSION_TABLES;
  const models = Object.keys(MODEL_COLUMNS);
  if (!models.some((model) => own[model] !== undefined)) {
    throw new ConfigurationError(
      `AuthConfig.schema has none of the keys ${models.join(", ")}; it has ${
        Object.keys(own).join(", ") || "no keys"
      }. ` +
        "Map them to your tables: { user: users, session: sessions }",
    );
  }
  const schema = { ...SESSION_TABLES, ...own };
  for (const [model, needed] of Object.entries(MODEL_COLUMNS)) {
    if (!(model in schema)) continue;
    const table: unknown = schema[model as keyof typeof schema];
    if (!is(table, Table)) {
      throw new ConfigurationError(`AuthConfig.schema.${model} is no drizzle table`);
    }
    const columns = getTableColumns(table);
    const missing = Object.keys(needed).filter((name) => columns[name] === undefined);
    if (missing.length > 0) {
      throw new ConfigurationError(
        `AuthConfig.schema.${model} lacks ${
          missing.join(", ")
        }: spread AUTH_${model.toUpperCase()}_COLUMNS into the table`,
      );
    }
  }
  for (const name of ["createdAt", "updatedAt", "expiresAt"] as const) {
    if (getTableColumns(schema.session)[name].dataType === "date") continue;
    throw new ConfigurationError(
      `AuthConfig.schema.session.${name} must be a timestamp of drizzle's mode "date"`,
    );
  }
  return schema;
}

const identities: WeakMap<object, number> = new WeakMap();
let lastIdentity = 0;

/**
 * A text that is equal for configurations that mean the same: values by content, tables and functions by identity.
 * It holds the secret, so it stays in memory.
 *
 * @param value Settings, or a part of them.
 * @returns The text.
 */
export function identifyConfig(value: unknown): string {
  if (
    typeof value === "function" || (typeof value === "object" && value !== null && !isPlain(value))
  ) {
    let identity = identities.get(value);
    if (identity === undefined) identities.set(value, identity = ++lastIdentity);
    return `#${identity}`;
  }
  if (typeof value !== "object" || value === null) {
    return typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? "";
  }
  if (Array.isArray(value)) return `[${value.map(identifyConfig).join()}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined).sort(([a], [b]) =>
    a < b ? -1 : 1
  );
  return `{${
    entries.map(([key, item]) => `${JSON.stringify(key)}:${identifyConfig(item)}`).join()
  }}`;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
