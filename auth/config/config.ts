import type { BetterAuthPlugin } from "better-auth";
import type { ClientAddressSource } from "../../core/http/client_address.ts";
import type { AccountMails } from "../mail/account_mails.ts";
import type { AuditOption } from "../audit/audit_record.ts";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";
import type { ResolvedProviders, SocialProviders, SocialProvidersConfig } from "./providers.ts";
import type { AccountLimits, RateLimitSettings } from "./rate_limit_settings.ts";
import type { AuthSchema } from "./session_tables.ts";

/**
 * Plugins of better-auth, or a function that loads them. Use a function with `import()` inside, so
 * that functions that only check sessions do not load the plugins.
 */
export type AuthPlugins =
  | readonly BetterAuthPlugin[]
  | (() => readonly BetterAuthPlugin[] | Promise<readonly BetterAuthPlugin[]>);

/**
 * Mails of accounts, or a function that loads them. Use a function with `import()` inside, so that
 * functions that only check sessions do not evaluate the mails and their templates.
 */
export type AuthMails = AccountMails | (() => AccountMails | Promise<AccountMails>);

/**
 * Configuration of {@link createAuth}. The keys below are Trellis's own; all other keys are
 * better-auth's options, such as `emailAndPassword`, `emailVerification`, `rateLimit` or
 * `databaseHooks` (https://better-auth.com/docs/reference/options). The object is read once: later
 * changes to it have no effect.
 */
export interface AuthConfig extends LibraryOptions {
  /**
   * Signs session tokens and encrypts stored secrets. Use the same value in every function: at
   * least 32 random characters. A shorter secret is refused unless `baseURL` is a loopback address
   * such as `http://localhost:3000`.
   */
  secret: string;
  /**
   * The public address of the auth routes, such as `https://api.example.com`. Without a path the
   * routes are under `/api/auth`; with one, they are under that path.
   */
  baseURL: string;
  /**
   * Origins of browser applications, besides `baseURL`'s own, that may call the API with cookies.
   */
  trustedOrigins?: BetterAuthOptions["trustedOrigins"];
  /**
   * Lifetime of a session in seconds, at most 400 days (the limit of browsers for cookies).
   * @default 2_592_000 (30 days)
   */
  sessionExpiresIn?: number;
  /**
   * A session is extended when it is used and this many seconds have passed since its last
   * extension.
   * @default 86_400 (24 hours)
   */
  sessionUpdateAge?: number;
  /**
   * Identity providers for sign-in, or a function that returns them. The function is called when the
   * auth routes are first used, so that functions that only check sessions need no client secrets:
   * `generate infra` gives them none.
   */
  socialProviders?: SocialProviders;
  /**
   * Plugins of better-auth: two-factor, passkey, organization and so on. Tables that a plugin needs
   * go into `schema` under better-auth's model names. The bearer plugin is always active.
   */
  plugins?: AuthPlugins;
  /**
   * Tables of the application in place of the built-in ones, under the keys `user`, `session`,
   * `account` and `verification`, and the tables of plugins. They have the property names of the
   * built-in ones; their names in the database, further columns and text ids are up to you. Further
   * columns of `user` and `session` reach `session.user` and `session.session` in handlers.
   */
  schema?: Record<string, unknown>;
  /**
   * Sends cookies with `Secure` and the name prefix `__Secure-`.
   * @default true
   */
  useSecureCookies?: boolean;
  /**
   * Uses the default of the column for ids instead of `crypto.randomUUID()`.
   * @default false
   */
  databaseGenerateId?: boolean;
  /**
   * Encrypts stored tokens of identity providers.
   * @default false
   */
  encryptOAuthTokens?: boolean;
  /**
   * Records sign-ins, failed sign-ins, changes of passwords and roles and so on in the table
   * `auth_events`, without secrets. `trellis generate auth-schema` writes the table.
   * @default false
   */
  audit?: AuditOption;
  /**
   * Sends the mails of accounts through the outbox of jobs: `createAccountMails`, or a function that
   * loads them. Sets better-auth's functions for password resets, verifications and changes of address.
   */
  mail?: AuthMails;
  /**
   * Limits on failed sign-ins and on messages by account. They apply where `rateLimit` is enabled
   * and counts in the database, which is the default unless `baseURL` is a loopback address.
   * `false` disables them.
   * @default { failuresPerAddress: { limit: 5, windowSeconds: 900 }, failures: { limit: 20, windowSeconds: 3_600 }, messages: { limit: 10, windowSeconds: 3_600 } }
   */
  accountLimits?: AccountLimits | false;
  /**
   * Where the client's address comes from, for limits and sessions.
   * @default "gateway"
   */
  clientAddress?: ClientAddressSource;
  /**
   * Lets better-auth read a session with its user in one query. Needs the relations of
   * `./auth/schema` in the database client's schema. Session checks of this package are one query
   * either way.
   * @default false
   */
  experimentalJoins?: boolean;
}

/** A validated {@link AuthConfig} with defaults. */
export interface AuthSettings {
  readonly secret: string;
  readonly baseURL: string;
  readonly isLoopback: boolean;
  readonly trustedOrigins: NonNullable<BetterAuthOptions["trustedOrigins"]>;
  readonly sessionExpiresIn: number;
  readonly sessionUpdateAge: number;
  readonly providers: ResolvedProviders | Exclude<SocialProviders, SocialProvidersConfig>;
  readonly plugins: AuthPlugins;
  /** Tables of the application. */
  readonly schema: AuthSchema;
  /** Name of the cookie with the session's token. */
  readonly sessionCookie: string;
  readonly useSecureCookies: boolean;
  readonly databaseGenerateId: boolean;
  readonly encryptOAuthTokens: boolean;
  readonly experimentalJoins: boolean;
  readonly audit: AuditOption;
  readonly mail: AuthMails | undefined;
  readonly rateLimits: RateLimitSettings;
  readonly clientAddress: ClientAddressSource;
  /** Options that are passed to better-auth. */
  readonly library: LibraryOptions;
}
