import type { $ZodType } from "zod/v4/core";
import { API_KEY_RULES, SESSION_RULES } from "../core/auth_needs.ts";
import { isAuthMethod } from "../core/http/auth_method.ts";
import { HTTP_RULES } from "../core/http_options.ts";
import { checkFunctionOptions, FUNCTION_RULES, wholeNumber } from "../core/function_options.ts";
import { IDEMPOTENCY_OPTION } from "../core/idempotency.ts";
import {
  BOOLEAN_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  protective,
  someText,
} from "../core/option_rules.ts";
import { checkRateLimit } from "../core/rate_limit/rate_limit.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { AUTH_MODES } from "./authenticate.ts";
import type { DefineApiHandlerOptions } from "./handler_types.ts";
import { getDeclaredParts, type ResponseSchemas } from "./response_types.ts";

const SCHEMA: OptionRule = [
  (value) => OBJECT_OPTION[0](value) && "_zod" in (value as object),
  "a schema of zod 4 or zod/mini",
];

function isResponse(value: unknown): boolean {
  if (SCHEMA[0](value)) return true;
  const parts = OBJECT_OPTION[0](value) ? Object.entries(value as object) : [];
  return parts.length > 0 &&
    parts.every(([name, each]) => (name === "body" || name === "headers") && SCHEMA[0](each));
}

const RULES: OptionRules = {
  schema: SCHEMA,
  bodyParser: OBJECT_OPTION,
  querySchema: SCHEMA,
  pathSchema: SCHEMA,
  headers: SCHEMA,
  cookies: SCHEMA,
  responseSchema: protective(SCHEMA),
  responses: protective([
    (value) => OBJECT_OPTION[0](value) && Object.values(value as object).every(isResponse),
    "schemas of zod 4 or zod/mini by status, or { body, headers } of them",
  ]),
  validateResponses: oneOf(["always", "development", "never"]),
  auth: protective([
    (auth) => AUTH_MODES.includes(auth as string) || isAuthMethod(auth),
    `${AUTH_MODES.join(" or ")}, or a value such as session() of defineAuth`,
  ]),
  userIdClaim: someText("the name of a claim such as sub"),
  ...HTTP_RULES,
  maxBodyBytes: protective(wholeNumber([1, Infinity, "bytes"])),
  idempotency: protective(IDEMPOTENCY_OPTION),
  rateLimit: protective(OBJECT_OPTION),
  streaming: [
    (value) => OBJECT_OPTION[0](value) && "createDelivery" in (value as object),
    "the result of responseStreaming()",
  ],
  etag: protective([
    (value) => value === true || typeof value === "function",
    "true, or a function that returns the version",
  ]),
  ranges: BOOLEAN_OPTION,
  compress: BOOLEAN_OPTION,
  openapi: OBJECT_OPTION,
  ...FUNCTION_RULES,
};

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
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any,
  // deno-lint-ignore no-explicit-any
  any
>;

/**
 * Checks options when the module is loaded, not at the first request.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkApiOptions(options: object): void {
  refuseNeeds(options);
  checkFunctionOptions("defineApiHandler", options, RULES);
  const given = options as AnyOptions & Readonly<Record<string, unknown>>;
  const { auth, userIdClaim } = given;
  if (given.bodyParser !== undefined && given.schema === undefined) {
    throw new ConfigurationError("bodyParser goes with schema: set it");
  }
  if (userIdClaim !== undefined && !(typeof auth === "string" && auth.startsWith("authorizer"))) {
    throw new ConfigurationError(
      "userIdClaim goes with auth 'authorizer' or 'authorizer-optional': set one of them",
    );
  }
  checkHeaderNames("headers", given.headers);
  for (const [status, each] of Object.entries((given.responses ?? {}) as ResponseSchemas)) {
    checkHeaderNames(`responses[${status}].headers`, getDeclaredParts(each).headers);
  }
  if (given.streaming !== undefined) checkStreaming(given);
  if (given.ranges && given.idempotency !== undefined) {
    throw new ConfigurationError("ranges does not go with idempotency: remove one of them");
  }
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

/** What a handler asks of its callers, by the function of `defineAuth` that takes it. */
const NEEDS = { session: SESSION_RULES, apiKey: API_KEY_RULES };

/** Refuses what a handler asks of its callers beside the option `auth`: it belongs to the value of `auth`. */
function refuseNeeds(options: object): void {
  for (const [method, rules] of Object.entries(NEEDS)) {
    const name = Object.keys(rules).find((each) => Object.hasOwn(Object(options), each));
    if (name === undefined) continue;
    throw new ConfigurationError(
      `defineApiHandler has no option ${name}: write auth: ${method}({ ${name}: … }), with ${method}() of defineAuth`,
    );
  }
}

/** Headers that OpenAPI does not describe as parameters (3.1, section 4.8.12.2), and what handlers use instead. */
const OTHER_WAYS: Readonly<Record<string, string>> = {
  accept: "read it from the event",
  authorization: "set auth",
  "content-type": "set bodyParser",
  cookie: "set cookies",
};

function checkHeaderNames(option: string, schema: $ZodType | undefined): void {
  const { shape = {} } = (schema?._zod.def ?? {}) as { shape?: object };
  for (const name of Object.keys(shape)) {
    if (name !== name.toLowerCase()) {
      throw new ConfigurationError(
        `${option} has the field ${name}: write the names of headers in lower case`,
      );
    }
    if (option === "headers" && Object.hasOwn(OTHER_WAYS, name)) {
      throw new ConfigurationError(`headers has the field ${name}: ${OTHER_WAYS[name]} instead`);
    }
  }
}

/** A streamed response is not parsed by a schema, stored, hashed or compressed. */
function checkStreaming(options: Readonly<Record<string, unknown>>): void {
  for (const name of ["idempotency", "responseSchema", "responses", "etag", "compress"]) {
    if (options[name] === undefined) continue;
    throw new ConfigurationError(`${name} does not go with streaming: remove one of them`);
  }
}
