import type { StandardSchema } from "../../env/standard_schema.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { FUNCTION_RULES, wholeNumber } from "../function_options.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { IDEMPOTENCY_OPTION } from "../idempotency.ts";
import { checkLoggingConfig, type LoggingConfig } from "../logging_config.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  oneOf,
  type OptionRules,
} from "../option_rules.ts";

/** Options of the handlers of all triggers. */
export interface TriggerOptions {
  /**
   * Name in metrics and spans.
   * @default the handler function's name
   */
  operationName?: string;
  /** Settings of logging. */
  logging?: LoggingConfig;
  /**
   * True if each invocation adds its metrics.
   * @default true
   */
  metrics?: boolean;
  /**
   * True if each invocation has a span.
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
  /** Destination of failed events, for the infrastructure generator. */
  deadLetterQueue?: boolean | { targetArn?: string };
  /** Retries of failed events, 0 to 2, for the infrastructure generator. */
  retryAttempts?: number;
}

/** Options of the triggers that read a stream in order. */
export interface StreamTriggerOptions extends TriggerOptions {
  /**
   * Destination for the positions of records that failed for good, for the infrastructure generator.
   * The source keeps the records themselves, for as long as it keeps any record.
   * @default true: a queue of the function's own
   */
  deadLetterQueue?: boolean | { targetArn?: string };
}

/** The function to export for Lambda. It carries the user's own, so that this can be tested apart from its wrapper. */
export interface TriggerHandler<TEvent, TResult, TFunction> {
  (event: TEvent, context: LambdaContext): Promise<TResult>;
  /** The user's own function. */
  readonly handler: TFunction;
}

/** Options of every trigger. */
const COMMON = [
  "operationName",
  "logging",
  "timeout",
  "memorySize",
  "reservedConcurrency",
  "ephemeralStorage",
  "metrics",
  "tracing",
];

/** Options of triggers that do not wait, beside those of all. */
export const ASYNC_KEYS = [
  "deadLetterQueue",
  "retryAttempts",
] as const satisfies (keyof AsyncTriggerOptions)[];

const RULES: OptionRules = {
  ...FUNCTION_RULES,
  metrics: BOOLEAN_OPTION,
  tracing: BOOLEAN_OPTION,
  idempotency: IDEMPOTENCY_OPTION,
  concurrency: wholeNumber([1, 10_000, "records at once"]),
  partialFailures: BOOLEAN_OPTION,
  // arktype's schemas are functions
  schema: [
    (value) => typeof (value as StandardSchema | null)?.["~standard"]?.validate === "function",
    "a schema of zod 4, valibot, arktype or whatever else follows Standard Schema",
  ],
};

/**
 * Refuses invalid options when the module is loaded, not at the first event.
 *
 * @param factory Name of the function that got them, for messages.
 * @param options The options.
 * @param ownKeys Names of the options that this trigger has beside those of all.
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkTriggerOptions(
  factory: string,
  options: object,
  ownKeys: readonly string[],
): void {
  const names = [...COMMON, ...ownKeys];
  checkOptions(
    factory,
    options,
    Object.fromEntries(names.map((name) => [name, RULES[name] ?? ANY_OPTION])),
  );
  const { logging } = options as TriggerOptions;
  if (logging !== undefined) checkLoggingConfig(logging);
}

/**
 * Refuses a value that is not in a list.
 *
 * @throws {ConfigurationError} Naming the option, the value and the list.
 */
export function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined) checkOption(name, value, oneOf(choices));
}

/** Refuses a handler that is none, such as the result of calling it. */
export function checkHandler(factory: string, handler: unknown): void {
  if (typeof handler !== "function") {
    throw new ConfigurationError(
      `${factory}(options) got ${typeof handler} as the handler: it must be a function`,
    );
  }
}
