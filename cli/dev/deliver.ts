import {
  createEventBridgeEvent,
  createQueueEvent,
  createTopicEvent,
} from "../../testing/trigger_events.ts";
import { createStorageEvent } from "../../testing/storage_events.ts";
import type { SqsEvent } from "../../core/triggers/trigger_events.ts";
import type { FunctionInfra } from "../config/function_infra.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { nameOfSegments } from "../discovery/source_files.ts";
import { kebabCase } from "../infra/names.ts";
import { getResource } from "../infra/resources.ts";
import type { SentMessage } from "./aws/aws_sink.ts";
import type { ObjectChange } from "./aws/s3_target.ts";

/** The configuration `infra.functions`. */
export type Wiring = Readonly<Record<string, FunctionInfra>>;

/**
 * Finds the functions that receive a message, by the same rules as the generated infrastructure:
 * the queue or topic of a function (by default its name) and the pattern of an event function.
 *
 * @param wiring The configuration of the functions.
 */
export function findReceivers(
  sent: SentMessage,
  functions: readonly FunctionFile[],
  wiring: Wiring,
): FunctionFile[] {
  switch (sent.service) {
    case "sqs":
      return findNamed(sent.target, functions, "queue", wiring).filter((fn) => {
        const { filters } = wiring[fn.name] ?? {};
        return filters === undefined || matchesFilter(filters, sent, fn);
      });
    case "sns":
      return findNamed(sent.target, functions, "topic", wiring).filter(({ name }) => {
        const { filterPolicy } = wiring[name] ?? {};
        return filterPolicy === undefined || matchesPattern(filterPolicy, getPolicyValues(sent));
      });
    case "s3":
      return functions.filter((fn) => fn.kind === "storage" && watches(fn, wiring[fn.name], sent));
    case "eventbridge":
      return findNamed(sent.target, functions, "event", wiring).filter((fn) => {
        const { pattern } = wiring[fn.name] ?? {};
        return pattern === undefined
          ? endsWithName(sent.detailType ?? "", fn.name)
          : matchesPattern(pattern, toDeliveredEvent(sent, fn));
      });
  }
}

/**
 * Finds the functions of a queue, topic or event bus. Deployed names have a prefix: the queue of
 * `SendMail` is `notes-dev-send-mail`. The longest name wins, so that `Mail` does not get its messages.
 */
function findNamed(
  deployed: string,
  functions: readonly FunctionFile[],
  kind: "queue" | "topic" | "event",
  wiring: Wiring,
): FunctionFile[] {
  const found = functions.filter((fn) => fn.kind === kind).map((fn) => ({
    fn,
    resource: getResource({ ...fn, settings: wiring[fn.name] ?? {} })!,
  })).filter(({ resource }) => endsWithName(deployed, resource));
  const longest = Math.max(...found.map(({ resource }) => toComparable(resource).length));
  return found.filter(({ resource }) => toComparable(resource).length === longest)
    .map(({ fn }) => fn);
}

/** Returns the attributes of a message as filter policies compare them. */
function getPolicyValues({ attributes }: SentMessage): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { type, value }]) => [
      name,
      type === "Number" || type === "String.Array" ? parse(value) : value,
    ]),
  );
}

/** Checks whether the notifications of a function's bucket include a change. */
function watches(
  { name }: FunctionFile,
  { bucket = kebabCase(name), prefix = "", suffix = "", events = [ANY_CREATION] }: FunctionInfra =
    {},
  sent: SentMessage,
): boolean {
  const { key, change } = JSON.parse(sent.body) as ObjectChange;
  const happened = change === "created" ? "s3:ObjectCreated:" : "s3:ObjectRemoved:";
  return sent.target === bucket && key.startsWith(prefix) && key.endsWith(suffix) &&
    events.some((event) => event.startsWith(happened));
}

const ANY_CREATION = "s3:ObjectCreated:*";

