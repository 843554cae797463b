import type { FunctionInfra } from "../config/function_infra.ts";
import { type FunctionResources, RESOURCE_CHECKS } from "../config/function_resources.ts";
import { FUNCTION_KINDS, type FunctionKind } from "../discovery/function_kinds.ts";
import type { Findings } from "../project/findings.ts";
import type { SourceValue } from "./read_infra.ts";
import {
  BUCKET_NAME,
  checkRules,
  FLAG,
  isObject,
  isText,
  listOf,
  matching,
  oneOf,
  RESOURCE_NAME,
  type Rule,
  TEXT,
  whole,
} from "../config/setting_rules.ts";

/** The kinds of functions that may have a setting, what it must be, and the check. */
type Setting = readonly [kinds: readonly FunctionKind[], ...Rule];

/** The kinds whose records have an order: without a destination, one is lost after its last attempt. */
export const STREAMS: readonly FunctionKind[] = ["stream", "table-stream", "kafka"];

const [, isEvent] = matching("an event", /^s3:\w+:/);

const SETTINGS: Readonly<Record<keyof FunctionInfra, Setting>> = {
  queue: [["queue"], ...RESOURCE_NAME],
  batchSize: [["queue", ...STREAMS], ...whole(1, 10_000)],
  batchingWindowSeconds: [["queue", ...STREAMS], ...whole(0, 300)],
  maximumConcurrency: [["queue"], ...whole(2, 1000)],
  filters: [
    ["queue", ...STREAMS],
    ...listOf(
      'a list of 1 to 10 patterns such as [{ body: { kind: ["order"] } }]',
      isPattern,
      1,
      10,
    ),
  ],
  source: [STREAMS, 'an ARN, or { reference: "aws_kinesis_stream.orders.arn" }', isSource],
  kafka: [
    ["kafka"],
    'an object such as { topic: "orders" }, with consumerGroup, bootstrapServers, access ' +
    "and provisionedPollers",
    isKafka,
  ],
  startingPosition: [STREAMS, ...oneOf("TRIM_HORIZON", "LATEST")],
  bisectOnError: [STREAMS, ...FLAG],
  maximumRetryAttempts: [STREAMS, ...whole(-1, 10_000)],
  maximumRecordAgeSeconds: [
    STREAMS,
    "-1, or a whole number from 60 to 604800",
    (value) => value === -1 || whole(60, 604_800)[1](value),
  ],
  parallelizationFactor: [["stream", "table-stream"], ...whole(1, 10)],
  topic: [["topic"], ...RESOURCE_NAME],
  filterPolicy: [["topic"], "an object", isObject],
  pattern: [["event"], 'an object such as { "detail-type": ["note.created"] }', isPattern],
  bus: [["event"], ...RESOURCE_NAME],
  schedule: [
    ["schedule"],
    ...matching(
      '"rate(5 minutes)", "cron(0 3 * * ? *)" or "at(2030-01-31T12:00:00)"',
      /^(?:rate|cron|at)\(.+\)$/,
    ),
  ],
  timezone: [["schedule"], 'a time zone such as "Europe/Berlin"', isText],
  bucket: [["storage"], ...BUCKET_NAME],
  events: [["storage"], ...listOf('a list such as ["s3:ObjectCreated:*"]', isEvent, 1)],
  provisionedConcurrency: [["api"], ...whole(0, 1000)],
  prefix: [["storage"], ...TEXT],
  suffix: [["storage"], ...TEXT],
  twoWay: [["websocket"], ...FLAG],
  architecture: [FUNCTION_KINDS, ...RESOURCE_CHECKS.architecture],
  layers: [FUNCTION_KINDS, ...RESOURCE_CHECKS.layers],
  policies: [FUNCTION_KINDS, ...RESOURCE_CHECKS.policies],
  onSuccess: [FUNCTION_KINDS, ...RESOURCE_CHECKS.onSuccess],
  onFailure: [FUNCTION_KINDS, ...RESOURCE_CHECKS.onFailure],
  image: [FUNCTION_KINDS, ...RESOURCE_CHECKS.image],
  // it may have secrets
  environment: [FUNCTION_KINDS, "an object", isObject, true],
  url: [["api"], ...RESOURCE_CHECKS.url],
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
  return whole(1, 200)[1](minimum) && whole(1, 2000)[1](maximum) &&
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
  const path = `infra.functions.${name}`;
  const rules: Record<string, Rule> = {};
  const misplaced: Record<string, string> = {};
  for (const [key, [kinds, ...rule]] of Object.entries(SETTINGS)) {
    if (kinds.includes(kind)) rules[key] = rule;
    else misplaced[key] = kinds.join(", ");
  }
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const known = given.filter(([key]) => !Object.hasOwn(misplaced, key));
  const errors = [
    ...given.filter(([key]) => Object.hasOwn(misplaced, key)).map(([key]) =>
      `${path}.${key} only applies to functions in ${
        misplaced[key]
      }/, but ${name} is in ${kind}/: remove it`
    ),
    ...checkRules(path, Object.fromEntries(known), rules),
  ];
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

/**
 * Adds the resources that a function's file exports as `infra`.
 *
 * @param errors Gets values that are invalid, or set in both places.
 * @returns The settings with the exported resources.
 */
export function addExportedResources(
  name: string,
  exported: SourceValue | undefined,
  settings: FunctionInfra,
  errors: Findings,
): FunctionInfra {
  if (exported === undefined) return settings;
  const { place, value } = exported;
  const messages = isObject(value)
    ? [
      ...checkRules("infra", value, RESOURCE_CHECKS),
      ...Object.keys(value).filter((key) => settings[key as keyof FunctionInfra] !== undefined)
        .map((key) => `infra.${key} is also set in the configuration: remove one of them`),
    ]
    : ["the export infra cannot be determined statically: use literal values"];
  errors.add(name, messages.map((message) => ({ place, message })));
  return messages.length > 0 ? settings : { ...value as FunctionResources, ...settings };
}
