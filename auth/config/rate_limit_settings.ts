import type { AccountLimits } from "./account_limit_options.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { checkWindows, resolveAccountLimits } from "./check_rate_limits.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

const DEFAULT_ACCOUNT_LIMITS: Required<AccountLimits> = {
  failuresPerAddress: { limit: 5, windowSeconds: 900 },
  failures: { limit: 20, windowSeconds: 3_600 },
  messages: { limit: 10, windowSeconds: 3_600 },
};

/** The limits of the auth routes. */
export interface RateLimitSettings {
  /** True if requests are counted in the database. */
  readonly usesDatabase: boolean;
  /** Limits by account; `undefined` if they are off. */
  readonly account: Required<AccountLimits> | undefined;
  /** Options for better-auth. */
  readonly library: NonNullable<LibraryOptions["rateLimit"]>;
}

/**
 * Checks the limits of the auth routes and adds defaults.
 *
 * @param options better-auth's option `rateLimit`.
 * @param accountLimits The option `accountLimits`.
 * @param isLoopback True if `baseURL` is a loopback address.
 * @throws {ConfigurationError} If a limit is invalid.
 */
export function resolveRateLimits(
  options: LibraryOptions["rateLimit"],
  accountLimits: AccountLimits | false | undefined,
  isLoopback: boolean,
): RateLimitSettings {
  // by default better-auth limits requests only if NODE_ENV is "production", which Lambda does not
  // set, and counts in the memory of one process
  const library = { enabled: !isLoopback, storage: "database" as const, ...options };
  if (options !== undefined) checkWindows(library);
  const usesDatabase = library.enabled === true && library.storage === "database" &&
    library.customStorage === undefined;
  if (!usesDatabase && accountLimits) {
    throw new ConfigurationError(
      "AuthConfig.accountLimits counts in the database: set AuthConfig.rateLimit.enabled to true, and " +
        'rateLimit.storage to "database" or leave it out',
    );
  }
  let account: Required<AccountLimits> | undefined;
  if (accountLimits) account = resolveAccountLimits(accountLimits, DEFAULT_ACCOUNT_LIMITS);
  else if (accountLimits !== false) account = DEFAULT_ACCOUNT_LIMITS;
  return { usesDatabase, account: usesDatabase ? account : undefined, library };
}
