import { isObject, isText, type SettingsGroup } from "./settings.ts";
import type { FunctionResources } from "./function_resources.ts";
import type { SourceArn } from "./source_arn.ts";

/**
 * The value of an environment variable of a function: a string; a resource, which the function's
 * role is then allowed to use; or a Terraform variable, to set it per stage.
 */
export type EnvironmentValue =
  | string
  /** The URL of the queue; allows sending messages. */
  | { queue: string }
  /** The ARN of the topic; allows publishing. */
  | { topic: string }
  /** The name of the event bus; allows putting events. */
  | { bus: string }
  /** The name of the bucket; allows reading, and writing unless `access` is `"read"`. */
  | { bucket: string; access?: "read" | "read-write" }
  /** The URL for sending messages to WebSocket connections; allows sending. */
  | { websocket: true }
  /** The name of the DynamoDB table of idempotency records, which is created; allows using it. */
  | { idempotency: true }
  /**
   * A secret of AWS Secrets Manager, which is created without a value: `trellis secrets set` puts it.
   * The function needs `loadSources` or `secret` of `@trellis/fn/env`, and may read exactly this
   * secret. An ARN names a secret that exists, `field` a field of its JSON object.
   */
  | { secret: true; kmsKeyArn?: string }
  | { secret: string; field?: string; kmsKeyArn?: string }
  /**
   * A parameter of the SSM Parameter Store, whose value `trellis secrets set` puts; encrypted if
   * `secret` is true. A name or ARN names a parameter that exists.
   */
  | { parameter: true | string; secret?: boolean; kmsKeyArn?: string }
  /**
   * The URL of the REST API, followed by this path: `{ api: "/auth" }`. It is the domain of the stage,
   * or the address of the gateway.
   */
  | { api: true | string }
  /**
   * The Terraform variable of the same name in lower case. It is sensitive if its name looks like a
   * secret (`AUTH_SECRET`, `API_TOKEN`, …), if `defineEnv` declares it as one, or if `secret` is
   * true.
   */
  | { variable: true; default?: string; secret?: boolean };

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
  /** Origins whose pages may use pre-signed URLs of the bucket. */
  corsAllowedOrigins?: string[];
  /** Days after which objects are deleted. */
  expirationDays?: number;
}

/** Settings of the REST API; the rest-api module documents them in detail. */
export interface ApiInfra {
  /** Description of the API. */
  description?: string;
  /**
   * The function in `authorizer/` for `auth: "authorizer"` and `"authorizer-optional"`.
   * @default the only authorizer
   */
  authorizer?: string;
  /**
   * Seconds that a decision of the authorizer is cached. With `"authorizer-optional"`
   * anywhere in the API it must be 0, because requests without credentials cannot be cached.
   * @default 300
   */
  authorizerTtlSeconds?: number;
  /**
   * The cache key of the decision. API Gateway rejects a request that lacks any of these without
   * calling the authorizer. The list must contain every header and query parameter that the
   * authorizer reads.
   * @default ["method.request.header.Authorization"]
   */
  identitySources?: string[];
  /** Maximum number of concurrent requests. */
  throttleBurstLimit?: number;
  /** Maximum steady-state rate in requests per second. */
  throttleRateLimit?: number;
  /**
   * Creates a usage plan with an API key, which every request must have (`X-Api-Key`).
   * @default false
   */
  usagePlan?: boolean;
  /**
   * Maximum number of requests per day with the usage plan's key.
   * @default 10000
   */
  quotaLimit?: number;
}

/** Settings of the WebSocket API; the websocket-api module documents them in detail. */
export interface WebSocketInfra {
  /**
   * The function in `authorizer/` that authorizes new connections; `false` for none.
   * @default the only authorizer
   */
  authorizer?: string | false;
  /**
   * Contents that a connect request must have; API Gateway rejects it otherwise, without calling the
   * authorizer.
   * @default ["route.request.header.Authorization"]
   */
  identitySources?: string[];
}

/** Settings of mails that are sent through Amazon SES. */
export interface MailInfra {
  /** The domain or the address that mails are sent from: `example.com` or `notes@example.com`. */
  identity?: string;
}

/** Settings of background jobs. */
export interface JobsInfra {
  /**
   * Age of the oldest job that sets off an alarm, in seconds.
   * @default 900
   */
  oldestJobSeconds?: number;
}

/** Settings of a stage. In texts, `{stage}` is replaced by the name of the stage. */
export interface StageInfra {
  /** Host name of the REST API: `api.example.com`. */
  domain?: string;
  /** Id of the Route 53 zone for the certificate and the records of `domain`. */
  hostedZoneId?: string;
  /** ARN of a certificate for `domain`, if it is not to be created. */
  certificateArn?: string;
  /** Region of the stage, if it is not `infra.region`. */
  region?: string;
  /** Values of other Terraform variables. */
  variables?: Record<string, string | number | boolean>;
}

/** The bucket with the Terraform states of all stages. */
export interface StateInfra {
  /** Name of the bucket, which must be private and versioned. */
  bucket: string;
  /** Region of the bucket. */
  region: string;
  /** ARN of the key that encrypts the states, in place of the bucket's own. */
  kmsKeyId?: string;
}

/** The release of new versions of the functions in `api/`. */
export interface ReleaseInfra {
  /**
   * Share of requests in percent that the new versions answer at first, 1 to 99.
   * @default 10
   */
  percent?: number;
  /**
   * Minutes until the new versions answer all requests. An alarm in this time rolls back.
   * @default 5
   */
  minutes?: number;
  /**
   * Share of answers with a status from 500, in percent of all answers in a minute, that raises the
   * alarm.
   * @default 5
   */
  errorPercent?: number;
}

