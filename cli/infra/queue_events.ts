import type { InfraSettings } from "../config/infra.ts";
import type { QueueEvents, QueueInfra } from "../config/named_resources.ts";
import { isObject, isText } from "../config/settings.ts";
import { block, call, type Expression, expression, type HclBlock, nested } from "./hcl.ts";
import type { Problem } from "./infra_plan.ts";
import { DEFAULT_BUS, type Resources } from "./triggers.ts";

/** The bus of events without one, as for functions. */
const USUAL_BUS = "events";

/** A rule that sends events of a bus to a queue. */
interface QueueRule {
  /** Terraform name. */
  readonly id: string;
  /** Terraform name of the queue. */
  readonly queueId: string;
  readonly queue: string;
  readonly isFifo: boolean;
  readonly events: QueueEvents;
}

/** Lists the buses whose events go to queues. */
export function listQueueBuses(queues: InfraSettings["queues"]): string[] {
  return Object.values(queues ?? {}).flatMap(({ events = [] }) =>
    events.map(({ bus = USUAL_BUS }) => bus)
  );
}

function listRules(queues: Resources, settings: InfraSettings["queues"]): QueueRule[] {
  return [...queues.ids].flatMap(([queue, queueId]) => {
    const { events = [], fifo = false } = settings?.[queue] ?? {};
    return events.map((each, index): QueueRule => ({
      id: `queue_${queueId}_${index + 1}`,
      queueId,
      queue,
      isFifo: fifo,
      events: each,
    }));
  });
}

/**
 * Returns the argument `allowed_senders` of a queue that receives events.
 *
 * @param queueId Terraform name of the queue.
 * @param settings The queue.
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

/**
 * Renders the rules that send events to queues, with their targets.
 *
 * @param queues The queues.
 * @param settings The configuration.
 * @param buses The buses.
 */
export function renderQueueRules(
  queues: Resources,
  settings: InfraSettings["queues"],
  buses: Resources,
): HclBlock[] {
  return listRules(queues, settings).flatMap((rule) => renderRule(rule, buses));
}

function renderRule(
  { id, queueId, queue, isFifo, events }: QueueRule,
  buses: Resources,
): HclBlock[] {
  const { bus = USUAL_BUS, pattern, inputPaths, inputTemplate, messageGroupId } = events;
  const module = bus === DEFAULT_BUS ? undefined : `module.bus_${buses.ids.get(bus)}`;
  const address = `aws_cloudwatch_event_rule.${id}`;
  return [
    block("resource", ["aws_cloudwatch_event_rule", id], {
      description: `Events for the queue ${queue}.`,
      event_bus_name: module && expression(`${module}.bus_name`),
      tags: expression("module.core.common_tags"),
      event_pattern: call("jsonencode", pattern as Record<string, string>),
    }),
    block(
      "resource",
      ["aws_cloudwatch_event_target", id],
      {
        rule: expression(`${address}.name`),
        event_bus_name: expression(`${address}.event_bus_name`),
        arn: expression(`module.queue_${queueId}.queue_arn`),
      },
      ...inputTemplate === undefined ? [] : [
        nested(block("input_transformer", [], {
          input_paths: inputPaths,
          input_template: inputTemplate,
        })),
      ],
      ...isFifo ? [nested(block("sqs_target", [], { message_group_id: messageGroupId }))] : [],
      ...module === undefined ? [] : [
        nested(
          block("dead_letter_config", [], { arn: expression(`${module}.dead_letter_queue_arn`) }),
        ),
      ],
    ),
  ];
}

const KEYS: readonly string[] = ["bus", "pattern", "inputPaths", "inputTemplate", "messageGroupId"];

/**
 * Checks the events of a queue.
 *
 * @param name The queue.
 * @param settings Its settings.
 */
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
