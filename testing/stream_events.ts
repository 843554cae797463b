import { encodeBase64 } from "../core/http/base64.ts";
import type {
  AttributeMap,
  AttributeValue,
  KafkaEvent,
  KafkaRecord,
  KinesisEvent,
  TableStreamEvent,
} from "../core/triggers/stream_events.ts";
import { ACCOUNT, REGION, TIME_MS } from "./sample_account.ts";

/** A record of {@link createStreamEvent}. */
export interface StreamRecordOptions {
  /** A string or bytes are sent unchanged, other values as JSON. */
  data?: unknown;
  /**
   * The partition key.
   * @default "test"
   */
  partitionKey?: string;
  /**
   * Position in the shard.
   * @default one after the other
   */
  sequenceNumber?: string;
}

/**
 * Creates the event that Lambda passes to the consumer of a Kinesis data stream.
 *
 * @param records The records of one shard.
 * @param streamName Name of the stream.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createStreamEvent } from "@trellis/fn/testing";
 *
 * const { Records: [record] } = createStreamEvent([{ data: { orderId: "o1" } }]);
 * console.log(atob(record.kinesis.data)); // {"orderId":"o1"}
 * ```
 */
export function createStreamEvent(
  records: readonly StreamRecordOptions[],
  streamName = "test-stream",
): KinesisEvent {
  return {
    Records: records.map(({ data = "", partitionKey = "test", sequenceNumber }, index) => {
      const sequence = sequenceNumber ?? createSequenceNumber(index);
      return {
        eventSource: "aws:kinesis",
        eventVersion: "1.0",
        eventID: `shardId-000000000000:${sequence}`,
        eventName: "aws:kinesis:record",
        invokeIdentityArn: `arn:aws:iam::${ACCOUNT}:role/test`,
        awsRegion: REGION,
        eventSourceARN: `arn:aws:kinesis:${REGION}:${ACCOUNT}:stream/${streamName}`,
        kinesis: {
          kinesisSchemaVersion: "1.0",
          partitionKey,
          sequenceNumber: sequence,
          data: encodeContent(data),
          approximateArrivalTimestamp: TIME_MS / 1000,
        },
      };
    }),
  };
}

/** A change of {@link createTableStreamEvent}. */
export interface TableStreamRecordOptions {
  /** The primary key, as plain values. */
  keys: Record<string, unknown>;
  /** The item before the change. Missing: it was created. */
  before?: Record<string, unknown>;
  /** The item after the change. Missing: it was removed. */
  after?: Record<string, unknown>;
  /**
   * Position in the shard.
   * @default one after the other
   */
  sequenceNumber?: string;
  /**
   * The images that the stream contains.
   * @default "NEW_AND_OLD_IMAGES"
   */
  view?: "KEYS_ONLY" | "NEW_IMAGE" | "OLD_IMAGE" | "NEW_AND_OLD_IMAGES";
}

/**
 * Creates the event that Lambda passes to the consumer of a DynamoDB stream. An item with `before`
 * and `after` was updated.
 *
 * @param records The changes of one shard.
 * @param tableName Name of the table.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createTableStreamEvent } from "@trellis/fn/testing";
 *
 * const { Records: [record] } = createTableStreamEvent([{ keys: { id: "p1" }, after: { id: "p1", stock: 3 } }]);
 * console.log(record.eventName, record.dynamodb.NewImage?.stock); // INSERT { N: "3" }
 * ```
 */
