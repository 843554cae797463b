import { mapValues } from "./lists/map_values.ts";
import { checkLoggingConfig, type LoggingConfig } from "./logging_config.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
  type OptionRules,
} from "./option_rules.ts";

/** Options of all functions: how an invocation is observed, and the resources that it gets. */
export interface FunctionOptions {
  /**
   * Name in metrics and spans.
   * @default the name of the handler's function, else that of the Lambda function
   */
  operationName?: string;
  /** Settings of logging. */
  logging?: LoggingConfig;
  /**
   * True if each invocation adds `Duration`, `Errors` and `ColdStart` to the metrics.
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

/** Options of functions that Lambda itself invokes again after a failure. */
export interface AsyncFunctionOptions extends FunctionOptions {
  /** Destination of failed events, for the infrastructure generator. */
  deadLetterQueue?: boolean | { targetArn?: string };
  /** Retries of failed events, 0 to 2, for the infrastructure generator. */
  retryAttempts?: number;
}

/** Minimum, maximum and unit of an integer option. */
export type OptionRange = readonly [least: number, most: number, unit: string];

/** Ranges of Lambda (Lambda quotas, CreateFunction). */
export const FUNCTION_RANGES: Readonly<Record<string, OptionRange>> = {
  timeout: [1, 900, "seconds"],
  memorySize: [128, 10240, "MB"],
  ephemeralStorage: [512, 10240, "MB"],
  reservedConcurrency: [0, Infinity, "executions"],
  retryAttempts: [0, 2, "retries"],
};

/** Returns the rule of an integer option. */
export function wholeNumber([least, most, unit]: OptionRange): OptionRule {
  return [
    (value) => Number.isInteger(value) && value as number >= least && value as number <= most,
    `a whole number of ${unit} from ${least}${most === Infinity ? "" : ` to ${most}`}`,
  ];
}

/** Accepts the destinations of failed events. */
const DEAD_LETTER_QUEUE: OptionRule = [
  (value) => BOOLEAN_OPTION[0](value) || isTarget(value),
  "true, false or { targetArn } with the ARN of a queue or a topic",
];

function isTarget(value: unknown): boolean {
  if (!OBJECT_OPTION[0](value)) return false;
  const { targetArn, ...others } = value as { targetArn?: unknown };
  return Object.keys(others).length === 0 &&
    (targetArn === undefined || /^arn:[^:]+:(?:sqs|sns):/.test(String(targetArn)));
}

/** The rules of the options that the infrastructure generator reads. */
export const FUNCTION_RULES: Readonly<Record<string, OptionRule>> = {
  ...mapValues(FUNCTION_RANGES, (range) => wholeNumber(range)),
  deadLetterQueue: DEAD_LETTER_QUEUE,
};

const { retryAttempts: _retries, deadLetterQueue: _target, ...RESOURCE_RULES } = FUNCTION_RULES;

/** The rules of {@link FunctionOptions}. */
const COMMON_RULES: OptionRules = {
  operationName: ANY_OPTION,
  logging: ANY_OPTION,
  metrics: BOOLEAN_OPTION,
  tracing: BOOLEAN_OPTION,
  ...RESOURCE_RULES,
};

/**
 * Checks the options of a function when the module is loaded, not at the first event.
 *
 * @param factory Name of the function that got them, for messages.
 * @param options The options.
 * @param rules The rules of those that are not in {@link FunctionOptions}.
 * @throws {ConfigurationError} If an option is unknown or invalid. Names the option and the value.
 */
export function checkFunctionOptions(factory: string, options: object, rules: OptionRules): void {
  checkOptions(factory, options, { ...COMMON_RULES, ...rules });
  const { logging } = options as FunctionOptions;
  if (logging !== undefined) checkLoggingConfig(logging);
}

/**
 * Checks a number against its range.
 *
 * @throws {ConfigurationError} If it is out of range. Names the option, the value and the range.
 */
export function checkRange(name: string, value: unknown, range: OptionRange): void {
  checkOption(name, value, wholeNumber(range));
}