/** Checks whether one of the patterns of a queue's trigger matches a message. */
function matchesFilter(
  filters: readonly EventPattern[],
  sent: SentMessage,
  fn: FunctionFile,
): boolean {
  const { Records: [record] } = toDeliveredEvent(sent, fn) as SqsEvent;
  const opened = { ...record, body: parse(record.body) };
  return filters.some((filter) => matchesPattern(filter, opened));
}

function endsWithName(deployed: string, name: string): boolean {
  const short = toComparable(name);
  return short !== "" && toComparable(deployed).endsWith(short);
}

function toComparable(name: string): string {
  return nameOfSegments([name.replace(/\.fifo$/, "")]);
}

/**
 * Converts a message to the event that the function receives.
 *
 * @param fn The receiver.
 */
export function toDeliveredEvent(sent: SentMessage, fn: FunctionFile): unknown {
  if (fn.kind === "storage") {
    return createStorageEvent([{ bucket: sent.target, ...JSON.parse(sent.body) as ObjectChange }]);
  }
  if (fn.kind === "event") {
    const { id, detailType, source, body } = sent;
    return {
      ...createEventBridgeEvent({ detail: parse(body), detailType, source, id }),
      time: sent.at,
    };
  }
  if (fn.kind === "topic") {
    const { Records: [record] } = createTopicEvent([{
      message: sent.body,
      messageId: sent.id,
      subject: sent.subject,
    }]);
    const MessageAttributes = getAttributes(
      sent,
      ({ type, value }) => ({ Type: type, Value: value }),
    );
    return {
      Records: [{ ...record, Sns: { ...record.Sns, Timestamp: sent.at, MessageAttributes } }],
    };
  }
  const records = [{ body: sent.body, messageId: sent.id, groupId: sent.groupId }];
  const { Records: [record] } = createQueueEvent(records, sent.target);
  const messageAttributes = getAttributes(
    sent,
    ({ type, value }) => ({
      dataType: type,
      [type.startsWith("Binary") ? "binaryValue" : "stringValue"]: value,
    }),
  );
  return { Records: [{ ...record, messageAttributes }] };
}

function getAttributes<T>(
  sent: SentMessage,
  change: (attribute: SentMessage["attributes"][string]) => T,
): object {
  return Object.fromEntries(
    Object.entries(sent.attributes).map(([name, attribute]) => [name, change(attribute)]),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A pattern of EventBridge, or a filter policy of SNS over attributes. */
type EventPattern = Readonly<Record<string, unknown>>;

/**
 * Checks whether an event matches a pattern: every key of the pattern must be present with one of
 * the values. Supports exact values, `prefix`, `suffix`, `exists`, `anything-but` and
 * `equals-ignore-case` (EventBridge user guide, 2026-11). An unknown rule matches nothing.
 *
 * @param value The event, or a part of it.
 */
export function matchesPattern(pattern: EventPattern, value: unknown): boolean {
  return Object.entries(pattern).every(([key, wanted]) => {
    const found = typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)[key]
      : undefined;
    if (!Array.isArray(wanted)) {
      return typeof wanted === "object" && wanted !== null &&
        matchesPattern(wanted as EventPattern, found);
    }
    // one matching element of a list is enough
    const values = Array.isArray(found) ? found : [found];
    return values.some((each) => wanted.some((rule) => matchesRule(rule, each)));
  });
}

function matchesRule(rule: unknown, value: unknown): boolean {
  if (typeof rule !== "object" || rule === null) return rule === value;
  const [[name, operand]] = Object.entries(rule);
  const text = typeof value === "string" ? value : undefined;
  switch (name) {
    case "exists":
      return (value !== undefined) === operand;
    case "prefix":
      return text?.startsWith(String(operand)) === true;
    case "suffix":
      return text?.endsWith(String(operand)) === true;
    case "equals-ignore-case":
      return text?.toLowerCase() === String(operand).toLowerCase();
    case "anything-but":
      return value !== undefined && ![operand].flat().some((each) => matchesRule(each, value));
    default:
      return false;
  }
}
