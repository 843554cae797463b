import { isCorsOption } from "../core/http/cors.ts";
import { FUNCTION_RULES, wholeNumber } from "../core/function_options.ts";
import { IDEMPOTENCY_OPTION } from "../core/idempotency.ts";
import { checkLoggingConfig } from "../core/logging_config.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
} from "../core/option_rules.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { AUTH_MODES, type AuthMode } from "./authenticate.ts";
import type { DefineApiHandlerOptions } from "./handler_types.ts";

const SCHEMA: OptionRule = [
  (value) => OBJECT_OPTION[0](value) && "_zod" in (value as object),
  "a schema of zod 4 or zod/mini",
];

const RULES: OptionRules = {
  schema: SCHEMA,
  querySchema: SCHEMA,
  pathSchema: SCHEMA,
  responseSchema: SCHEMA,
  auth: oneOf(AUTH_MODES),
  userIdClaim: [
    (value) => typeof value === "string" && value !== "",
    "the name of a claim such as sub",
  ],
  operationName: ANY_OPTION,
  logging: ANY_OPTION,
  metrics: BOOLEAN_OPTION,
  tracing: BOOLEAN_OPTION,
  cors: [isCorsOption, '"*", an origin such as "https://example.com", a list of them, or false'],
  maxBodyBytes: wholeNumber([1, Infinity, "bytes"]),
  errorBody: FUNCTION_OPTION,
  idempotency: IDEMPOTENCY_OPTION,
  openapi: OBJECT_OPTION,
  ...FUNCTION_RULES,
};

// deno-lint-ignore no-explicit-any
type AnyOptions = DefineApiHandlerOptions<any, any, any, AuthMode, any>;

/**
 * Refuses invalid options when the module is loaded, not at the first request.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkApiOptions(options: AnyOptions): void {
  checkOptions("defineApiHandler", options, RULES);
  if (options.userIdClaim !== undefined && !options.auth?.startsWith("authorizer")) {
    throw new ConfigurationError(
      "userIdClaim goes with auth 'authorizer' or 'authorizer-optional': set one of them",
    );
  }
  if (options.logging !== undefined) checkLoggingConfig(options.logging);
}
