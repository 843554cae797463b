// `instance.ts` imports this file when the auth library's API is first used.
import type { Auth, BetterAuthPlugin } from "better-auth";
import { loadOnce } from "../../core/async/single_flight.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuditSettings } from "../audit/audit_record.ts";
import { type AuthRoute, listAuthRoutes } from "../better_auth/auth_routes.ts";
import type {
  AuthDatabase,
  BetterAuthApi,
  BetterAuthOptions,
} from "../better_auth/better_auth_types.ts";
import type { AccountMails } from "../mail/account_mails.ts";
import { toBetterAuthOptions } from "./better_auth_options.ts";
import type { AuthConfig, AuthMails, AuthSettings } from "../config/config.ts";
import {
  type BetterAuthLibrary,
  loadBetterAuth,
  loadGenericOAuth,
} from "../better_auth/load_better_auth.ts";
import { describeMissingTables } from "./missing_tables.ts";
import { listPlugins } from "./plugins.ts";
import { checkAuthOptions, checkProviders } from "../config/check_auth_options.ts";
import {
  type ProviderOptions,
  type ResolvedProviders,
  resolveProviders,
} from "../config/providers.ts";
import { type AuthLimits, createAuthLimits } from "../limits/auth_limits.ts";
import { deleteOwnedKeys, refuseBannedOwners } from "./api_key_owners.ts";
import { createAuthClient } from "./auth_client.ts";
import { getBasePath } from "./auth_request.ts";
import { checkTrustedOrigins } from "../config/check_trusted_origins.ts";
import { withMailRoutes } from "../mail/mail_routes.ts";
import { mailInSignUp } from "../mail/sign_up_mail.ts";
import { withRouteFailures } from "./route_failures.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { guardTransactions } from "../../database/session/transaction_guard.ts";
import type { JobClient } from "../../jobs/enqueue.ts";
import { rateLimits } from "../../database/rate_limits/table.ts";
import { createResetPlugin, protectUnprovenAccounts } from "./unproven_accounts.ts";
import {
  type AuthSchema,
  getSessionTables,
  SECOND_FACTOR_FIELD,
} from "../config/session_tables.ts";
import { createSecondFactorPlugin } from "./second_factor.ts";
import { AUTH_SCHEMA_MAPPING } from "../tables/schema.ts";
import { acceptTextAsUuid } from "./uuid_columns.ts";
import { isDrizzleOne } from "../../database/session/drizzle_version.ts";

/** The context of a better-auth instance. */
export type BetterAuthContext = Awaited<Auth<BetterAuthOptions>["$context"]>;

/** A running better-auth instance. */
export interface StartedBetterAuth {
  /** Endpoints as functions. */
  readonly api: BetterAuthApi;
  /** Routes. */
  readonly handler: (request: Request) => Promise<Response>;
  /** The routes of the options and plugins. */
  readonly routes: readonly AuthRoute[];
  /** better-auth's own context: adapters, cookies, tables. */
  readonly context: BetterAuthContext;
  /** Name of the cookie with the session's token. */
  readonly sessionCookie: string;
  /** Deletes the session of a token. */
  readonly deleteSession: (token: string) => Promise<void>;
}

/**
 * Starts better-auth.
 *
 * @param db The database client.
 * @param config The configuration of the application, whose options are checked at any depth.
 * @param settings The resolved configuration.
 * @param options Options of better-auth, without `database` and `plugins`.
 * @returns The running instance.
 * @throws {ConfigurationError} If an option or a provider is unknown, relations or tables are missing, or the
 * environment overrides the secret.
 */
