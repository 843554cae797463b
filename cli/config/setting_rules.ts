/** Returns true if a value is valid. */
export type Check = (value: unknown) => boolean;

/** The checks and defaults of one group of settings. */
export interface SettingsGroup<TSettings extends object, TDefaults extends Partial<TSettings>> {
  /** The expected value and its check by setting: `["a folder", isText]`. */
  readonly checks: {
    readonly [Name in keyof Required<TSettings>]: Rule;
  };
  readonly defaults: TDefaults;
}

/** A group's settings after defaults are applied. */
export type Resolved<TSettings extends object, TGroup extends { readonly defaults: object }> =
  Readonly<
    TSettings & Required<Pick<TSettings, keyof TGroup["defaults"] & keyof TSettings>>
  >;

/** Returns true for a string that is not blank. */
export const isText: Check = (value) => typeof value === "string" && value.trim() !== "";

/** Returns true for an object that is not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The expected value of a setting, its check, and true for a value that no message may show. */
export type Rule = readonly [what: string, check: Check, isHidden?: boolean];

/** The rules of the settings that a group may have. */
export type Rules = Readonly<Record<string, Rule>>;

/** A table of named entries: `infra.queues`. */
export interface TableRules {
  readonly name: Rule;
  /** The rule of an entry as a whole. */
  readonly entry?: Rule;
  /** The rules of the settings of an entry. */
  readonly rules?: Rules;
}

/** A setting that is on or off. */
export const FLAG: Rule = ["true or false", (value) => typeof value === "boolean"];

/** A setting with any number, which Terraform checks. */
export const NUMBER: Rule = ["a number", (value) => typeof value === "number"];

/** A setting with a text. */
export const TEXT: Rule = ["a text", isText];

/** A setting with a folder. */
export const FOLDER: Rule = ["a folder", isText];

/** A setting with texts. */
export const TEXTS: Rule = listOf("a list of strings", isText, 1);

/** Names of queues, topics and buses become parts of longer names, whose length AWS limits. */
export const RESOURCE_NAME: Rule = matching(
  "letters, digits, hyphens and underscores, at most 40",
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/,
);

/** Names of buckets have only lower-case letters. */
export const BUCKET_NAME: Rule = matching(
  "lower-case letters, digits and hyphens, at most 40",
  /^[a-z0-9][a-z0-9-]{0,39}$/,
);

/** Returns the rule of a setting with a text of a form. */
export function matching(what: string, form: RegExp): Rule {
  return [what, (value) => typeof value === "string" && form.test(value)];
}

/** A setting with the file of a document. */
export const DOCUMENT_FILE: Rule = matching(
  "a file that ends in .json, .yaml or .yml",
  /[^/\\]\.(?:json|ya?ml)$/,
);

/** Returns the rule of a setting with a list. */
export function listOf(what: string, check: Check, least = 0, most = Infinity): Rule {
  return [
    what,
    (value) =>
      Array.isArray(value) && value.length >= least && value.length <= most &&
      value.every((each) => check(each)),
  ];
}

/** Returns the rule of a setting with a whole number. */
export function whole(least: number, most: number): Rule {
  return [
    `a whole number from ${least} to ${most}`,
    (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  ];
}

/** Returns the rule of a setting with a number. */
export function range(least: number, most: number): Rule {
  return [
    `${least} to ${most}`,
    (value) => typeof value === "number" && value >= least && value <= most,
  ];
}

/** Returns the rule of a setting with one of some texts. */
export function oneOf(...values: readonly string[]): Rule {
  return [
    values.map((value) => JSON.stringify(value)).join(", ").replace(/, ("[^"]*")$/, " or $1"),
    (value) => values.includes(value as string),
  ];
}

/**
 * Checks the settings of a group.
 *
 * @param path The path of the group: `infra.queues.mail`; empty for the whole configuration.
 * @returns Errors that name the setting and what it must be.
 */
export function checkRules(path: string, settings: object, rules: Rules): string[] {
  return Object.entries(settings).flatMap(([key, value]): string[] => {
    if (value === undefined) return [];
    const name = path === "" ? key : `${path}.${key}`;
    if (!Object.hasOwn(rules, key)) {
      const known = Object.keys(rules).join(", ") || "none";
      return [`unknown setting ${name}; known settings: ${known}`];
    }
    return checkRule(name, value, rules[key]);
  });
}

/** Checks a value; returns an error if it is invalid. */
function checkRule(path: string, value: unknown, [what, check, isHidden = false]: Rule): string[] {
  if (check(value)) return [];
  return [`${path} must be ${what}${isHidden ? "" : `, got ${describe(value)}`}`];
}

/** Describes a value that a configuration computed, which may be no JSON. */
function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? `a ${typeof value}`;
  } catch {
    return `a ${typeof value}`;
  }
}

/** Checks the names and the settings of the entries of a table. */
export function checkTable(
  path: string,
  entries: object,
  { name: [what, isName], entry: rule, rules }: TableRules,
): string[] {
  return Object.entries(entries).flatMap(([name, entry]) => [
    ...isName(name) ? [] : [`${path} has "${name}": use ${what}`],
    ...rule === undefined ? [] : checkRule(`${path}.${name}`, entry, rule),
    ...rules === undefined ? [] : checkRules(`${path}.${name}`, entry, rules),
  ]);
}
