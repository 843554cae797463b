import { VPC_CONFIG } from "./database_access.ts";
import { STREAMS } from "./function_settings.ts";
import {
  type Expression,
  expression,
  type HclArguments,
  type HclBlock,
  type HclValue,
  renderPolicy,
  resource,
} from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";
import { getDefaultSchedule } from "./job_files.ts";
import { NAMING, shorten, toIdentifier } from "./names.ts";
import { BOUNDARY } from "./permissions_boundary.ts";
import { getMigrationArguments, isMigrationFunction } from "./migration_function.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { RELEASE_ALIAS } from "./release_file.ts";
import { getResource } from "./resources.ts";
import { getStreamArguments, toArn, toPatterns } from "./stream_triggers.ts";
import type {
  FunctionImage,
  FunctionResources,
  PolicyStatement,
} from "../config/function_resources.ts";

/** Name of the policy with the statements of `policies`. */
const OWN_POLICY = "own";

/**
 * Returns the arguments of the function module for a function's own resources.
 *
 * @param resources The settings of the function.
 */
function getResourceArguments(
  { architecture, layers, onSuccess, onFailure, image }: FunctionResources,
): Record<string, HclValue | undefined> {
  return {
    architecture,
    layers: layers?.map(toArn),
    on_success_destination_arn: onSuccess && toArn(onSuccess),
    on_failure_destination_arn: onFailure && toArn(onFailure),
    package_type: image && "Image",
    image_uri: image && getImage(image),
    image_command: image?.command,
  };
}

/**
 * Returns the policies of a function with its own statements.
 *
 * @param policies The generated policies.
 * @param statements The setting `policies`.
 */
function addOwnPolicy(
  policies: Readonly<Record<string, Expression>>,
  statements: readonly PolicyStatement[] | undefined,
): Readonly<Record<string, Expression>> {
  if (statements === undefined) return policies;
  const Statement = statements.map(({ effect = "Allow", actions, resources, conditions }) => ({
    Effect: effect,
    Action: actions,
    Resource: resources.map(toArn),
    Condition: conditions,
  }));
  const policy = renderPolicy(...Statement);
  return { ...policies, [OWN_POLICY]: policy };
}

function getImage({ uri, repository = "" }: FunctionImage): HclValue {
  if (uri !== undefined) return toArn(uri);
  const id = toIdentifier(repository);
  return expression(`"\${aws_ecr_repository.${id}.repository_url}:\${var.${id}_image_tag}"`);
}

/** Triggers that invoke asynchronously: without a dead-letter queue, failed events are lost. */
const ASYNCHRONOUS = ["topic", "event", "schedule", "storage"];

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

/** Renders the module of a function and its dead-letter queue. */
export function renderFunction(fn: InfraFunction, plan: ResourcePlan): HclBlock[] {
  const { infra, distDir, createModule } = plan;
  const { options, settings } = fn;
  const environment = plan.getEnvironment(fn.name);
  const deadLetters = getDeadLetterTarget(fn);
  const policies = addOwnPolicy(environment.policies, settings.policies);
  const alias = isRoute(fn) && infra.release !== undefined ? RELEASE_ALIAS : undefined;
  const hasImage = settings.image !== undefined;
  const module = createModule(
    `fn_${fn.id}`,
    "function",
    {
      function_name: fn.name,
      source_dir: hasImage ? "" : expression(`"\${path.module}/${distDir}/${fn.name}"`),
      environment: expression("var.environment"),
      ...NAMING,
      region: expression("module.core.region"),
      account_id: expression("module.core.account_id"),
      assume_role_policy: expression("module.core.function_assume_role_policy"),
    },
    {
      permissions_boundary_arn: infra.permissionsBoundary === undefined ? undefined : BOUNDARY,
      package_bucket: hasImage ? undefined : infra.packageBucket,
      timeout: options.timeout ?? (fn.kind === "api" ? API_TIMEOUT_SECONDS : undefined),
      memory_size: options.memorySize,
      ephemeral_storage: options.ephemeralStorage,
      reserved_concurrent_executions: options.reservedConcurrency,
      maximum_retry_attempts: options.retryAttempts,
      dead_letter_target_arn: STREAMS.includes(fn.kind) ? undefined : deadLetters,
      alias_name: alias,
      provisioned_concurrency: alias && settings.provisionedConcurrency,
    },
    getMigrationArguments(fn),
    getTriggerArguments(fn, plan),
    getStreamArguments(fn, deadLetters),
    getResourceArguments(settings),
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
  const queue = createModule(`dead_letters_${fn.id}`, "queue", {
    queue_name: shorten(`${fn.name}-failed`, MAX_QUEUE_NAME),
    ...NAMING,
    retention_seconds: 1_209_600,
    enable_dlq_alarm: false,
  });
  return [module, queue];
}

/** Returns the policy with which a function connects to the cluster. */
function getClusterPolicy(fn: InfraFunction): Expression {
  const policy = isMigrationFunction(fn) ? "admin_connect_policy_arn" : "connect_policy_arn";
  return expression(`module.database.${policy}`);
}

/** Checks whether the API has routes of a function. */
export function isRoute({ kind, settings }: InfraFunction): boolean {
  return kind === "api" && settings.url === undefined;
}

function getDeadLetterTarget(fn: InfraFunction): HclValue | undefined {
  const { deadLetterQueue } = fn.options;
  if (hasDeadLetters(fn)) return expression(`module.dead_letters_${fn.id}.queue_arn`);
  return typeof deadLetterQueue === "object" ? deadLetterQueue.targetArn : undefined;
}

function getTriggerArguments(
  fn: InfraFunction,
  { queues, authorizers, isHttp }: ResourcePlan,
): HclArguments {
  const { settings } = fn;
  switch (fn.kind) {
    case "api":
      return isRoute(fn) ? admitGateway(isHttp) : {};
    case "authorizer":
      return fn === authorizers.api?.fn ? admitGateway(isHttp) : {};
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
function admitGateway(isHttp: boolean): HclArguments {
  const output = isHttp ? "execution_arn" : "rest_api_execution_arn";
  return {
    api_gateway_enabled: true,
    api_gateway_execution_arn: expression(`module.api.${output}`),
  };
}

/** Renders the URL of a function, and the right of everyone to call it if IAM does not decide. */
export function renderFunctionUrl(fn: InfraFunction): HclBlock[] {
  const { id, options, settings: { url } } = fn;
  if (url === undefined) return [];
  const isOpen = url === true || url.authorization !== "iam";
  const function_name = expression(`module.fn_${id}.function_name`);
  const address = resource("aws_lambda_function_url", id, {
    function_name,
    authorization_type: isOpen ? "NONE" : "AWS_IAM",
    invoke_mode: options.streaming ? "RESPONSE_STREAM" : undefined,
  });
  if (!isOpen) return [address];
  return [
    address,
    // both are needed for URLs since October 2025 (Lambda developer guide, "Control access to Lambda
    // function URLs"); neither lets anyone invoke the function without its URL
    resource("aws_lambda_permission", `${id}_url`, {
      statement_id: "AllowUrl",
      action: "lambda:InvokeFunctionUrl",
      function_name,
      principal: "*",
      function_url_auth_type: "NONE",
    }),
    resource("aws_lambda_permission", `${id}_url_invoke`, {
      statement_id: "AllowInvokeByUrl",
      action: "lambda:InvokeFunction",
      function_name,
      principal: "*",
      invoked_via_function_url: true,
    }),
  ];
}
