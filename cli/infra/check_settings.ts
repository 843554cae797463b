import type { CdnInfra } from "../config/delivery_infra.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { InfraSettings } from "../config/infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { isStageName } from "../stages/stage_name.ts";
import { ANY_STAGE } from "../stages/stage_settings.ts";
import { getChangeTrigger } from "./change_consumers.ts";
import { checkFunctionSettings } from "./function_settings.ts";
import type { Problem } from "./infra_plan.ts";
import { getDefaultSchedule } from "./job_files.ts";
import {
  BUCKET_NAME,
  checkRules,
  checkTable,
  FLAG,
  isObject,
  isText,
  listOf,
  matching,
  NUMBER,
  oneOf,
  range,
  RESOURCE_NAME,
  type Rule,
  type Rules,
  type TableRules,
  TEXT,
  TEXTS,
  whole,
} from "../config/setting_rules.ts";

/** Names that become parts of Terraform names and of names in AWS. */
const NAME = matching(
  "lower-case letters, digits and single hyphens, at most 40",
  /^(?=.{1,40}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/,
);

const STAGE_NAME: Rule = [
  'lower-case letters, digits and single hyphens, at most 20, or "*"',
  (value) => value === ANY_STAGE || isStageName(String(value)),
];

const PUSH_PLATFORM: Rule = [
  '{ platform: "GCM" }, or { platform: "APNS", keyId, teamId, bundleId } ("APNS_SANDBOX" for development)',
  (value) => {
    const { platform, ...keys } = value as Record<string, unknown>;
    if (platform === "GCM") return Object.keys(keys).length === 0;
    return (platform === "APNS" || platform === "APNS_SANDBOX") &&
      Object.keys(keys).sort().join() === "bundleId,keyId,teamId" &&
      Object.values(keys).every(isText);
  },
];

const ORIGINS = listOf(
  'a list of origins: "https://app.example.com", or { variable: "WEB_ORIGIN" }',
  (origin) =>
    isText(origin) ||
    isObject(origin) && isText(origin.variable) && Object.keys(origin).length === 1,
);

/** The rules of settings with named entries. */
const TABLES = {
  queues: {
    name: RESOURCE_NAME,
    rules: {
      fifo: FLAG,
      contentBasedDeduplication: FLAG,
      visibilityTimeoutSeconds: NUMBER,
      maxReceiveCount: NUMBER,
      delaySeconds: NUMBER,
      retentionSeconds: NUMBER,
      events: [
        'a list such as [{ pattern: { "detail-type": ["order.placed"] } }]',
        (value) => Array.isArray(value) && value.length > 0,
      ],
    },
  },
  topics: { name: RESOURCE_NAME, rules: {} },
  buses: { name: RESOURCE_NAME, rules: { archiveDays: NUMBER } },
  buckets: { name: BUCKET_NAME, rules: { corsAllowedOrigins: ORIGINS, expirationDays: NUMBER } },
  repositories: { name: NAME, rules: { keepImages: whole(1, 1000) } },
  pushPlatforms: { name: NAME, entry: PUSH_PLATFORM },
  stages: {
    name: STAGE_NAME,
    rules: {
      domain: TEXT,
      hostedZoneId: TEXT,
      certificateArn: TEXT,
      cdnDomain: TEXT,
      cdnCertificateArn: TEXT,
      region: TEXT,
      variables: ["an object", isObject, true],
    },
  },
} as const satisfies Partial<Record<keyof InfraSettings, TableRules>>;

const [, isHeader] = matching("a name of a header", /^[A-Za-z0-9-]+$/);

/** The rules of the other groups of settings. */
const GROUPS = {
  api: {
    type: oneOf("rest", "http"),
    jwt: ['{ issuer: "https://…", audience: ["…"] }', isJwt],
    description: TEXT,
    authorizer: TEXT,
    authorizerTtlSeconds: NUMBER,
    identitySources: TEXTS,
    headRoutes: FLAG,
    throttleBurstLimit: NUMBER,
    throttleRateLimit: NUMBER,
    minimumCompressionBytes: range(0, 10_485_760),
    usagePlan: FLAG,
    quotaLimit: NUMBER,
  },
  websocket: {
    authorizer: ["a name, or false", (value) => value === false || isText(value)],
    identitySources: TEXTS,
  },
  mail: {
    // it becomes a part of expressions
    identity: matching(
      "a domain or an address",
      /^(?:[\w.+-]{1,64}@)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/,
    ),
  },
  jobs: { oldestJobSeconds: NUMBER },
  state: { bucket: TEXT, region: TEXT, kmsKeyId: TEXT },
  release: { percent: range(1, 99), minutes: range(1, 1440), errorPercent: range(0.1, 100) },
  cdn: {
    buckets: ["an object", isObject],
    cacheMaxSeconds: range(1, 31_536_000),
    originHeaders: listOf("at most three names of headers", isHeader, 0, 3),
    priceClass: oneOf("PriceClass_100", "PriceClass_200", "PriceClass_All"),
  },
} as const satisfies Partial<Record<keyof InfraSettings, Rules>>;

function isJwt(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 2 &&
    /^https:\/\/[^\s?#]+$/.test(String(value.issuer)) &&
    Array.isArray(value.audience) && value.audience.length > 0 && value.audience.every(isText);
}

/** A function with the settings that its file exports. */
type CheckedFunction = FunctionFile & {
  readonly definer?: string;
  readonly settings?: FunctionInfra;
};

/**
 * Checks the settings of `infra`.
 *
 * @returns Errors that name the setting and the fix.
 */
export function checkSettings(
  settings: InfraSettings,
  functions: readonly CheckedFunction[],
): Problem[] {
  const messages = [
    ...Object.entries(TABLES).flatMap(([group, rules]) =>
      checkTable(`infra.${group}`, settings[group as keyof typeof TABLES] ?? {}, rules)
    ),
    ...Object.entries(GROUPS).flatMap(([group, rules]) =>
      checkRules(`infra.${group}`, settings[group as keyof typeof GROUPS] ?? {}, rules)
    ),
    ...Object.entries(settings.queues ?? {}).flatMap(([name, { events, fifo }]) =>
      Array.isArray(events)
        ? events.flatMap((each, at) =>
          checkEvents(`infra.queues.${name}.events[${at}]`, each, fifo === true)
        )
        : []
    ),
    ...checkApi(settings.api ?? {}),
    ...settings.cdn === undefined ? [] : checkCdn(settings.cdn, functions),
  ];
  return [...checkFunctions(settings, functions), ...messages.map((message) => ({ message }))];
}

function checkFunctions(
  { functions: configured = {}, repositories = {} }: InfraSettings,
  functions: readonly CheckedFunction[],
): Problem[] {
  const names = functions.map(({ name }) => name);
  const unknown = Object.keys(configured).filter((name) => !names.includes(name)).map((name) => {
    const similar = names.find((each) =>
      snakeCase(each) === snakeCase(name) || each.toLowerCase() === name.toLowerCase()
    );
    const advice = similar === undefined ? "" : `: write ${similar}`;
    return { message: `infra.functions.${name} does not match a function${advice}` };
  });
  const problems = functions.flatMap(({ name, kind, definer, settings }) => {
    const own = {
      schedule: getDefaultSchedule(definer),
      ...getChangeTrigger(definer),
      ...configured[name],
    };
    const messages = checkFunctionSettings(name, kind, own);
    const wanted = settings?.image?.repository;
    if (wanted !== undefined && !Object.hasOwn(repositories, wanted)) {
      messages.push(
        `the image of ${name} is in the repository ${wanted}, which is not in ` +
          `infra.repositories: add { "${wanted}": {} }`,
      );
    }
    return messages.map((message) => ({ functionName: name, message }));
  });
  return [...unknown, ...problems];
}

const EVENTS: Rules = {
  bus: RESOURCE_NAME,
  pattern: ["an object", isObject],
  inputPaths: [
    'JSON paths, such as { id: "$.detail.id" }',
    (value) =>
      isObject(value) && Object.values(value).every((path) => String(path).startsWith("$")),
  ],
  inputTemplate: TEXT,
  messageGroupId: TEXT,
};

/** Checks the events of a queue. */
function checkEvents(path: string, given: unknown, isFifo: boolean): string[] {
  const events = isObject(given) ? given : {};
  const { pattern = {}, inputPaths, inputTemplate, messageGroupId } = events;
  const errors = checkRules(path, events, EVENTS);
  if (isObject(pattern) && Object.keys(pattern).length === 0) {
    errors.push(`${path} needs a pattern`);
  }
  if (inputPaths !== undefined && inputTemplate === undefined) {
    errors.push(`${path} has inputPaths without inputTemplate`);
  }
  if (isFifo && messageGroupId === undefined) {
    errors.push(`${path} needs messageGroupId: the queue is FIFO`);
  }
  if (!isFifo && messageGroupId !== undefined) {
    errors.push(`${path} has messageGroupId without fifo`);
  }
  return errors;
}

/** Checks the settings that depend on the gateway. */
function checkApi(api: NonNullable<InfraSettings["api"]>): string[] {
  const errors = api.type !== "http"
    ? []
    : (["usagePlan", "quotaLimit", "minimumCompressionBytes"] as const)
      .filter((setting) => api[setting] !== undefined)
      .map((setting) => `infra.api.${setting} needs a REST API: remove it, or infra.api.type`);
  if (api.type !== "http" && api.jwt !== undefined) {
    errors.push('infra.api.jwt needs infra.api.type = "http"');
  }
  if (api.quotaLimit !== undefined && !api.usagePlan) {
    errors.push("infra.api.quotaLimit needs usagePlan: true, whose keys it limits");
  }
  return errors;
}

function checkCdn({ buckets = {} }: CdnInfra, functions: readonly CheckedFunction[]): string[] {
  const errors = checkTable("infra.cdn.buckets", buckets, {
    name: matching('a path pattern such as "/assets/*"', /^\/(?!\*$)[\w.$/~"'@:+*?-]+$/),
    entry: BUCKET_NAME,
  });
  if (!functions.some(({ kind, settings }) => kind === "api" && settings?.url === undefined)) {
    errors.push(
      "infra.cdn needs an API to serve: api/ contains no function without a URL of its own",
    );
  }
  return errors;
}