/** Settings of `trellis generate infra`. */
export interface InfraSettings {
  /**
   * Folder of the generated Terraform files.
   * @default "infra"
   */
  dir?: string;
  /**
   * Folder of the Terraform modules; `--modules-path` takes precedence.
   * @default the folder in the installed package
   */
  modulesPath?: string;
  /**
   * Prefix of every resource name: lower-case letters, digits and hyphens, at most 32 characters.
   * @default the name in deno.json or package.json
   */
  projectName?: string;
  /** Default of the Terraform variable `region`. Without it, the variable is required. */
  region?: string;
  /**
   * Stages by name, each with its own state. `"*"` is the setting of stages without an entry, such as
   * previews of branches.
   * @default {}
   */
  stages?: Record<string, StageInfra>;
  /** The bucket with the states of all stages. Without it, states are files in `infra/states/`. */
  state?: StateInfra;
  /**
   * Releases new versions of the functions in `api/` gradually: `{}` for the defaults. Without it, a
   * new version answers all requests at once.
   */
  release?: ReleaseInfra;
  /**
   * Path that `trellis deploy` requests at the end; `false` for none.
   * @default "/health", if there is such a function
   */
  smoke?: string | false;
  /** Prefix of bucket names, which are globally unique: the name of your company, for example. */
  bucketPrefix?: string;
  /**
   * The database of the functions: `distsql` creates a cluster of Aurora DSQL as soon as a function
   * reads the endpoint, `postgres` is a server by address, `data-api` an Aurora cluster behind the
   * Data API, `none` generates nothing for a database.
   * @default read from the configuration of `getDrizzleClient`
   */
  database?: "distsql" | "postgres" | "data-api" | "none";
  /**
   * Environment variables by name. A function receives those that its sources read.
   * @default {}
   */
  environment?: Record<string, EnvironmentValue>;
  /**
   * Settings of functions, by function name.
   * @default {}
   */
  functions?: Record<string, FunctionInfra>;
  /**
   * Queues by name; a queue that a function consumes needs no entry.
   * @default {}
   */
  queues?: Record<string, QueueInfra>;
  /**
   * Topics by name; a topic that a function subscribes to needs no entry.
   * @default {}
   */
  topics?: Record<string, Record<string, never>>;
  /**
   * Event buses by name; a bus that a function uses needs no entry.
   * @default {}
   */
  buses?: Record<string, BusInfra>;
  /**
   * Buckets by name; a bucket that a function uses needs no entry.
   * @default {}
   */
  buckets?: Record<string, BucketInfra>;
  /**
   * The REST API.
   * @default {}
   */
  api?: ApiInfra;
  /**
   * The WebSocket API.
   * @default {}
   */
  websocket?: WebSocketInfra;
  /**
   * Mails that are sent through Amazon SES.
   * @default {}
   */
  mail?: MailInfra;
  /**
   * Background jobs.
   * @default {}
   */
  jobs?: JobsInfra;
}

/** Valid project names; the core module has the same rule. */
export const PROJECT_NAME = /^(?=.{1,32}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/**
 * Checks for an object of objects. Their contents are checked where they are used, so that messages
 * can name the function.
 */
const isTable = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every(isObject);

/** Checks and defaults of {@link InfraSettings}. */
export const INFRA_SETTINGS = {
  checks: {
    dir: ["a folder", isText],
    modulesPath: ["a folder", isText],
    projectName: [
      "lower-case letters, digits and single hyphens, beginning with a letter, at most 32",
      (value) => PROJECT_NAME.test(String(value)),
    ],
    region: [
      "a region such as eu-central-1",
      (value) => /^[a-z]{2}(?:-[a-z]+)+-\d+$/.test(String(value)),
    ],
    stages: ["an object: { dev: {}, prod: { domain } }", isTable],
    state: [
      "an object: { bucket, region }",
      (value) => isObject(value) && isText(value.bucket) && isText(value.region),
    ],
    smoke: ['a path such as "/health", or false', (value) => value === false || isText(value)],
    release: ["an object: { percent, minutes, errorPercent }", isObject],
    bucketPrefix: [
      "lower-case letters, digits and hyphens",
      (value) => /^[a-z0-9][a-z0-9-]*$/.test(String(value)),
    ],
    database: [
      '"distsql", "postgres", "data-api" or "none"',
      (value) => ["distsql", "postgres", "data-api", "none"].includes(String(value)),
    ],
    environment: ["an object: { NAME: value }", isObject],
    functions: ["an object: { FunctionName: { … } }", isTable],
    queues: ["an object: { name: { … } }", isTable],
    topics: ["an object: { name: {} }", isTable],
    buses: ["an object: { name: { … } }", isTable],
    buckets: ["an object: { name: { … } }", isTable],
    api: ["an object", isObject],
    websocket: ["an object", isObject],
    mail: ["an object", isObject],
    jobs: ["an object", isObject],
  },
  defaults: {
    dir: "infra",
    stages: {} as Record<string, StageInfra>,
    environment: {} as Record<string, EnvironmentValue>,
    functions: {} as Record<string, FunctionInfra>,
    queues: {} as Record<string, QueueInfra>,
    topics: {} as Record<string, Record<string, never>>,
    buses: {} as Record<string, BusInfra>,
    buckets: {} as Record<string, BucketInfra>,
    api: {} as ApiInfra,
    websocket: {} as WebSocketInfra,
    mail: {} as MailInfra,
    jobs: {} as JobsInfra,
  },
} as const satisfies SettingsGroup<InfraSettings, InfraSettings>;
