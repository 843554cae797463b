import { ConfigurationError } from "../errors/http_errors.ts";
import { wholeNumber } from "./function_options.ts";
import type { ApiKeyNeeds } from "./http/auth_method.ts";
import type { OrganizationRule, SessionNeeds } from "./http/session.ts";
import {
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  protective,
} from "./option_rules.ts";

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isText);

function hasActions(needs: object): boolean {
  const lists = Object.values(needs);
  return lists.length > 0 && lists.every(isTexts);
}

const ORGANIZATION_RULES: OptionRules = {
  role: protective([
    (role) => isText(role) || isTexts(role),
    'a role such as "owner", or a list of them',
  ]),
};

/** The rules of what a handler asks of sessions. */
export const SESSION_RULES = {
  optional: BOOLEAN_OPTION,
  roles: protective([isTexts, 'a list of roles such as ["admin"]']),
  organization: protective([OBJECT_OPTION[0], "{} or { role }"]),
  freshWithinSeconds: protective(wholeNumber([1, Infinity, "seconds"])),
  twoFactor: protective(oneOf(["required"])),
  authorize: protective(FUNCTION_OPTION),
} as const satisfies Record<keyof SessionNeeds, OptionRule>;

/** The rules of what a handler asks of API keys. */
export const API_KEY_RULES = {
  permissions: protective([
    (needs) => OBJECT_OPTION[0](needs) && hasActions(needs as object),
    'actions by resource such as { notes: ["read"] }',
  ]),
} as const satisfies Record<keyof ApiKeyNeeds, OptionRule>;

/** What refuses some callers who have a valid credential. */
const RESTRICTIONS: readonly string[] = [
  ...Object.keys(SESSION_RULES).filter((name) => name !== "optional"),
  ...Object.keys(API_KEY_RULES),
];

/** Returns whether some callers with a valid credential are refused. */
export function isRestricted(needs: object): boolean {
  return RESTRICTIONS.some((name) => Object.hasOwn(needs, name));
}

/**
 * Checks what cannot be seen from one option alone.
 *
 * @throws {ConfigurationError} Naming the option.
 */
export function checkNeeds(
  needs: { readonly optional?: unknown; readonly organization?: OrganizationRule },
): void {
  const restriction = RESTRICTIONS.find((name) => Object.hasOwn(needs, name));
  if (needs.optional && restriction !== undefined) {
    throw new ConfigurationError(
      `${restriction} does not go with optional: a caller without a session cannot meet it`,
    );
  }
  if (needs.organization !== undefined) {
    checkOptions("organization", needs.organization, ORGANIZATION_RULES, "organization.");
  }
}
