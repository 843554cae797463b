import type { LogLevel } from "../../observability/log_level.ts";
import { log, logError } from "../../observability/logger.ts";
import type { BetterAuthOptions } from "../better_auth/better_auth_types.ts";
import { getClientAddressHeader } from "../better_auth/client_address_header.ts";
import type { AuthSettings } from "../config/config.ts";

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
  const { providers } = settings;
  const generateId = settings.databaseGenerateId ? false : () => crypto.randomUUID();
  return {
    ...library,
    secret: settings.secret,
    baseURL: settings.baseURL,
    trustedOrigins,
    ...protectMailFunctions({
      ...library,
      emailAndPassword: library.emailAndPassword ?? { enabled: true },
    }),
    session: {
      ...session,
      expiresIn: settings.sessionExpiresIn,
      updateAge: settings.sessionUpdateAge,
    },
    account: { ...account, encryptOAuthTokens: settings.encryptOAuthTokens },
    ...typeof providers === "function"
      ? {} // added when better-auth is loaded
      : { socialProviders: providers.social as BetterAuthOptions["socialProviders"] },
    rateLimit: settings.rateLimits.library,
    advanced: {
      // by default better-auth skips the origin check if NODE_ENV is "test", which can be the name
      // of a stage
      disableOriginCheck: false,
      ...advanced,
      useSecureCookies: settings.useSecureCookies,
      ipAddress: {
        ...advanced?.ipAddress,
        // session checks do not read it
        get ipAddressHeaders() {
          return [getClientAddressHeader()];
        },
      },
      database: {
        generateId,
        ...(settings.experimentalJoins && { joins: true }),
        ...advanced?.database,
      },
    },
    logger: { level: "warn", disableColors: true, log: logBetterAuth, ...library.logger },
    // otherwise better-auth prints thrown errors with SQL and parameters to the console; the
    // handler logs them safely
    onAPIError: { ...library.onAPIError, throw: true },
    telemetry: { enabled: false, ...library.telemetry },
  };
}

const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "DEBUG",
  info: "INFO",
  warn: "WARN",
  error: "ERROR",
};

/**
 * Writes a log line of better-auth to our logger. Values other than errors are dropped, because
 * they contain email addresses, tokens and rows. Errors are logged without SQL.
 *
 * @param level better-auth's level.
 * @param message Text.
 * @param values Further values of the log call.
 */
export function logBetterAuth(level: string, message: string, ...values: unknown[]): void {
  const error = values.find((value) => value instanceof Error);
  // better-auth sometimes logs drizzle's message, which contains the statement and its parameters,
  // as plain text
  const text = /^failed query/i.test(message)
    ? "a query failed"
    : message.replace(/^\[better-auth\]\s*/i, "")
      // its own command writes other tables
      .replace(/npx auth(?:@latest)? generate/g, "trellis generate auth-schema");
  log(
    LEVELS[level] ?? "INFO",
    `[better-auth] ${text}`,
    error === undefined ? undefined : { error },
  );
}

type MailOptions = Pick<BetterAuthOptions, "emailAndPassword" | "emailVerification" | "user">;

/**
 * Catches and logs the errors of functions that send mails only to registered addresses. Otherwise
 * a failure would be answered with 500 for these addresses, and with 200 for others.
 *
 * @param options Options of better-auth.
 * @returns The options with these functions replaced.
 */
function protectMailFunctions(
  { emailAndPassword, emailVerification, user }: MailOptions,
): MailOptions {
  return {
    ...emailAndPassword && {
      emailAndPassword: {
        ...emailAndPassword,
        sendResetPassword: catchErrors(emailAndPassword.sendResetPassword),
        onExistingUserSignUp: catchErrors(emailAndPassword.onExistingUserSignUp),
      },
    },
    ...emailVerification && {
      emailVerification: {
        ...emailVerification,
        sendVerificationEmail: catchErrors(emailVerification.sendVerificationEmail),
      },
    },
    ...user?.changeEmail && {
      user: {
        ...user,
        changeEmail: {
          ...user.changeEmail,
          sendChangeEmailConfirmation: catchErrors(user.changeEmail.sendChangeEmailConfirmation),
        },
      },
    },
  };
}

function catchErrors<Input extends unknown[]>(
  send: ((...input: Input) => Promise<void>) | undefined,
): ((...input: Input) => Promise<void>) | undefined {
  return send && async function sendSafely(...input: Input): Promise<void> {
    try {
      await send(...input);
    } catch (error) {
      logError("A mail of the auth routes could not be sent", { error });
    }
  };
}