export async function startBetterAuth(
  db: AuthDatabase,
  config: AuthConfig,
  settings: AuthSettings,
  options: BetterAuthOptions,
): Promise<StartedBetterAuth> {
  const { providers, mail } = settings;
  if (typeof mail === "function") {
    return await startBetterAuth(db, config, ...await addMails(settings, mail, options));
  }
  checkAuthOptions(config);
  const { social, custom } = typeof providers === "function"
    ? await loadProviders(providers)
    : providers;
  const loaded = await loadBetterAuth();
  const { betterAuth, drizzleAdapter } = loaded;
  const schema: AuthSchema = {
    ...AUTH_SCHEMA_MAPPING,
    rateLimit: rateLimits,
    ...settings.schema,
  };
  if (settings.experimentalJoins) checkRelations(db, schema);
  const plugins = await createPlugins(settings, custom, loaded);
  const tables = acceptTextAsUuid(schema);
  // a mail that could not be written must fail its transaction; PostgreSQL would answer its COMMIT with
  // a silent rollback
  if (mail !== undefined) guardTransactions(db as DrizzleClient);
  const plain = drizzleAdapter(
    createAuthClient(db, { schema, tables, APIError: loaded.APIError }),
    {
      provider: "pg",
      schema: tables,
      // creates a user and their account in one transaction, because an incomplete sign-up would
      // block the email address
      transaction: "transaction" in db,
    },
  );
  const hasKeys = plugins.some(({ id }) => id === "api-key");
  const sharesIds = options.advanced?.database?.generateId === "serial" &&
    plugins.some(({ id }) => id === "organization");
  const adapter = hasKeys ? deleteOwnedKeys(plain, sharesIds) : plain;
  const audit = settings.audit === false ? undefined : await import("../audit/audit_adapter.ts");
  const auditSettings = settings.audit === true ? {} : settings.audit as AuditSettings;
  const limits = createAuthLimits(db, settings, schema.rateLimit, loaded);
  const hasSecondFactor = plugins.some(({ id }) => id === "two-factor");
  const secondFactor = hasSecondFactor
    ? [
      createSecondFactorPlugin(
        loaded,
        SECOND_FACTOR_FIELD in getSessionTables(settings.schema).session,
      ),
    ]
    : [];
  const mailed = mail === undefined ? { options, plugins: [] } : mailInSignUp(options, loaded);
  const auth = betterAuth<BetterAuthOptions>({
    ...mailed.options,
    socialProviders: social as BetterAuthOptions["socialProviders"],
    rateLimit: { ...options.rateLimit, ...limits?.rateLimit },
    database: audit?.auditAdapter(adapter, auditSettings) ?? adapter,
    plugins: [
      ...limits?.plugins ?? [],
      createResetPlugin(loaded, schema),
      ...mailed.plugins,
      ...plugins.map((each) => refuseBannedOwners(each, loaded)),
      ...secondFactor,
    ],
  });
  const context = await auth.$context;
  limits?.setUp(auth.api);
  // those of plugins and of the environment variable BETTER_AUTH_TRUSTED_ORIGINS too
  checkTrustedOrigins(context.trustedOrigins);
  context.socialProviders.forEach(readVerifiedAsBoolean);
  protectUnprovenAccounts(context, loaded, schema);
  checkTables(Object.values(context.tables), schema);
  if (context.secret !== settings.secret) {
    throw new ConfigurationError(
      "The environment variable BETTER_AUTH_SECRETS overrides AuthConfig.secret: unset it, or sessions signed with one would " +
        "be checked with the other",
    );
  }
  const basePath = getBasePath(settings);
  const routes = withRouteFailures(audit?.auditHandler(auth.handler) ?? auth.handler, basePath);
  const handler = mail === undefined ? routes : withMailRoutes(routes, db as JobClient, basePath);
  return {
    api: audit?.auditApi(auth.api) ?? auth.api,
    handler: checkLimitsFirst(handler, limits),
    routes: listAuthRoutes(auth.api, options),
    context,
    sessionCookie: context.authCookies.sessionToken.name,
    deleteSession: (token) => context.internalAdapter.deleteSession(token),
  };
}

async function loadProviders(
  load: Extract<AuthSettings["providers"], () => unknown>,
): Promise<ResolvedProviders> {
  const given = await load() ?? {};
  checkProviders(given);
  return resolveProviders(given);
}

type Provider = Pick<
  BetterAuthContext["socialProviders"][number],
  "getUserInfo" | "getUserInfoFromIdToken"
>;

/**
 * Makes `emailVerified` of a provider's profiles a boolean. Userinfo endpoints also answer "false",
 * "0" or an object, and a check for a truthy value would take an address as proven by them.
 *
 * @param provider A provider of a started instance. Its members are replaced.
 */
function readVerifiedAsBoolean(provider: Provider): void {
  const read = <Found extends Awaited<ReturnType<Provider["getUserInfo"]>>>(found: Found): Found =>
    found && { ...found, user: { ...found.user, emailVerified: isTrue(found.user.emailVerified) } };
  const { getUserInfo, getUserInfoFromIdToken } = provider;
  provider.getUserInfo = async (tokens) => read(await getUserInfo.call(provider, tokens));
  if (getUserInfoFromIdToken === undefined) return;
  provider.getUserInfoFromIdToken = async (idToken) =>
    read(await getUserInfoFromIdToken.call(provider, idToken));
}

