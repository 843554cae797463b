import type { InfraSettings } from "../config/infra.ts";
import type { QueueInfra } from "../config/named_resources.ts";
import { block, call, expression, type HclBlock, type HclValue, nested } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";
import { ALARM_TOPICS } from "./dead_letter_alarms.ts";
import { getIdentifiers, kebabCase } from "./names.ts";

/**
 * Returns the queue, topic, bus or bucket of a function, by the configuration or the function's
 * name.
 */
export function getResource(
  { kind, name, settings }: Pick<InfraFunction, "kind" | "name" | "settings">,
): string | undefined {
  switch (kind) {
    case "queue":
      return settings.queue ?? kebabCase(name);
    case "topic":
      return settings.topic ?? kebabCase(name);
    case "event":
      return settings.bus ?? "events";
    case "storage":
      return settings.bucket ?? kebabCase(name);
    default:
      return undefined;
  }
}

/** The account's default bus, which always exists. */
export const DEFAULT_BUS = "default";

/** Resources of one kind with the functions that use them. */
export interface Resources {
  /** Terraform names, without the kind as a prefix. */
  readonly ids: ReadonlyMap<string, string>;
  readonly functions: ReadonlyMap<string, readonly InfraFunction[]>;
}

/**
 * Collects the resources of a kind: those that functions use, and those in the configuration.
 *
 * @param functions The functions of the kind.
 * @param listed Names in the configuration.
 */
export function gatherResources(
  functions: readonly InfraFunction[],
  listed: readonly string[],
): Resources {
  const byName = new Map<string, InfraFunction[]>(listed.map((name) => [name, []]));
  for (const fn of functions) {
    const name = getResource(fn)!;
    byName.set(name, [...byName.get(name) ?? [], fn]);
  }
  const sorted = new Map([...byName].sort(([a], [b]) => a < b ? -1 : 1));
  return { ids: getIdentifiers(sorted.keys()), functions: sorted };
}

const NAMING = {
  name_prefix: expression("module.core.name_prefix"),
  tags: expression("module.core.common_tags"),
} as const;

/** The module's default. */
const LEAST_VISIBILITY_SECONDS = 180;
/** The default of the function module. */
const DEFAULT_TIMEOUT_SECONDS = 30;

/**
 * Returns the visibility timeout that a consumer needs: six times its timeout and the time for which
 * batches are collected (Lambda developer guide, "Using Lambda with Amazon SQS").
 */
function getVisibilitySeconds({ options, settings }: InfraFunction): number {
  return getTimeoutSeconds(options) * 6 + (settings.batchingWindowSeconds ?? 0);
}

/**
 * Returns the timeout of a function that no gateway invokes.
 *
 * @param options The handler's options.
 */
export function getTimeoutSeconds({ timeout }: InfraFunction["options"]): number {
  return timeout ?? DEFAULT_TIMEOUT_SECONDS;
}

/**
 * Renders the queues.
 *
 * @param queues Names and consumers.
 * @param settings The configuration.
 * @param source The module.
 * @param getSenders Returns the services that may send to a queue.
 */
export function renderQueues(
  queues: Resources,
  settings: InfraSettings["queues"],
  source: string,
  getSenders: (id: string, settings: QueueInfra) => HclValue | undefined,
): HclBlock[] {
  return [...queues.functions].map(([name, functions]) => {
    const { fifo, contentBasedDeduplication, visibilityTimeoutSeconds, ...other } =
      settings?.[name] ?? {};
    return block(
      "module",
      [`queue_${queues.ids.get(name)}`],
      { source },
      { queue_name: name, ...NAMING },
      {
        visibility_timeout_seconds: visibilityTimeoutSeconds ??
          Math.max(LEAST_VISIBILITY_SECONDS, ...functions.map(getVisibilitySeconds)),
        fifo_queue: fifo,
        content_based_deduplication: contentBasedDeduplication,
        max_receive_count: other.maxReceiveCount,
        delay_seconds: other.delaySeconds,
        retention_seconds: other.retentionSeconds,
        allowed_senders: getSenders(queues.ids.get(name)!, settings?.[name] ?? {}),
        alarm_sns_topic_arns: ALARM_TOPICS,
      },
    );
  });
}

/**
 * Renders the topics with their subscriptions.
 *
 * @param topics Names and subscribers.
 * @param source The module.
 * @param getPublisher Returns the arguments for an AWS service that publishes to the topic.
 */
export function renderTopics(
  topics: Resources,
  source: string,
  getPublisher: (
    functions: readonly InfraFunction[],
  ) => Readonly<Record<string, HclValue>> | undefined = () => undefined,
): HclBlock[] {
  return [...topics.functions].map(([name, functions]) =>
    block(
      "module",
      [`topic_${topics.ids.get(name)}`],
      { source },
      { topic_name: name, ...NAMING },
      { ...getPublisher(functions) },
      {
        subscriptions: functions.length === 0 ? undefined : Object.fromEntries(
          functions.map((fn) => [fn.name, {
            protocol: "lambda",
            endpoint: expression(`module.fn_${fn.id}.function_arn`),
            filter_policy: fn.settings.filterPolicy &&
              call("jsonencode", fn.settings.filterPolicy as HclValue),
          }]),
        ),
      },
    )
  );
}

