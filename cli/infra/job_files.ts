import { TAGS } from "./names.ts";
import { CHANGE_STREAM, readsChanges } from "./change_consumers.ts";
import { ALARM_ACTIONS } from "./dead_letter_alarms.ts";
import { BOUNDARY } from "./permissions_boundary.ts";
import {
  block,
  type Expression,
  expression,
  type HclBlock,
  jsonencode,
  output,
  renderPolicy,
  resource,
} from "./hcl.ts";
import type { FunctionEnvironment, InfraFunction, Problem } from "./infra_plan.ts";

/** Schedules of functions without a setting, by what declares the handler. */
const DEFAULT_SCHEDULES: Readonly<Record<string, string>> = {
  createAuthCleanupHandler: "rate(1 day)",
  defineJobRelayHandler: "rate(1 minute)",
};
/** Age of the oldest job, in seconds, that sets off the alarm. */
const OLDEST_JOB_SECONDS = 900;

/** Name of the policy of functions that read the change stream. */
export const CHANGES_POLICY = "read-changes";

/** Checks whether a function is the relay of jobs. */
export function isRelay({ definer }: InfraFunction): boolean {
  return definer === "defineJobRelayHandler";
}

/** Checks whether a function runs the jobs in the change stream of the database. */
export function runsInsertedJobs({ definer }: InfraFunction): boolean {
  return definer === "defineJobStreamHandler";
}

/**
 * Returns the default schedule of a function, by what declares its handler.
 *
 * @param definer The function of this package that creates the handler.
 */
export function getDefaultSchedule(definer = ""): string | undefined {
  return Object.hasOwn(DEFAULT_SCHEDULES, definer) ? DEFAULT_SCHEDULES[definer] : undefined;
}

/** Renders the alarms of a relay: the age of the oldest job, and dead jobs. */
export function renderJobAlarms(
  relay: InfraFunction,
  { values }: FunctionEnvironment,
  oldestJobSeconds: number = OLDEST_JOB_SECONDS,
): HclBlock[] {
  const functionName = expression(`module.fn_${relay.id}.function_name`);
  const shared = {
    namespace: values.METRICS_NAMESPACE ?? "Trellis",
    dimensions: { service: values.SERVICE_NAME ?? functionName, functionName },
    statistic: "Maximum",
    comparison_operator: "GreaterThanThreshold",
    period: 300,
    evaluation_periods: 1,
    ...ALARM_ACTIONS,
    tags: TAGS,
  };
  const named = (name: string): Expression =>
    expression(`"\${module.core.name_prefix}-${relay.name}-${name}"`);
  // a relay that runs each minute and reports nothing has stopped
  const silence = relay.settings.schedule === undefined ? "breaching" : "notBreaching";
  return [
    resource("aws_cloudwatch_metric_alarm", `${relay.id}_oldest_job`, {
      alarm_name: named("oldest-job"),
      alarm_description:
        `The oldest job has been waiting for more than ${oldestJobSeconds} seconds, or the relay has stopped.`,
      metric_name: "OldestJobAge",
      threshold: oldestJobSeconds,
      treat_missing_data: silence,
    }, shared),
    resource("aws_cloudwatch_metric_alarm", `${relay.id}_dead_jobs`, {
      alarm_name: named("dead-jobs"),
      alarm_description: "Jobs have failed for the last time: see trellis jobs list --state dead.",
      metric_name: "DeadJobs",
      threshold: 0,
      treat_missing_data: "notBreaching",
    }, shared),
  ];
}

/**
 * Renders the Kinesis stream of the database's changes and the role with which Aurora DSQL writes to
 * it. The provider has no resource for the change stream itself: an output has the command.
 *
 * @param hasBoundary True if a policy bounds what roles may do.
 */
