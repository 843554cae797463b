import { ALARM_TOPICS } from "./dead_letter_alarms.ts";
import { expression, type HclBlock, type HclValue, jsonencode, resource } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";
import { handlesMailEvents, MAIL_PUBLISHER } from "./mail_file.ts";
import { NAMING } from "./names.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { getEventSenders, renderRule } from "./queue_events.ts";
import { getResource, getTimeoutSeconds } from "./resources.ts";

/** The module's default. */
const LEAST_VISIBILITY_SECONDS = 180;

/**
 * Returns the visibility timeout that a consumer needs: six times its timeout and the time for which
 * batches are collected (Lambda developer guide, "Using Lambda with Amazon SQS").
 */
function getVisibilitySeconds({ options, settings }: InfraFunction): number {
  return getTimeoutSeconds(options) * 6 + (settings.batchingWindowSeconds ?? 0);
}

/** Renders the queues. */
export function renderQueues({ queues, infra, createModule }: ResourcePlan): HclBlock[] {
  return [...queues.functions].map(([name, functions]) => {
    const settings = infra.queues[name] ?? {};
    return createModule(`queue_${queues.ids.get(name)}`, "queue", { queue_name: name, ...NAMING }, {
      visibility_timeout_seconds: settings.visibilityTimeoutSeconds ??
        Math.max(LEAST_VISIBILITY_SECONDS, ...functions.map(getVisibilitySeconds)),
      fifo_queue: settings.fifo,
      content_based_deduplication: settings.contentBasedDeduplication,
      max_receive_count: settings.maxReceiveCount,
      delay_seconds: settings.delaySeconds,
      retention_seconds: settings.retentionSeconds,
      allowed_senders: getEventSenders(queues.ids.get(name)!, settings),
      alarm_sns_topic_arns: ALARM_TOPICS,
    });
  });
}

/** Renders the topics with their subscriptions. */
export function renderTopics({ topics, infra, createModule }: ResourcePlan): HclBlock[] {
  return [...topics.functions].map(([name, functions]) => {
    const sendsMail = infra.mail.identity !== undefined && functions.some(handlesMailEvents);
    const subscriptions = functions.map((fn) => [fn.name, {
      protocol: "lambda",
      endpoint: expression(`module.fn_${fn.id}.function_arn`),
      filter_policy: fn.settings.filterPolicy && jsonencode(fn.settings.filterPolicy as HclValue),
    }]);
    return createModule(
      `topic_${topics.ids.get(name)}`,
      "topic",
      { topic_name: name, ...NAMING },
      sendsMail ? MAIL_PUBLISHER : {},
      { subscriptions: functions.length === 0 ? undefined : Object.fromEntries(subscriptions) },
    );
  });
}

/** Renders the event buses of the project. */
export function renderBuses({ ownBuses, infra, createModule }: ResourcePlan): HclBlock[] {
  return [...ownBuses].map(([name, id]) => {
    const { archiveDays } = infra.buses[name] ?? {};
    return createModule(`bus_${id}`, "event-bus", {
      bus_name: name,
      ...NAMING,
    }, {
      archive_enabled: archiveDays === undefined ? undefined : true,
      archive_retention_days: archiveDays,
    });
  });
}

/** Renders the buckets. */
export function renderBuckets(
  { buckets, infra, environments, createModule }: ResourcePlan,
): HclBlock[] {
  const inCdn = Object.values(infra.cdn?.buckets ?? {});
  return [...buckets.functions].map(([name, functions]) => {
    const { corsAllowedOrigins, expirationDays } = infra.buckets[name] ?? {};
    return createModule(`bucket_${buckets.ids.get(name)}`, "storage", {
      bucket_name: name,
      project_name: infra.bucketPrefix,
      ...NAMING,
    }, {
      force_destroy: expression("local.is_disposable"),
      cors_allowed_origins: corsAllowedOrigins?.map((origin) =>
        typeof origin === "string"
          ? origin
          : expression(`var.${environments.terraformNames.get(origin.variable)}`)
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
    });
  });
}

/** Renders the resources that connect a function to its topic or bus. */
export function renderTrigger(fn: InfraFunction, { buses, topics }: ResourcePlan): HclBlock[] {
  if (fn.kind === "topic") {
    return [
      resource("aws_lambda_permission", `${fn.id}_topic`, {
        statement_id: "AllowTopic",
        action: "lambda:InvokeFunction",
        function_name: expression(`module.fn_${fn.id}.function_name`),
        principal: "sns.amazonaws.com",
        source_arn: expression(`module.topic_${topics.ids.get(getResource(fn)!)}.topic_arn`),
      }),
    ];
  }
  if (fn.kind !== "event") return [];
  return renderRule(buses, {
    id: fn.id,
    name: expression(`"\${module.core.name_prefix}-${fn.name}"`),
    description: `Events for the function ${fn.name}.`,
    bus: getResource(fn)!,
    pattern: fn.settings.pattern!,
    target: `module.fn_${fn.id}.function_arn`,
  });
}