/**
 * Renders the DynamoDB table of idempotency records.
 *
 * @param source The module.
 */
export function renderIdempotencyTable(source: string): HclBlock {
  return block("module", ["idempotency"], { source }, { ...NAMING });
}

/**
 * Renders the event buses of the project.
 *
 * @param buses Names and functions.
 * @param settings The configuration.
 * @param source The module.
 */
export function renderBuses(
  buses: Resources,
  settings: InfraSettings["buses"],
  source: string,
): HclBlock[] {
  return [...buses.functions.keys()].filter((name) => name !== DEFAULT_BUS).map((name) => {
    const { archiveDays } = settings?.[name] ?? {};
    return block("module", [`bus_${buses.ids.get(name)}`], { source }, {
      bus_name: name,
      ...NAMING,
    }, {
      archive_enabled: archiveDays === undefined ? undefined : true,
      archive_retention_days: archiveDays,
    });
  });
}

/** Options of {@link renderBuckets}. */
export interface BucketOptions {
  readonly settings: InfraSettings["buckets"];
  /** Names of Terraform variables, by environment variable. */
  readonly terraformNames: ReadonlyMap<string, string>;
  /** Prefix of bucket names. */
  readonly prefix: string | undefined;
  readonly source: string;
  /** Buckets that the CDN serves. */
  readonly inCdn: readonly string[];
}

/**
 * Renders the buckets.
 *
 * @param buckets Names and functions.
 * @param options The configuration.
 */
export function renderBuckets(
  buckets: Resources,
  { settings, terraformNames, prefix, source, inCdn }: BucketOptions,
): HclBlock[] {
  return [...buckets.functions].map(([name, functions]) => {
    const { corsAllowedOrigins, expirationDays } = settings?.[name] ?? {};
    return block(
      "module",
      [`bucket_${buckets.ids.get(name)}`],
      { source },
      { bucket_name: name, project_name: prefix, ...NAMING },
      {
        force_destroy: expression("local.is_disposable"),
        cors_allowed_origins: corsAllowedOrigins?.map((origin) =>
          typeof origin === "string"
            ? origin
            : expression(`var.${terraformNames.get(origin.variable)}`)
        ),
        expiration_days: expirationDays,
        reader_distribution_arns: inCdn.includes(name)
          ? [expression("module.cdn.distribution_arn")]
          : undefined,
        lambda_notifications: functions.length === 0
          ? undefined
          : functions.map(({ id, settings }) => ({
            function_arn: expression(`module.fn_${id}.function_arn`),
            events: settings.events,
            filter_prefix: settings.prefix,
            filter_suffix: settings.suffix,
          })),
      },
    );
  });
}

/**
 * Renders the resources that connect a function to its topic or bus: rule, target and permission.
 *
 * @param fn The function.
 * @param buses The buses.
 * @param topics The topics.
 */
export function renderTrigger(fn: InfraFunction, buses: Resources, topics: Resources): HclBlock[] {
  if (fn.kind === "topic") {
    return [
      block("resource", ["aws_lambda_permission", `${fn.id}_topic`], {
        statement_id: "AllowTopic",
        action: "lambda:InvokeFunction",
        function_name: expression(`module.fn_${fn.id}.function_name`),
        principal: "sns.amazonaws.com",
        source_arn: expression(`module.topic_${topics.ids.get(getResource(fn)!)}.topic_arn`),
      }),
    ];
  }
  if (fn.kind !== "event") return [];
  const bus = getResource(fn)!;
  const module = bus === DEFAULT_BUS ? undefined : `module.bus_${buses.ids.get(bus)}`;
  const rule = `aws_cloudwatch_event_rule.${fn.id}`;
  return [
    block("resource", ["aws_cloudwatch_event_rule", fn.id], {
      name: expression(`"\${module.core.name_prefix}-${fn.name}"`),
      description: `Events for the function ${fn.name}.`,
      event_bus_name: module && expression(`${module}.bus_name`),
      tags: expression("module.core.common_tags"),
      event_pattern: call("jsonencode", fn.settings.pattern as HclValue),
    }),
    block(
      "resource",
      ["aws_cloudwatch_event_target", fn.id],
      {
        rule: expression(`${rule}.name`),
        event_bus_name: expression(`${rule}.event_bus_name`),
        arn: expression(`module.fn_${fn.id}.function_arn`),
      },
      ...module === undefined ? [] : [
        nested(
          block("dead_letter_config", [], { arn: expression(`${module}.dead_letter_queue_arn`) }),
        ),
      ],
    ),
  ];
}
