import { checkLoggingConfig } from "../core/mod.ts";
import { ConfigurationError } from "../errors/mod.ts";
import { AUTH_MODES, type AuthMode } from "./authenticate.ts";
import type { DefineApiHandlerOptions } from "./handler_types.ts";

/** Whole numbers that Lambda takes (Lambda quotas, CreateFunction). */
const RANGES = {
  timeout: [1, 900, "seconds"],
  memorySize: [128, 10240, "MB"],
  ephemeralStorage: [512, 10240, "MB"],
  reservedConcurrency: [0, Number.MAX_SAFE_INTEGER, "executions"],
  retryAttempts: [0, 2, "retries"],
  maxBodyBytes: [1, Number.MAX_SAFE_INTEGER, "bytes"],
} as const satisfies Record<string, readonly [number, number, string]>;

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
  for (const [name, [least, most, unit]] of Object.entries(RANGES)) {
    const value = options[name as keyof typeof RANGES];
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most)) {
      const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
      throw new ConfigurationError(`${name} is ${value}: it must be a whole number of ${unit} ${range}`);
    }
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
  const { auth, deadLetterQueue, logging, cors, openapi } = options;
  if (openapi !== undefined && (typeof openapi !== "object" || openapi === null)) {
    throw new ConfigurationError(`openapi is ${openapi}: it must be an object`);
  }
  if (cors !== undefined) checkCors(cors);
  if (auth !== undefined && !AUTH_MODES.includes(auth)) {
    throw new ConfigurationError(`auth is ${JSON.stringify(auth)}: it must be ${AUTH_MODES.join(", ")}`);
  }
  if (deadLetterQueue !== undefined && typeof deadLetterQueue !== "boolean") {
    const { targetArn, ...others } = deadLetterQueue ?? {};
    if (deadLetterQueue === null || typeof deadLetterQueue !== "object" || Object.keys(others).length > 0) {
      throw new ConfigurationError("deadLetterQueue must be a boolean or { targetArn }");
    }
    if (targetArn !== undefined && !/^arn:[^:]+:(?:sqs|sns):/.test(targetArn)) {
      throw new ConfigurationError(
        `deadLetterQueue.targetArn is ${targetArn}: it must be the ARN of a queue or a topic`,
      );
    }
  }
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
