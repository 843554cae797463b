import { ConfigurationError } from "../errors/mod.ts";

/** The least and the most of an option that is a whole number, and what it counts. */
export type OptionRange = readonly [least: number, most: number, unit: string];

/** Whole numbers that Lambda takes (Lambda quotas, CreateFunction). */
export const FUNCTION_RANGES: Readonly<Record<string, OptionRange>> = {
  timeout: [1, 900, "seconds"],
  memorySize: [128, 10240, "MB"],
  ephemeralStorage: [512, 10240, "MB"],
  reservedConcurrency: [0, Infinity, "executions"],
  retryAttempts: [0, 2, "retries"],
};

/**
 * Refuses a number out of its range.
 *
 * @throws {ConfigurationError} Naming the option, the value and the range.
 */
export function checkRange(name: string, value: unknown, [least, most, unit]: OptionRange): void {
  if (Number.isInteger(value) && value as number >= least && value as number <= most) return;
  const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`;
  throw new ConfigurationError(`${name} is ${value}: it must be a whole number of ${unit} ${range}`);
}

/**
 * Refuses a dead-letter setting that is neither a boolean nor the ARN of a queue or a topic.
 *
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkDeadLetterQueue(value: unknown): void {
  if (typeof value === "boolean") return;
  const { targetArn, ...others } = Object(value) as { targetArn?: unknown };
  if (typeof value !== "object" || value === null || Object.keys(others).length > 0) {
    throw new ConfigurationError("deadLetterQueue must be a boolean or { targetArn }");
  }
  if (targetArn !== undefined && !/^arn:[^:]+:(?:sqs|sns):/.test(String(targetArn))) {
    throw new ConfigurationError(`deadLetterQueue.targetArn is ${targetArn}: it must be the ARN of a queue or a topic`);
  }
}
