import { BOOLEAN_OPTION, checkOption, type OptionRule } from "./option_rules.ts";

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
  if (typeof value !== "object" || value === null) return false;
  const { targetArn, ...others } = value as { targetArn?: unknown };
  return Object.keys(others).length === 0 &&
    (targetArn === undefined || /^arn:[^:]+:(?:sqs|sns):/.test(String(targetArn)));
}

/** The rules of the options that the infrastructure generator reads. */
export const FUNCTION_RULES: Readonly<Record<string, OptionRule>> = {
  ...Object.fromEntries(
    Object.entries(FUNCTION_RANGES).map(([name, range]) => [name, wholeNumber(range)]),
  ),
  deadLetterQueue: DEAD_LETTER_QUEUE,
};

/**
 * Checks a number against its range.
 *
 * @throws {ConfigurationError} If it is out of range. Names the option, the value and the range.
 */
export function checkRange(name: string, value: unknown, range: OptionRange): void {
  checkOption(name, value, wholeNumber(range));
}

/**
 * Checks that a dead-letter setting is a boolean or the ARN of a queue or a topic.
 *
 * @throws {ConfigurationError} If it is invalid. Names the option and the value.
 */
export function checkDeadLetterQueue(value: unknown): void {
  checkOption("deadLetterQueue", value, DEAD_LETTER_QUEUE);
}
