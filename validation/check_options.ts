import { HTTP_RULES } from "../core/http/http_options.ts";
import { checkFunctionOptions, FUNCTION_RULES, wholeNumber } from "../core/function_options.ts";
import { IDEMPOTENCY_OPTION } from "../core/idempotency.ts";
import {
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  protective,
} from "../core/option_rules.ts";
import { checkRateLimit } from "../core/rate_limit/request_limits.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { AUTH_MODES, type AuthMethod } from "./authenticate.ts";
import type { DefineApiHandlerOptions } from "./handler_types.ts";

const SCHEMA: OptionRule = [
  (value) => OBJECT_OPTION[0](value) && "_zod" in (value as object),
  "a schema of zod 4 or zod/mini",
];

const TEXTS: OptionRule = [isTexts, 'a list of roles such as ["admin"]'];

const RULES: OptionRules = {
  schema: SCHEMA,
  bodyParser: OBJECT_OPTION,
  querySchema: SCHEMA,
  pathSchema: SCHEMA,
  responseSchema: protective(SCHEMA),
  responses: protective([
    (value) => OBJECT_OPTION[0](value) && Object.values(value as object).every(SCHEMA[0]),
    "schemas of zod 4 or zod/mini by status",
  ]),
  validateResponses: oneOf(["always", "development", "never"]),
  auth: protective([
    (auth) => AUTH_MODES.includes(auth as string) || isAuthMethod(auth),
    `${AUTH_MODES.join(" or ")}, or the result of a function such as createJwtAuth()`,
  ]),
  optional: BOOLEAN_OPTION,
  authorize: protective(FUNCTION_OPTION),
  roles: protective(TEXTS),
  organization: protective([OBJECT_OPTION[0], "{} or { role }"]),
  freshWithin: protective(wholeNumber([1, Infinity, "seconds"])),
  twoFactor: protective(oneOf(["required"])),
  permissions: protective([
    (needs) => OBJECT_OPTION[0](needs) && hasActions(needs as object),
    'actions by resource such as { notes: ["read"] }',
  ]),
  userIdClaim: [isText, "the name of a claim such as sub"],
  ...HTTP_RULES,
  maxBodyBytes: protective(wholeNumber([1, Infinity, "bytes"])),
  idempotency: protective(IDEMPOTENCY_OPTION),
  rateLimit: protective(OBJECT_OPTION),
  streaming: [
    (value) => OBJECT_OPTION[0](value) && "createDelivery" in (value as object),
    "the result of responseStreaming()",
  ],
  openapi: OBJECT_OPTION,
  ...FUNCTION_RULES,
};

const ORGANIZATION_RULES: OptionRules = {
  role: protective([
    (role) => isText(role) || isTexts(role),
    'a role such as "owner", or a list of them',
  ]),
};

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isAuthMethod(value: unknown): boolean {
  return OBJECT_OPTION[0](value) && typeof (value as AuthMethod).authenticate === "function";
}

function hasActions(needs: object): boolean {
  const lists = Object.values(needs);
  return lists.length > 0 && lists.every(isTexts);
}

/** Options of any handler. */
export type AnyOptions = DefineApiHandlerOptions<
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  boolean,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any
>;

/** Options that refuse authenticated callers with 403. */
export const RESTRICTIONS = [
  "authorize",
  "roles",
  "organization",
  "freshWithin",
  "twoFactor",
  "permissions",
];

/**
 * Checks options when the module is loaded, not at the first request.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkApiOptions(options: object): void {
  checkFunctionOptions("defineApiHandler", options, RULES);
  const given = options as AnyOptions & Readonly<Record<string, unknown>>;
  const { auth, optional, userIdClaim } = given;
  if (given.bodyParser !== undefined && given.schema === undefined) {
    throw new ConfigurationError("bodyParser goes with schema: set it");
  }
  if (userIdClaim !== undefined && !(typeof auth === "string" && auth.startsWith("authorizer"))) {
    throw new ConfigurationError(
      "userIdClaim goes with auth 'authorizer' or 'authorizer-optional': set one of them",
    );
  }
  for (const name of [...RESTRICTIONS, "optional"]) {
    if (given[name] === undefined) continue;
    const mode = name === "permissions" ? "api-key" : "session";
    if (auth !== mode) {
      throw new ConfigurationError(`${name} goes with auth '${mode}': set it, or remove ${name}`);
    }
    if (optional && name !== "optional") {
      throw new ConfigurationError(
        `${name} does not go with optional: a caller without a session cannot meet it`,
      );
    }
  }
  if (given.organization !== undefined) {
    checkOptions("organization", given.organization, ORGANIZATION_RULES, "organization.");
  }
  if (given.streaming !== undefined) checkStreaming(given);
  if (given.rateLimit !== undefined) {
    checkRateLimit(given.rateLimit);
    const hasUser = auth !== undefined && auth !== "none" && auth !== "bearer";
    if (given.rateLimit.by === "user" && !hasUser) {
      throw new ConfigurationError(
        "rateLimit.by is 'user', but auth identifies no user: set auth, or count by 'address'",
      );
    }
  }
}

/** A streamed response is neither parsed by a schema nor stored. */
function checkStreaming(options: Readonly<Record<string, unknown>>): void {
  for (const name of ["idempotency", "responseSchema", "responses"]) {
    if (options[name] === undefined) continue;
    throw new ConfigurationError(`${name} does not go with streaming: remove one of them`);
  }
}
