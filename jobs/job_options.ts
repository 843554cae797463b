import type { StandardSchema } from "../env/standard_schema.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { wholeNumber } from "../core/function_options.ts";
import {
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  NAME_OPTION,
  OBJECT_OPTION,
  type OptionRules,
  SCHEMA_OPTION,
} from "../core/option_rules.ts";
import { MAX_IDS } from "./job_sql.ts";

/** Type that a schema accepts. */
export type JobInput<TSchema extends StandardSchema> = TSchema extends
  { readonly "~standard": { readonly types?: infer TTypes } }
  ? NonNullable<TTypes> extends { readonly input: infer TInput } ? TInput : unknown
  : unknown;

/** Type that a schema returns. */
export type JobOutput<TSchema extends StandardSchema> = TSchema extends
  { readonly "~standard": { readonly types?: infer TTypes } }
  ? NonNullable<TTypes> extends { readonly output: infer TOutput } ? TOutput : unknown
  : unknown;

/** How often a failed job is run again, and when. */
export interface JobRetryOptions {
  /**
   * Attempts, with the first one. After the last one the job is dead.
   * @default 10
   */
  maxAttempts?: number;
  /**
   * Upper bound of the first delay in seconds; it doubles with each attempt. The delay itself is
   * random (full jitter).
   * @default 2
   */
  baseDelaySeconds?: number;
  /**
   * Upper bound of every delay in seconds.
   * @default 900
   */
  maxDelaySeconds?: number;
}

/** What `enqueue` with a `key` does when the table has a job of this name and key. */
export interface JobUniqueOptions {
  /**
   * Seconds since the earlier job was enqueued after which its key can be used again, once it has ended: it is
   * done, dead or cancelled. With 0, as soon as it has ended.
   * @default as long as the earlier job is in the table; 0 with `replace`
   */
  readonly periodSeconds?: number;
  /**
   * True to replace an earlier job that waits, is dead or was cancelled: it gets the new payload and time.
   * With `delaySeconds`, the job runs when no other was enqueued for this time (debounce). An earlier job
   * that runs is run again with the new payload when it has ended; `enqueue` waits for the end of one with
   * `transaction: true`, whose row is locked.
   * @default false: nothing is added
   */
  readonly replace?: boolean;
  /**
   * True to make a key unique only while its job waits: a job that runs, runs again afterwards, with the payload of the
   * first call since it began, and an ended job is replaced. Not together with `periodSeconds` or `replace`.
   * @default false
   */
  readonly whileQueued?: boolean;
}

/** Limit of the jobs with the same key. */
export interface JobKeyLimitOptions<TInput = unknown> {
  /** Returns the key of a payload, such as the id of a customer, when a job is enqueued. */
  readonly key: (payload: TInput) => string;
  /**
   * Jobs of one key that run at the same time, from 1.
   * @default no limit
   */
  readonly concurrency?: number;
  /**
   * Attempts of the jobs of one key that begin in a period.
   * @default no limit
   */
  readonly rate?: JobRateOptions;
}

/** Rate at which jobs begin. */
export interface JobRateOptions {
  /** Attempts that begin in any period of `periodSeconds`, from 1. */
  readonly count: number;
  /** Length of the period in seconds, from 1. */
  readonly periodSeconds: number;
}

/** Limits of the jobs of a name, over all workers of the database. A job that has no place waits, and holds back no other. */
export interface JobLimitOptions<TInput = unknown> {
  /**
   * Jobs that run at the same time, from 1. The place of a worker that died is free when its lease ends.
   * @default no limit
   */
  readonly concurrency?: number;
  /**
   * Limit of the jobs with the same key. Each key gets its turn, regardless of how many jobs another one has.
   * @default no limit
   */
  readonly perKey?: JobKeyLimitOptions<TInput>;
  /**
   * Attempts that begin in a period, of all keys together.
   * @default no limit
   */
  readonly rate?: JobRateOptions;
}

/** Options of `defineJob`. */
export interface JobOptions<
  TSchema extends StandardSchema,
  TTransaction extends boolean,
  TResult = unknown,
  TBatch extends number = 1,
