import type { FunctionInfra } from "../config/infra.ts";
import { type Check, isObject, isText } from "../config/settings.ts";
import type { FunctionKind } from "../discovery/function_kinds.ts";

interface Setting {
  /** The kinds of functions that may have the setting. */
  readonly kinds: readonly FunctionKind[];
  readonly what: string;
  readonly check: Check;
}

const isCount = (least: number, most: number): Check => (value) =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

/** Names of queues, topics and buckets become parts of longer names, whose length AWS limits. */
const isName: Check = (value) =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(value);
const NAME = "letters, digits, hyphens and underscores, at most 40";

const SETTINGS: Readonly<Record<keyof Omit<FunctionInfra, "environment">, Setting>> = {
  queue: { kinds: ["queue"], what: NAME, check: isName },
  batchSize: {
    kinds: ["queue"],
    what: "a whole number from 1 to 10000",
    check: isCount(1, 10_000),
  },
  batchingWindowSeconds: {
    kinds: ["queue"],
    what: "a whole number from 0 to 300",
    check: isCount(0, 300),
  },
  maximumConcurrency: {
    kinds: ["queue"],
    what: "a whole number from 2 to 1000",
    check: isCount(2, 1000),
  },
  topic: { kinds: ["topic"], what: NAME, check: isName },
  filterPolicy: { kinds: ["topic"], what: "an object", check: isObject },
  pattern: {
    kinds: ["event"],
    what: 'an object such as { "detail-type": ["note.created"] }',
    check: isPattern,
  },
  bus: { kinds: ["event"], what: `"default", or ${NAME}`, check: isName },
  schedule: {
    kinds: ["schedule"],
    what: '"rate(5 minutes)", "cron(0 3 * * ? *)" or "at(2030-01-31T12:00:00)"',
    check: (value) => /^(?:rate|cron|at)\(.+\)$/.test(String(value)),
  },
  timezone: { kinds: ["schedule"], what: 'a time zone such as "Europe/Berlin"', check: isText },
  bucket: {
    kinds: ["storage"],
    what: "lower-case letters, digits and hyphens, at most 40",
    check: (value) => /^[a-z0-9][a-z0-9-]{0,39}$/.test(String(value)),
  },
  events: {
    kinds: ["storage"],
    what: 'a list such as ["s3:ObjectCreated:*"]',
    check: (value) =>
      Array.isArray(value) && value.length > 0 &&
      value.every((each) => /^s3:\w+:/.test(String(each))),
  },
  prefix: { kinds: ["storage"], what: "a text", check: isText },
  suffix: { kinds: ["storage"], what: "a text", check: isText },
  twoWay: {
    kinds: ["websocket"],
    what: "true or false",
    check: (value) => typeof value === "boolean",
  },
};

function isPattern(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

/** Required settings by kind of function, with an example. */
const NEEDED: Readonly<
  Partial<Record<FunctionKind, readonly [setting: keyof FunctionInfra, example: string]>>
> = {
  event: ["pattern", '{ pattern: { "detail-type": ["note.created"] } }'],
  schedule: ["schedule", '{ schedule: "rate(5 minutes)" }'],
};

/**
 * Checks the configuration of a function.
 *
 * @param name The function's name.
 * @param kind The trigger of the function.
 * @param settings The entry in `infra.functions`.
 * @returns Errors that name the function and the fix.
 */
export function checkFunctionSettings(
  name: string,
  kind: FunctionKind,
  settings: FunctionInfra,
): string[] {
  const errors: string[] = [];
  for (const [key, value] of Object.entries(settings)) {
    const place = `infra.functions.${name}.${key}`;
    if (key === "environment" || value === undefined) continue;
    const setting = Object.hasOwn(SETTINGS, key)
      ? SETTINGS[key as keyof typeof SETTINGS]
      : undefined;
    if (setting === undefined) {
      const known = Object.entries(SETTINGS).filter(([, { kinds }]) => kinds.includes(kind)).map((
        [each],
      ) => each);
      errors.push(
        `unknown setting ${place}; known settings of ${kind} functions: ${
          [...known, "environment"].join(", ")
        }`,
      );
    } else if (!setting.kinds.includes(kind)) {
      errors.push(
        `${place} only applies to functions in ${
          setting.kinds.join(", ")
        }/, but ${name} is in ${kind}/: remove it`,
      );
    } else if (!setting.check(value)) {
      errors.push(`${place} must be ${setting.what}, got ${JSON.stringify(value)}`);
    }
  }
  const needed = NEEDED[kind];
  if (needed !== undefined && settings[needed[0]] === undefined) {
    errors.push(
      `${name} is in ${kind}/ but has no trigger: add infra.functions.${name} = ${needed[1]}`,
    );
  }
  if (Number(settings.batchSize) > 10 && !settings.batchingWindowSeconds) {
    errors.push(
      `infra.functions.${name}.batchSize is ${settings.batchSize}: a batch size above 10 ` +
        `requires batchingWindowSeconds of at least 1`,
    );
  }
  return errors;
}
