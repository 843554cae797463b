import type { Clock } from "../core/async/clock.ts";
import { rejectOnAbort } from "../core/async/deadline.ts";
import { getRequestContext, remainingMs } from "../core/request_context.ts";
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
import { runSqlRows } from "../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../database/session/transaction.ts";
import { isAppError } from "../errors/app_error.ts";
import { currentInvocation } from "../observability/invocation_context.ts";
import { parseTraceparent } from "../observability/trace_context.ts";
import type { LeasedJob } from "./claim.ts";
import type { AnyJob, JobHandler, JobHandlerParams } from "./define_job.ts";
import { buildFinish, type JobLease } from "./finish.ts";
import { JobBusyError, JobLeaseLostError, JobMisfitError } from "./job_errors.ts";

/** Runs one attempt of a job; rejects if it failed. */
export type AttemptRunner = (leased: LeasedJob) => Promise<void>;

/** What attempts need. */
export interface AttemptOptions {
  /** Returns the client. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** How attempts log. */
  readonly logging: LoggingConfig | undefined;
  /** True if each attempt adds its metrics. */
  readonly metrics: boolean;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
}

const NO_SIGNAL: AbortSignal = new AbortController().signal;

const JOB_READER: EventReader<LeasedJob> = {
  getCorrelationId: ({ id, correlationId }) => correlationId ?? id,
  getTraceContext: ({ traceParent }) => parseTraceparent(traceParent),
  describeSpan: ({ id, name }) => ({
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
  toLoggable: ({ id, name, attempts }) => ({ id, name, attempts }),
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
  /** Jobs whose handler has not ended, also after its time was up. */
  const active = new Set<string>();

  async function callHandler(params: JobHandlerParams<unknown, boolean>): Promise<void> {
    const { id } = params.job;
    active.add(id);
    try {
      await job.handler(params);
    } finally {
      active.delete(id);
    }
  }

  async function attempt(
    leased: LeasedJob,
    _context: LambdaContext,
    metadata: WrapperMetadata,
  ): Promise<void> {
    if (active.has(leased.id)) throw new JobBusyError(leased.id);
    const params = await readParams(job, leased, metadata);
    try {
      if (job.runLeased !== undefined) await job.runLeased({ ...options, lease: leased, params });
      else if (!settings.transaction) await callHandler(params);
      else await attemptInTransaction({ job, leased, params, callHandler }, options);
    } catch (error) {
      throw toServerError(error);
    }
  }

  const observed: LambdaHandler<LeasedJob, void> = observeHandler(
    attempt,
    {
      operationName: job.jobName,
      logging: options.logging,
      metrics: options.metrics,
    },
    JOB_READER,
    job.jobName,
  );

  return function runAttempt(leased: LeasedJob): Promise<void> {
    return observed(leased, createContext(leased, settings.timeoutMs));
  };
}

/** Parses the payload. */
async function readParams(
  job: AnyJob,
  leased: LeasedJob,
  metadata: WrapperMetadata,
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
    },
    idempotencyKey: id,
    signal: getRequestContext()?.signal ?? NO_SIGNAL,
    metadata,
  };
}

/**
 * Marks the job as done and runs the handler in one transaction. The mark comes first: it locks the
 * row, so that no other worker can lease the job while this transaction runs, however long it takes.
 */
async function attemptInTransaction(
  { job, leased, params, callHandler }: {
    job: AnyJob;
    leased: LeasedJob;
    params: JobHandlerParams<unknown, false>;
    callHandler: JobHandler<unknown, true>;
  },
  { getDb, clock }: AttemptOptions,
): Promise<void> {
  const { keepSeconds } = job.settings;
  await withDistSqlRetry(async () =>
    await withTransaction(await getDb(), async (tx: TransactionClient) => {
      const marking = markDone(tx, leased, keepSeconds, clock);
      await Promise.race([
        Promise.all([marking, callHandler({ ...params, tx })]),
        rejectOnAbort(params.signal),
      ]);
    })
  );
}

/**
 * Marks a job as done in a transaction.
 *
 * @param tx The transaction.
 * @param lease The lease.
 * @param keepSeconds Seconds that the row is kept.
 * @param clock Clock of a test.
 * @throws {JobLeaseLostError} If another worker has leased the job.
 */
export async function markDone(
  tx: TransactionClient,
  { id, fence }: JobLease,
  keepSeconds: number,
  clock: Clock | undefined,
): Promise<void> {
  const statement = buildFinish({ ids: [id], fence, keepSeconds }, clock);
  if ((await runSqlRows(tx, statement)).length === 0) throw new JobLeaseLostError(id);
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
