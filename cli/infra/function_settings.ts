import type { FunctionInfra } from "../config/function_infra.ts";
import { type Check, isObject, isText } from "../config/settings.ts";
import { type FunctionResources, RESOURCE_CHECKS } from "../config/function_resources.ts";
import { FUNCTION_KINDS, type FunctionKind } from "../discovery/function_kinds.ts";

interface Setting {
  /** The kinds of functions that may have the setting. */
  readonly kinds: readonly FunctionKind[];
  readonly what: string;
  readonly check: Check;
}

const isCount = (least: number, most: number): Check => (value) =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

/** A setting with a whole number. */
const whole = (kinds: readonly FunctionKind[], least: number, most: number): Setting => ({
  kinds,
  what: `a whole number from ${least} to ${most}`,
  check: isCount(least, most),
});

/** A setting that is on or off. */
const flag = (kinds: readonly FunctionKind[]): Setting => ({
  kinds,
  what: "true or false",
  check: (value) => typeof value === "boolean",
});

/** Names of queues, topics and buckets become parts of longer names, whose length AWS limits. */
const isName: Check = (value) =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(value);
const NAME = "letters, digits, hyphens and underscores, at most 40";

/** The kinds whose records have an order. */
const STREAMS = ["stream", "table-stream", "kafka"] as const satisfies FunctionKind[];

/** Settings of functions with any trigger. */
const RESOURCES = Object.fromEntries(
  Object.entries(RESOURCE_CHECKS).map((
    [name, [what, check]],
  ): [string, Setting] => [name, { kinds: FUNCTION_KINDS, what, check }]),
) as Readonly<Record<keyof FunctionResources, Setting>>;

const SETTINGS: Readonly<Record<keyof Omit<FunctionInfra, "environment">, Setting>> = {
  queue: { kinds: ["queue"], what: NAME, check: isName },
  batchSize: whole(["queue", ...STREAMS], 1, 10_000),
  batchingWindowSeconds: whole(["queue", ...STREAMS], 0, 300),
  maximumConcurrency: whole(["queue"], 2, 1000),
  filters: {
    kinds: ["queue", ...STREAMS],
    what: 'a list of 1 to 10 patterns such as [{ body: { kind: ["order"] } }]',
    check: (value) =>
      Array.isArray(value) && value.length > 0 && value.length <= 10 && value.every(isPattern),
  },
  source: {
    kinds: STREAMS,
    what: 'an ARN, or { reference: "aws_kinesis_stream.orders.arn" }',
    check: isSource,
  },
  kafka: {
    kinds: ["kafka"],
    what: 'an object such as { topic: "orders" }, with consumerGroup, bootstrapServers, access ' +
      "and provisionedPollers",
    check: isKafka,
  },
  startingPosition: {
    kinds: STREAMS,
    what: '"TRIM_HORIZON" or "LATEST"',
    check: (value) => value === "TRIM_HORIZON" || value === "LATEST",
  },
  bisectOnError: flag(STREAMS),
  maximumRetryAttempts: whole(STREAMS, -1, 10_000),
  maximumRecordAgeSeconds: {
    kinds: STREAMS,
    what: "-1, or a whole number from 60 to 604800",
    check: (value) => value === -1 || isCount(60, 604_800)(value),
  },
  parallelizationFactor: whole(["stream", "table-stream"], 1, 10),
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
  provisionedConcurrency: whole(["api"], 0, 1000),
  prefix: { kinds: ["storage"], what: "a text", check: isText },
  suffix: { kinds: ["storage"], what: "a text", check: isText },
  twoWay: flag(["websocket"]),
  ...RESOURCES,
  url: { ...RESOURCES.url, kinds: ["api"] },
};

/** An attribute of a resource or module, in the syntax of Terraform. */
const REFERENCE =
  /^(?:module|data|local|var|aws_[a-z0-9_]+)(?:\.[A-Za-z_][\w-]*|\[(?:\d+|"[\w.-]+")\])+$/;

function isSource(value: unknown): boolean {
  if (!isObject(value)) return typeof value === "string" && /^arn:[a-z-]+:[a-z]+:/.test(value);
  const { reference, ...others } = value;
  return Object.keys(others).length === 0 && typeof reference === "string" &&
    REFERENCE.test(reference);
}

function isKafka(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { topic, consumerGroup, bootstrapServers, access, provisionedPollers, ...others } = value;
  return Object.keys(others).length === 0 &&
    typeof topic === "string" && /^[A-Za-z0-9._-]{1,249}$/.test(topic) &&
    (consumerGroup === undefined || isText(consumerGroup)) &&
    (bootstrapServers === undefined ||
      Array.isArray(bootstrapServers) && bootstrapServers.every(isText)) &&
    (access === undefined || Array.isArray(access) && access.every(isAccess)) &&
    (provisionedPollers === undefined || isPollers(provisionedPollers));
}

function isAccess(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 2 && isText(value.type) &&
    isText(value.uri);
}

function isPollers(value: unknown): boolean {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  const { minimum, maximum } = value;
  return isCount(1, 200)(minimum) && isCount(1, 2000)(maximum) &&
    Number(minimum) <= Number(maximum);
}

function isPattern(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

/** Required settings by kind of function, with an example. */
const NEEDED: Readonly<
  Partial<Record<FunctionKind, readonly [setting: keyof FunctionInfra, example: string]>>
> = {
  event: ["pattern", '{ pattern: { "detail-type": ["note.created"] } }'],
  schedule: ["schedule", '{ schedule: "rate(5 minutes)" }'],
  stream: ["source", '{ source: { reference: "aws_kinesis_stream.orders.arn" } }'],
  "table-stream": ["source", '{ source: { reference: "module.orders.stream_arn" } }'],
  kafka: [
    "kafka",
    '{ source: { reference: "aws_msk_cluster.main.arn" }, kafka: { topic: "orders" } }',
  ],
};

/**
 * Checks the configuration of a function.
 *
 * @param kind The trigger of the function.
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
  errors.push(...kind === "kafka" ? checkKafka(name, settings) : []);
  if (kind === "table-stream" && Number(settings.batchSize) > 1000) {
    errors.push(
      `infra.functions.${name}.batchSize is ${settings.batchSize}: a DynamoDB stream has at most 1000`,
    );
  }
  if (kind === "queue" && Number(settings.batchSize) > 10 && !settings.batchingWindowSeconds) {
    errors.push(
      `infra.functions.${name}.batchSize is ${settings.batchSize}: a batch size above 10 ` +
        `requires batchingWindowSeconds of at least 1`,
    );
  }
  return errors;
}

/** Settings that Lambda only reads in provisioned mode. */
const PROVISIONED = ["bisectOnError", "maximumRetryAttempts", "maximumRecordAgeSeconds"] as const;

function checkKafka(name: string, settings: FunctionInfra): string[] {
  const { source, kafka } = settings;
  if (kafka === undefined) return [];
  const errors: string[] = [];
  if ((source === undefined) === (kafka.bootstrapServers === undefined)) {
    errors.push(
      `infra.functions.${name} needs source (the ARN of a cluster of Amazon MSK) or ` +
        "kafka.bootstrapServers (other brokers), and not both",
    );
  }
  if (kafka.provisionedPollers === undefined) {
    for (const setting of PROVISIONED.filter((each) => settings[each] !== undefined)) {
      errors.push(
        `infra.functions.${name}.${setting} only works in provisioned mode: set ` +
          `kafka.provisionedPollers, or remove it`,
      );
    }
  }
  return errors;
}
