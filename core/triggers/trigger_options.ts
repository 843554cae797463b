import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  type AsyncFunctionOptions,
  checkFunctionOptions,
  FUNCTION_RULES,
  type FunctionOptions,
  wholeNumber,
} from "../function_options.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { IDEMPOTENCY_OPTION } from "../idempotency.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOption,
  oneOf,
  type OptionRules,
  protective,
  SCHEMA_OPTION,
} from "../option_rules.ts";

/** Options of the handlers of all triggers. */
export type TriggerOptions = FunctionOptions;

/** Options of the triggers that do not wait for an answer: Lambda retries failed invocations. */
export type AsyncTriggerOptions = AsyncFunctionOptions;

/** Options of the triggers that read a stream in order. */
export interface StreamTriggerOptions extends TriggerOptions {
  /**
   * Destination for the positions of records whose last attempt failed, for the infrastructure generator.
   * The source keeps the records themselves, for as long as it keeps any record.
   * @default true: a queue of the function's own
   */
  deadLetterQueue?: boolean | { targetArn?: string };
}

/** The function to export for Lambda. It has the user's function as a property, for tests without the wrapper. */
export interface TriggerHandler<TEvent, TResult, TFunction> {
  (event: TEvent, context: LambdaContext): Promise<TResult>;
  /** The user's function. */
  readonly handler: TFunction;
}

/** Options of triggers that do not wait, beside those of all. */
export const ASYNC_KEYS = [
  "deadLetterQueue",
  "retryAttempts",
] as const satisfies (keyof AsyncTriggerOptions)[];

const RULES: OptionRules = {
  ...FUNCTION_RULES,
  idempotency: protective(IDEMPOTENCY_OPTION),
  anonymous: protective(oneOf(["allow", "deny"])),
  unauthenticated: protective(oneOf(["allow", "deny"])),
  concurrency: wholeNumber([1, 10_000, "records at once"]),
  partialFailures: BOOLEAN_OPTION,
  schema: SCHEMA_OPTION,
};

/**
 * Checks options when the module is loaded, not at the first event.
 *
 * @param factory Name of the function that got them, for messages.
 * @param options The options.
 * @param ownKeys Names of the options that this trigger has beside those of all.
 * @param ownRules Rules of options that only this trigger has.
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkTriggerOptions(
  factory: string,
  options: object,
  ownKeys: readonly string[],
  ownRules: OptionRules = {},
): void {
  const own = ownKeys.map((name) => [name, RULES[name] ?? ANY_OPTION]);
  checkFunctionOptions(factory, options, { ...Object.fromEntries(own), ...ownRules });
}

/**
 * Throws if a value is not in a list.
 *
 * @throws {ConfigurationError} Naming the option, the value and the list.
 */
export function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value !== undefined) checkOption(name, value, oneOf(choices));
}

/** Throws if the handler is not a function, such as the result of calling it. */
export function checkHandler(factory: string, handler: unknown): void {
  if (typeof handler !== "function") {
    throw new ConfigurationError(
      `${factory}(options) got ${typeof handler} as the handler: it must be a function`,
    );
  }
}