function isTrue(value: unknown): boolean {
  return value === true || value === "true";
}

/** Adds mails that a function loads to the settings and to the options of better-auth. */
async function addMails(
  settings: AuthSettings,
  load: Extract<AuthMails, () => unknown>,
  { logger }: BetterAuthOptions,
): Promise<[settings: AuthSettings, options: BetterAuthOptions]> {
  const mail: Partial<AccountMails> | undefined = await load();
  if (typeof mail?.addTo !== "function") {
    throw new ConfigurationError(
      "AuthConfig.mail must return the mails that createAccountMails returns, such as " +
        'async () => (await import("./mails.ts")).mails',
    );
  }
  const library = mail.addTo(settings.library);
  const loaded = { ...settings, library, mail: mail as AccountMails };
  return [loaded, { ...toBetterAuthOptions(loaded), logger }];
}

/** Creates the plugins of the settings, and those for bearer tokens and custom providers. */
async function createPlugins(
  settings: AuthSettings,
  custom: readonly ProviderOptions[],
  { bearer }: BetterAuthLibrary,
): Promise<BetterAuthPlugin[]> {
  const plugins = await listPlugins(settings.plugins, settings.audit);
  // handlers accept bearer tokens, so better-auth must accept them too
  if (!plugins.some(({ id }) => id === "bearer")) plugins.push(bearer());
  if (custom.length === 0) return plugins;
  if (plugins.some(({ id }) => id === "generic-oauth")) {
    throw new ConfigurationError(
      "AuthConfig has providers under socialProviders.custom and in the plugin genericOAuth: " +
        "keep one of them",
    );
  }
  const genericOAuth = await loadGenericOAuth();
  const config = custom as unknown as Parameters<typeof genericOAuth>[0]["config"];
  return [...plugins, genericOAuth({ config })];
}

/** Checks the table of the limits before the first request. Calls of the API need no limits. */
function checkLimitsFirst(
  handler: StartedBetterAuth["handler"],
  limits: AuthLimits | undefined,
): StartedBetterAuth["handler"] {
  const check = limits && loadOnce(() => limits.check());
  return async function handleLimited(request) {
    await check?.();
    return await handler(request);
  };
}

/** Throws if tables or columns of a plugin are missing, because its routes would fail. */
function checkTables(
  needed: readonly {
    readonly modelName: string;
    readonly fields: Readonly<Record<string, { readonly fieldName?: string }>>;
  }[],
  schema: Readonly<Record<string, unknown>>,
): void {
  const models = needed.map(({ modelName, fields }) => ({
    name: modelName,
    properties: Object.entries(fields).map(([name, { fieldName }]) => fieldName ?? name),
  }));
  const problem = describeMissingTables(models, schema);
  if (problem !== undefined) throw new ConfigurationError(problem);
}

interface RelationalClient {
  readonly _?: {
    readonly fullSchema?: Readonly<Record<string, unknown>>;
    readonly schema?: Readonly<
      Record<string, { readonly relations?: Readonly<Record<string, unknown>> }>
    >;
  };
}

/** Throws if relations are missing, because better-auth would find no session without its user. */
function checkRelations(db: AuthDatabase, schema: Readonly<Record<string, unknown>>): void {
  if (isDrizzleOne) {
    throw new ConfigurationError(
      "experimentalJoins needs the relations of drizzle-orm 0.45, and 1.0 is installed: leave it out",
    );
  }
  const { fullSchema = {}, schema: relational = {} } = (db as RelationalClient)._ ?? {};
  const needed = { user: "accounts", session: "user", account: "user" } as const;
  for (const [model, relation] of Object.entries(needed)) {
    const key = Object.keys(fullSchema).find((name) => fullSchema[name] === schema[model]);
    if (key === undefined || relational[key]?.relations?.[relation] === undefined) {
      throw new ConfigurationError(
        `experimentalJoins needs the ${model} table and its drizzle relation "${relation}" in the database client's schema: ` +
          "add the tables and authUserRelations, authSessionRelations, authAccountRelations of @trellis/fn/auth/schema",
      );
    }
  }
}
