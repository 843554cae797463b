import type { StandardSchema } from "../../env/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { checkDeadLetterQueue, checkRange, FUNCTION_RANGES, type OptionRange } from "../function_options.ts";
import type { LambdaContext } from "../lambda.ts";
import { checkLoggingConfig, type LoggingConfig } from "../logging_config.ts";

/** What the handlers of all triggers can be told. */
export interface TriggerOptions {
  /**
   * Name in metrics and spans.
   * @default the handler function's name
   */
  operationName?: string;
  /** How it logs. */
  logging?: LoggingConfig;
  /**
   * Whether each invocation adds its metrics.
   * @default true
   */
  metrics?: boolean;
  /**
   * Whether each invocation has a span.
   * @default true
   */
  tracing?: boolean;
  /** The function's timeout in seconds, 1 to 900, for the infrastructure generator. */
  timeout?: number;
  /** The function's memory in MB, 128 to 10240, for the infrastructure generator. */
  memorySize?: number;
  /** Reserved concurrent executions, for the infrastructure generator. */
  reservedConcurrency?: number;
  /** Temporary storage in MB, 512 to 10240, for the infrastructure generator. */
  ephemeralStorage?: number;
}

/** Options of the triggers that do not wait for an answer: Lambda itself invokes again what failed. */
export interface AsyncTriggerOptions extends TriggerOptions {
  /** Where failed events go, for the infrastructure generator. */
  deadLetterQueue?: boolean | { targetArn?: string };
  /** Retries of failed events, 0 to 2, for the infrastructure generator. */
  retryAttempts?: number;
}

/** The function to export for Lambda. It carries the user's own, so that this can be tested apart from its wrapper. */
export interface TriggerHandler<TEvent, TResult, TFunction> {
  (event: TEvent, context: LambdaContext): Promise<TResult>;
  /** The user's own function. */
  readonly handler: TFunction;
}

const BOOLEANS = ["metrics", "tracing"] as const;
const KEYS = ["operationName", "logging", "timeout", "memorySize", "reservedConcurrency", "ephemeralStorage"] as const;

/** Options of triggers that do not wait, beside those of all. */
export const ASYNC_KEYS = ["deadLetterQueue", "retryAttempts"] as const satisfies (keyof AsyncTriggerOptions)[];

const RANGES: Readonly<Record<string, OptionRange>> = {
  ...FUNCTION_RANGES,
  concurrency: [1, 10_000, "records at once"],
};

/**
 * Refuses options that cannot be meant, when the module is loaded and not at the first event.
 *
 * @param factory Name of the function that got them, for messages.
 * @param options The options.
 * @param ownKeys Names of the options that this trigger has beside those of all.
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkTriggerOptions(factory: string, options: object, ownKeys: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(`The options of ${factory} are ${options}: they must be an object`);
  }
  const known: readonly string[] = [...KEYS, ...BOOLEANS, ...ownKeys];
  const given = options as Readonly<Record<string, unknown>>;
  for (const [key, value] of Object.entries(given)) {
    if (!known.includes(key)) {
      throw new ConfigurationError(`${factory} has no option ${key}: it has ${known.join(", ")}`);
    }
    if (value === undefined) continue;
    if (Object.hasOwn(RANGES, key)) checkRange(key, value, RANGES[key]);
    else if ((BOOLEANS as readonly string[]).includes(key) && typeof value !== "boolean") {
      throw new ConfigurationError(`${key} is ${value}: it must be true or false`);
    }
  }
  const { logging, schema, deadLetterQueue } = given;
  if (logging !== undefined) checkLoggingConfig(logging as LoggingConfig);
  if (schema !== undefined) checkSchema(schema);
  if (deadLetterQueue !== undefined) checkDeadLetterQueue(deadLetterQueue);
}

/**
 * Refuses a value that is not in a list.
 *
 * @throws {ConfigurationError} Naming the option, the value and the list.
 */
export function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined && !choices.includes(value as string)) {
    throw new ConfigurationError(`${name} is ${JSON.stringify(value)}: it must be ${choices.join(" or ")}`);
  }
}

/** Refuses a handler that is none, such as the result of calling it. */
export function checkHandler(factory: string, handler: unknown): void {
  if (typeof handler !== "function") {
    throw new ConfigurationError(`${factory}(options) got ${typeof handler} as the handler: it must be a function`);
  }
}

function checkSchema(schema: unknown): void {
  // arktype's schemas are functions
  const standard = (schema as StandardSchema | null)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new ConfigurationError(`schema follows no Standard Schema (zod 4, valibot, arktype): got ${typeof schema}`);
  }
}
