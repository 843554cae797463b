import { decodeForm } from "../http/percent_encoding.ts";
import type { EventBridgeEvent } from "./trigger_events.ts";

/** One change in a bucket, in a notification of S3. */
export interface S3Record {
  /** `2.1` and later. */
  readonly eventVersion: string;
  /** `aws:s3` */
  readonly eventSource: string;
  /** `eu-west-1` */
  readonly awsRegion: string;
  /** ISO 8601. */
  readonly eventTime: string;
  /** `ObjectCreated:Put` */
  readonly eventName: string;
  /** S3's ids of the request that made the change. */
  readonly responseElements?: Readonly<Record<string, string>>;
  /** Bucket and object. */
  readonly s3: {
    readonly configurationId?: string;
    readonly bucket: { readonly name: string; readonly arn: string };
    readonly object: {
      /** URL-encoded, a space as a plus sign. */
      readonly key: string;
      readonly size?: number;
      readonly eTag?: string;
      readonly versionId?: string;
      readonly sequencer?: string;
    };
  };
}

/** The event of a notification of S3. */
export interface S3Event {
  /** The changes. */
  readonly Records: readonly S3Record[];
}

/** The test event that S3 sends when notifications are configured. */
export interface S3TestEvent {
  /** `Amazon S3` */
  readonly Service: string;
  /** `s3:TestEvent` */
  readonly Event: string;
  /** ISO 8601. */
  readonly Time: string;
  /** Name of the bucket. */
  readonly Bucket: string;
}

/** A change in a bucket that comes through EventBridge. */
export interface S3EventBridgeEvent extends EventBridgeEvent {
  /** Bucket and object. */
  readonly detail: {
    readonly bucket: { readonly name: string };
    readonly object: {
      /** Not encoded. */
      readonly key: string;
      readonly size?: number;
      readonly etag?: string;
      readonly "version-id"?: string;
      readonly sequencer?: string;
    };
    readonly "request-id"?: string;
    readonly reason?: string;
  };
}

/** A change of an object, the same for all sources. */
export interface StorageChange {
  /** Name of the bucket. */
  bucket: string;
  /** Key of the object, decoded: what S3's API takes. */
  key: string;
  /** Change of the object: `other` is a restoration, a change of tags, and the like. */
  change: "created" | "deleted" | "other";
  /** Event name of the source: `ObjectCreated:Put`, through EventBridge `Object Created`. */
  eventName: string;
  /** Size in bytes, if S3 sends it. */
  size: number | undefined;
  /** The object's entity tag, if S3 sends it. */
  eTag: string | undefined;
  /** The version, in a bucket that keeps them. */
  versionId: string | undefined;
  /** Orders the changes of one key: the greater, as a hexadecimal number, is the later. */
  sequencer: string | undefined;
}

/** Reads a change, notified directly or through EventBridge. */
export function readChange(record: S3Record | S3EventBridgeEvent): StorageChange {
  return isBridged(record) ? readBridgedChange(record) : readNotifiedChange(record);
}

function readNotifiedChange({ eventName, s3: { bucket, object } }: S3Record): StorageChange {
  const { key, size, eTag, versionId, sequencer } = object;
  const change = eventName.startsWith("ObjectCreated:")
    ? "created"
    : /^(?:ObjectRemoved|LifecycleExpiration):/.test(eventName)
    ? "deleted"
    : "other";
  return {
    bucket: bucket.name,
    // S3 encodes keys in its own notifications as forms are, in events for EventBridge not at all
    key: decodeForm(key),
    change,
    eventName,
    size,
    eTag,
    versionId,
    sequencer,
  };
}

function readBridgedChange(
  { "detail-type": eventName, detail: { bucket, object } }: S3EventBridgeEvent,
): StorageChange {
  const { key, size, etag: eTag, "version-id": versionId, sequencer } = object;
  const change = eventName === "Object Created"
    ? "created"
    : eventName === "Object Deleted"
    ? "deleted"
    : "other";
  return { bucket: bucket.name, key, change, eventName, size, eTag, versionId, sequencer };
}

/** Checks for an event of S3 that came through EventBridge. */
export function isBridged(event: unknown): event is S3EventBridgeEvent {
  return typeof (event as S3EventBridgeEvent | null)?.["detail-type"] === "string";
}
