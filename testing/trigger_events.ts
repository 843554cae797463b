import { mapValues } from "../core/lists/map_values.ts";
import type {
  EventBridgeEvent,
  ScheduleEvent,
  SnsEvent,
  SnsMessage,
  SqsEvent,
} from "../core/triggers/trigger_events.ts";
import { ACCOUNT, REGION, TIME, TIME_MS } from "./sample_account.ts";

/** A message of {@link createQueueEvent}. */
export interface QueueRecordOptions {
  /** A string is sent unchanged, other values as JSON. */
  body?: unknown;
  /**
   * Message id of SQS.
   * @default a new UUID
   */
  messageId?: string;
  /** Value of the message attribute `correlationId`. */
  correlationId?: string;
  /** Further message attributes, as strings. */
  messageAttributes?: Record<string, string>;
  /**
   * Number of this delivery.
   * @default 1
   */
  receiveCount?: number;
  /** The message group. Only FIFO queues keep its order. */
  groupId?: string;
}

/**
 * Creates the event that Lambda passes to the consumer of an SQS queue.
 *
 * @param records The messages.
 * @param queueName A name that ends with `.fifo` creates a FIFO queue. Its default message group is
 * `group`.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createQueueEvent } from "@trellis/fn/testing";
 *
 * const { Records: [record] } = createQueueEvent([{ body: { noteId: "n1" } }], "notes.fifo");
 * console.log(record.body, record.attributes.MessageGroupId); // {"noteId":"n1"} group
 * ```
 */
export function createQueueEvent(
  records: readonly QueueRecordOptions[],
  queueName = "test-queue",
): SqsEvent {
  const isFifo = queueName.endsWith(".fifo");
  return {
    Records: records.map(
      ({ body = "", messageId = crypto.randomUUID(), receiveCount = 1, groupId, ...sent }, i) => {
        const group = groupId ?? (isFifo ? "group" : undefined);
        return {
          messageId,
          receiptHandle: `receipt-${messageId}`,
          body: asText(body),
          attributes: {
            ApproximateReceiveCount: String(receiveCount),
            ApproximateFirstReceiveTimestamp: String(TIME_MS + 1),
            SenderId: "AIDAEXAMPLE",
            SentTimestamp: String(TIME_MS),
            ...(group !== undefined && { MessageGroupId: group }),
            ...(isFifo &&
              {
                MessageDeduplicationId: messageId,
                SequenceNumber: String(10n ** 19n + BigInt(i)),
              }),
          },
          messageAttributes: mapAttributes(sent, (stringValue) => ({
            dataType: "String",
            stringValue,
            stringListValues: [],
            binaryListValues: [],
          })),
          md5OfBody: "d41d8cd98f00b204e9800998ecf8427e",
          eventSource: "aws:sqs",
          eventSourceARN: `arn:aws:sqs:${REGION}:${ACCOUNT}:${queueName}`,
          awsRegion: REGION,
        };
      },
    ),
  };
}

/** A message of {@link createTopicEvent}. */
export interface TopicRecordOptions {
  /** A string is sent unchanged, other values as JSON. */
  message?: unknown;
  /**
   * Message id of SNS.
   * @default a new UUID
   */
  messageId?: string;
  /** Value of the message attribute `correlationId`. */
  correlationId?: string;
  /** Further message attributes, as strings. */
  messageAttributes?: Record<string, string>;
  /** The subject line. */
  subject?: string;
}

/**
 * Creates a notification of SNS, as it appears in a record, and in a queue message without raw
 * message delivery.
 *
 * @param options The message.
 * @returns The notification.
 */
export function createTopicNotification(options: TopicRecordOptions = {}): SnsMessage {
  const { message = "", messageId = crypto.randomUUID(), subject } = options;
  return {
    Type: "Notification",
    MessageId: messageId,
    TopicArn: `arn:aws:sns:${REGION}:${ACCOUNT}:test-topic`,
    Subject: subject ?? null,
    Message: asText(message),
    Timestamp: TIME,
    MessageAttributes: mapAttributes(options, (Value) => ({ Type: "String", Value })),
  };
}

/**
 * Creates the event that SNS passes to a function.
 *
 * @param records The messages; SNS sends one at a time.
 * @returns The event.
 */
export function createTopicEvent(records: readonly TopicRecordOptions[]): SnsEvent {
  return {
    Records: records.map((options) => ({
      EventSource: "aws:sns",
      EventVersion: "1.0",
      EventSubscriptionArn:
        `arn:aws:sns:${REGION}:${ACCOUNT}:test-topic:2bcfbf39-05c3-41de-beaa-fcfcc21c8f55`,
      Sns: createTopicNotification(options),
    })),
  };
}

/** Options of {@link createEventBridgeEvent}. */
export interface EventBridgeEventOptions {
  /**
   * Value of `detail-type`.
   * @default "test.happened"
   */
  detailType?: string;
  /**
   * Value of `detail`.
   * @default {}
   */
  detail?: unknown;
  /**
   * Value of `source`.
   * @default "test"
   */
  source?: string;
  /**
   * Event id of EventBridge.
   * @default a new UUID
   */
  id?: string;
}

/**
 * Creates an event of an EventBridge bus.
 *
 * @param options The event's content.
 * @returns The event.
 */
export function createEventBridgeEvent(options: EventBridgeEventOptions = {}): EventBridgeEvent {
  const { detailType = "test.happened", detail = {}, source = "test", id = crypto.randomUUID() } =
    options;
  const time = TIME.replace(".000", "");
  return {
    version: "0",
    id,
    "detail-type": detailType,
    source,
    account: ACCOUNT,
    time,
    region: REGION,
    resources: [],
    detail,
  };
}

/** Options of {@link createScheduleEvent}. */
export interface ScheduleEventOptions {
  /**
   * The sender: a schedule of the function module, EventBridge Scheduler without custom input, or a
   * rule.
   * @default "module"
   */
  from?: "module" | "scheduler" | "rule";
  /**
   * The planned time, ISO 8601.
   * @default "2026-01-01T00:00:00Z"
   */
  time?: string;
  /**
   * Id of the event.
   * @default a new UUID
   */
  id?: string;
}

/**
 * Creates the event of a schedule.
 *
 * @param options The sender and the planned time.
 * @returns The event.
 */
export function createScheduleEvent(options: ScheduleEventOptions = {}): ScheduleEvent {
  const { from = "module", time = "2026-01-01T00:00:00Z", id = crypto.randomUUID() } = options;
  const isRule = from === "rule";
  return {
    ...createEventBridgeEvent({
      detailType: "Scheduled Event",
      source: isRule ? "aws.events" : "aws.scheduler",
      id,
    }),
    time,
    resources: [
      isRule
        ? `arn:aws:events:${REGION}:${ACCOUNT}:rule/test`
        : `arn:aws:scheduler:${REGION}:${ACCOUNT}:schedule/default/test`,
    ],
    detail: from === "scheduler" ? "{}" : {},
  };
}

/** Converts the attributes of a message to the form of a service. */
function mapAttributes<T>(
  { correlationId, messageAttributes }: Pick<
    QueueRecordOptions,
    "correlationId" | "messageAttributes"
  >,
  convert: (value: string) => T,
): Record<string, T> {
  const all = { ...messageAttributes, ...(correlationId !== undefined && { correlationId }) };
  return mapValues(all, convert);
}

function asText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
