import type { FunctionInfra } from "../config/function_infra.ts";
import type { SourceArn } from "../config/function_resources.ts";
import { expression, type HclValue, jsonencode } from "./hcl.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";

/**
 * Returns the arguments of the function module for a function that reads a stream.
 *
 * @param failureDestination ARN of the queue or topic for records whose last attempt failed.
 * @returns The arguments; none for other functions.
 */
export function getStreamArguments(
  fn: InfraFunction,
  failureDestination: HclValue | undefined,
): Record<string, HclValue | undefined> {
  const { kind, settings } = fn;
  const shared = {
    starting_position: settings.startingPosition,
    batch_size: settings.batchSize,
    batching_window_seconds: settings.batchingWindowSeconds,
    bisect_on_error: settings.bisectOnError,
    maximum_retry_attempts: settings.maximumRetryAttempts,
    maximum_record_age_seconds: settings.maximumRecordAgeSeconds,
    filter_patterns: toPatterns(settings.filters),
    failure_destination_arn: failureDestination,
  };
  switch (kind) {
    case "stream":
    case "table-stream":
      return {
        stream_trigger: {
          arn: toArn(settings.source!),
          service: kind === "stream" ? "kinesis" : "dynamodb",
          parallelization_factor: settings.parallelizationFactor,
          ...shared,
        },
      };
    case "kafka":
      return { kafka_trigger: { ...getKafkaArguments(fn), ...shared } };
    default:
      return {};
  }
}

function getKafkaArguments(
  { name, settings: { source, kafka }, options }: InfraFunction,
): Record<string, HclValue | undefined> {
  const { topic, consumerGroup, bootstrapServers, access, provisionedPollers } = kafka!;
  return {
    cluster_arn: source && toArn(source),
    bootstrap_servers: bootstrapServers,
    topic,
    consumer_group_id: consumerGroup ?? expression(`"\${module.core.name_prefix}-${name}"`),
    source_access: access?.map(({ type, uri }) => ({ type, uri })),
    provisioned_pollers: provisionedPollers && { ...provisionedPollers },
    partial_failures: options.partialFailures,
  };
}

/** Converts an ARN or a reference to a Terraform value. */
export function toArn(source: SourceArn): HclValue {
  return typeof source === "string" ? source : expression(source.reference);
}

/**
 * Converts patterns to the JSON that Lambda takes.
 *
 * @param filters The setting `filters`.
 */
export function toPatterns(filters: FunctionInfra["filters"]): HclValue | undefined {
  return filters?.map((pattern) => jsonencode(pattern as HclValue));
}

/**
 * Checks that Lambda reads the reports of failures that handlers send.
 *
 * @returns Errors with the function and the fix.
 */
export function checkFailureReports(functions: readonly InfraFunction[]): Problem[] {
  return functions.flatMap(({ name, kind, options, settings }): Problem[] => {
    if (kind !== "kafka" || options.partialFailures !== true) return [];
    if (settings.kafka?.provisionedPollers !== undefined) return [];
    return [{
      functionName: name,
      message: `${name} has partialFailures: true, which Lambda only reads in provisioned mode; ` +
        `failed records would be lost: set infra.functions.${name}.kafka.provisionedPollers, or ` +
        "remove partialFailures",
    }];
  });
}