> {
  /** Name of the job in the table: letters, digits, `.`, `_` and `-`. Do not rename it while jobs wait. */
  name: string;
  /** Schema of the payload, checked when a job is enqueued and again before it runs. */
  schema: TSchema;
  /** How often a failed job is run again. */
  retry?: JobRetryOptions;
  /**
   * Seconds that one attempt may take, 1 to 900. A job whose worker died runs again after this time
   * and 10 seconds.
   * @default 30
   */
  timeoutSeconds?: number;
  /**
   * Run the handler in a transaction, which it gets as `tx` and which marks the job as done. What it
   * writes with `tx` is then applied exactly once.
   * @default false
   */
  transaction?: TTransaction;
  /**
   * Seconds that a finished job is kept, from 60. A `key` is unique for as long as its job is kept.
   * Dead jobs are kept until they are cancelled or sent again.
   * @default 86400
   */
  keepSeconds?: number;
  /**
   * Version of the payload's meaning, from 1. Raise it when workers of the earlier release must not run new
   * jobs: they leave them to workers of this version, which also run the jobs of earlier ones.
   * @default 1
   */
  version?: number;
  /**
   * What `enqueue` with a `key` does when there is an earlier job of this name and key. Functions that enqueue
   * such a job also need the rights to read and update the table.
   * @default nothing is added
   */
  unique?: JobUniqueOptions;
  /**
   * Schema of what the handler returns. The result is kept with the job, as JSON of at most 1,000,000 bytes, and
   * `waitFor` returns it.
   * @default the result is not kept
   */
  result?: StandardSchema<TResult>;
  /**
   * Largest number of jobs that one call of the handler gets, 2 to 100: as `jobs`, those that are due when it begins. Jobs
   * of a batch that failed, with any error, run alone afterwards, so that a job that always fails holds back no other. Jobs of
   * a group, and those that SQS delivers, run alone.
   * @default 1, and the handler gets `payload` and `job`
   */
  batchSize?: TBatch;
  /**
   * How many jobs of this name run at the same time, and how many begin in a period. Not together with `batchSize`.
   * @default no limit
   */
  limit?: JobLimitOptions<JobInput<TSchema>>;
}

/** Options of a job with their defaults. */
export interface JobSettings {
  /** Name of the job. */
  readonly name: string;
  /** Attempts, with the first one. */
  readonly maxAttempts: number;
  /** Upper bound of the first delay. */
  readonly baseDelayMs: number;
  /** Upper bound of every delay. */
  readonly maxDelayMs: number;
  /** Time limit of one attempt. */
  readonly timeoutMs: number;
  /** True if the handler runs in a transaction. */
  readonly transaction: boolean;
  /** Time that a finished job is kept. */
  readonly keepSeconds: number;
  /** Version of the job: workers of an earlier one leave it. */
  readonly version: number;
  /** What happens to the earlier job of a key; `undefined` if nothing does. */
  readonly unique: JobUniqueOptions | undefined;
  /** Schema of the result; `undefined` if it is not kept. */
  readonly result: StandardSchema | undefined;
  /** Largest number of jobs that one call of the handler gets. */
  readonly batchSize: number;
  /** Limits of the jobs of this name; `undefined` if there are none. */
  readonly limit: JobLimitOptions | undefined;
}

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;

const RULES: OptionRules = {
  name: NAME_OPTION,
  schema: SCHEMA_OPTION,
  retry: OBJECT_OPTION,
  timeoutSeconds: wholeNumber([1, 900, "seconds"]),
  transaction: BOOLEAN_OPTION,
  keepSeconds: wholeNumber([60, YEAR_SECONDS, "seconds"]),
  version: [
    (value) => Number.isSafeInteger(value) && value as number >= 1,
    "a whole number from 1",
  ],
  unique: OBJECT_OPTION,
  result: SCHEMA_OPTION,
  batchSize: wholeNumber([1, MAX_IDS, "jobs"]),
  limit: OBJECT_OPTION,
};

const CONCURRENCY = wholeNumber([1, 1_000_000, "jobs"]);

const LIMIT_RULES: OptionRules = {
  concurrency: CONCURRENCY,
  perKey: OBJECT_OPTION,
  rate: OBJECT_OPTION,
};

const KEY_LIMIT_RULES: OptionRules = {
  key: FUNCTION_OPTION,
  concurrency: CONCURRENCY,
  rate: OBJECT_OPTION,
};

const RATE_RULES: OptionRules = {
  count: wholeNumber([1, 1_000_000, "attempts"]),
  periodSeconds: wholeNumber([1, YEAR_SECONDS, "seconds"]),
};