export function createTableStreamEvent(
  records: readonly TableStreamRecordOptions[],
  tableName = "test-table",
): TableStreamEvent {
  const arn =
    `arn:aws:dynamodb:${REGION}:${ACCOUNT}:table/${tableName}/stream/2026-01-01T00:00:00.000`;
  return {
    Records: records.map((options, index) => {
      const { keys, before, after, view = "NEW_AND_OLD_IMAGES" } = options;
      return {
        eventID: `${index + 1}`.padStart(32, "0"),
        eventName: getEventName(options),
        eventVersion: "1.1",
        eventSource: "aws:dynamodb",
        awsRegion: REGION,
        eventSourceARN: arn,
        dynamodb: {
          ApproximateCreationDateTime: TIME_MS / 1000,
          Keys: toAttributes(keys),
          ...(after !== undefined && view.includes("NEW") && { NewImage: toAttributes(after) }),
          ...(before !== undefined && view.includes("OLD") && { OldImage: toAttributes(before) }),
          SequenceNumber: options.sequenceNumber ?? createSequenceNumber(index),
          SizeBytes: 100,
          StreamViewType: view,
        },
      };
    }),
  };
}

/** A record of {@link createKafkaEvent}. */
export interface KafkaRecordOptions {
  /** A string or bytes are sent unchanged, other values as JSON, and `null` as a tombstone. */
  value?: unknown;
  /** The key. */
  key?: string;
  /**
   * The partition.
   * @default 0
   */
  partition?: number;
  /**
   * Position in the partition.
   * @default one after the other
   */
  offset?: number;
  /** Value of the header `correlationId`. */
  correlationId?: string;
}

/**
 * Creates the event that Lambda passes to the consumer of a Kafka topic in Amazon MSK.
 *
 * @param records The records, in the order of their partitions.
 * @param topic Name of the topic.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createKafkaEvent } from "@trellis/fn/testing";
 *
 * const event = createKafkaEvent([{ value: { orderId: "o1" }, partition: 2, offset: 40 }], "orders");
 * console.log(event.records["orders-2"][0].offset); // 40
 * ```
 */
export function createKafkaEvent(
  records: readonly KafkaRecordOptions[],
  topic = "test-topic",
): KafkaEvent {
  const partitions: Record<string, KafkaRecord[]> = {};
  for (const { value = "", key, partition = 0, offset, correlationId } of records) {
    const all = partitions[`${topic}-${partition}`] ??= [];
    all.push({
      topic,
      partition,
      offset: offset ?? (all.at(-1)?.offset ?? -1) + 1,
      timestamp: TIME_MS,
      timestampType: "CREATE_TIME",
      ...(key !== undefined && { key: encodeContent(key) }),
      ...(value !== null && { value: encodeContent(value) }),
      headers: correlationId === undefined
        ? []
        : [{ correlationId: [...new TextEncoder().encode(correlationId)] }],
    });
  }
  return {
    eventSource: "aws:kafka",
    eventSourceArn: `arn:aws:kafka:${REGION}:${ACCOUNT}:cluster/test/1a2b3c4d`,
    bootstrapServers: "b-1.test.kafka.eu-west-1.amazonaws.com:9098",
    records: partitions,
  };
}

function getEventName({ before, after }: TableStreamRecordOptions): "INSERT" | "MODIFY" | "REMOVE" {
  if (after === undefined) return "REMOVE";
  return before === undefined ? "INSERT" : "MODIFY";
}

function createSequenceNumber(index: number): string {
  return String(49_590_338_271_490_256n * 10n ** 20n + BigInt(index));
}

function encodeContent(content: unknown): string {
  if (content instanceof Uint8Array) return encodeBase64(content);
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return encodeBase64(new TextEncoder().encode(text));
}

function toAttributes(item: Record<string, unknown>): AttributeMap {
  const entries = Object.entries(item).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, toAttribute(value)]));
}

function toAttribute(value: unknown): AttributeValue {
  if (value === null) return { NULL: true };
  if (value instanceof Uint8Array) return { B: encodeBase64(value) };
  if (Array.isArray(value)) return { L: value.map(toAttribute) };
  switch (typeof value) {
    case "string":
      return { S: value };
    case "number":
    case "bigint":
      return { N: String(value) };
    case "boolean":
      return { BOOL: value };
    case "object":
      return { M: toAttributes(value as Record<string, unknown>) };
    default:
      throw new TypeError(`DynamoDB has no values of the type ${typeof value}`);
  }
}
