import { ConfigurationError } from "../errors/http_errors.ts";

/** Whether a value can be meant, and in words what it must be. */
export type OptionRule = readonly [fits: (value: unknown) => boolean, expected: string];

/** The rules of a function's options, by name: what is not named here it does not have. */
export type OptionRules = Readonly<Record<string, OptionRule>>;

/** For what is checked elsewhere. */
export const ANY_OPTION: OptionRule = [() => true, "anything"];

/** `true` or `false`, and nothing that only counts as one. */
export const BOOLEAN_OPTION: OptionRule = [(value) => typeof value === "boolean", "true or false"];

/** An object of any kind, not `null`. */
export const OBJECT_OPTION: OptionRule = [
  (value) => typeof value === "object" && value !== null,
  "an object",
];

/** Something to call. */
export const FUNCTION_OPTION: OptionRule = [(value) => typeof value === "function", "a function"];

/** A text out of a list. */
export function oneOf(choices: readonly string[]): OptionRule {
  return [(value) => choices.includes(value as string), choices.join(" or ")];
}

/**
 * Refuses options that cannot be meant, when the module is loaded and not at the first event. One that is `undefined`
 * counts as left out.
 *
 * @param owner What has the options, for messages: the name of a function or of the option that they are in.
 * @param options The options.
 * @param rules Its options.
 * @param prefix Stands before the option's name in a message: `logging.`.
 * @throws {ConfigurationError} Naming the option and the value.
 */
export function checkOptions(
  owner: string,
  options: object,
  rules: OptionRules,
  prefix = "",
): void {
  if (!OBJECT_OPTION[0](options)) {
    // the value is not shown: it may be a secret that stands where the options belong
    const given = options === null ? "null" : `a ${typeof options}`;
    throw new ConfigurationError(`The options of ${owner} are ${given}: they must be an object`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) {
      throw new ConfigurationError(
        `${owner} has no option ${name}: it has ${Object.keys(rules).join(", ")}`,
      );
    }
    if (value !== undefined) checkOption(prefix + name, value, rules[name]);
  }
}

/**
 * Refuses a value of one option.
 *
 * @throws {ConfigurationError} Naming the option, the value and what it must be.
 */
export function checkOption(name: string, value: unknown, [fits, expected]: OptionRule): void {
  if (!fits(value)) {
    throw new ConfigurationError(`${name} is ${render(value)}: it must be ${expected}`);
  }
}

const MAX_LENGTH = 80;

/** A value as it stands in a message; objects as JSON, as far as they have any. */
function render(value: unknown): string {
  if (typeof value === "function") return "a function";
  try {
    if (typeof value !== "number") return JSON.stringify(value).slice(0, MAX_LENGTH);
  } catch {
    // a cycle, a bigint, a symbol
  }
  return String(value);
}
