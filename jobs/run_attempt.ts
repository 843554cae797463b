import type { Clock } from "../core/async/clock.ts";
import { rejectOnAbort } from "../core/async/deadline.ts";
import { remainingMs } from "../core/request_context.ts";
import type { LambdaContext } from "../core/http/lambda.ts";
import type { LoggingConfig } from "../core/logging_config.ts";
import { parseInput } from "../core/triggers/parse_input.ts";
import { toServerError } from "../core/triggers/trigger_failure.ts";
import {
  type EventReader,
  type LambdaHandler,
  observeHandler,
  type WrapperMetadata,
} from "../core/with_observability.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, runSqlRows } from "../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import type { StandardSchema } from "../env/standard_schema.ts";
import { isAppError } from "../errors/app_error.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { currentInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";
import { parseTraceparent } from "../observability/trace_context.ts";
import type { LeasedJob } from "./claim.ts";
import type { AnyJob, BatchedJob, JobHandlerParams, RunningJob } from "./define_job.ts";
import { buildFinish, buildProgress, buildResult, type JobLease } from "./finish.ts";
import {
  JobBusyError,
  JobLeaseLostError,
  JobMisfitError,
  PermanentJobError,
} from "./job_errors.ts";
import { serializePayload } from "./job_row.ts";
import type { LeaseWatch } from "./lease_watch.ts";

/** Runs one attempt of a job, or of a batch, and returns the JSON of its result if it is kept; rejects if it failed. */
export type AttemptRunner = (batch: readonly LeasedJob[]) => Promise<string | undefined>;

/** What running jobs needs. */
export interface RunnerOptions {
  /** Returns the client. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** How attempts log. */
  readonly logging: LoggingConfig | undefined;
  /** True to add the metrics of attempts. */
  readonly metrics: boolean;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** Source of randomness, from 0 to below 1. */
  readonly random: () => number;
}

/** What attempts need. */
export interface AttemptOptions extends RunnerOptions {
  /** Looks after the leases of running jobs. */
  readonly watch: LeaseWatch;
}

/** A batch belongs to the trace of its first job. */
const JOB_READER: EventReader<readonly LeasedJob[]> = {
  subject: "job",
  getCorrelationId: ([{ id, correlationId }]) => correlationId ?? id,
  getTraceContext: ([{ traceParent }]) => parseTraceparent(traceParent),
  describeSpan: ([{ id, name }]) => ({
    kind: "consumer",
    attributes: {
      "faas.trigger": "pubsub",
      "messaging.system": "trellis_jobs",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.destination.name": name,
      "messaging.message.id": id,
    },
  }),
  toLoggable: ([{ id, name, attempts }, ...others]) => ({
    id,
    name,
    attempts,
    ...(others.length > 0 && { jobs: others.length + 1 }),
  }),
};

/**
 * Creates the function that runs the attempts of a job. Each has a log line, metrics and a span of
 * its own, in the trace of the request that enqueued the job.
 *
 * @param job The job.
 * @param options Client and logging.
 */
export function createAttemptRunner(job: AnyJob, options: AttemptOptions): AttemptRunner {
  const { settings } = job;
  const { watch } = options;
  /** Jobs whose handler has not ended, also after its time was up. */
  const active = new Set<string>();

  async function attempt(
    batch: readonly LeasedJob[],
    _context: LambdaContext,
    metadata: WrapperMetadata,
  ): Promise<string | undefined> {
    const [leased] = batch;
    for (const { id } of batch) if (active.has(id)) throw new JobBusyError(id);
    // aborted when the time of the attempt is up
    const abort = currentInvocation()!.abort ??= new AbortController();
    const shared = { metadata, signal: abort.signal };
    const all = await Promise.all(batch.map((each) => readParams(job, each, shared, options)));
    const [params] = all;

    async function callHandler(
      running: JobHandlerParams<unknown, boolean>,
    ): Promise<string | undefined> {
      for (const { id } of batch) active.add(id);
      try {
        const result = await job.handler(
          settings.batchSize === 1 ? running : toBatch(running, all),
        );
        return settings.result && await serializeResult(job, settings.result, result);
      } finally {
        for (const { id } of batch) active.delete(id);
      }
    }

    try {
      if (job.runLeased !== undefined) {
        await job.runLeased({
          ...options,
          lease: leased,
          params,
          watch: (work, onLook) => watch.run(leased, abort, work, onLook),
        });
        return undefined;
      }
      if (!settings.transaction && settings.batchSize > 1) return await callHandler(params);
      if (!settings.transaction) {
        return await watch.run(leased, abort, () => callHandler(params));
      }
      return await attemptInTransaction({ job, batch, params, callHandler }, options);
    } catch (error) {
      throw toServerError(error);
    }
  }

  const observed: LambdaHandler<readonly LeasedJob[], string | undefined> = observeHandler(
    attempt,
    {
      operationName: job.jobName,
      logging: options.logging,
      // those of several attempts are written together
      metrics: false,
    },
    JOB_READER,
    job.jobName,
  );

  return function runAttempt(batch: readonly LeasedJob[]): Promise<string | undefined> {
    return observed(batch, createContext(batch[0], settings.timeoutMs));
  };
}

