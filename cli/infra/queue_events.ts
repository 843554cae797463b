import type { QueueInfra } from "../config/named_resources.ts";
import { renderRule } from "./event_rule.ts";
import { block, type Expression, expression, type HclBlock } from "./hcl.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { USUAL_BUS } from "./resources.ts";

/**
 * Returns the argument `allowed_senders` of a queue that receives events.
 *
 * @param queueId Terraform name of the queue.
 */
export function getEventSenders(
  queueId: string,
  { events = [] }: QueueInfra,
): { service: string; source_arn: Expression }[] | undefined {
  return events.length === 0 ? undefined : events.map((_, index) => ({
    service: "events.amazonaws.com",
    source_arn: expression(`aws_cloudwatch_event_rule.queue_${queueId}_${index + 1}.arn`),
  }));
}

/** Renders the rules that send events to queues, with their targets. */
export function renderQueueRules({ queues, buses, infra }: ResourcePlan): HclBlock[] {
  return [...queues.ids].flatMap(([queue, queueId]) => {
    const { events = [], fifo } = infra.queues[queue] ?? {};
    return events.flatMap(
      ({ bus = USUAL_BUS, pattern, inputPaths, inputTemplate, messageGroupId }, index) =>
        renderRule(buses, {
          id: `queue_${queueId}_${index + 1}`,
          description: `Events for the queue ${queue}.`,
          bus,
          pattern,
          target: `module.queue_${queueId}.queue_arn`,
          parts: [
            ...inputTemplate === undefined ? [] : [
              block("input_transformer", [], {
                input_paths: inputPaths,
                input_template: inputTemplate,
              }),
            ],
            ...fifo ? [block("sqs_target", [], { message_group_id: messageGroupId })] : [],
          ],
        }),
    );
  });
}
