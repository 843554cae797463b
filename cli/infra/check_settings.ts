import type { InfraSettings } from "../config/infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { checkApiSettings } from "./api_problems.ts";
import { checkDelivery } from "./delivery_problems.ts";
import { checkFunctionSettings } from "./function_settings.ts";
import { getChangeTrigger } from "./change_consumers.ts";
import { getDefaultSchedule } from "./job_files.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { isStageName } from "../stages/stage_name.ts";
import { ANY_STAGE } from "../stages/stage_settings.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { checkQueueEvents } from "./queue_events.ts";
import { findOverlaps } from "./notification_overlaps.ts";
import { getResource } from "./resources.ts";

/** Keys that entries of these settings may have. */
const KEYS = {
  queues: [
    "fifo",
    "contentBasedDeduplication",
    "visibilityTimeoutSeconds",
    "maxReceiveCount",
    "delaySeconds",
    "retentionSeconds",
    "events",
  ],
  topics: [],
  buses: ["archiveDays"],
  buckets: ["corsAllowedOrigins", "expirationDays"],
  api: [
    "type",
    "jwt",
    "description",
    "authorizer",
    "authorizerTtlSeconds",
    "identitySources",
    "throttleBurstLimit",
    "throttleRateLimit",
    "usagePlan",
    "quotaLimit",
  ],
  websocket: ["authorizer", "identitySources"],
  mail: ["identity"],
  jobs: ["oldestJobSeconds"],
  stages: [
    "domain",
    "hostedZoneId",
    "certificateArn",
    "cdnDomain",
    "cdnCertificateArn",
    "region",
    "variables",
  ],
  state: ["bucket", "region", "kmsKeyId"],
  release: ["percent", "minutes", "errorPercent"],
} as const satisfies Partial<Record<keyof InfraSettings, readonly string[]>>;

const NUMBERS = /Seconds$|Count$|Limit$|Days$/;
const LISTS = /^identitySources$/;
const BOOLEANS = /^(?:fifo|contentBasedDeduplication|usagePlan)$/;

/**
 * Checks the settings of functions, queues, topics, buses, buckets and APIs.
 *
 * @returns Errors that name the setting and the fix.
 */
export function checkSettings(
  settings: InfraSettings,
  files: readonly (FunctionFile & { readonly definer?: string })[],
): Problem[] {
  const errors: Problem[] = [];
  const names = files.map(({ name }) => name);
  for (const name of Object.keys(settings.functions ?? {})) {
    if (names.includes(name)) continue;
    const similar = names.find((each) =>
      snakeCase(each) === snakeCase(name) || each.toLowerCase() === name.toLowerCase()
    );
    errors.push({
      message: `infra.functions.${name} does not match a function${
        similar === undefined ? "" : `: write ${similar}`
      }`,
    });
  }
  for (const { name, kind, definer } of files) {
    const own = {
      schedule: getDefaultSchedule(definer),
      ...getChangeTrigger(definer),
      ...settings.functions?.[name],
    };
    for (const message of checkFunctionSettings(name, kind, own)) {
      errors.push({ message, functionName: name });
    }
  }
  for (const [name, entry] of Object.entries(settings.queues ?? {})) {
    errors.push(...checkQueueEvents(name, entry));
  }
  for (const group of ["queues", "topics", "buses", "buckets"] as const) {
    for (const [name, entry] of Object.entries(settings[group] ?? {})) {
      const isNamed = group === "buckets"
        ? /^[a-z0-9][a-z0-9-]{0,39}$/
        : /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;
      if (!isNamed.test(name)) {
        errors.push({
          message: `infra.${group} has "${name}": use at most 40 letters, digits and hyphens`,
        });
      }
      errors.push(...checkKeys(`infra.${group}.${name}`, entry, KEYS[group]));
    }
  }
  for (const [name, stage] of Object.entries(settings.stages ?? {})) {
    if (name !== ANY_STAGE && !isStageName(name)) {
      errors.push({
        message: `infra.stages has "${name}": use lower-case letters, digits and single hyphens, ` +
          'at most 20, or "*"',
      });
    }
    errors.push(...checkKeys(`infra.stages.${name}`, stage, KEYS.stages));
  }
  errors.push(...checkRelease(settings.release ?? {}), ...checkApiSettings(settings.api ?? {}));
  errors.push(...checkDelivery(settings, files));
  if (settings.api?.quotaLimit !== undefined && !settings.api.usagePlan) {
    errors.push({ message: "infra.api.quotaLimit needs usagePlan: true, whose keys it limits" });
  }
  for (const group of ["api", "websocket", "mail", "jobs", "state", "release"] as const) {
    errors.push(...checkKeys(`infra.${group}`, settings[group] ?? {}, KEYS[group]));
  }
  const { identity } = settings.mail ?? {};
  // it becomes a part of expressions
  if (
    identity !== undefined &&
    !/^(?:[\w.+-]{1,64}@)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/.test(identity)
  ) {
    errors.push({
      message: `infra.mail.identity must be a domain or an address, got ${
        JSON.stringify(identity)
      }`,
    });
  }
  return errors;
}

