import type { StandardSchema } from "../../env/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
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

/** Whole numbers that Lambda takes (Lambda quotas, CreateFunction), and our own. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number, unit: string]>> = {
  timeout: [1, 900, "seconds"],
  memorySize: [128, 10240, "MB"],
  ephemeralStorage: [512, 10240, "MB"],
  reservedConcurrency: [0, Infinity, "executions"],
  retryAttempts: [0, 2, "retries"],
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
    if (key in RANGES) checkRange(key, value);
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

function checkRange(name: string, value: unknown): void {
  const [least, most, unit] = RANGES[name];
  if (Number.isInteger(value) && value as number >= least && value as number <= most) return;
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`;
  throw new ConfigurationError(`${name} is ${value}: it must be a whole number of ${unit} ${range}`);
}

function checkSchema(schema: unknown): void {
  // arktype's schemas are functions
  const standard = (schema as StandardSchema | null)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new ConfigurationError(`schema follows no Standard Schema (zod 4, valibot, arktype): got ${typeof schema}`);
  }
}

function checkDeadLetterQueue(value: unknown): void {
  if (typeof value === "boolean") return;
  const { targetArn, ...others } = Object(value) as { targetArn?: unknown };
  if (typeof value !== "object" || value === null || Object.keys(others).length > 0) {
    throw new ConfigurationError("deadLetterQueue must be a boolean or { targetArn }");
  }
  if (targetArn !== undefined && !/^arn:[^:]+:(?:sqs|sns):/.test(String(targetArn))) {
    throw new ConfigurationError(`deadLetterQueue.targetArn is ${targetArn}: it must be the ARN of a queue or a topic`);
  }
}
