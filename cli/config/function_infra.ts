import type { EnvironmentValue } from "../discovery/environment_value.ts";
import type { FunctionResources, SourceArn } from "./function_resources.ts";

/** The topic that a function in `kafka/` consumes. */
export interface KafkaInfra {
  /** Name of the topic. */
  topic: string;
  /**
   * The consumer group.
   * @default the deployed function's name
   */
  consumerGroup?: string;
  /** Addresses of brokers, `host:port`, for clusters that are not of Amazon MSK. */
  bootstrapServers?: string[];
  /** Credentials for the brokers: type of Lambda's source access, and the ARN of a secret or the id of a subnet or security group. */
  access?: { type: string; uri: string }[];
  /**
   * Turns provisioned mode on, which Lambda bills for each poller. Only there `partialFailures`,
   * `bisectOnError`, `maximumRetryAttempts` and `maximumRecordAgeSeconds` work.
   */
  provisionedPollers?: { minimum: number; maximum: number };
}

/**
 * Settings of one function: its trigger, where the file does not define it, and its environment.
 */
export interface FunctionInfra extends FunctionResources {
  /** Environment variables of this function only, in addition to those found in its sources. */
  environment?: Record<string, EnvironmentValue>;
  /**
   * `queue`: the queue that the function consumes.
   * @default the function's name: `send-mail` for `SendMail`
   */
  queue?: string;
  /**
   * `api` with `infra.release`: sandboxes that are started in advance, which cost money all the time.
   * @default 0
   */
  provisionedConcurrency?: number;
  /**
   * `queue`, streams: maximum number of records per invocation, 1 to 10,000; of a DynamoDB stream
   * 1,000.
   * @default 10 for queues, 100 for streams
   */
  batchSize?: number;
  /** `queue`, streams: how long records are gathered into a batch, in seconds, 0 to 300. */
  batchingWindowSeconds?: number;
  /**
   * `queue`, streams: patterns of the records that the function receives; one match is enough. The
   * keys are those of Lambda: `body` (queue), `data` (stream), `dynamodb` and `eventName`
   * (table-stream), `value` and `key` (kafka). A queue deletes the other messages.
   */
  filters?: Record<string, unknown>[];
  /** `stream`, `table-stream`: the stream. `kafka`: the cluster of Amazon MSK. */
  source?: SourceArn;
  /** `kafka`: the topic. */
  kafka?: KafkaInfra;
  /**
   * Streams: the first record of a new trigger.
   * @default "TRIM_HORIZON", the oldest record
   */
  startingPosition?: "TRIM_HORIZON" | "LATEST";
  /**
   * Streams: splits a batch whose invocation failed, to find the record that fails.
   * @default true
   */
  bisectOnError?: boolean;
  /**
   * Streams: retries of a record before it is given up, 0 to 10,000, or -1 until it expires.
   * @default 10
   */
  maximumRetryAttempts?: number;
  /**
   * Streams: seconds after which a record is given up, 60 to 604,800, or -1 for none.
   * @default -1
   */
  maximumRecordAgeSeconds?: number;
  /**
   * `stream`, `table-stream`: batches of one shard at once, 1 to 10. Order is kept by partition key.
   * @default 1
   */
  parallelizationFactor?: number;
  /** `queue`: maximum number of concurrent invocations, 2 to 1,000. */
  maximumConcurrency?: number;
  /**
   * `topic`: the topic that the function subscribes to.
   * @default the function's name: `note-shared` for `NoteShared`
   */
  topic?: string;
  /** `topic`: SNS filter policy for the messages that the function receives. */
  filterPolicy?: Record<string, unknown>;
  /**
   * `event`: EventBridge pattern for the events that the function receives: `{ "detail-type":
   * ["note.created"] }`.
   */
  pattern?: Record<string, unknown>;
  /**
   * `event`: the event bus; `"default"` is the default bus of the account, to which AWS services
   * send.
   * @default "events"
   */
  bus?: string;
  /** `schedule`: `rate(5 minutes)`, `cron(0 3 * * ? *)` or `at(2030-01-31T12:00:00)`. */
  schedule?: string;
  /**
   * `schedule`: the time zone, such as `Europe/Berlin`.
   * @default "UTC"
   */
  timezone?: string;
  /**
   * `storage`: the bucket.
   * @default the function's name: `resize-image` for `ResizeImage`
   */
  bucket?: string;
  /**
   * `storage`: the S3 event types that start the function.
   * @default ["s3:ObjectCreated:*"]
   */
  events?: string[];
  /** `storage`: prefix of the object keys that start the function. */
  prefix?: string;
  /** `storage`: suffix of the object keys that start the function. */
  suffix?: string;
  /**
   * `websocket`: sends the function's return value back to the client.
   * @default false
   */
  twoWay?: boolean;
}
