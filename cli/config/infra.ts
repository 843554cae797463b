import { isObject, isText, type SettingsGroup } from "./settings.ts";

/**
 * The value of an environment variable of functions: a text; a part of the infrastructure, which the function may then use
 * (its role gets the policy for it); or a Terraform variable, so that each stage has its own.
 */
export type EnvironmentValue =
  | string
  /** The queue's URL, and the right to send. */
  | { queue: string }
  /** The topic's ARN, and the right to publish. */
  | { topic: string }
  /** The bus' name, and the right to put events. */
  | { bus: string }
  /** The bucket's name, and the right to read, and to write unless `access` is `"read"`. */
  | { bucket: string; access?: "read" | "read-write" }
  /** The URL that messages are sent to connections through, and the right to. */
  | { websocket: true }
  /**
   * The Terraform variable of the same name in lower case. It is sensitive when its name or `defineEnv`
   * says so (`AUTH_SECRET`, `API_TOKEN`, …) or `secret` is true.
   */
  | { variable: true; default?: string; secret?: boolean };

/** What starts a function, where its file does not tell all of it, and what only this function is given. */
export interface FunctionInfra {
  /** Environment of this function alone, beside what it is seen to read. */
  environment?: Record<string, EnvironmentValue>;
  /**
   * `queue`: the queue whose messages it works off.
   * @default the function's name: `send-mail` for `SendMail`
   */
  queue?: string;
  /** `queue`: most messages in one invocation, 1 to 10,000. */
  batchSize?: number;
  /** `queue`: seconds for which messages are gathered, 0 to 300. */
  batchingWindowSeconds?: number;
  /** `queue`: most invocations at once, 2 to 1,000. */
  maximumConcurrency?: number;
  /**
   * `topic`: the topic that it is subscribed to.
   * @default the function's name: `note-shared` for `NoteShared`
   */
  topic?: string;
  /** `topic`: the messages that it gets, as an SNS filter policy. */
  filterPolicy?: Record<string, unknown>;
  /** `event`: the events that it gets, as an EventBridge pattern: `{ "detail-type": ["note.created"] }`. */
  pattern?: Record<string, unknown>;
  /**
   * `event`: the bus; `"default"` is the account's own, where AWS services send.
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
   * `storage`: what it is told of.
   * @default ["s3:ObjectCreated:*"]
   */
  events?: string[];
  /** `storage`: start of the keys that it is told of. */
  prefix?: string;
  /** `storage`: end of the keys that it is told of. */
  suffix?: string;
  /**
   * `websocket`: whether the function's answer is sent back to the sender.
   * @default false
   */
  twoWay?: boolean;
}

/** A queue's settings; the queue module says more of each. */
export interface QueueInfra {
  /**
   * Whether messages of one group keep their order and are delivered once.
   * @default false
   */
  fifo?: boolean;
  /**
   * FIFO: whether two messages with the same body within five minutes are one.
   * @default false
   */
  contentBasedDeduplication?: boolean;
  /**
   * How long a message that is being worked on is hidden from others, in seconds.
   * @default six times the timeout of the function that works it off, at least 180
   */
  visibilityTimeoutSeconds?: number;
  /**
   * How often a message is tried before it goes to the dead letters.
   * @default 3
   */
  maxReceiveCount?: number;
  /**
   * How long a message waits before it can be received, in seconds.
   * @default 0
   */
  delaySeconds?: number;
  /**
   * How long a message is kept, in seconds.
   * @default 345600, four days
   */
  retentionSeconds?: number;
}

/** A bus' settings; the event-bus module says more of each. */
export interface BusInfra {
  /** Days for which events are kept, so that they can be sent again; none are without it. */
  archiveDays?: number;
}

/** A bucket's settings; the storage module says more of each. */
export interface BucketInfra {
  /** Origins whose pages may use the bucket with pre-signed URLs. */
  corsAllowedOrigins?: string[];
  /** Days after which objects are deleted. */
  expirationDays?: number;
}

