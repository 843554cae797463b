import { checkClientAddressSource } from "../../core/http/client_address.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  type OptionRule,
  protective,
} from "../../core/option_rules.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { LIBRARY_RULES, type LibraryOptions } from "../better_auth/library_options.ts";
import type { AccountMails } from "../mail/account_mails.ts";
import { withCheckedOrigins } from "./check_trusted_origins.ts";
import type { AuthConfig, AuthSettings } from "./config.ts";
import { isLoopbackHost } from "./loopback.ts";
import { checkOptionTree } from "./option_tree.ts";
import { parseUrl } from "../../core/http/parse_url.ts";
import { resolveProviders } from "./providers.ts";
import { resolveRateLimits } from "./rate_limit_settings.ts";
import { SESSION_CHECK_TREE } from "./session_option_tree.ts";
import { getColumns, getDataType, isTable } from "../../database/session/drizzle_table.ts";
import { type AuthSchema, COLUMN_NAMES, getSessionTables } from "./session_tables.ts";

/** The rules of the keys that are not better-auth's. */
export const OWN_RULES = {
  secret: ANY_OPTION,
  baseURL: ANY_OPTION,
  trustedOrigins: [
    (value) => typeof value === "function" || isListOfStrings(value),
    'a list of origins such as ["https://app.example.com"], or a function that returns one',
  ],
  sessionExpiresIn: ANY_OPTION,
  sessionUpdateAge: ANY_OPTION,
  socialProviders: [
    (value) => FUNCTION_OPTION[0](value) || OBJECT_OPTION[0](value),
    "an object such as { github: { clientId, clientSecret } }, or a function that returns one",
  ],
  plugins: [
    (value) => FUNCTION_OPTION[0](value) || Array.isArray(value),
    "a list of better-auth plugins, or a function that returns one",
  ],
  schema: OBJECT_OPTION,
  useSecureCookies: BOOLEAN_OPTION,
  databaseGenerateId: BOOLEAN_OPTION,
  encryptOAuthTokens: protective(BOOLEAN_OPTION),
  experimentalJoins: BOOLEAN_OPTION,
  audit: [
    (value) => typeof value === "boolean" || OBJECT_OPTION[0](value),
    "true, or an object such as { exclude: [] }",
  ],
  mail: [
    (value) => FUNCTION_OPTION[0](value) || FUNCTION_OPTION[0]((value as AccountMails)?.addTo),
    "the mails that createAccountMails returns, or a function that loads them",
  ],
  accountLimits: [
    (value) => value === false || OBJECT_OPTION[0](value),
    "false, or limits such as { failures: { limit: 20, windowSeconds: 3600 } }",
  ],
  clientAddress: ANY_OPTION,
} as const satisfies Record<Exclude<keyof AuthConfig, keyof LibraryOptions>, OptionRule>;

const RULES = { ...OWN_RULES, ...LIBRARY_RULES };

const DAY_SECONDS = 86_400;
const MIN_SECRET_LENGTH = 32;
/** Limit of RFC 6265bis, section 5.5. better-auth rejects sign-ins above it. */
const MAX_COOKIE_SECONDS = 400 * DAY_SECONDS;

/**
 * Refuses options that do not exist, and values of another type: the keys of `AuthConfig`, and at any depth what checks
 * of sessions read. Values that depend on the environment, such as the secret, are left to {@link resolveAuthConfig}.
 *
 * @param config The configuration of the application.
 * @throws {ConfigurationError} If there is one.
 */
export function checkSessionOptions(config: AuthConfig): void {
  checkOptions("AuthConfig", config, RULES, "AuthConfig.");
  checkOptionTree("AuthConfig", config, SESSION_CHECK_TREE);
}

/**
 * Validates a configuration and adds defaults.
 *
 * @param config The configuration of the application.
 * @returns The settings.
 * @throws {ConfigurationError} If a key is unknown, a value is missing or invalid, or an option is
 * set twice. The message never contains the secret.
 */
