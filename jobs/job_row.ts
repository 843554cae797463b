import { hashToUuid } from "../core/digest.ts";
import { checkOption, oneOf } from "../core/option_rules.ts";
import { getOutgoingHeaders } from "../core/http/trace_id.ts";
import { parseInput } from "../core/triggers/parse_input.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { ConfigurationError, ValidationError } from "../errors/http_errors.ts";
import { currentInvocation } from "../observability/invocation_context.ts";
import type { JobLimitOptions, JobSettings, JobUniqueOptions } from "./job_options.ts";

/** Options of `enqueue`. */
export interface EnqueueOptions {
  /**
   * Seconds until the job may run.
   * @default 0
   */
  delaySeconds?: number;
  /**
   * Makes the job unique: while a job of this name and key is in the table, even if it has
   * finished, no other is added. The option `unique` of the job frees a key earlier.
   */
  key?: string;
  /**
   * Jobs of one group run one at a time, in the order in which they were enqueued. A job that waits
   * for its next attempt holds back the jobs after it; a dead one does not.
   */
  group?: string;
  /**
   * Jobs of a higher priority begin before all others that are due. Within a priority, jobs begin roughly in
   * the order in which they are due.
   * @default "normal"
   */
  priority?: JobPriority;
}

/** Priority of a job. */
export type JobPriority = "high" | "normal" | "low";

/** Options of a row: those of the caller and those of the job. */
export interface JobRowOptions extends EnqueueOptions {
  /** The job's settings; by default those of a job without options. */
  readonly settings?: Pick<JobSettings, "version" | "unique" | "limit">;
}

/** Row to insert. */
export interface NewJob {
  /** Primary key. */
  readonly id: string;
  /** True if a job with this id may be in the table: it was derived from a key. */
  readonly hasKey: boolean;
  /** What happens to the earlier job of this key. */
  readonly unique: JobUniqueOptions | undefined;
  /** Version of the job. */
  readonly version: number;
  /** Name of the job. */
  readonly name: string;
  /** JSON. */
  readonly payload: string;
  /** Part of the table that the row belongs to, one of {@link SHARDS} or {@link LIMITED_SHARDS}. */
  readonly shard: number;
  /** Group, if the job has one. */
  readonly group: string | null;
  /** Id of what its limit counts: its name, or its name and key; `null` if the job has no limit. */
  readonly limitKey: string | null;
  /** Order of rows that were inserted at the same time. */
  readonly position: number;
  /** Seconds until the job may run. */
  readonly delaySeconds: number;
  /** Correlation id of the request. */
  readonly correlationId: string | null;
  /** W3C trace context of the request. */
  readonly traceParent: string | null;
}

/**
 * Number of parts of the table for jobs of a normal priority. Workers start at a part by chance, so that they rarely compete for
 * the same rows; inserts go to as many places of the index.
 */
export const JOB_SHARDS = 16;

/**
 * The parts of each priority: jobs begin in the order of their parts. Those of a high priority are few,
 * because each look for a job begins with them.
 */
export const SHARDS: Readonly<Record<JobPriority, readonly number[]>> = {
  high: [-4, -3, -2, -1],
  normal: Array.from({ length: JOB_SHARDS }, (_, shard) => shard),
  low: [16, 17, 18, 19],
};

/**
 * The parts of jobs with a limit, by priority. `waiting` are those that run later, that run and that are tried again; `ready` those
 * that could begin at once. Their index has no others, so that a look for a key with a free place reads no job without one.
 */
export const LIMITED_SHARDS = {
  waiting: { high: 20, normal: 21, low: 22 },
  ready: { high: 23, normal: 24, low: 25 },
} as const satisfies Record<string, Record<JobPriority, number>>;

/** Parts from this one on are those of jobs with a limit that could begin. */
export const FIRST_READY_SHARD: number = LIMITED_SHARDS.ready.high;

/** Limit of a text column on the distributed provider is 1 MiB. */
const MAX_PAYLOAD_BYTES = 1_000_000;
const MAX_DELAY_SECONDS = 366 * 86_400;
const MAX_KEY = 500;

const PRIORITIES = ["high", "normal", "low"] as const satisfies JobPriority[];

let position = 0;

/**
 * Creates the row of a job.
 *
 * @param name Name of the job.
 * @param schema Schema of the payload.
 * @param payload The payload.
 * @param options Delay, key, group, priority, and the job's settings.
 * @throws {ValidationError} If the payload does not fit.
 * @throws {ConfigurationError} If an option is invalid.
 */
export async function createJobRow(
  name: string,
  schema: StandardSchema,
  payload: unknown,
  { delaySeconds = 0, key, group, priority = "normal", settings }: JobRowOptions,
): Promise<NewJob> {
  checkDelay(name, delaySeconds);
  checkOption("priority", priority, oneOf(PRIORITIES));
  checkText(name, "key", key);
  checkText(name, "group", group);
  const at = position++;
  const text = await serializePayload(name, schema, payload);
  const id = key === undefined ? crypto.randomUUID() as string : await hashToUuid([name, key]);
  const { limit } = settings ?? {};
  return {
    id,
    hasKey: key !== undefined,
    unique: key === undefined ? undefined : settings?.unique,
    version: settings?.version ?? 1,
    name,
    payload: text,
    shard: limit === undefined
      ? SHARDS[priority][parseInt(id[0], 16) % SHARDS[priority].length]
      : LIMITED_SHARDS[delaySeconds > 0 ? "waiting" : "ready"][priority],
    limitKey: limit === undefined ? null : await getLimitKey(name, limit, payload),
    group: group ?? null,
    position: at,
    delaySeconds,
    correlationId: currentInvocation()?.correlationId ?? null,
    traceParent: getOutgoingHeaders().traceparent ?? null,
  };
}

