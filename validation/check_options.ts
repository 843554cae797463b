import {
  checkDeadLetterQueue,
  checkLoggingConfig,
  checkRange,
  FUNCTION_RANGES,
  type OptionRange,
} from "../core/mod.ts";
import { ConfigurationError } from "../errors/mod.ts";
import { AUTH_MODES, type AuthMode } from "./authenticate.ts";
import type { DefineApiHandlerOptions } from "./handler_types.ts";

const RANGES: Readonly<Record<string, OptionRange>> = { ...FUNCTION_RANGES, maxBodyBytes: [1, Infinity, "bytes"] };

const SCHEMAS = ["schema", "querySchema", "pathSchema", "responseSchema"] as const;

const KEYS: ReadonlySet<string> = new Set([
  ...SCHEMAS,
  ...Object.keys(RANGES),
  "auth",
  "operationName",
  "logging",
  "metrics",
  "tracing",
  "cors",
  "errorBody",
  "openapi",
  "deadLetterQueue",
]);

// deno-lint-ignore no-explicit-any
type AnyOptions = DefineApiHandlerOptions<any, any, any, AuthMode>;

/**
 * Refuses options that cannot be meant, when the module is loaded and not at the first request.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkOptions(options: AnyOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(`The options of defineApiHandler are ${options}: they must be an object`);
  }
  for (const key of Object.keys(options)) {
    if (!KEYS.has(key)) {
      throw new ConfigurationError(`defineApiHandler has no option ${key}: it has ${[...KEYS].join(", ")}`);
    }
  }
  for (const [name, range] of Object.entries(RANGES)) {
    const value = options[name as keyof AnyOptions];
    if (value !== undefined) checkRange(name, value, range);
  }
  for (const name of SCHEMAS) {
    const schema = options[name];
    if (schema !== undefined && (typeof schema !== "object" || schema === null || !("_zod" in schema))) {
      throw new ConfigurationError(`${name} is no zod schema (zod 4): got ${typeof schema}`);
    }
  }
  for (const name of ["metrics", "tracing"] as const) {
    const value = options[name];
    if (value !== undefined && typeof value !== "boolean") {
      throw new ConfigurationError(`${name} is ${value}: it must be true or false`);
    }
  }
  const { auth, deadLetterQueue, logging, cors, errorBody, openapi } = options;
  if (openapi !== undefined && (typeof openapi !== "object" || openapi === null)) {
    throw new ConfigurationError(`openapi is ${openapi}: it must be an object`);
  }
  if (errorBody !== undefined && typeof errorBody !== "function") {
    throw new ConfigurationError(`errorBody is ${errorBody}: it must be a function`);
  }
  if (cors !== undefined) checkCors(cors);
  if (auth !== undefined && !AUTH_MODES.includes(auth)) {
    throw new ConfigurationError(`auth is ${JSON.stringify(auth)}: it must be ${AUTH_MODES.join(", ")}`);
  }
  if (deadLetterQueue !== undefined) checkDeadLetterQueue(deadLetterQueue);
  if (logging !== undefined) checkLoggingConfig(logging);
}

/** An origin as browsers send it (RFC 6454, section 6.2): scheme, host and port, no path and no slash at the end. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/,*?#]+$/i;

function checkCors(cors: unknown): void {
  if (cors === false || cors === "*") return;
  const origins: unknown[] = Array.isArray(cors) ? cors : [cors];
  if (origins.length > 0 && origins.every((origin) => typeof origin === "string" && ORIGIN.test(origin))) return;
  throw new ConfigurationError(
    `cors is ${
      JSON.stringify(cors)
    }: it must be "*", an origin such as "https://example.com", a list of them, or false`,
  );
}