export function resolveAuthConfig(config: AuthConfig): AuthSettings {
  checkSessionOptions(config);
  const {
    secret,
    baseURL,
    trustedOrigins = [],
    sessionExpiresIn = config.session?.expiresIn ?? 30 * DAY_SECONDS,
    sessionUpdateAge = config.session?.updateAge ?? DAY_SECONDS,
    socialProviders = {},
    plugins = [],
    schema,
    useSecureCookies = config.advanced?.useSecureCookies ?? true,
    databaseGenerateId = false,
    encryptOAuthTokens = config.account?.encryptOAuthTokens ?? false,
    experimentalJoins = false,
    audit = false,
    accountLimits,
    clientAddress = "gateway",
    mail,
    ...given
  } = config;
  checkLibraryOptions(config);
  copySections(given);
  // the object contains the code, so that functions without mails do not
  const library = typeof mail === "object" ? mail.addTo(given) : given;
  checkSeconds(sessionExpiresIn, sessionUpdateAge);
  const url = parseBaseUrl(baseURL, library.basePath);
  const isLoopback = isLoopbackHost(url.hostname);
  checkSecret(secret, url.hostname, isLoopback);
  if (clientAddress !== "gateway") checkClientAddressSource(clientAddress);
  const tables = schema === undefined ? {} : resolveSchema(schema);
  for (const model of ["user", "session"] as const) {
    const fields = library[model]?.additionalFields;
    if (fields !== undefined) checkAdditionalFields(tables, model, fields);
  }
  return {
    secret,
    baseURL,
    isLoopback,
    trustedOrigins: withCheckedOrigins(trustedOrigins),
    sessionExpiresIn,
    sessionUpdateAge,
    providers: typeof socialProviders === "function"
      ? socialProviders
      : resolveProviders(socialProviders),
    plugins,
    schema: tables,
    sessionCookie: getCookieName(library, useSecureCookies, "session_token"),
    useSecureCookies,
    databaseGenerateId,
    encryptOAuthTokens,
    experimentalJoins,
    audit,
    mail,
    rateLimits: resolveRateLimits(library.rateLimit, accountLimits, isLoopback),
    clientAddress,
    library,
  };
}

/** Copies the sections of options, so that later changes to the configuration have no effect. */
function copySections(library: LibraryOptions): void {
  const sections = library as Record<string, unknown>;
  for (const [name, section] of Object.entries(sections)) {
    if (section && Object.getPrototypeOf(section) === Object.prototype) {
      sections[name] = { ...section };
    }
  }
}

/**
 * Returns the name of a cookie of better-auth (createCookieGetter of 1.7).
 *
 * @param library The options of better-auth.
 * @param isSecure The option `useSecureCookies`.
 * @param cookie The cookie.
 */
export function getCookieName(
  { advanced }: LibraryOptions,
  isSecure: boolean,
  cookie: "session_token" | "dont_remember",
): string {
  const prefix = advanced?.cookiePrefix || "better-auth";
  const name = advanced?.cookies?.[cookie]?.name || `${prefix}.${cookie}`;
  return isSecure ? `__Secure-${name}` : name;
}

function checkSecret(secret: unknown, hostname: string, isLoopback: boolean): void {
  if (typeof secret !== "string" || secret === "") {
    throw new ConfigurationError(
      "AuthConfig.secret is missing: set it to at least 32 random characters",
    );
  }
  if (secret.length < MIN_SECRET_LENGTH && !isLoopback) {
    throw new ConfigurationError(
      `AuthConfig.secret is too short for ${hostname}: set it to at least ${MIN_SECRET_LENGTH} random ` +
        "characters, such as the output of: openssl rand -base64 32",
    );
  }
}

function checkSeconds(expiresIn: number, updateAge: number): void {
  if (!(expiresIn > 0 && expiresIn <= MAX_COOKIE_SECONDS)) {
    throw new ConfigurationError(
      `AuthConfig.sessionExpiresIn must be above 0 and at most ${MAX_COOKIE_SECONDS} seconds, got ${expiresIn}`,
    );
  }
  if (!(updateAge >= 0 && updateAge < Infinity)) {
    throw new ConfigurationError(
      `AuthConfig.sessionUpdateAge must be a number of seconds from 0, got ${updateAge}`,
    );
  }
}

function parseBaseUrl(baseURL: unknown, basePath: string | undefined): URL {
  const url = typeof baseURL === "string" ? parseUrl(baseURL) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new ConfigurationError(
      "AuthConfig.baseURL must be an absolute http or https URL such as " +
        `"https://api.example.com", got ${JSON.stringify(baseURL)}`,
    );
  }
  if (basePath !== undefined && url.pathname !== "/") {
    throw new ConfigurationError(
      `AuthConfig.baseURL has the path ${url.pathname} and AuthConfig.basePath is "${basePath}": keep one`,
    );
  }
  return url;
}

function isListOfStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

type OwnSpelling =
  | "databaseGenerateId"
  | "encryptOAuthTokens"
  | "experimentalJoins"
  | "sessionExpiresIn"
  | "sessionUpdateAge"
  | "useSecureCookies";
type Section = "account" | "advanced" | "session";

