import { MAX_WINDOW_SECONDS, type RateLimitRule } from "../../core/rate_limit/rate_limit.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

/** Limits on requests that concern one account, by its email address, username or phone number. */
export interface AccountLimits {
  /**
   * Failed attempts (passwords and codes) for one account from one address.
   * @default { limit: 5, windowSeconds: 900 }
   */
  failuresPerAddress?: RateLimitRule;
  /**
   * Failed attempts for one account from all addresses together. Addresses from which the account
   * has a session are exempt: attackers cannot lock the owner out of them.
   * @default { limit: 20, windowSeconds: 3_600 }
   */
  failures?: RateLimitRule;
  /**
   * Requests that send a message to one email address or phone number.
   * @default { limit: 10, windowSeconds: 3_600 }
   */
  messages?: RateLimitRule;
}

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
  const isCounted = usesDatabase && accountLimits !== false;
  return { usesDatabase, account: isCounted ? addDefaults(accountLimits) : undefined, library };
}

function addDefaults(limits: AccountLimits = {}): Required<AccountLimits> {
  for (const [name, rule] of Object.entries(limits)) {
    if (rule !== undefined && !isRule(rule)) {
      throw new ConfigurationError(
        `AuthConfig.accountLimits.${name} is ${JSON.stringify(rule)}: it must be such as ` +
          `{ limit: 5, windowSeconds: 900 }, with whole numbers and at most ${MAX_WINDOW_SECONDS} seconds`,
      );
    }
  }
  const { failuresPerAddress, failures, messages } = DEFAULT_ACCOUNT_LIMITS;
  return {
    failuresPerAddress: limits.failuresPerAddress ?? failuresPerAddress,
    failures: limits.failures ?? failures,
    messages: limits.messages ?? messages,
  };
}

function isRule(rule: unknown): boolean {
  const { limit, windowSeconds, ...others } = Object(rule) as Record<string, unknown>;
  return Object.keys(others).length === 0 && isWhole(limit, 2 ** 31 - 1) &&
    isWhole(windowSeconds, MAX_WINDOW_SECONDS);
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

/**
 * Refuses windows longer than rows of the table are kept.
 *
 * @throws {ConfigurationError} If there is one.
 */
function checkWindows(
  { window, customRules }: NonNullable<LibraryOptions["rateLimit"]>,
): void {
  const rules = Object.entries(customRules ?? {});
  const windows: [name: string, window: unknown][] = rules.map(([path, rule]) => [
    `customRules["${path}"].window`,
    Object(rule).window,
  ]);
  for (const [name, seconds] of [["window", window] as const, ...windows]) {
    if (seconds === undefined) continue;
    if (typeof seconds === "number" && seconds > 0 && seconds <= MAX_WINDOW_SECONDS) continue;
    throw new ConfigurationError(
      `AuthConfig.rateLimit.${name} is ${seconds}: it must be a number of seconds, at most ${MAX_WINDOW_SECONDS}`,
    );
  }
}
