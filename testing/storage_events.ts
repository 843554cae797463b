import type { S3Event, S3EventBridgeEvent, S3TestEvent } from "../core/triggers/storage_events.ts";
import { REGION, TIME } from "./sample_account.ts";
import { createEventBridgeEvent } from "./trigger_events.ts";

/** A change of an object in a bucket. */
export interface StorageRecordOptions {
  /**
   * Name of the bucket.
   * @default "test-bucket"
   */
  bucket?: string;
  /** Unencoded key of the object. */
  key: string;
  /**
   * Change of the object.
   * @default "created"
   */
  change?: "created" | "deleted";
  /**
   * Size of a created object in bytes.
   * @default 1024
   */
  size?: number;
  /**
   * Entity tag of a created object.
   * @default "b1946ac92492d2347c6235b4d2611184"
   */
  eTag?: string;
  /**
   * S3 request id of the change.
   * @default "C3D13FE58DE4C810"
   */
  requestId?: string;
}

const S3_REQUEST_ID = "C3D13FE58DE4C810";
const S3_ETAG = "b1946ac92492d2347c6235b4d2611184";

/**
 * Creates a direct notification of S3. Keys are encoded, with plus signs for spaces.
 *
 * @param records The changes.
 * @returns The event.
 */
export function createStorageEvent(records: readonly StorageRecordOptions[]): S3Event {
  return {
    Records: records.map((
      { bucket = "test-bucket", key, change = "created", requestId = S3_REQUEST_ID, ...file },
    ) => ({
      eventVersion: "2.1",
      eventSource: "aws:s3",
      awsRegion: REGION,
      eventTime: TIME,
      eventName: change === "created" ? "ObjectCreated:Put" : "ObjectRemoved:Delete",
      userIdentity: { principalId: "AIDAEXAMPLE" },
      requestParameters: { sourceIPAddress: "127.0.0.1" },
      responseElements: { "x-amz-request-id": requestId, "x-amz-id-2": "example" },
      s3: {
        s3SchemaVersion: "1.0",
        configurationId: "test",
        bucket: {
          name: bucket,
          ownerIdentity: { principalId: "EXAMPLE" },
          arn: `arn:aws:s3:::${bucket}`,
        },
        object: {
          key: encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/"),
          ...(change === "created" && { size: 1024, eTag: S3_ETAG, ...file }),
          sequencer: "0055AED6DCD90281E5",
        },
      },
    })),
  };
}

/**
 * Creates a notification of S3 through EventBridge. The key is not encoded.
 *
 * @param options The change.
 * @returns The event.
 */
export function createStorageEventBridgeEvent(options: StorageRecordOptions): S3EventBridgeEvent {
  const { bucket = "test-bucket", key, change = "created", requestId = S3_REQUEST_ID } = options;
  const { size = 1024, eTag: etag = S3_ETAG } = options;
  const isCreated = change === "created";
  return {
    ...createEventBridgeEvent({
      detailType: isCreated ? "Object Created" : "Object Deleted",
      source: "aws.s3",
    }),
    resources: [`arn:aws:s3:::${bucket}`],
    detail: {
      bucket: { name: bucket },
      object: {
        key,
        ...(isCreated && { size, etag }),
        sequencer: "617f08299329d189",
      },
      "request-id": requestId,
      reason: isCreated ? "PutObject" : "DeleteObject",
    },
  };
}

/**
 * Creates the test event that S3 sends when notifications are configured.
 *
 * @param bucket Name of the bucket.
 * @returns The event.
 */
export function createStorageTestEvent(bucket = "test-bucket"): S3TestEvent {
  return { Service: "Amazon S3", Event: "s3:TestEvent", Time: TIME, Bucket: bucket };
}