/** Keys of `AuthConfig` and the equivalent option of better-auth. */
const SAME_OPTIONS: readonly (readonly [OwnSpelling, Section, key: string])[] = [
  ["sessionExpiresIn", "session", "expiresIn"],
  ["sessionUpdateAge", "session", "updateAge"],
  ["useSecureCookies", "advanced", "useSecureCookies"],
  ["encryptOAuthTokens", "account", "encryptOAuthTokens"],
  ["databaseGenerateId", "advanced", "database"],
  ["experimentalJoins", "advanced", "database"],
];

/**
 * Rejects options of better-auth that contradict an option of `AuthConfig` or that session checks
 * do not support.
 *
 * @param config The configuration of the application.
 * @throws {ConfigurationError} If there is one.
 */
export function checkLibraryOptions(
  config: LibraryOptions & { readonly [own in OwnSpelling]?: unknown },
): void {
  for (const [own, section, key] of SAME_OPTIONS) {
    const theirs = (config[section] as Readonly<Record<string, unknown>> | undefined)?.[key];
    if (config[own] !== undefined && theirs !== undefined) {
      throw new ConfigurationError(
        `AuthConfig.${own} and AuthConfig.${section}.${key} are both set: keep one`,
      );
    }
  }
  for (const model of ["user", "session"] as const) {
    if (config[model]?.modelName !== undefined || config[model]?.fields !== undefined) {
      throw new ConfigurationError(
        `AuthConfig.${model}.modelName and .fields are not supported: name the table and its columns in a ` +
          `drizzle table and pass it as AuthConfig.schema.${model}`,
      );
    }
  }
  if (config.secondaryStorage !== undefined && config.session?.storeSessionInDatabase !== true) {
    throw new ConfigurationError(
      "AuthConfig.secondaryStorage would keep sessions out of the database, where handlers look for them: " +
        "set AuthConfig.session.storeSessionInDatabase to true",
    );
  }
  for (const key of ["ipAddressHeaders", "trustedProxies"] as const) {
    if (config.advanced?.ipAddress?.[key] === undefined) continue;
    throw new ConfigurationError(
      `AuthConfig.advanced.ipAddress.${key} is replaced by AuthConfig.clientAddress, such as ` +
        '{ header: "X-Forwarded-For", trustedProxies: ["10.0.0.0/8"] }',
    );
  }
  if (config.onAPIError?.throw === false) {
    throw new ConfigurationError(
      "AuthConfig.onAPIError.throw must not be false: better-auth would print errors with SQL and parameters",
    );
  }
}

/**
 * Checks the tables of an application.
 *
 * @param own The option `schema` of `AuthConfig`.
 * @returns The tables by model name.
 * @throws {ConfigurationError} If a table or a column is missing.
 */
export function resolveSchema(own: Record<string, unknown>): AuthSchema {
  const models = Object.keys(COLUMN_NAMES);
  if (!models.some((model) => own[model] !== undefined)) {
    throw new ConfigurationError(
      `AuthConfig.schema has none of the keys ${models.join(", ")}; ` +
        `it has ${Object.keys(own).join(", ") || "no keys"}. ` +
        "Map them to your tables: { user: users, session: sessions }",
    );
  }
  for (const [model, needed] of Object.entries(COLUMN_NAMES)) {
    if (!(model in own)) continue;
    const table: unknown = own[model];
    if (!isTable(table)) {
      throw new ConfigurationError(`AuthConfig.schema.${model} is not a drizzle table`);
    }
    const columns = getColumns(table);
    const missing = needed.filter((name) => columns[name] === undefined);
    if (missing.length > 0) {
      throw new ConfigurationError(
        `AuthConfig.schema.${model} lacks ${missing.join(", ")}: ` +
          `spread AUTH_${model.toUpperCase()}_COLUMNS into the table`,
      );
    }
  }
  for (const name of "session" in own ? ["createdAt", "updatedAt", "expiresAt"] : []) {
    if (getDataType(getColumns(own.session as object)[name]) === "date") continue;
    throw new ConfigurationError(
      `AuthConfig.schema.session.${name} must be a timestamp of drizzle's mode "date"`,
    );
  }
  return { ...own };
}

/**
 * Checks that the tables have the columns of `additionalFields`.
 *
 * @param schema The tables by model name.
 * @param model `user` or `session`.
 * @param fields The option `additionalFields` of the model.
 * @throws {ConfigurationError} If the table lacks a column.
 */
function checkAdditionalFields(
  schema: AuthSchema,
  model: "user" | "session",
  fields: Readonly<Record<string, unknown>>,
): void {
  const columns = getColumns(getSessionTables(schema)[model]);
  const missing = Object.keys(fields).filter((name) => !Object.hasOwn(columns, name));
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `AuthConfig.${model}.additionalFields has ${missing.join(", ")}, ` +
      `but the ${model} table has no such column: add it to a table of yours and pass the table as AuthConfig.schema.${model}`,
  );
}
