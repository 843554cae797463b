import type { StandardSchema } from "../../env/standard_schema.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { Flat } from "../flat.ts";
import { groupBy } from "../lists/group_by.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { type MessageIdempotency, protectMessages, type TransactionParam } from "../idempotency.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { listEventCorrelationIds } from "./correlation.ts";
import { wrapTrigger } from "./observe_trigger.ts";
import { misfit, parseInput, parseJsonInput } from "./parse_input.ts";
import { addRecordMetrics, processLanes, reportPositions } from "./ordered_batch.ts";
import { readRecords } from "./read_records.ts";
import { type RecordBatch, type RecordIdentity, skipRecord } from "./record_scope.ts";
import type {
  EventBridgeEvent,
  SnsMessage,
  SqsBatchResult,
  SqsEvent,
  SqsRecord,
} from "./trigger_events.ts";
import {
  checkChoice,
  checkTriggerOptions,
  type TriggerHandler,
  type TriggerOptions,
} from "./trigger_options.ts";

/** Options of {@link defineQueueHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface QueueHandlerOptions<TBody = never, TTransaction = never> extends TriggerOptions {
  /** Parses the JSON of each message; synchronous or not. A message that does not fit fails, the others do not. */
  schema?: StandardSchema<TBody>;
  /**
   * The input of the schema: the body itself (`none`), the message of an SNS topic that the queue is subscribed
   * to (`topic`, without raw message delivery), the detail of an EventBridge event whose rule sends to the queue (`event`).
   * @default "none"
   */
  envelope?: "none" | "topic" | "event";
  /**
   * Messages under way at once, 1 to 10,000; in a FIFO queue message groups, whose messages go one after the other.
   * @default 1
   */
  concurrency?: number;
  /**
   * Processes a message that is delivered several times only once.
   * @default undefined, no protection
   */
  idempotency?: MessageIdempotency<QueueHandlerParams<TBody>, TTransaction>;
}

/** Parameters of a message handler. */
export type QueueHandlerParams<TBody = never> = Flat<
  & {
    /** The message as SQS delivers it. */
    record: SqsRecord;
    /** Lambda's context. */
    context: LambdaContext;
    /** Ids; the correlation id is the message's own. */
    metadata: WrapperMetadata;
  }
  & ([TBody] extends [never] ? unknown : { /** The parsed message. */ body: TBody })
>;

/** The function that a user writes: called once for each message. What it returns is not used; what it throws fails the message. */
export type QueueHandlerFunction<TBody = never, TTransaction = never> = (
  params: QueueHandlerParams<TBody> & TransactionParam<TTransaction>,
) => unknown;

/**
 * Declares the consumer of an SQS queue. Each message is worked on apart from the others, and those that failed are
 * reported, so that SQS delivers only these again and, in the end, moves them to the dead-letter queue. The trigger must
 * report batch item failures (`ReportBatchItemFailures`), as the function module sets it: without it SQS deletes all.
 *
 * In a FIFO queue the messages of a group that come after a failed one are not worked on and count as failed, so that
 * their order stays. Messages that are not finished shortly before the function's time is up count as failed.
 *
 * @param options Schema, envelope, concurrency, names. They are checked when the module is loaded.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineQueueHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createQueueEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineQueueHandler({
 *   schema: z.object({ noteId: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function indexNote({ body }) {
 *   if (body.noteId === "n2") throw new Error("the index is closed");
 * });
 *
 * const event = createQueueEvent([{ body: { noteId: "n1" } }, { body: { noteId: "n2" }, messageId: "m2" }, { body: "?" }]);
 * const { batchItemFailures } = await handler(event, createLambdaContext());
 * console.log(batchItemFailures.length, batchItemFailures[0]); // 2 { itemIdentifier: "m2" }
 * ```
 */
export function defineQueueHandler<TBody = never, TTransaction = never>(
  options: QueueHandlerOptions<TBody, TTransaction> = {},
): (
  handler: QueueHandlerFunction<TBody, TTransaction>,
) => TriggerHandler<SqsEvent, SqsBatchResult, QueueHandlerFunction<TBody, TTransaction>> {
  checkTriggerOptions("defineQueueHandler", options, [
    "schema",
    "envelope",
    "concurrency",
    "idempotency",
  ]);
  const { schema, envelope = "none", concurrency = 1 } = options;
  checkChoice("envelope", envelope, QUEUE_ENVELOPES);
  if (envelope !== "none" && schema === undefined) {
    throw new ConfigurationError(
      `envelope is ${envelope} and there is no schema: it says where the schema's input lies`,
    );
  }

  return function wrapHandler(handler) {
    const run = protectMessages(handler, options.idempotency, ({ record }) => record.messageId);
    return wrapTrigger("defineQueueHandler", options, handler, {
      async work(event: SqsEvent, context, metadata): Promise<SqsBatchResult> {
        const records = getRecords(event);
        const stopped = await processLanes({
          lanes: getLanes(records, envelope),
          concurrency,
          metadata,
          identify,
          async work({ record, message }, own) {
            const parsed = schema && { body: await parseInput(schema, message.readInput()) };
            const params = { record, context, metadata: own, ...parsed };
            await run(params as Parameters<typeof handler>[0]);
          },
          onStop: skipGroup,
        });
        const failed = new Set(
          stopped.flatMap((lane) => [lane.failed, ...lane.rest].map(({ record }) => record)),
        );
        if (options.metrics !== false) addRecordMetrics(metadata, records.length, failed.size);
        const ids = records.filter((record) => failed.has(record)).map(({ messageId }) =>
          messageId
        );
        return reportPositions(ids);
      },
    });
  };
}

/** A record with its message, which is read once. */
interface OpenRecord {
  readonly record: SqsRecord;
  readonly message: QueueMessage;
}

function identify({ record, message: { correlationIds } }: OpenRecord): RecordIdentity {
  const received = Number(record.attributes?.ApproximateReceiveCount);
  return {
    correlationIds,
    fields: { message_id: record.messageId, ...(received > 0 && { receive_count: received }) },
  };
}

/** Logs the messages of a FIFO group that wait for the next delivery. */
async function skipGroup(
  batch: RecordBatch,
  { record: { messageId } }: OpenRecord,
  rest: readonly OpenRecord[],
): Promise<void> {
  const reason = `Message ${messageId} of the same group failed before it`;
  for (const record of rest) await skipRecord(batch, identify(record), reason);
}

/** Returns one lane for each message group of a FIFO queue, and for each message of other queues. */
function getLanes(
  records: readonly SqsRecord[],
  envelope: QueueEnvelope,
): readonly (readonly OpenRecord[])[] {
  const opened = records.map((record) => ({ record, message: openMessage(record, envelope) }));
  const lanes = groupBy<unknown, OpenRecord>(opened, ({ record }) => {
    // other queues know groups too (fair queues), without an order
    const { eventSourceARN: arn, attributes } = record;
    return typeof arn === "string" && arn.endsWith(".fifo") ? attributes?.MessageGroupId : record;
  });
  return [...lanes.values()];
}

function getRecords(event: SqsEvent): readonly SqsRecord[] {
  return readRecords(
    event,
    (record) => typeof record?.messageId === "string",
    "The event is no batch of SQS messages: the trigger of this function must be a queue",
  );
}

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
