import type { StandardSchema } from "../../env/standard_schema.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { type MessageIdempotency, protectMessages, type TransactionParam } from "../idempotency.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { reportPositions, wrapOrderedTrigger } from "./ordered_batch.ts";
import {
  misfit,
  openContent,
  parseInput,
  type RecordContent,
  toLoggableContent,
} from "./parse_input.ts";
import { readKinesisRecords } from "./read_records.ts";
import { toLoggableEvent } from "../loggable_message.ts";
import type { RecordIdentity } from "./record_scope.ts";
import type { KinesisEvent, KinesisRecord, StreamBatchResult } from "./stream_events.ts";
import {
  checkTriggerOptions,
  type StreamTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";

/** Options of {@link defineStreamHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface StreamHandlerOptions<TData = never, TTransaction = never>
  extends StreamTriggerOptions {
  /** Parses the JSON of each record; synchronous or not. */
  schema?: StandardSchema<TData>;
  /**
   * Processes a record that is delivered several times only once. Its default key is the event id.
   * @default undefined, no protection
   */
  idempotency?: MessageIdempotency<StreamHandlerParams<TData>, TTransaction>;
}

/** Parameters of a handler of stream records. */
export type StreamHandlerParams<TData = never> = Flat<
  & {
    /** The record as Kinesis delivers it. */
    record: KinesisRecord;
    /** The key by which the sender chose the shard. */
    partitionKey: string;
    /** Lambda's context. */
    context: LambdaContext;
    /** Ids; the correlation id is the record's own. */
    metadata: WrapperMetadata;
  }
  & ([TData] extends [never] ? unknown : { /** The parsed content. */ data: TData })
>;

/** The function that a user writes: called once for each record. What it returns is not used. */
export type StreamHandlerFunction<TData = never, TTransaction = never> = (
  params: StreamHandlerParams<TData> & TransactionParam<TTransaction>,
) => unknown;

/**
 * Declares the consumer of a Kinesis data stream. Records are processed in order. The batch stops at
 * the first record that fails, and Kinesis delivers everything from there on again. The trigger must
 * report batch item failures (`ReportBatchItemFailures`), as the function module sets it: without it
 * Lambda ignores the result, and failed records are lost.
 *
 * Records that are not finished shortly before the function's time is up are delivered again too.
 *
 * @param options Schema, names. They are checked when the module is loaded.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineStreamHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createStreamEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineStreamHandler({
 *   schema: z.object({ orderId: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function countOrder({ data, partitionKey }) {
 *   console.log(data.orderId, partitionKey); // o1 customer-1
 * });
 *
 * const event = createStreamEvent([
 *   { data: { orderId: "o1" }, partitionKey: "customer-1" },
 *   { data: "no JSON", sequenceNumber: "2" },
 *   { data: { orderId: "o3" } },
 * ]);
 * console.log(await handler(event, createLambdaContext())); // { batchItemFailures: [ { itemIdentifier: "2" } ] }
 * ```
 */
export function defineStreamHandler<TData = never, TTransaction = never>(
  options: StreamHandlerOptions<TData, TTransaction> = {},
): (
  handler: StreamHandlerFunction<TData, TTransaction>,
) => TriggerHandler<KinesisEvent, StreamBatchResult, StreamHandlerFunction<TData, TTransaction>> {
  checkTriggerOptions("defineStreamHandler", options, ["schema", "deadLetterQueue", "idempotency"]);
  const { schema } = options;

  return function wrapHandler(handler) {
    const run = protectMessages(handler, options.idempotency, ({ record }) => record.eventID);
    return wrapOrderedTrigger("defineStreamHandler", options, handler, {
      // Lambda hands over the records of one shard at a time
      listLanes: (event: KinesisEvent) => [
        readKinesisRecords(event, "a data stream").map((record) => ({
          record,
          content: schema && openContent(record.kinesis.data),
        })),
      ],
      identify,
      async work({ record, content }, context, metadata): Promise<void> {
        const { partitionKey } = record.kinesis;
        if (schema !== undefined && isAggregated(record.kinesis.data)) throw misfit(AGGREGATED);
        const parsed = schema && { data: await parseInput(schema, content!.readInput()) };
        const params = { record, partitionKey, context, metadata, ...parsed };
        await run(params as Parameters<typeof handler>[0]);
      },
      report: (failed) =>
        reportPositions(failed.map(({ record }) => record.kinesis.sequenceNumber)),
      toLoggable,
    });
  };
}

/**
 * The first bytes of a record with several user records, as base64 (Amazon Kinesis Producer Library,
 * aggregation format: F3 89 9A C2).
 */
const AGGREGATED_START = /^84maw[g-v]/;

const AGGREGATED =
  "The record was aggregated by the Kinesis Producer Library: set AggregationEnabled to false in the " +
  "producer, or leave the schema out and de-aggregate record.kinesis.data in the handler";

function isAggregated(data: string): boolean {
  return AGGREGATED_START.test(data);
}

/** A record with its content, if a schema asks for it. */
interface OpenRecord {
  readonly record: KinesisRecord;
  readonly content: RecordContent | undefined;
}

function identify({ record: { eventID, kinesis }, content }: OpenRecord): RecordIdentity {
  return {
    correlationIds: [content?.correlationId, eventID],
    fields: { sequence_number: kinesis.sequenceNumber },
  };
}

function toLoggable(event: KinesisEvent): unknown {
  if (!Array.isArray(event?.Records)) return toLoggableEvent(event);
  return {
    ...event,
    Records: event.Records.map((record: KinesisRecord) => ({
      ...record,
      kinesis: { ...record?.kinesis, data: toLoggableContent(record?.kinesis?.data) },
    })),
  };
}
