import type { ApiInfra, WebSocketInfra } from "./api_infra.ts";
import type { CdnInfra, PushPlatformInfra, RepositoryInfra } from "./delivery_infra.ts";
import type { EnvironmentValue } from "../discovery/environment_value.ts";
import type { FunctionInfra } from "./function_infra.ts";
import type { BucketInfra, BusInfra, QueueInfra } from "./named_resources.ts";
import { FOLDER, isObject, isText, matching, oneOf, type SettingsGroup } from "./setting_rules.ts";
import type { ReleaseInfra, StageInfra, StateInfra } from "./stage_infra.ts";

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
  /**
   * Name of a private bucket in your account through which packages of functions are uploaded; needed for
   * packages above 50 MB.
   * @default uploaded with the request
   */
  packageBucket?: string;
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
   * Name of an IAM policy of the account that bounds what every role of the project may do.
   * `trellis init --ci` writes one, without which its roles cannot create others.
   */
  permissionsBoundary?: string;
  /** A CDN in front of the API and of buckets: `{}` for the defaults. */
  cdn?: CdnInfra;
  /**
   * Repositories of container images by name, for `image: { repository }` of functions.
   * @default {}
   */
  repositories?: Record<string, RepositoryInfra>;
  /**
   * Applications at push services by name, for `{ push: name }` in `environment`.
   * @default {}
   */
  pushPlatforms?: Record<string, PushPlatformInfra>;
  /**
   * The API of the functions in `api/`.
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
    dir: FOLDER,
    modulesPath: FOLDER,
    projectName: matching(
      "lower-case letters, digits and single hyphens, beginning with a letter, at most 32",
      PROJECT_NAME,
    ),
    region: matching("a region such as eu-central-1", /^[a-z]{2}(?:-[a-z]+)+-\d+$/),
    stages: ["an object: { dev: {}, prod: { domain } }", isTable],
    state: [
      "an object: { bucket, region }",
      (value) => isObject(value) && isText(value.bucket) && isText(value.region),
    ],
    smoke: ['a path such as "/health", or false', (value) => value === false || isText(value)],
    release: ["an object: { percent, minutes, errorPercent }", isObject],
    packageBucket: matching("the name of a bucket", /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/),
    permissionsBoundary: matching("the name of an IAM policy", /^[\w+=,.@/-]{1,128}$/),
    cdn: ["an object", isObject],
    repositories: ["an object: { name: { … } }", isTable],
    pushPlatforms: ["an object: { name: { … } }", isTable],
    bucketPrefix: matching("lower-case letters, digits and hyphens", /^[a-z0-9][a-z0-9-]*$/),
    database: oneOf("distsql", "postgres", "data-api", "none"),
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
    repositories: {} as Record<string, RepositoryInfra>,
    pushPlatforms: {} as Record<string, PushPlatformInfra>,
    api: {} as ApiInfra,
    websocket: {} as WebSocketInfra,
    mail: {} as MailInfra,
    jobs: {} as JobsInfra,
  },
} as const satisfies SettingsGroup<InfraSettings, InfraSettings>;
