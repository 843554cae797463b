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