export function renderChangeStream(hasBoundary: boolean): HclBlock[] {
  const tags = TAGS;
  const name = expression(`"\${module.core.name_prefix}-changes"`);
  const stream = expression(CHANGE_STREAM);
  return [
    resource("aws_kinesis_stream", "changes", {
      name,
      encryption_type: "KMS",
      kms_key_id: "alias/aws/kinesis",
      // a larger record would stop the change stream; Aurora DSQL splits records at 9 MiB
      max_record_size_in_kib: 10_240,
      tags,
    }, block("stream_mode_details", [], { stream_mode: "ON_DEMAND" })),
    resource("aws_iam_role", "changes", {
      name,
      tags,
      permissions_boundary: hasBoundary ? BOUNDARY : undefined,
      assume_role_policy: renderPolicy({
        Sid: "WriteChanges",
        Effect: "Allow",
        Principal: { Service: "dsql.amazonaws.com" },
        Action: "sts:AssumeRole",
        Condition: {
          StringEquals: { "aws:SourceAccount": expression("module.core.account_id") },
          ArnLike: { "aws:SourceArn": expression('"${module.database.cluster_arn}/stream/*"') },
        },
      }),
    }),
    resource("aws_iam_role_policy", "changes", {
      name: "write-changes",
      role: expression("aws_iam_role.changes.name"),
      policy: renderStreamPolicy("WriteChanges", [
        "kinesis:PutRecord",
        "kinesis:PutRecords",
        "kinesis:DescribeStreamSummary",
        "kinesis:ListShards",
      ]),
    }),
    output(
      "change_stream_command",
      "Command that connects the database to the Kinesis stream, once.",
      expression(
        '"aws dsql create-stream --cluster-identifier ${module.database.cluster_identifier} --ordering UNORDERED --format JSON ' +
          "--target-definition '${jsonencode({ kinesis = { streamArn = " + stream.hcl +
          ", roleArn = aws_iam_role.changes.arn } })}'\"",
      ),
    ),
  ];
}

/** The policy of functions that read the stream. */
export const CHANGES_READER: Expression = renderStreamPolicy("ReadChanges", [
  "kinesis:DescribeStream",
  "kinesis:DescribeStreamSummary",
  "kinesis:GetRecords",
  "kinesis:GetShardIterator",
  "kinesis:ListShards",
]);

/**
 * Renders the trigger of a function that consumes the change stream. Only insertions of jobs are
 * delivered. A batch that keeps failing is dropped: the relay runs its jobs.
 */
export function renderChangesTrigger({ id }: InfraFunction): HclBlock {
  const pattern = { data: { op: ["c"], source: { table: ["trellis_jobs"] } } };
  return resource(
    "aws_lambda_event_source_mapping",
    `${id}_changes`,
    {
      event_source_arn: expression(CHANGE_STREAM),
      function_name: expression(`module.fn_${id}.function_name`),
      starting_position: "TRIM_HORIZON",
      bisect_batch_on_function_error: true,
      maximum_retry_attempts: 5,
      tags: TAGS,
    },
    block(
      "filter_criteria",
      [],
      block("filter", [], { pattern: jsonencode(pattern) }),
    ),
  );
}

function renderStreamPolicy(sid: string, actions: readonly string[]): Expression {
  return renderPolicy({
    Sid: sid,
    Effect: "Allow",
    Action: [...actions],
    Resource: expression(CHANGE_STREAM),
  });
}

/**
 * Finds consumers of the change stream that it does not reach: it belongs to the generated cluster.
 */
export function findJobErrors(
  functions: readonly InfraFunction[],
  getEnvironment: (name: string) => FunctionEnvironment,
): Problem[] {
  return functions.filter(readsChanges).flatMap((fn): Problem[] => {
    const { name, kind } = fn;
    if (runsInsertedJobs(fn) && kind !== "standalone") {
      const message =
        `${name} is in ${kind}/, but defineJobStreamHandler has a stream of its own: ` +
        "move the file to standalone/";
      return [{ message, functionName: name }];
    }
    if (getEnvironment(name).usesCluster) return [];
    const message = `${name} reads the change stream of Aurora DSQL, but does not connect to the ` +
      "generated cluster: read DATABASE_ENDPOINT in getDb, and leave infra.database at distsql";
    return [{ message, functionName: name }];
  });
}

/** Finds what jobs need and the project lacks. */
export function findJobWarnings(functions: readonly InfraFunction[]): Problem[] {
  const usesJobs = functions.some(({ jobs }) =>
    jobs.has("enqueue") || jobs.has("replace") || jobs.has("work")
  );
  if (!usesJobs || functions.some(isRelay)) return [];
  return [{
    message: "no function is the relay of jobs, so jobs that are delayed, repeated or were not " +
      "delivered never run: add src/functions/schedule/jobs-relay.ts with defineJobRelayHandler",
  }];
}
