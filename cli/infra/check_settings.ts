import type { InfraSettings } from "../config/infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { checkFunctionSettings } from "./function_settings.ts";
import { snakeCase } from "./names.ts";
import type { Fault, InfraFunction } from "./infra_plan.ts";
import { findOverlaps, getResource } from "./triggers.ts";

/** What an entry of these settings may hold. */
const KEYS = {
  queues: [
    "fifo",
    "contentBasedDeduplication",
    "visibilityTimeoutSeconds",
    "maxReceiveCount",
    "delaySeconds",
    "retentionSeconds",
  ],
  topics: [],
  buses: ["archiveDays"],
  buckets: ["corsAllowedOrigins", "expirationDays"],
  api: [
    "description",
    "authorizer",
    "authorizerTtlSeconds",
    "identitySources",
    "throttleBurstLimit",
    "throttleRateLimit",
  ],
  websocket: ["authorizer", "identitySources"],
} as const satisfies Partial<Record<keyof InfraSettings, readonly string[]>>;

const NUMBERS = /Seconds$|Count$|Limit$|Days$/;
const LISTS = /^identitySources$/;
const BOOLEANS = /^(?:fifo|contentBasedDeduplication)$/;

/**
 * Checks the settings that are told apart by name: those of functions, queues, topics, buses, buckets and APIs.
 *
 * @param settings The configuration.
 * @param files The functions.
 * @returns What is wrong, each naming the setting and the fix.
 */
export function checkSettings(settings: InfraSettings, files: readonly FunctionFile[]): Fault[] {
  const faults: Fault[] = [];
  const names = files.map(({ name }) => name);
  for (const name of Object.keys(settings.functions ?? {})) {
    if (names.includes(name)) continue;
    const similar = names.find((each) =>
      snakeCase(each) === snakeCase(name) || each.toLowerCase() === name.toLowerCase()
    );
    faults.push({
      message: `infra.functions lists ${name}, which is no function${
        similar === undefined ? "" : `: write ${similar}`
      }`,
    });
  }
  for (const { name, kind } of files) {
    for (const message of checkFunctionSettings(name, kind, settings.functions?.[name] ?? {})) {
      faults.push({ message, functionName: name });
    }
  }
  for (const group of ["queues", "topics", "buses", "buckets"] as const) {
    for (const [name, entry] of Object.entries(settings[group] ?? {})) {
      const isNamed = group === "buckets"
        ? /^[a-z0-9][a-z0-9-]{0,39}$/
        : /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;
      if (!isNamed.test(name)) {
        faults.push({
          message:
            `infra.${group} has "${name}": it must be at most 40 letters, digits and hyphens`,
        });
      }
      faults.push(...checkKeys(`infra.${group}.${name}`, entry, KEYS[group]));
    }
  }
  for (const group of ["api", "websocket"] as const) {
    faults.push(...checkKeys(`infra.${group}`, settings[group] ?? {}, KEYS[group]));
  }
  return faults;
}

function checkKeys(place: string, entry: object, known: readonly string[]): Fault[] {
  return Object.entries(entry).flatMap(([key, value]): Fault[] => {
    if (value === undefined) return [];
    if (!known.includes(key)) {
      const all = known.length === 0 ? "it has none" : `known are ${known.join(", ")}`;
      return [{ message: `there is no setting ${place}.${key}: ${all}` }];
    }
    const what = getFault(key, value);
    return what === undefined
      ? []
      : [{ message: `${place}.${key} must be ${what}, got ${JSON.stringify(value)}` }];
  });
}

/** What a setting must be and is not. */
function getFault(key: string, value: unknown): string | undefined {
  if (NUMBERS.test(key)) return typeof value === "number" ? undefined : "a number";
  if (BOOLEANS.test(key)) return typeof value === "boolean" ? undefined : "true or false";
  if (!LISTS.test(key)) return undefined;
  const isList = Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "string" && item !== "");
  return isList ? undefined : "a list of texts";
}

/** Most characters of a function's name, with all that comes before it (Lambda, CreateFunction). */
const MAX_FUNCTION_NAME = 64;
/** Most characters of a bucket's name (S3, bucket naming rules). */
const MAX_BUCKET_NAME = 63;
const LONGEST_STAGE = "staging";

/**
 * Checks what AWS would refuse when it is applied: names that are too long, two consumers of one queue, two functions that one
 * bucket would have to tell the same.
 *
 * @param functions The functions.
 * @param projectName Start of every name.
 * @param bucketPrefix The word before the names of buckets.
 */
export function checkLimits(
  functions: readonly InfraFunction[],
  projectName: string,
  bucketPrefix: string | undefined,
): Fault[] {
  const faults: Fault[] = [];
  const consumers = new Map<string, InfraFunction>();
  const byBucket = new Map<string, InfraFunction[]>();
  for (const fn of functions) {
    const whole = `${projectName}-${LONGEST_STAGE}-${fn.name}`;
    if (whole.length > MAX_FUNCTION_NAME) {
      faults.push({
        functionName: fn.name,
        message:
          `${whole} has ${whole.length} characters, and a function's name has at most ${MAX_FUNCTION_NAME}: ` +
          "rename the file, or shorten infra.projectName",
      });
    }
    const resource = getResource(fn) ?? "";
    if (fn.kind === "queue") {
      const other = consumers.get(resource);
      if (other !== undefined) {
        faults.push({
          functionName: fn.name,
          message:
            `${other.name} and ${fn.name} both work off the queue ${resource}, each would get a part of its messages: ` +
            "give one another queue, or send to a topic",
        });
      }
      consumers.set(resource, fn);
    }
    if (fn.kind === "storage") byBucket.set(resource, [...byBucket.get(resource) ?? [], fn]);
  }
  for (const [bucket, all] of byBucket) {
    for (const { first, second } of findOverlaps(all)) {
      faults.push({
        functionName: second.name,
        message:
          `${first.name} and ${second.name} would both be told of the same changes in the bucket ${bucket}, which S3 ` +
          "refuses: set prefix or suffix of both in infra.functions so that they differ, or give one another bucket",
      });
    }
    const whole = [bucketPrefix, projectName, LONGEST_STAGE, bucket].filter(Boolean).join("-");
    if (whole.length > MAX_BUCKET_NAME) {
      faults.push({
        functionName: all[0].name,
        message:
          `${whole} has ${whole.length} characters, and a bucket's name has at most ${MAX_BUCKET_NAME}: ` +
          `set infra.functions.${all[0].name}.bucket to a shorter one`,
      });
    }
  }
  return faults;
}
