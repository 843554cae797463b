/** A value of DynamoDB as its streams send it: binary values are base64. */
export type AttributeValue =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: string }
  | { readonly BOOL: boolean }
  | { readonly NULL: boolean }
  | { readonly SS: readonly string[] }
  | { readonly NS: readonly string[] }
  | { readonly BS: readonly string[] }
  | { readonly L: readonly AttributeValue[] }
  | { readonly M: Readonly<Record<string, AttributeValue>> };

/** An item, or its key, as DynamoDB streams send it. */
export type AttributeMap = Readonly<Record<string, AttributeValue>>;

/** A record of a Kinesis data stream. */
export interface KinesisRecord {
  /** Id of the shard and sequence number; the same in each delivery. */
  readonly eventID: string;
  /** `aws:kinesis` */
  readonly eventSource: string;
  /** ARN of the stream or of its consumer. */
  readonly eventSourceARN: string;
  /** The record itself. */
  readonly kinesis: {
    /** The content in base64. */
    readonly data: string;
    readonly partitionKey: string;
    /** Position in the shard. */
    readonly sequenceNumber: string;
    /** Seconds since 1970. */
    readonly approximateArrivalTimestamp?: number;
  };
}

/** The event of a consumer of a Kinesis data stream. */
export interface KinesisEvent {
  /** Records of one shard, in order. */
  readonly Records: readonly KinesisRecord[];
}

/** A change of an item in a DynamoDB table. */
export interface TableStreamRecord {
  /** Id of the change; the same in each delivery. */
  readonly eventID: string;
  /** The kind of change. */
  readonly eventName: "INSERT" | "MODIFY" | "REMOVE";
  /** `aws:dynamodb` */
  readonly eventSource: string;
  /** ARN of the stream. */
  readonly eventSourceARN: string;
  /** The sender of a removal by the time to live: `dynamodb.amazonaws.com`. */
  readonly userIdentity?: { readonly type: string; readonly principalId: string };
  /** The change itself. */
  readonly dynamodb: {
    readonly Keys: AttributeMap;
    readonly NewImage?: AttributeMap;
    readonly OldImage?: AttributeMap;
    /** Position in the shard. */
    readonly SequenceNumber: string;
    /** `KEYS_ONLY`, `NEW_IMAGE`, `OLD_IMAGE` or `NEW_AND_OLD_IMAGES`. */
    readonly StreamViewType: string;
    /** Seconds since 1970. */
    readonly ApproximateCreationDateTime?: number;
  };
}

/** The event of a consumer of a DynamoDB stream. */
export interface TableStreamEvent {
  /** Changes of one shard, in order. */
  readonly Records: readonly TableStreamRecord[];
}

/** The position at which Kinesis or DynamoDB delivers again. */
export interface StreamBatchResult {
  /** The sequence number of the first record that failed, or nothing. */
  batchItemFailures: { itemIdentifier: string }[];
}

/** A record of a Kafka topic. */
export interface KafkaRecord {
  /** Name of the topic. */
  readonly topic: string;
  /** Number of the partition. */
  readonly partition: number;
  /** Position in the partition. */
  readonly offset: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** `CREATE_TIME` or `LOG_APPEND_TIME`. */
  readonly timestampType: string;
  /** The key in base64. */
  readonly key?: string | null;
  /** The content in base64; missing in a tombstone. */
  readonly value?: string | null;
  /** Names and the bytes of their values. */
  readonly headers?: readonly Readonly<Record<string, readonly number[]>>[];
}

/** The event of a consumer of a Kafka topic. */
export interface KafkaEvent {
  /** `aws:kafka` (MSK) or `SelfManagedKafka`. */
  readonly eventSource: string;
  /** ARN of the cluster, for MSK. */
  readonly eventSourceArn?: string;
  /** Comma-separated addresses of the brokers. */
  readonly bootstrapServers?: string;
  /** Records by topic and partition, `orders-0`, in order. */
  readonly records: Readonly<Record<string, readonly KafkaRecord[]>>;
}

/** The positions at which Kafka delivers again. */
export interface KafkaBatchResult {
  /** The first record of each partition that failed. */
  batchItemFailures: { itemIdentifier: { partition: string; offset: number } }[];
}