/** Turns the arguments of the handlers of single jobs into those of the handler of a batch. */
function toBatch(
  { payload: _payload, job: _job, idempotencyKey: _key, ...shared }: JobHandlerParams<
    unknown,
    boolean
  >,
  all: readonly JobHandlerParams<unknown, false>[],
): JobHandlerParams<unknown, boolean, 2> {
  const jobs = all.map(({ payload, job: { id, attempt, enqueuedAt } }): BatchedJob => ({
    payload,
    id,
    attempt,
    enqueuedAt,
  }));
  return { ...shared, jobs };
}

/** Parses the payload. */
async function readParams(
  job: AnyJob,
  leased: LeasedJob,
  shared: Pick<JobHandlerParams<unknown, false>, "metadata" | "signal">,
  options: AttemptOptions,
): Promise<JobHandlerParams<unknown, false>> {
  let payload: unknown;
  try {
    payload = await parseInput(job.schema, JSON.parse(leased.payload));
  } catch (error) {
    if (!isAppError(error, "VALIDATION_FAILED")) throw error;
    throw new JobMisfitError("The payload does not fit the schema of the job", { cause: error });
  }
  const { id, name, attempts, enqueuedAt, group } = leased;
  return {
    payload,
    job: {
      id,
      name,
      attempt: attempts,
      maxAttempts: job.settings.maxAttempts,
      enqueuedAt,
      group: group ?? undefined,
      report: createReport(job, leased, options),
    },
    idempotencyKey: id,
    ...shared,
  };
}

/** Writes the result as JSON. A result that is too large would be too large in the next attempt, too. */
async function serializeResult(
  job: AnyJob,
  schema: StandardSchema,
  result: unknown,
): Promise<string> {
  try {
    return await serializePayload(job.jobName, schema, result);
  } catch (cause) {
    throw new PermanentJobError("The result does not fit the schema of the job", { cause });
  }
}

/** Shortest time between two reports that are written. */
const REPORT_MS = 1000;

/** Creates the function that reports progress. */
function createReport(
  { jobName, settings }: AnyJob,
  leased: LeasedJob,
  { getDb }: AttemptOptions,
): RunningJob["report"] {
  let nextMs = -Infinity;
  return async function report(progress): Promise<void> {
    if (!(progress >= 0 && progress <= 1)) {
      throw new ConfigurationError(
        `The progress of the job ${jobName} is ${progress}: it must be 0 to 1`,
      );
    }
    if (settings.transaction) {
      throw new ConfigurationError(
        `The job ${jobName} has transaction: true and cannot report progress, because its row is locked ` +
          "until COMMIT: leave out report or transaction",
      );
    }
    if (performance.now() < nextMs) return;
    nextMs = performance.now() + REPORT_MS;
    try {
      await runSql(await getDb(), buildProgress(leased, progress));
    } catch (error) {
      log("WARN", "the progress of a job was not written", { job_id: leased.id, error });
    }
  };
}

/**
 * Marks the job as done and runs the handler in one transaction. The mark comes first: it locks the
 * row, so that no other worker can lease the job while this transaction runs, however long it takes.
 */
async function attemptInTransaction(
  { job, batch, params, callHandler }: {
    job: AnyJob;
    batch: readonly LeasedJob[];
    params: JobHandlerParams<unknown, false>;
    callHandler: (params: JobHandlerParams<unknown, true>) => Promise<string | undefined>;
  },
  { getDb, clock }: AttemptOptions,
): Promise<string | undefined> {
  const { keepSeconds } = job.settings;
  return await withDistSqlRetry(async () =>
    await withTransaction(await getDb(), async (tx: TransactionClient) => {
      const marking = markDone(tx, batch, keepSeconds, clock);
      const work = Promise.all([callHandler({ ...params, tx }), marking]);
      const [result] = await Promise.race([work, rejectOnAbort(params.signal)]);
      if (result !== undefined) await runSql(tx, buildResult(batch[0].id, result));
      return result;
    })
  );
}

/**
 * Marks a job, or all jobs of a batch, as done in a transaction.
 *
 * @param tx The transaction.
 * @param leases The leases, which have the same number.
 * @param keepSeconds Seconds that the row is kept.
 * @param clock Clock of a test.
 * @throws {JobLeaseLostError} If another worker has leased a job.
 */
export async function markDone(
  tx: TransactionClient,
  leases: readonly JobLease[],
  keepSeconds: number,
  clock: Clock | undefined,
): Promise<void> {
  const [{ fence }] = leases;
  const statement = buildFinish({ ids: leases.map(({ id }) => id), fence, keepSeconds }, clock);
  const done = new Set((await runSqlRows<{ id: string }>(tx, statement)).map(({ id }) => id));
  const lost = leases.find(({ id }) => !done.has(id));
  if (lost !== undefined) throw new JobLeaseLostError(lost.id);
}

/** The deadline is that of the attempt, or of the function that runs the worker. */
function createContext(leased: LeasedJob, timeoutMs: number): LambdaContext {
  const endMs = performance.now() + Math.min(timeoutMs, remainingMs());
  // getDeadline() reserves up to 250 ms of it
  return {
    awsRequestId: leased.id,
    functionName: currentInvocation()?.functionName ?? leased.name,
    functionVersion: "",
    invokedFunctionArn: "",
    memoryLimitInMB: "",
    logGroupName: "",
    logStreamName: "",
    getRemainingTimeInMillis: () => Math.max(0, endMs - performance.now()),
  };
}