/** Settings of the REST API; the rest-api module says more of each. */
export interface ApiInfra {
  /** What the API is for. */
  description?: string;
  /**
   * The function of `authorizer/` that `auth: "authorizer"` and `"authorizer-optional"` ask.
   * @default the only one
   */
  authorizer?: string;
  /**
   * Seconds for which its decision is remembered. With `"authorizer-optional"` in the API it is 0: who shows no credential cannot
   * be remembered.
   * @default 300
   */
  authorizerTtlSeconds?: number;
  /**
   * What its decision is remembered by, all of which must be in a request, else it is refused unasked. It must cover every
   * header and query parameter that the authorizer reads.
   * @default ["method.request.header.Authorization"]
   */
  identitySources?: string[];
  /** Most requests at once. */
  throttleBurstLimit?: number;
  /** Most requests a second over time. */
  throttleRateLimit?: number;
}

/** Settings of the WebSocket API; the websocket-api module says more of each. */
export interface WebSocketInfra {
  /**
   * The function of `authorizer/` that is asked when somebody connects; `false` for none.
   * @default the only one
   */
  authorizer?: string | false;
  /**
   * What must be in the request that connects, else it is refused unasked.
   * @default ["route.request.header.Authorization"]
   */
  identitySources?: string[];
}

/** Settings of `trellis generate infra`. */
export interface InfraSettings {
  /**
   * Folder of the generated Terraform files.
   * @default "infra"
   */
  dir?: string;
  /**
   * Folder of the Terraform modules; `--modules-path` wins.
   * @default the installed package's own
   */
  modulesPath?: string;
  /**
   * Start of every name: lower-case letters, digits and hyphens, at most 32.
   * @default the name in deno.json or package.json
   */
  projectName?: string;
  /** What the Terraform variable `region` is when nothing is given; without it, it must be given. */
  region?: string;
  /** Word put before the names of buckets, which the whole world shares: your company's. */
  bucketPrefix?: string;
  /**
   * The database that `DATABASE_ENDPOINT` means: `distsql` makes a cluster as soon as a function reads it.
   * @default "distsql"
   */
  database?: "distsql" | "none";
  /**
   * Environment variables by name. A function gets those that it is seen to read.
   * @default {}
   */
  environment?: Record<string, EnvironmentValue>;
  /**
   * What starts functions, by function name.
   * @default {}
   */
  functions?: Record<string, FunctionInfra>;
  /**
   * Queues by name; those that functions name need no entry.
   * @default {}
   */
  queues?: Record<string, QueueInfra>;
  /**
   * Topics by name, as queues.
   * @default {}
   */
  topics?: Record<string, Record<string, never>>;
  /**
   * Buses by name, as queues.
   * @default {}
   */
  buses?: Record<string, BusInfra>;
  /**
   * Buckets by name, as queues.
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
}

/** What a project may be called; the core module's rule. */
export const PROJECT_NAME = /^(?=.{1,32}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** Objects by name; what is in them is looked at where they are used, with the function's name at hand. */
const isTable = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every(isObject);

/** What {@link InfraSettings} may be. */
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
    bucketPrefix: [
      "lower-case letters, digits and hyphens",
      (value) => /^[a-z0-9][a-z0-9-]*$/.test(String(value)),
    ],
    database: ['"distsql" or "none"', (value) => value === "distsql" || value === "none"],
    environment: ["an object: { NAME: value }", isObject],
    functions: ["an object: { FunctionName: { … } }", isTable],
    queues: ["an object: { name: { … } }", isTable],
    topics: ["an object: { name: {} }", isTable],
    buses: ["an object: { name: { … } }", isTable],
    buckets: ["an object: { name: { … } }", isTable],
    api: ["an object", isObject],
    websocket: ["an object", isObject],
  },
  defaults: {
    dir: "infra",
    database: "distsql" as "distsql" | "none",
    environment: {} as Record<string, EnvironmentValue>,
    functions: {} as Record<string, FunctionInfra>,
    queues: {} as Record<string, QueueInfra>,
    topics: {} as Record<string, Record<string, never>>,
    buses: {} as Record<string, BusInfra>,
    buckets: {} as Record<string, BucketInfra>,
    api: {} as ApiInfra,
    websocket: {} as WebSocketInfra,
  },
} as const satisfies SettingsGroup<InfraSettings, InfraSettings>;
