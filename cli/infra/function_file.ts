import { addOwnPolicy, getResourceArguments } from "./function_arguments.ts";
import { block, type Expression, expression, type HclBlock, type HclValue } from "./hcl.ts";
import type { FunctionEnvironment, InfraFunction } from "./infra_plan.ts";
import { getDefaultSchedule } from "./job_files.ts";
import { VPC_CONFIG } from "./database_access.ts";
import { BOUNDARY } from "./permissions_boundary.ts";
import { getMigrationArguments, isMigrationFunction } from "./migration_function.ts";
import { shorten } from "./names.ts";
import { getStreamArguments, toPatterns } from "./stream_triggers.ts";
import type { Resources } from "./triggers.ts";
import { getResource } from "./triggers.ts";

/** References of a function's block. */
export interface FunctionBlockOptions {
  readonly environment: FunctionEnvironment;
  /** Folder of the bundle, relative to the Terraform files. */
  readonly sourceDir: string;
  readonly moduleSource: (name: string) => string;
  readonly queues: Resources;
  /** True for the authorizer of the API. */
  readonly isApiAuthorizer: boolean;
  readonly isHttpApi: boolean;
  /** True if a policy bounds what the role may do. */
  readonly hasBoundary: boolean;
  /** The bucket through which packages are uploaded. */
  readonly packageBucket?: string;
  /** The alias that triggers invoke. */
  readonly alias?: string;
}

/** Triggers that invoke asynchronously: without a dead-letter queue, failed events are lost. */
const ASYNCHRONOUS = ["topic", "event", "schedule", "storage"];

/** Sources that are read in order: records that failed for good are lost without a destination. */
const STREAMS = ["stream", "table-stream", "kafka"];

/** Returns true if the function gets its own dead-letter queue. */
export function hasDeadLetters(
  { kind, options: { deadLetterQueue }, settings: { onFailure } }: InfraFunction,
): boolean {
  if (onFailure !== undefined && !STREAMS.includes(kind)) return false;
  if (deadLetterQueue === undefined) return [...ASYNCHRONOUS, ...STREAMS].includes(kind);
  return deadLetterQueue === true ||
    typeof deadLetterQueue === "object" && deadLetterQueue.targetArn === undefined;
}

/**
 * Less than the 29 s of API Gateway, so that a slow handler can still respond with 504 and its
 * correlation id.
 */
const API_TIMEOUT_SECONDS = 28;

/** Maximum length of the queue module's queue_name. */
const MAX_QUEUE_NAME = 40;

/**
 * Renders the module of a function and its dead-letter queue.
 *
 * @param fn The function.
 * @param options References.
 */
export function renderFunction(fn: InfraFunction, options: FunctionBlockOptions): HclBlock[] {
  const { environment, moduleSource, sourceDir } = options;
  const deadLetters = getDeadLetterTarget(fn);
  const policies = addOwnPolicy(environment.policies, fn.settings.policies);
  const module = block(
    "module",
    [`fn_${fn.id}`],
    { source: moduleSource("function") },
    {
      function_name: fn.name,
      source_dir: fn.settings.image === undefined
        ? expression(`"\${path.module}/${sourceDir}"`)
        : "",
      environment: expression("var.environment"),
      name_prefix: expression("module.core.name_prefix"),
      tags: expression("module.core.common_tags"),
      region: expression("module.core.region"),
      account_id: expression("module.core.account_id"),
      assume_role_policy: expression("module.core.function_assume_role_policy"),
    },
    {
      permissions_boundary_arn: options.hasBoundary ? BOUNDARY : undefined,
      package_bucket: fn.settings.image === undefined ? options.packageBucket : undefined,
      timeout: fn.options.timeout ?? (fn.kind === "api" ? API_TIMEOUT_SECONDS : undefined),
      memory_size: fn.options.memorySize,
      ephemeral_storage: fn.options.ephemeralStorage,
      reserved_concurrent_executions: fn.options.reservedConcurrency,
      maximum_retry_attempts: fn.options.retryAttempts,
      dead_letter_target_arn: STREAMS.includes(fn.kind) ? undefined : deadLetters,
      alias_name: options.alias,
      provisioned_concurrency: options.alias && fn.settings.provisionedConcurrency,
    },
    getMigrationArguments(fn),
    getTriggerArguments(fn, options),
    getStreamArguments(fn, deadLetters),
    getResourceArguments(fn.settings),
    {
      additional_policy_arns: environment.usesCluster ? [getClusterPolicy(fn)] : undefined,
      inline_policies: Object.keys(policies).length === 0 ? undefined : policies,
      vpc_config: environment.isInNetwork ? VPC_CONFIG : undefined,
      environment_variables: Object.keys(environment.values).length === 0
        ? undefined
        : environment.values,
    },
  );
  if (!hasDeadLetters(fn)) return [module];
  const queue = block(
    "module",
    [`dead_letters_${fn.id}`],
    { source: moduleSource("queue") },
    {
      queue_name: shorten(`${fn.name}-failed`, MAX_QUEUE_NAME),
      name_prefix: expression("module.core.name_prefix"),
      tags: expression("module.core.common_tags"),
      retention_seconds: 1_209_600,
      enable_dlq_alarm: false,
    },
  );
  return [module, queue];
}

/** Returns the policy with which a function connects to the cluster. */
function getClusterPolicy(fn: InfraFunction): Expression {
  const policy = isMigrationFunction(fn) ? "admin_connect_policy_arn" : "connect_policy_arn";
  return expression(`module.database.${policy}`);
}

function getDeadLetterTarget(fn: InfraFunction): HclValue | undefined {
  const { deadLetterQueue } = fn.options;
  if (hasDeadLetters(fn)) return expression(`module.dead_letters_${fn.id}.queue_arn`);
  return typeof deadLetterQueue === "object" ? deadLetterQueue.targetArn : undefined;
}

function getTriggerArguments(
  fn: InfraFunction,
  { queues, isApiAuthorizer, isHttpApi }: FunctionBlockOptions,
): Record<string, HclValue | undefined> {
  const { settings } = fn;
  switch (fn.kind) {
    case "api":
      return settings.url === undefined ? admitGateway(isHttpApi) : {};
    case "authorizer":
      return isApiAuthorizer ? admitGateway(isHttpApi) : {};
    case "queue":
      return {
        sqs_trigger_arn: expression(`module.queue_${queues.ids.get(getResource(fn)!)}.queue_arn`),
        sqs_batch_size: settings.batchSize,
        sqs_batching_window_seconds: settings.batchingWindowSeconds,
        sqs_maximum_concurrency: settings.maximumConcurrency,
        sqs_filter_patterns: toPatterns(settings.filters),
      };
    case "schedule":
      return {
        schedule_expression: settings.schedule ?? getDefaultSchedule(fn.definer),
        schedule_timezone: settings.timezone,
      };
    case "event":
      return { eventbridge_rule_arns: [expression(`aws_cloudwatch_event_rule.${fn.id}.arn`)] };
    default:
      return {};
  }
}

/** Admits invocations by the API. */
function admitGateway(isHttpApi: boolean): Record<string, HclValue> {
  return {
    api_gateway_enabled: true,
    api_gateway_execution_arn: expression(
      `module.api.${isHttpApi ? "execution_arn" : "rest_api_execution_arn"}`,
    ),
  };
}