const UNIQUE_RULES: OptionRules = {
  periodSeconds: wholeNumber([0, YEAR_SECONDS, "seconds"]),
  replace: BOOLEAN_OPTION,
  whileQueued: BOOLEAN_OPTION,
};

const RETRY_RULES: OptionRules = {
  maxAttempts: wholeNumber([1, 1000, "attempts"]),
  baseDelaySeconds: wholeNumber([0, DAY_SECONDS, "seconds"]),
  maxDelaySeconds: wholeNumber([0, DAY_SECONDS, "seconds"]),
};

/**
 * Checks the options of a job and adds the defaults.
 *
 * @param options The options.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 */
export function readJobOptions(
  options: JobOptions<StandardSchema, boolean, unknown, number>,
): JobSettings {
  checkOptions("defineJob", options, RULES);
  // a missing name or schema is as wrong as an invalid one
  checkOptions("defineJob", { name: options.name ?? null, schema: options.schema ?? null }, RULES);
  if (options.retry !== undefined) {
    checkOptions("defineJob", options.retry, RETRY_RULES, "retry.");
  }
  const { unique } = options;
  if (unique !== undefined) checkOptions("defineJob", unique, UNIQUE_RULES, "unique.");
  if (unique?.whileQueued && (unique.replace || unique.periodSeconds !== undefined)) {
    throw new ConfigurationError(
      `unique of the job ${options.name} has whileQueued and another option: leave out replace and periodSeconds`,
    );
  }
  const { batchSize = 1 } = options;
  if (batchSize > 1 && options.result !== undefined) {
    throw new ConfigurationError(
      `The job ${options.name} has batchSize and result: a batch has no result, leave one out`,
    );
  }
  const { limit } = options;
  if (limit !== undefined) checkLimit(options.name, limit, options);
  const { maxAttempts = 10, baseDelaySeconds = 2, maxDelaySeconds = 900 } = options.retry ?? {};
  return {
    name: options.name,
    maxAttempts,
    baseDelayMs: baseDelaySeconds * 1000,
    maxDelayMs: maxDelaySeconds * 1000,
    timeoutMs: (options.timeoutSeconds ?? 30) * 1000,
    transaction: options.transaction ?? false,
    keepSeconds: options.keepSeconds ?? DAY_SECONDS,
    version: options.version ?? 1,
    result: options.result,
    batchSize,
    limit: limit as JobLimitOptions | undefined,
    unique: unique && { replace: false, ...unique },
  };
}

function checkRate(rate: JobRateOptions, path: string): void {
  const given = { ...rate, count: rate.count ?? null, periodSeconds: rate.periodSeconds ?? null };
  checkOptions("defineJob", given, RATE_RULES, path);
}

/** Checks the option `limit`. */
function checkLimit(
  name: string,
  limit: JobLimitOptions<never>,
  { batchSize = 1, unique }: Pick<
    JobOptions<StandardSchema, boolean, unknown, number>,
    "batchSize" | "unique"
  >,
): void {
  const refuse = (problem: string) => new ConfigurationError(`limit of the job ${name} ${problem}`);
  checkOptions("defineJob", limit, LIMIT_RULES, "limit.");
  const { concurrency, perKey, rate } = limit;
  if (concurrency === undefined && perKey === undefined && rate === undefined) {
    throw refuse("is empty: it needs concurrency, perKey or rate");
  }
  if (perKey !== undefined) {
    // a missing option is as wrong as an invalid one
    const given = { ...perKey, key: perKey.key ?? null };
    checkOptions("defineJob", given, KEY_LIMIT_RULES, "limit.perKey.");
    if (perKey.concurrency === undefined && perKey.rate === undefined) {
      throw refuse("has perKey without a limit: it needs concurrency or rate");
    }
    if (perKey.rate !== undefined) checkRate(perKey.rate, "limit.perKey.rate.");
  }
  if (rate !== undefined) checkRate(rate, "limit.rate.");
  if (batchSize > 1) throw refuse("does not go together with batchSize: leave one out");
  if (perKey !== undefined && (unique?.replace || unique?.whileQueued)) {
    throw refuse(
      "has perKey, and unique can replace the payload while the job has its place: leave out replace, " +
        "whileQueued or perKey",
    );
  }
}
