/** Events of a bus that a queue receives. */
export interface QueueEvents {
  /**
   * The event bus; `"default"` is the default bus of the account.
   * @default "events"
   */
  bus?: string;
  /** Pattern of the events, as for functions: `{ "detail-type": ["order.placed"] }`. */
  pattern: Record<string, unknown>;
  /** Parts of the event for `inputTemplate`, by name: `{ id: "$.detail.id" }`. */
  inputPaths?: Record<string, string>;
  /**
   * The message, with names of `inputPaths` in angle brackets: `{"order": <id>}`.
   * @default the event
   */
  inputTemplate?: string;
  /** The message group; required for a FIFO queue. */
  messageGroupId?: string;
}

/** Settings of a queue; the queue module documents them in detail. */
export interface QueueInfra {
  /** Events of buses that the queue receives, in addition to what functions send. */
  events?: QueueEvents[];
  /**
   * Creates a FIFO queue: ordered within a group, delivered exactly once.
   * @default false
   */
  fifo?: boolean;
  /**
   * FIFO: treats two messages with the same body within five minutes as one.
   * @default false
   */
  contentBasedDeduplication?: boolean;
  /**
   * Seconds that a received message is hidden from other consumers.
   * @default six times the timeout of the consuming function, at least 180
   */
  visibilityTimeoutSeconds?: number;
  /**
   * Number of times that a message is received before it moves to the dead-letter queue.
   * @default 3
   */
  maxReceiveCount?: number;
  /**
   * Seconds that a new message is hidden.
   * @default 0
   */
  delaySeconds?: number;
  /**
   * Seconds that a message is kept.
   * @default 345600, four days
   */
  retentionSeconds?: number;
}

/** Settings of an event bus; the event-bus module documents them in detail. */
export interface BusInfra {
  /** Days that events are archived for replay. Without it, no archive is created. */
  archiveDays?: number;
}

/** Settings of a bucket; the storage module documents them in detail. */
export interface BucketInfra {
  /**
   * Origins whose pages may use pre-signed URLs of the bucket. `{ variable: "WEB_ORIGIN" }` is the value that
   * functions have in this environment variable, so that stages can differ.
   */
  corsAllowedOrigins?: (string | { variable: string })[];
  /** Days after which objects are deleted. */
  expirationDays?: number;
}
