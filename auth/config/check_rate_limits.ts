import { MAX_WINDOW_SECONDS } from "../../core/rate_limit/rate_limit.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";
import type { AccountLimits } from "./account_limit_options.ts";

/**
 * Checks limits by account and adds defaults.
 *
 * @throws {ConfigurationError} If a limit is invalid.
 */
export function resolveAccountLimits(
  limits: AccountLimits,
  defaults: Required<AccountLimits>,
): Required<AccountLimits> {
  for (const [name, rule] of Object.entries(limits)) {
    if (rule !== undefined && !isRule(rule)) {
      throw new ConfigurationError(
        `AuthConfig.accountLimits.${name} is ${JSON.stringify(rule)}: it must be such as ` +
          `{ limit: 5, windowSeconds: 900 }, with whole numbers and at most ${MAX_WINDOW_SECONDS} seconds`,
      );
    }
  }
  const { failuresPerAddress, failures, messages } = defaults;
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
export function checkWindows(
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
