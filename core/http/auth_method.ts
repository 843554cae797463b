import { ConfigurationError } from "../../errors/http_errors.ts";
import { wholeNumber } from "../function_options.ts";
import {
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  protective,
} from "../option_rules.ts";
import type { TrustedOriginCheck } from "./cors.ts";
import type { ApiEvent } from "./lambda.ts";
import type { OrganizationRule, SessionNeeds } from "./session.ts";

/** Actions by resource, such as `{ notes: ["read", "write"] }`. */
export type ApiKeyPermissions = Readonly<Record<string, readonly string[]>>;

/** What a handler asks of an API key besides its validity. */
export interface ApiKeyNeeds {
  /** Permissions that the API key must have. */
  readonly permissions?: ApiKeyPermissions;
}

/** What a handler asks of its callers besides a valid credential. */
export interface AuthNeeds extends SessionNeeds, ApiKeyNeeds {}

/** Name of a way in which a handler identifies its callers. */
export type AuthMethodMode =
  | "api-key"
  | "authorizer"
  | "authorizer-optional"
  | "bearer"
  | "gateway-jwt"
  | "jwt"
  | "none"
  | "session"
  | "ticket";

/**
 * A check of callers that carries its implementation and its settings: the value of a handler's option `auth`, such as
 * the result of `session()` of `defineAuth`, of `createJwtAuth` or of `createConnectionTickets`. It describes itself,
 * so that grants, infrastructure and documents can be generated from it.
 */
export interface AuthMethod<TIdentity extends object = object> {
  /** Name of the mode, and of the security scheme in the OpenAPI document. */
  readonly mode: AuthMethodMode;
  /**
   * What it asks of callers besides a valid credential.
   * @default {}
   */
  readonly needs?: AuthNeeds;
  /**
   * Returns what the handler receives about the caller. Throws `UnauthorizedError` if the credential is missing or not
   * valid, and an error with the status 403 if the caller lacks what `needs` asks for.
   *
   * @param event The request.
   * @param setCookie Adds a `Set-Cookie` header to the response, such as that of a renewed session.
   */
  readonly authenticate: (
    event: ApiEvent,
    setCookie?: (cookie: string) => void,
  ) => TIdentity | Promise<TIdentity>;
  /** Headers in which API keys are sent, with the mode `api-key`. */
  readonly apiKeyHeaders?: readonly string[];
  /**
   * Checks whether pages of an origin may send cookies; `null` if none may.
   * @default the trusted origins of `configureSessionAuth`
   */
  readonly isTrustedOrigin?: TrustedOriginCheck | null;
}

/** Checks whether a value is an {@link AuthMethod}. */
export function isAuthMethod(value: unknown): value is AuthMethod {
  const { mode, authenticate } = Object(value) as Partial<AuthMethod>;
  return typeof mode === "string" && typeof authenticate === "function";
}

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
