import type { StandardSchema } from "../../env/standard_schema.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { type MessageIdempotency, protectMessages, type TransactionParam } from "../idempotency.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { wrapOrderedTrigger } from "./ordered_batch.ts";
import { decodeText, openContent, parseInput, toLoggableContent } from "./parse_input.ts";
import { toLoggableEvent } from "../loggable_message.ts";
import { foreignEvent } from "./foreign_event.ts";
import type { RecordIdentity } from "./record_scope.ts";
import type { KafkaBatchResult, KafkaEvent, KafkaRecord } from "./stream_events.ts";
import {
  checkTriggerOptions,
  type StreamTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";

/** Options of {@link defineKafkaHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface KafkaHandlerOptions<TValue = never, TTransaction = never>
  extends StreamTriggerOptions {
  /** Parses the JSON of each record; synchronous or not. The value of a tombstone is `null`. */
  schema?: StandardSchema<TValue>;
  /**
   * Reports the first failed record of each partition, so that the records before it are not
   * delivered again. Only triggers in provisioned mode with `ReportBatchItemFailures` read the
   * report. For others leave it off: a failure then fails the invocation.
   * @default false
   */
  partialFailures?: boolean;
  /**
   * Partitions under way at once, 1 to 10,000.
   * @default 1
   */
  concurrency?: number;
  /**
   * Processes a record that is delivered several times only once. Its default key is topic, partition and
   * offset: give another `key` if the topic can be deleted and created again.
   * @default undefined, no protection
   */
  idempotency?: MessageIdempotency<KafkaHandlerParams<TValue>, TTransaction>;
}

/** Parameters of a handler of Kafka records. */
export type KafkaHandlerParams<TValue = never> = Flat<
  & {
    /** The record as Lambda delivers it. */
    record: KafkaRecord;
    /** The key as text, if there is one. */
    key: string | undefined;
    /** Lambda's context. */
    context: LambdaContext;
    /** Ids; the correlation id is the record's own. */
    metadata: WrapperMetadata;
  }
  & ([TValue] extends [never] ? unknown : { /** The parsed value. */ value: TValue })
>;

/** The function that a user writes: called once for each record. What it returns is not used. */
export type KafkaHandlerFunction<TValue = never, TTransaction = never> = (
  params: KafkaHandlerParams<TValue> & TransactionParam<TTransaction>,
) => unknown;

/**
 * Declares the consumer of a Kafka topic, in Amazon MSK or self-managed. Records of a partition are
 * processed in order. A partition stops at its first record that fails; the others continue. Without
 * `partialFailures` the invocation then fails and Lambda delivers the whole batch again.
 *
 * @param options Schema, report of failures, names. They are checked when the module is loaded.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineKafkaHandler } from "@trellis/fn/triggers";
 * import { createKafkaEvent, createLambdaContext } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineKafkaHandler({
 *   schema: z.object({ orderId: z.string() }),
 *   partialFailures: true,
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function shipOrder({ value, key }) {
 *   console.log(value.orderId, key); // o1 customer-1
 * });
 *
 * const event = createKafkaEvent([
 *   { value: { orderId: "o1" }, key: "customer-1" },
 *   { value: "no JSON", partition: 1, offset: 7 },
 * ], "orders");
 * const { batchItemFailures } = await handler(event, createLambdaContext());
 * console.log(batchItemFailures[0].itemIdentifier); // { partition: "orders-1", offset: 7 }
 * ```
 */
export function defineKafkaHandler<TValue = never, TTransaction = never>(
  options: KafkaHandlerOptions<TValue, TTransaction> = {},
): (
  handler: KafkaHandlerFunction<TValue, TTransaction>,
) => TriggerHandler<KafkaEvent, KafkaBatchResult, KafkaHandlerFunction<TValue, TTransaction>> {
  checkTriggerOptions("defineKafkaHandler", options, [
    "schema",
    "deadLetterQueue",
    "partialFailures",
    "concurrency",
    "idempotency",
  ]);
  const { schema, partialFailures = false, concurrency = 1 } = options;

  return function wrapHandler(handler) {
    const run = protectMessages(
      handler,
      options.idempotency,
      ({ record }) => getPosition(record),
    );
    return wrapOrderedTrigger("defineKafkaHandler", options, handler, {
      listLanes: getPartitions,
      concurrency,
      identify,
      async work(record, context, metadata): Promise<void> {
        const key = typeof record.key === "string" ? decodeText(record.key) : undefined;
        const parsed = schema && { value: await parseInput(schema, readValue(record)) };
        const params = { record, key, context, metadata, ...parsed };
        await run(params as Parameters<typeof handler>[0]);
      },
      report: partialFailures ? reportFailures : failOnFailures,
      toLoggable,
    });
  };
}

/** Returns the JSON of a record; `null` for a tombstone. */
function readValue({ value }: KafkaRecord): unknown {
  return typeof value === "string" ? openContent(value).readInput() : null;
}

function reportFailures(failed: readonly KafkaRecord[]): KafkaBatchResult {
  return {
    batchItemFailures: failed.map(({ topic, partition, offset }) => ({
      itemIdentifier: { partition: `${topic}-${partition}`, offset },
    })),
  };
}

function failOnFailures(failed: readonly KafkaRecord[]): KafkaBatchResult {
  if (failed.length === 0) return { batchItemFailures: [] };
  throw new UnexpectedError(
    `${failed.length} ${failed.length === 1 ? "partition has" : "partitions have"} failed ` +
      "records: each has a line of its own in the log",
  );
}

function identify(record: KafkaRecord): RecordIdentity {
  const { topic, partition, offset, headers } = record;
  return {
    correlationIds: [readHeader(headers, "correlationId"), getPosition(record)],
    fields: { topic, partition, offset },
  };
}

/** Returns the id of a record, which is the same in each delivery. */
function getPosition({ topic, partition, offset }: KafkaRecord): string {
  return `${topic}:${partition}:${offset}`;
}

function readHeader(headers: KafkaRecord["headers"], name: string): string | undefined {
  if (!Array.isArray(headers)) return undefined;
  const bytes: unknown = headers.find((header) => Array.isArray(header?.[name]))?.[name];
  return bytes === undefined
    ? undefined
    : new TextDecoder().decode(Uint8Array.from(bytes as number[]));
}

function getPartitions(event: KafkaEvent): readonly (readonly KafkaRecord[])[] {
  const records = event?.records;
  const partitions = typeof records === "object" && records !== null ? Object.values(records) : [];
  const isRecord = (record: KafkaRecord) =>
    typeof record?.topic === "string" && Number.isInteger(record.partition) &&
    Number.isInteger(record.offset);
  if (
    partitions.length === 0 || !partitions.every((all) => Array.isArray(all) && all.every(isRecord))
  ) {
    throw foreignEvent(
      "The event holds no records of Kafka: the trigger of this function must be a topic of a cluster",
      event,
    );
  }
  return partitions;
}

function toLoggable(event: KafkaEvent): unknown {
  if (typeof event?.records !== "object" || event.records === null) return toLoggableEvent(event);
  const records = Object.entries(event.records).map(([partition, all]) => [
    partition,
    Array.isArray(all)
      ? all.map((record: KafkaRecord) => ({ ...record, value: toLoggableContent(record?.value) }))
      : all,
  ]);
  return { ...event, records: Object.fromEntries(records) };
}
