import { TAGS } from "./names.ts";
import { type Expression, expression, type HclBlock, resource } from "./hcl.ts";
import type { TerraformVariable } from "./infra_plan.ts";

/** Variable with the topics of the alarms. */
export const ALARM_VARIABLE: TerraformVariable = {
  name: "alarm_topic_arns",
  description: "Topics that alarms are sent to.",
  type: "list(string)",
  default: [],
};

/** The topics of the alarms. */
export const ALARM_TOPICS: Expression = expression(`var.${ALARM_VARIABLE.name}`);

/** Arguments with which an alarm is sent to the topics. */
export const ALARM_ACTIONS: Readonly<Record<string, Expression>> = {
  alarm_actions: ALARM_TOPICS,
  ok_actions: ALARM_TOPICS,
};

/**
 * Renders the alarms of dead-letter queues, which otherwise would be noticed only when their
 * messages have expired. Queues of functions in `queue/` have an alarm in their module.
 */
export function renderDeadLetterAlarms(names: readonly Expression[]): HclBlock[] {
  if (names.length === 0) return [];
  return [
    resource("aws_cloudwatch_metric_alarm", "dead_letters", {
      for_each: expression(`toset([\n${names.map(({ hcl }) => `  ${hcl},\n`).join("")}])`),
    }, {
      alarm_name: expression('"${each.key}-not-empty"'),
      alarm_description: expression(
        '"Events or records that failed for good wait in ${each.key}. Find the cause in the log of the function."',
      ),
      namespace: "AWS/SQS",
      metric_name: "ApproximateNumberOfMessagesVisible",
      dimensions: { QueueName: expression("each.key") },
      statistic: "Maximum",
      comparison_operator: "GreaterThanThreshold",
      threshold: 0,
      period: 60,
      evaluation_periods: 1,
      // a queue without messages sends no data
      treat_missing_data: "notBreaching",
      ...ALARM_ACTIONS,
      tags: TAGS,
    }),
  ];
}
