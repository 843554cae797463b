import { wholeNumber } from "../core/function_options.ts";
import { IDEMPOTENCY_OPTION, type IdempotencySettings } from "../core/idempotency.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  FUNCTION_OPTION,
  type OptionRules,
} from "../core/option_rules.ts";
import { remainingMs } from "../core/request_context.ts";
import type { RecordTerms } from "./backend.ts";

const DAY_SECONDS = 86_400;
const DEFAULT_LEASE_SECONDS = 60;

const SHARED_RULES: OptionRules = {
  store: ANY_OPTION,
  ttlSeconds: wholeNumber([1, 365 * DAY_SECONDS, "seconds"]),
  leaseSeconds: wholeNumber([1, 3600, "seconds"]),
  key: FUNCTION_OPTION,
};

const REQUEST_RULES: OptionRules = {
  ...SHARED_RULES,
  required: BOOLEAN_OPTION,
  scope: FUNCTION_OPTION,
  fingerprint: [
    (value) => value === false || typeof value === "function",
    "a function or false",
  ],
};

/**
 * Checks the option `idempotency` when the module is loaded.
 *
 * @param kind The kind of handler.
 * @param settings The option.
 * @throws {ConfigurationError} If a setting is unknown or invalid.
 */
export function checkSettings(kind: "request" | "message", settings: object | undefined): void {
  checkOption("idempotency", settings, IDEMPOTENCY_OPTION);
  const rules = kind === "request" ? REQUEST_RULES : SHARED_RULES;
  checkOptions("idempotency", settings!, rules, "idempotency.");
}

/**
 * Returns lease and lifetime for an execution that starts now. Without `leaseSeconds` the lease ends one second after the
 * invocation: Lambda has ended the process by then.
 *
 * @param settings The option.
 */
export function getTerms(
  { ttlSeconds = DAY_SECONDS, leaseSeconds }: IdempotencySettings<unknown>,
): RecordTerms {
  if (leaseSeconds !== undefined) return { ttlSeconds, leaseSeconds };
  const leftMs = remainingMs();
  return {
    ttlSeconds,
    leaseSeconds: leftMs === Infinity ? DEFAULT_LEASE_SECONDS : Math.ceil(leftMs / 1000) + 1,
  };
}
