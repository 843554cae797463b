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
  const { auth, deadLetterQueue, logging } = options;
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
