import type { StandardSchema } from "../../env/standard_schema.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { type MessageIdempotency, protectMessages, type TransactionParam } from "../idempotency.ts";
import { mapValues } from "../lists/map_values.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { reportPositions, wrapOrderedTrigger } from "./ordered_batch.ts";
import { misfit, parseInput } from "./parse_input.ts";
import { readRecords } from "./read_records.ts";
import type { RecordIdentity } from "./record_scope.ts";
import type {
  AttributeMap,
  AttributeValue,
  StreamBatchResult,
  TableStreamEvent,
  TableStreamRecord,
} from "./stream_events.ts";
import {
  checkTriggerOptions,
  type StreamTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";
import { decodeBase64 } from "../http/base64.ts";

/** Options of {@link defineTableStreamHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface TableStreamHandlerOptions<TItem = never, TTransaction = never>
  extends StreamTriggerOptions {
  /** Parses the item after a creation or an update; synchronous or not. The stream must contain new images. */
  schema?: StandardSchema<TItem>;
  /**
   * Processes a change that is delivered several times only once. Its default key is the event id.
   * @default undefined, no protection
   */
  idempotency?: MessageIdempotency<TableStreamHandlerParams<TItem>, TTransaction>;
}

/** The parameters that are the same for all changes. */
export interface TableStreamParams {
  /** The change as DynamoDB sends it. */
  record: TableStreamRecord;
  /** The primary key. */
  keys: Record<string, unknown>;
  /** The item before the change, if the stream contains old images. It has not been parsed. */
  before: Record<string, unknown> | undefined;
  /** The item after the change, if the stream contains new images. It has not been parsed. */
  after: Record<string, unknown> | undefined;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids; the correlation id is the id of the change. */
  metadata: WrapperMetadata;
}

/** Parameters of a handler of table changes. */
export type TableStreamHandlerParams<TItem = never> =
  | Flat<
    & TableStreamParams
    & { /** An item was created or updated. */ change: "created" | "updated" }
    & ([TItem] extends [never] ? unknown : { /** The parsed item. */ item: TItem })
  >
  | Flat<
    & TableStreamParams
    & { /** An item was removed, by a request or by its time to live. */ change: "removed" }
  >;

/** The function that a user writes: called once for each change. What it returns is not used. */
export type TableStreamHandlerFunction<TItem = never, TTransaction = never> = (
  params: TableStreamHandlerParams<TItem> & TransactionParam<TTransaction>,
) => unknown;

const CHANGES = { INSERT: "created", MODIFY: "updated", REMOVE: "removed" } as const;

/**
 * Declares the consumer of a DynamoDB stream. Changes are processed in order. The batch stops at the
 * first change that fails, and DynamoDB delivers everything from there on again. The trigger must
 * report batch item failures (`ReportBatchItemFailures`), as the function module sets it: without it
 * Lambda ignores the result, and failed changes are lost.
 *
 * Numbers that JavaScript cannot hold exactly stay strings, sets become arrays.
 *
 * @param options Schema, names. They are checked when the module is loaded.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineTableStreamHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createTableStreamEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineTableStreamHandler({
 *   schema: z.object({ id: z.string(), stock: z.number() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function watchStock(params) {
 *   if (params.change !== "removed") console.log(params.item.id, params.item.stock); // p1 3
 * });
 *
 * const event = createTableStreamEvent([
 *   { keys: { id: "p1" }, after: { id: "p1", stock: 3 } },
 *   { keys: { id: "p2" }, before: { id: "p2", stock: 0 } },
 * ]);
 * console.log(await handler(event, createLambdaContext())); // { batchItemFailures: [] }
 * ```
 */
export function defineTableStreamHandler<TItem = never, TTransaction = never>(
  options: TableStreamHandlerOptions<TItem, TTransaction> = {},
): (
  handler: TableStreamHandlerFunction<TItem, TTransaction>,
) => TriggerHandler<
  TableStreamEvent,
  StreamBatchResult,
  TableStreamHandlerFunction<TItem, TTransaction>