/**
 * Writes a payload or a result as JSON, and checks what will be read: the value after its way through JSON.
 *
 * @param name Name of the job.
 * @param schema Schema of the value.
 * @param payload The value.
 * @throws {ValidationError} If it does not fit, or JSON would change it.
 */
export async function serializePayload(
  name: string,
  schema: StandardSchema,
  payload: unknown,
): Promise<string> {
  const text = toJson(payload);
  checkSize(`The payload of the job ${name}`, text);
  await parseInput(schema, JSON.parse(text));
  return text;
}

/**
 * Writes a value as JSON. Refuses what JSON cannot hold.
 *
 * @param payload The value.
 * @param isStrict True to refuse values that come back from JSON as another type, such as `Date`.
 * @throws {ValidationError} With the path of the value that JSON would change.
 */
export function toJson(payload: unknown, isStrict = false): string {
  let text: string;
  try {
    text = JSON.stringify(payload) ?? "null";
  } catch {
    throw refusePayload("", "It cannot be written as JSON");
  }
  checkLossless(payload, "", isStrict);
  return text;
}

function refusePayload(path: string, message: string): ValidationError {
  return new ValidationError("Validation failed", {
    errors: { [path || "_form"]: [message] },
    details: { reason: path === "" ? message : `${path}: ${message}` },
  });
}

/** Types of objects that JSON holds. Others, such as `Map` and `Error`, it writes as `{}` or in a form that nothing reads back. */
const JSON_TYPES = ["Object", "Array", "String", "Number", "Boolean"];

/** Refuses values that JSON leaves out or changes: the worker would get another payload. Has no cycles. */
function checkLossless(value: unknown, path: string, isStrict: boolean): void {
  const refuse = (what: string) => refusePayload(path, `JSON cannot hold ${what}`);
  if (typeof value === "number" && !Number.isFinite(value)) throw refuse(String(value));
  if (typeof value === "function" || typeof value === "symbol") {
    throw refuse(`a value of the type ${typeof value}`);
  }
  if (typeof value !== "object" || value === null) return;
  const type = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    if (!isStrict) return;
    throw refusePayload(path, `JSON holds a ${type} as another type: convert it first`);
  }
  if (!JSON_TYPES.includes(type)) throw refuse(`a value of the type ${type}`);
  for (const [key, member] of Object.entries(value)) {
    checkLossless(member, path === "" ? key : `${path}.${key}`, isStrict);
  }
}

/**
 * Checks that a column can hold a JSON text.
 *
 * @param what What the text is, for the message.
 * @param text The JSON.
 * @throws {ConfigurationError} If it is too long.
 */
export function checkSize(what: string, text: string): void {
  if (text.length * 3 <= MAX_PAYLOAD_BYTES) return;
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= MAX_PAYLOAD_BYTES) return;
  throw new ConfigurationError(
    `${what} has ${bytes} bytes of JSON, at most ${MAX_PAYLOAD_BYTES} are ` +
      "allowed: store the content elsewhere and pass its id",
  );
}

function checkDelay(name: string, value: unknown): void {
  if (typeof value === "number" && value >= 0 && value <= MAX_DELAY_SECONDS) return;
  throw new ConfigurationError(
    `delaySeconds of the job ${name} is ${value}: it must be 0 to ${MAX_DELAY_SECONDS} seconds`,
  );
}

function checkText(name: string, option: string, value: unknown): void {
  if (value === undefined) return;
  const isValid = typeof value === "string" && value !== "" && value.length <= MAX_KEY &&
    !value.includes("\0");
  if (isValid) return;
  // the value is not shown: keys may hold personal data
  throw new ConfigurationError(
    `${option} of the job ${name} must be a text of 1 to ${MAX_KEY} characters without NUL`,
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Checks for the id of a job. */
export function isJobId(value: unknown): value is string {
  return typeof value === "string" && UUID.test(value);
}

/** Checks whether the id of a job was derived from its key: it is of version 8, and other ids are random. */
export function isKeyedId(id: string): boolean {
  return id[14] === "8";
}

/** Returns the id of what a limit of a job counts. */
async function getLimitKey(
  name: string,
  { perKey }: JobLimitOptions,
  payload: unknown,
): Promise<string> {
  if (perKey === undefined) return await getNameKey(name);
  const key = perKey.key(payload);
  if (typeof key === "string") return await hashToUuid([name, key]);
  throw new ConfigurationError(
    `limit.perKey.key of the job ${name} returned a value of the type ${typeof key}: it must return a text`,
  );
}

/** Returns what the limits count of the jobs of a name without a key. */
export function getNameKey(name: string): Promise<string> {
  return hashToUuid([name]);
}

/** Returns the id of the row that is in the table for the limits of a name. */
export function getLimitId(name: string): Promise<string> {
  return hashToUuid(["limit", name, ""]);
}

/** Returns the id of the row that is in the table while the jobs of a name are paused. */
export function getPauseId(name: string): Promise<string> {
  // keys of jobs make ids of two parts
  return hashToUuid(["paused", name, ""]);
}
