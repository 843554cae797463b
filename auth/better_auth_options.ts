import { logBetterAuth } from "./better_auth_log.ts";
import type { BetterAuthOptions } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";

/**
 * Builds the options of better-auth, without `database` and `plugins`, which are added when it is
 * loaded.
 *
 * @param settings The checked configuration.
 * @returns The options. They hold the secret.
 */
export function toBetterAuthOptions(settings: AuthSettings): BetterAuthOptions {
  const { library, trustedOrigins } = settings;
  const { session, account, advanced } = library;
  const generateId = settings.databaseGenerateId ? false : () => crypto.randomUUID();
  return {
    ...library,
    secret: settings.secret,
    baseURL: settings.baseURL,
    trustedOrigins: Array.isArray(trustedOrigins) ? [...trustedOrigins] : trustedOrigins,
    emailAndPassword: library.emailAndPassword ?? { enabled: true },
    session: {
      ...session,
      expiresIn: settings.sessionExpiresIn,
      updateAge: settings.sessionUpdateAge,
    },
    account: { ...account, encryptOAuthTokens: settings.encryptOAuthTokens },
    socialProviders: settings.providers.social as BetterAuthOptions["socialProviders"],
    // left to itself, better-auth counts only where NODE_ENV is "production", which nothing sets on Lambda
    rateLimit: { enabled: !settings.isLoopback, ...library.rateLimit },
    advanced: {
      // left to itself, better-auth skips the check of origins where NODE_ENV is "test", which is also a stage's name
      disableOriginCheck: false,
      ...advanced,
      useSecureCookies: settings.useSecureCookies,
      database: {
        generateId,
        ...(settings.experimentalJoins && { joins: true }),
        ...advanced?.database,
      },
    },
    logger: { level: "warn", disableColors: true, log: logBetterAuth, ...library.logger },
    // without this, better-auth prints a thrown error to the console, with SQL and parameters; the handler logs it safely
    onAPIError: { ...library.onAPIError, throw: true },
    telemetry: { enabled: false, ...library.telemetry },
  };
}
