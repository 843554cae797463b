import { listEventCorrelationIds } from "./correlation.ts";
import { misfit, parseJsonInput } from "./parse_input.ts";
import type { EventBridgeEvent, SnsMessage, SqsRecord } from "./trigger_events.ts";

/** The envelope that the sending service puts around a message. */
export type QueueEnvelope = "none" | "topic" | "event";

/** The envelopes, for checks and messages. */
export const QUEUE_ENVELOPES = ["none", "topic", "event"] as const satisfies QueueEnvelope[];

/** A message of a queue, out of its envelope. */
export interface QueueMessage {
  /** Candidates for the correlation id, best first. */
  readonly correlationIds: readonly unknown[];
  /** Returns the input for the schema. Throws `ValidationError` if the message does not match the envelope. */
  readonly readInput: () => unknown;
}

/** Takes a message out of its envelope. Never throws: `readInput` reports an invalid message. */
export function openMessage(record: SqsRecord, envelope: QueueEnvelope): QueueMessage {
  const own = record.messageAttributes?.correlationId?.stringValue;
  const { correlationIds, readInput } = OPENERS[envelope](record.body);
  return { correlationIds: [own, ...correlationIds, record.messageId], readInput };
}

const OPENERS: Readonly<Record<QueueEnvelope, (body: string) => QueueMessage>> = {
  none: (body) => ({ correlationIds: [], readInput: () => parseJsonInput(body) }),
  topic: openTopicEnvelope,
  event: openEventEnvelope,
};

function openTopicEnvelope(body: string): QueueMessage {
  const notification = readEnvelope(body) as Partial<SnsMessage> | undefined;
  return {
    correlationIds: [
      notification?.MessageAttributes?.correlationId?.Value,
      notification?.MessageId,
    ],
    readInput(): unknown {
      if (typeof notification?.Message !== "string") {
        throw misfit(
          "It is no notification of a topic: is raw message delivery on? Then envelope must be none",
        );
      }
      return parseJsonInput(notification.Message);
    },
  };
}

function openEventEnvelope(body: string): QueueMessage {
  const event = readEnvelope(body) as EventBridgeEvent | undefined;
  return {
    correlationIds: listEventCorrelationIds(event),
    readInput(): unknown {
      if (typeof event?.["detail-type"] !== "string") throw misfit("It is no event of EventBridge");
      return event.detail;
    },
  };
}

function readEnvelope(body: string): unknown {
  try {
    const value = parseJsonInput(body);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