/** Ranges of the numbers of `infra.release`. */
const RELEASE_RANGES = {
  percent: [1, 99],
  minutes: [1, 1440],
  errorPercent: [0.1, 100],
} as const;

function checkRelease(release: NonNullable<InfraSettings["release"]>): Problem[] {
  return Object.entries(RELEASE_RANGES).flatMap(([key, [least, most]]): Problem[] => {
    const value = release[key as keyof typeof RELEASE_RANGES];
    if (value === undefined || value >= least && value <= most) return [];
    const given = JSON.stringify(value);
    return [{ message: `infra.release.${key} must be ${least} to ${most}, got ${given}` }];
  });
}

function checkKeys(path: string, entry: object, known: readonly string[]): Problem[] {
  return Object.entries(entry).flatMap(([key, value]): Problem[] => {
    if (value === undefined) return [];
    if (!known.includes(key)) {
      const all = known.length === 0 ? "it has no settings" : `known settings: ${known.join(", ")}`;
      return [{ message: `unknown setting ${path}.${key}; ${all}` }];
    }
    const expected = getExpectation(key, value);
    return expected === undefined
      ? []
      : [{ message: `${path}.${key} must be ${expected}, got ${JSON.stringify(value)}` }];
  });
}

/** Returns the expected kind of value if the value is invalid. */
function getExpectation(key: string, value: unknown): string | undefined {
  if (NUMBERS.test(key)) return typeof value === "number" ? undefined : "a number";
  if (BOOLEANS.test(key)) return typeof value === "boolean" ? undefined : "true or false";
  if (key === "corsAllowedOrigins") {
    return Array.isArray(value) && value.every(isOrigin)
      ? undefined
      : 'a list of origins: "https://app.example.com", or { variable: "WEB_ORIGIN" }';
  }
  if (!LISTS.test(key)) return undefined;
  const isList = Array.isArray(value) && value.length > 0 &&
    value.every((item) => typeof item === "string" && item !== "");
  return isList ? undefined : "a list of strings";
}

function isOrigin(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  const { variable, ...others } = (value ?? {}) as Record<string, unknown>;
  return typeof variable === "string" && Object.keys(others).length === 0;
}

/** Maximum length of a function name including its prefix (Lambda, CreateFunction). */
const MAX_FUNCTION_NAME = 64;
/** Maximum length of a bucket name (S3, bucket naming rules). */
const MAX_BUCKET_NAME = 63;
const USUAL_STAGE = "staging";

/**
 * Checks for errors that AWS would only report during apply: names that are too long, overlapping
 * notifications of a bucket.
 *
 * @param projectName Prefix of all names.
 */
export function checkLimits(
  functions: readonly InfraFunction[],
  projectName: string,
  { bucketPrefix, stages = {} }: Pick<InfraSettings, "bucketPrefix" | "stages">,
): Problem[] {
  const errors: Problem[] = [];
  const byBucket = new Map<string, InfraFunction[]>();
  const longestStage = Object.keys(stages).reduce(
    (longest, name) => name.length > longest.length ? name : longest,
    USUAL_STAGE,
  );
  for (const fn of functions) {
    const whole = `${projectName}-${longestStage}-${fn.name}`;
    if (whole.length > MAX_FUNCTION_NAME) {
      errors.push({
        functionName: fn.name,
        message: `${whole} has ${whole.length} characters, but a function ` +
          `name may have at most ${MAX_FUNCTION_NAME}: ` +
          "set functionNames in trellis.config.ts, rename the file, or shorten infra.projectName",
      });
    }
    const bucket = fn.kind === "storage" ? getResource(fn)! : undefined;
    if (bucket !== undefined) byBucket.set(bucket, [...byBucket.get(bucket) ?? [], fn]);
  }
  for (const [bucket, all] of byBucket) {
    for (const { first, second } of findOverlaps(all)) {
      errors.push({
        functionName: second.name,
        message: `${first.name} and ${second.name} have overlapping ` +
          `notifications for the bucket ${bucket}, which S3 ` +
          "rejects: set distinct prefixes or suffixes in " +
          "infra.functions, or use a different bucket for one of them",
      });
    }
    const whole = [bucketPrefix, projectName, longestStage, bucket].filter(Boolean).join("-");
    if (whole.length > MAX_BUCKET_NAME) {
      errors.push({
        functionName: all[0].name,
        message: `${whole} has ${whole.length} characters, but a bucket ` +
          `name may have at most ${MAX_BUCKET_NAME}: ` +
          `set infra.functions.${all[0].name}.bucket to a shorter name`,
      });
    }
  }
  return errors;
}
