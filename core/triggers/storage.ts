import { logInfo } from "../../observability/logger.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { decodeForm } from "../http/percent_encoding.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { wrapTrigger } from "./observe_trigger.ts";
import { readRecords } from "./read_records.ts";
import { listCorrelationIdsOfSingle, type RecordIdentity, runRecords } from "./record_scope.ts";
import {
  isBridged,
  readChange,
  type S3Event,
  type S3EventBridgeEvent,
  type S3Record,
  type S3TestEvent,
  type StorageChange,
} from "./storage_events.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";

/** Event of a bucket: sent directly, through EventBridge, or once as a test. */
export type StorageEvent = S3Event | S3EventBridgeEvent | S3TestEvent;

/** Parameters of a storage handler, the same for all sources. */
export interface StorageHandlerParams extends StorageChange {
  /** The record as S3 sent it. */
  record: S3Record | S3EventBridgeEvent;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids; the correlation id is S3's id of the request that made the change. */
  metadata: WrapperMetadata;
}

/** The function that a user writes: called once for each change. What it returns is not used. */
export type StorageHandlerFunction = (params: StorageHandlerParams) => unknown;

/**
 * Declares a function for changes of a bucket's objects. The bucket notifies it directly or through EventBridge. Keys are decoded. A failure fails the invocation after all its changes were tried: Lambda then invokes it
 * again (`retryAttempts`). S3 may send a change twice and in another order.
 *
 * @param options Names, destination and retries of failed events.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineStorageHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createStorageEvent } from "@trellis/fn/testing";
 *
 * export const handler = defineStorageHandler({ logging: { level: "SILENT" }, metrics: false })(
 *   function scaleImage({ bucket, key, change }) {
 *     console.log(bucket, key, change); // photos summer 2026/a+b.jpg created
 *   },
 * );
 *
 * await handler(createStorageEvent([{ bucket: "photos", key: "summer 2026/a+b.jpg" }]), createLambdaContext());
 * ```
 */
export function defineStorageHandler(
  options: AsyncTriggerOptions = {},
): (
  handler: StorageHandlerFunction,
) => TriggerHandler<StorageEvent, void, StorageHandlerFunction> {
  checkTriggerOptions("defineStorageHandler", options, ASYNC_KEYS);

  return function wrapHandler(handler) {
    return wrapTrigger("defineStorageHandler", options, handler, {
      listCorrelationIds: (event: StorageEvent) =>
        isBridged(event)
          ? identify(event).correlationIds
          : listCorrelationIdsOfSingle((event as S3Event | null)?.Records, identify),
      async work(event, context, metadata): Promise<void> {
        if ((event as S3TestEvent | null)?.Event === "s3:TestEvent") {
          logInfo("test event of a bucket ignored");
          return;
        }
        await runRecords(
          getRecords(event),
          metadata,
          identify,
          (record, own) => handler({ ...readChange(record), record, context, metadata: own }),
        );
      },
    });
  };
}

function identify(record: S3Record | S3EventBridgeEvent): RecordIdentity {
  if (isBridged(record)) {
    const { "request-id": requestId, bucket, object } = record.detail ?? {};
    return {
      correlationIds: [requestId],
      fields: { bucket: String(bucket?.name), object_key: String(object?.key) },
    };
  }
  const { bucket, object } = record?.s3 ?? {};
  return {
    correlationIds: [record?.responseElements?.["x-amz-request-id"]],
    fields: { bucket: String(bucket?.name), object_key: decodeForm(String(object?.key)) },
  };
}

function getRecords(event: StorageEvent): readonly (S3Record | S3EventBridgeEvent)[] {
  if (isBridged(event) && typeof event.detail?.object?.key === "string") return [event];
  return readRecords(
    event as S3Event,
    (record) => typeof record?.s3?.object?.key === "string",
    "The event tells of no objects of S3: the trigger of this function must be a bucket",
  );
}
