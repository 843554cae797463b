import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkLoggingConfig,
  checkOptions,
  FUNCTION_OPTION,
  FUNCTION_RULES,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
  wholeNumber,
} from "../core/mod.ts";
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
  operationName: ANY_OPTION,
  logging: ANY_OPTION,
  metrics: BOOLEAN_OPTION,
  tracing: BOOLEAN_OPTION,
  cors: [isCors, '"*", an origin such as "https://example.com", a list of them, or false'],
  maxBodyBytes: wholeNumber([1, Infinity, "bytes"]),
  errorBody: FUNCTION_OPTION,
  openapi: OBJECT_OPTION,
  ...FUNCTION_RULES,
};

// deno-lint-ignore no-explicit-any
type AnyOptions = DefineApiHandlerOptions<any, any, any, AuthMode>;

/**
 * Refuses options that cannot be meant, when the module is loaded and not at the first request.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkApiOptions(options: AnyOptions): void {
  checkOptions("defineApiHandler", options, RULES);
  if (options.logging !== undefined) checkLoggingConfig(options.logging);
}

/** An origin as browsers send it (RFC 6454, section 6.2): scheme, host and port, no path and no slash at the end. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/,*?#]+$/i;

function isCors(cors: unknown): boolean {
  if (cors === false || cors === "*") return true;
  const origins: unknown[] = Array.isArray(cors) ? cors : [cors];
  return origins.length > 0 && origins.every((origin) => typeof origin === "string" && ORIGIN.test(origin));
}
