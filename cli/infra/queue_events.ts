import type { QueueInfra } from "../config/named_resources.ts";
import { isObject, isText } from "../config/settings.ts";
import { renderRule } from "./event_rule.ts";
import { block, type Expression, expression, type HclBlock } from "./hcl.ts";
import type { Problem } from "./infra_plan.ts";
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

const KEYS: readonly string[] = ["bus", "pattern", "inputPaths", "inputTemplate", "messageGroupId"];

/** Checks the events of a queue. */
export function checkQueueEvents(name: string, { events, fifo = false }: QueueInfra): Problem[] {
  if (events === undefined) return [];
  const path = `infra.queues.${name}.events`;
  if (!Array.isArray(events) || events.length === 0) {
    return [{
      message: `${path} must be a list such as [{ pattern: { "detail-type": ["order.placed"] } }]`,
    }];
  }
  return events.flatMap((each: unknown, index): Problem[] => {
    const problem = findProblem(each, fifo);
    return problem === undefined ? [] : [{ message: `${path}[${index}] ${problem}` }];
  });
}

function findProblem(events: unknown, isFifo: boolean): string | undefined {
  if (!isObject(events)) return "must be an object with a pattern";
  const unknown = Object.keys(events).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) return `has no setting ${unknown}; it has ${KEYS.join(", ")}`;
  const { bus, pattern, inputPaths, inputTemplate, messageGroupId } = events;
  if (!isObject(pattern) || Object.keys(pattern).length === 0) return "needs a pattern";
  if (bus !== undefined && !/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(String(bus))) {
    return "has a bus with other characters than letters, digits, hyphens and underscores";
  }
  if (inputTemplate !== undefined && !isText(inputTemplate)) return "needs a text as inputTemplate";
  if (inputPaths !== undefined) {
    const isPaths = isObject(inputPaths) &&
      Object.values(inputPaths).every((path) => String(path).startsWith("$"));
    if (!isPaths) return 'needs JSON paths as inputPaths, such as { id: "$.detail.id" }';
    if (inputTemplate === undefined) return "has inputPaths without inputTemplate";
  }
  if (isFifo !== (messageGroupId !== undefined)) {
    return isFifo ? "needs messageGroupId: the queue is FIFO" : "has messageGroupId without fifo";
  }
  return undefined;
}
