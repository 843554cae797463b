import { ConfigurationError } from "../../errors/http_errors.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

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
