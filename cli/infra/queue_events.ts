import type { QueueInfra } from "../config/named_resources.ts";
import {
  block,
  type Expression,
  expression,
  type HclBlock,
  type HclPart,
  type HclValue,
  jsonencode,
  resource,
} from "./hcl.ts";
import type { ResourcePlan } from "./plan_resources.ts";
import { DEFAULT_BUS, type Resources, USUAL_BUS } from "./resources.ts";
import { TAGS } from "./names.ts";

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

/** A rule that sends events of a bus to a function or a queue. */
export interface EventRule {
  /** Terraform name. */
  readonly id: string;
  /** Omitted for a name that Terraform chooses. */
  readonly name?: Expression;
  readonly description: string;
  readonly bus: string;
  readonly pattern: Readonly<Record<string, unknown>>;
  /** Reference to the ARN of the function or queue. */
  readonly target: string;
  /** More parts of the target. */
  readonly parts?: readonly HclPart[];
}

/** Renders a rule with its target. Events that cannot be delivered go to the bus's own queue. */
export function renderRule(
  buses: Resources,
  { id, name, description, bus, pattern, target, parts = [] }: EventRule,
): HclBlock[] {
  const module = bus === DEFAULT_BUS ? undefined : `module.bus_${buses.ids.get(bus)}`;
  const rule = `aws_cloudwatch_event_rule.${id}`;
  return [
    resource("aws_cloudwatch_event_rule", id, {
      name,
      description,
      event_bus_name: module && expression(`${module}.bus_name`),
      tags: TAGS,
      event_pattern: jsonencode(pattern as HclValue),
    }),
    resource(
      "aws_cloudwatch_event_target",
      id,
      {
        rule: expression(`${rule}.name`),
        event_bus_name: expression(`${rule}.event_bus_name`),
        arn: expression(target),
      },
      ...parts,
      ...module === undefined ? [] : [
        block("dead_letter_config", [], { arn: expression(`${module}.dead_letter_queue_arn`) }),
      ],
    ),
  ];
}