> {
  checkTriggerOptions("defineTableStreamHandler", options, [
    "schema",
    "deadLetterQueue",
    "idempotency",
  ]);
  const { schema } = options;

  return function wrapHandler(handler) {
    const run = protectMessages(handler, options.idempotency, ({ record }) => record.eventID);
    return wrapOrderedTrigger("defineTableStreamHandler", options, handler, {
      // Lambda hands over the changes of one shard at a time
      listLanes: (event: TableStreamEvent) => [getRecords(event)],
      identify,
      async work(record, context, metadata): Promise<void> {
        const { Keys, OldImage, NewImage, StreamViewType } = record.dynamodb;
        const change = CHANGES[record.eventName];
        const after = readImage(NewImage);
        if (schema !== undefined && change !== "removed" && after === undefined) {
          throw misfit(
            `The stream has no new images, which schema parses: its view is ${StreamViewType}`,
          );
        }
        const parsed = schema && after && { item: await parseInput(schema, after) };
        const before = readImage(OldImage);
        const keys = readAttributes(Keys);
        const params = { record, change, keys, before, after, context, metadata, ...parsed };
        await run(params as Parameters<typeof handler>[0]);
      },
      report: (failed) => reportPositions(failed.map(({ dynamodb }) => dynamodb.SequenceNumber)),
    });
  };
}

function readImage(image: AttributeMap | undefined): Record<string, unknown> | undefined {
  return image && readAttributes(image);
}

function identify({ eventID, dynamodb }: TableStreamRecord): RecordIdentity {
  return { correlationIds: [eventID], fields: { sequence_number: dynamodb.SequenceNumber } };
}

function getRecords(event: TableStreamEvent): readonly TableStreamRecord[] {
  return readRecords(
    event,
    (record) =>
      typeof record?.dynamodb?.SequenceNumber === "string" &&
      Object.hasOwn(CHANGES, record.eventName),
    "The event holds no changes of a DynamoDB table: the trigger of this function must be its stream",
  );
}

/** Decimal digits that every number of JavaScript keeps (IEEE 754, DBL_DIG). */
const EXACT_DIGITS = 15;

/**
 * Converts an item of a DynamoDB stream to plain values. A number that JavaScript cannot hold exactly
 * stays a string. Sets become arrays, binary values bytes.
 *
 * @param item The item or key.
 * @returns The values.
 */
export function readAttributes(item: AttributeMap): Record<string, unknown> {
  return mapValues(item, (value) => readAttribute(value));
}

function readAttribute(value: AttributeValue): unknown {
  if ("S" in value) return value.S;
  if ("N" in value) return readNumber(value.N);
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("M" in value) return readAttributes(value.M);
  if ("L" in value) return value.L.map(readAttribute);
  if ("SS" in value) return [...value.SS];
  if ("NS" in value) return value.NS.map(readNumber);
  if ("B" in value) return decodeBase64(value.B);
  if ("BS" in value) return value.BS.map(decodeBase64);
  throw new TypeError(`DynamoDB has sent a value of an unknown type: ${Object.keys(value)}`);
}

/** Returns a number, or the text if the number would differ from it. */
function readNumber(text: string): number | string {
  const number = Number(text);
  if (Number.isSafeInteger(number)) {
    // a fraction may have been rounded away
    return countDigits(text) <= EXACT_DIGITS || BigInt(number).toString() === text ? number : text;
  }
  return Number.isFinite(number) && countDigits(text) <= EXACT_DIGITS ? number : text;
}

/** Counts the significant digits of a decimal number. */
function countDigits(text: string): number {
  const [mantissa] = text.toLowerCase().split("e", 1);
  const digits = mantissa.replaceAll(/[-+.]/g, "");
  let start = 0;
  let end = digits.length;
  while (digits[start] === "0") start++;
  while (end > start && digits[end - 1] === "0") end--;
  return end - start;
}
