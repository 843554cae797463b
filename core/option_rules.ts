import { isStandIn } from "../env/recording.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** A check of a value, and a description of valid values. `undefined` counts as omitted unless it is refused. */
export type OptionRule = readonly [
  fits: (value: unknown) => boolean,
  expected: string,
  refusesUndefined?: boolean,
];

/** The rules of all options of a function, by name. */
export type OptionRules = Readonly<Record<string, OptionRule>>;

/** Accepts any value, for options that are checked elsewhere. */
export const ANY_OPTION: OptionRule = [() => true, "anything"];

/** Accepts `true` and `false`. */
export const BOOLEAN_OPTION: OptionRule = [(value) => typeof value === "boolean", "true or false"];

/** Accepts any object except `null`. */
export const OBJECT_OPTION: OptionRule = [
  (value) => typeof value === "object" && value !== null,
  "an object",
];

/** Accepts functions. */
export const FUNCTION_OPTION: OptionRule = [(value) => typeof value === "function", "a function"];

/** Accepts names of what is stored, such as jobs and schedules. */
export const NAME_OPTION: OptionRule = [
  (value) => typeof value === "string" && value.length <= 100 && /^[\w.-]+$/.test(value),
  "1 to 100 letters, digits, dots, underscores or hyphens",
];

/** Accepts schemas of any library. Those of arktype are functions. */
export const SCHEMA_OPTION: OptionRule = [
  (value) => typeof (value as StandardSchema | null)?.["~standard"]?.validate === "function",
  "a schema of zod 4, valibot, arktype or another library with Standard Schema",
];

/**
 * Returns the rule of an option that protects something, such as `auth`. A key with the value `undefined` is refused:
 * it would remove the protection although the key is present.
 */
export function protective([fits, expected]: OptionRule): OptionRule {
  return [fits, expected, true];
}

/** Accepts strings that are not empty. */
export function someText(expected: string): OptionRule {
  return [(value) => typeof value === "string" && value !== "", expected];
}

/** Accepts the strings of a list. */
export function oneOf(choices: readonly string[]): OptionRule {
  return [(value) => choices.includes(value as string), choices.join(" or ")];
}

/**
 * Checks the options of a function when the module is loaded. An option that is `undefined` counts as omitted, except for
 * {@link protective} ones.
 *
 * @param owner The function, or the outer option, that has the options. For messages.
 * @param options The options.
 * @param rules The rules of all its options.
 * @param prefix Prefix of the option names in messages: `logging.`.
 * @throws {ConfigurationError} If an option is unknown or invalid. Names the option and the value.
 */
export function checkOptions(
  owner: string,
  options: object,
  rules: OptionRules,
  prefix = "",
): void {
  if (!OBJECT_OPTION[0](options)) {
    // the value is not shown: it may be a secret passed in place of the options
    const given = options === null ? "null" : `a ${typeof options}`;
    throw new ConfigurationError(`The options of ${owner} are ${given}: they must be an object`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name)) throw unknownOption(owner, name, Object.keys(rules));
    if (value !== undefined) checkOption(prefix + name, value, rules[name]);
    else if (rules[name][2]) {
      throw new ConfigurationError(
        `${prefix}${name} is undefined, which would lift what it protects: set it, or leave the key out`,
      );
    }
  }
}

/**
 * Creates the error of an option that does not exist.
 *
 * @param owner What has the options.
 * @param name The option.
 * @param known The options that exist.
 */
export function unknownOption(
  owner: string,
  name: string,
  known: readonly string[],
): ConfigurationError {
  const nearest = findNearest(name, known);
  const list = known.join(", ");
  return new ConfigurationError(
    `${owner} has no option ${name}: ` +
      (nearest === undefined ? `it has ${list}` : `did you mean ${nearest}? It has ${list}`),
  );
}

/** Returns the most similar name: a name that starts with the given one, or differs from it in few letters. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  const given = name.toLowerCase();
  const most = Math.max(1, Math.floor(given.length / 3));
  const [nearest] = known
    .map((each) => ({ each, distance: measureDistance(given, each.toLowerCase()) }))
    .filter(({ each, distance }) =>
      distance <= most || given.length > 3 && each.toLowerCase().startsWith(given)
    )
    .sort((a, b) => a.distance - b.distance);
  return nearest?.each;
}

/** Counts the letters to insert, to delete and to replace (Levenshtein's distance). */
function measureDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, above[j] + 1, row[j - 1] + 1));
    }
  }
  return row[b.length];
}

/**
 * Checks the value of one option.
 *
 * @throws {ConfigurationError} If it is invalid. Names the option, the value and valid values.
 */
export function checkOption(name: string, value: unknown, [fits, expected]: OptionRule): void {
  if (!isStandIn(value) && !fits(value)) {
    throw new ConfigurationError(`${name} is ${render(value)}: it must be ${expected}`);
  }
}

const MAX_LENGTH = 80;

/** Renders a value for a message, objects as JSON. */
function render(value: unknown): string {
  if (typeof value === "function") return "a function";
  try {
    if (typeof value !== "number") return JSON.stringify(value).slice(0, MAX_LENGTH);
  } catch {
    // a cycle, a bigint, a symbol
  }
  return String(value);
}
