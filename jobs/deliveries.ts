import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { groupBy, splitEvery } from "../core/lists/group_by.ts";
import { getTestServices } from "../core/test_services.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { limitRequest } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import { ConfigurationError, ServiceUnavailableError } from "../errors/http_errors.ts";
import type { CommittedJob, JobDelivery } from "./job_settings.ts";
import type { JobWorker } from "./worker.ts";

/** Options of `createSqsDelivery`. */
export interface SqsDeliveryOptions {
  /**
   * URL of the queue.
   * @default the environment variable `JOBS_QUEUE_URL`
   */
  queueUrl?: string;
  /**
   * Seconds after which the relay sends a job again that has not started, 10 to 43,200. Longer
   * than a job usually waits in the queue, because each message costs.
   * @default 60
   */
  graceSeconds?: number;
  /** Client of your own, such as one with another endpoint. */
  client?: Pick<SQSClient, "send">;
}

/** Entries of one request (Amazon SQS quotas, 2026-11). */
const MAX_ENTRIES = 10;
/** Messages of one delivery. More jobs share messages, whose jobs run one after the other. */
const MAX_MESSAGES = 1000;
/** The job is committed and the relay will deliver it, so a request must not wait long for SQS. */
const LIMIT_MS = 1000;
/** Time for which SQS gets no further request after one without an answer: each would wait again. */
const PAUSE_MS = 10_000;
/** Longest delay of a message in seconds. A later job is left to the relay. */
const MAX_DELAY_SECONDS = 900;

/**
 * Creates the delivery that hands committed jobs to an SQS queue, standard or FIFO. It needs the
 * package `@aws-sdk/client-sqs`. `defineJobQueueHandler` consumes the queue.
 *
 * @param options Queue and time limit.
 * @returns The delivery for `configureJobs`.
 * @throws {ConfigurationError} If an option is invalid, or, in a deployed function, if there is no
 * queue. Elsewhere the first delivery fails without a queue, which is logged: the relay delivers.
 *
 * @example
 * ```ts
 * import { configureJobs, createSqsDelivery } from "@trellis/fn/jobs";
 *
 * const delivery = createSqsDelivery({
 *   queueUrl: "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs",
 * });
 * configureJobs({ delivery })();
 * console.log(delivery.graceSeconds); // 60
 * ```
 */
export function createSqsDelivery(options: SqsDeliveryOptions = {}): JobDelivery {
  const { queueUrl, graceSeconds = 60 } = options;
  if (!(graceSeconds >= 10 && graceSeconds <= 43_200)) {
    throw new ConfigurationError(
      `graceSeconds is ${graceSeconds}: it must be a number of seconds from 10 to 43200`,
    );
  }
  // at the start of a deployed function; tests and the CLI load modules without its variables
  if (getOptionalEnv("AWS_LAMBDA_FUNCTION_NAME") !== undefined) findQueueUrl(queueUrl);
  let client: Pick<SQSClient, "send"> | undefined = options.client;

  let pausedUntilMs = 0;

  async function send(
    url: string,
    entries: SendMessageBatchRequestEntry[],
    abortSignal: AbortSignal,
  ): Promise<void> {
    const { SendMessageBatchCommand, SQSClient } = await import("@aws-sdk/client-sqs").catch(
      explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-sqs", "createSqsDelivery"),
    );
    const sender = client ??= new SQSClient({});
    const command = new SendMessageBatchCommand({ QueueUrl: url, Entries: entries });
    const { Failed = [] } = await sender.send(command, { abortSignal }).catch(
      function explainRefusal(cause: unknown): never {
        throw new ServiceUnavailableError(`Amazon SQS took no messages for the queue ${url}`, {
          cause,
        });
      },
    );
    if (Failed.length > 0) {
      const codes = [...new Set(Failed.map(({ Code }) => Code))].join(", ");
      throw new ServiceUnavailableError(`SQS refused ${Failed.length} messages: ${codes}`);
    }
  }

  return {
    graceSeconds,
    get maxDelaySeconds(): number | undefined {
      const url = queueUrl ?? getOptionalEnv("JOBS_QUEUE_URL");
      return url?.endsWith(".fifo") ? undefined : MAX_DELAY_SECONDS;
    },
    async deliver(jobs): Promise<void> {
      const test = getTestServices();
      if (test !== undefined) {
        for (const { MessageBody, DelaySeconds } of toStandardEntries(jobs)) {
          test.sendToJobQueue(MessageBody!, DelaySeconds!);
        }
        return;
      }
      const url = findQueueUrl(queueUrl);
      const entries = url.endsWith(".fifo") ? toFifoEntries(jobs) : toStandardEntries(jobs);
      const requests = splitEvery(entries, MAX_ENTRIES);
      if (performance.now() < pausedUntilMs) {
        throw new ServiceUnavailableError("Amazon SQS did not answer the last request");
      }
      await limitRequest(
        { service: "Amazon SQS", limitMs: LIMIT_MS },
        async (signal) => {
          signal.addEventListener("abort", () => pausedUntilMs = performance.now() + PAUSE_MS);
          await Promise.all(requests.map((request) => send(url, request, signal)));
        },
      );
    },
  };
}

function findQueueUrl(
  queueUrl: string | undefined = getOptionalEnv("JOBS_QUEUE_URL"),
): string {
  if (queueUrl) return queueUrl;
  throw new ConfigurationError(
    "createSqsDelivery needs the URL of a queue: set queueUrl, or the variable JOBS_QUEUE_URL",
  );
}

/** One message for each job, so that any number of workers share them; of more than 1,000 jobs, several. */
function toStandardEntries(jobs: readonly CommittedJob[]): SendMessageBatchRequestEntry[] {
  const size = Math.ceil(jobs.length / MAX_MESSAGES);
  const near = jobs.filter(({ delaySeconds }) => Math.ceil(delaySeconds) <= MAX_DELAY_SECONDS);
  const byDelay = groupBy(near, ({ delaySeconds }) => Math.ceil(delaySeconds));
  return [...byDelay].flatMap(([delay, delayed]) =>
    splitEvery(delayed, size).map((part, at) => ({
      Id: `d${delay}-${at}`,
      MessageBody: JSON.stringify({ ids: part.map(({ id }) => id) }),
      DelaySeconds: delay,
    }))
  );
}

/** FIFO queues have no delay by message. Jobs without a group need not wait for each other. */
function toFifoEntries(jobs: readonly CommittedJob[]): SendMessageBatchRequestEntry[] {
  return jobs.filter(({ delaySeconds }) => delaySeconds === 0).map(({ id, group }, at) => ({
    Id: `m${at}`,
    MessageBody: JSON.stringify({ ids: [id] }),
    MessageGroupId: toGroupId(group ?? id),
    // a later attempt of the same job must not count as a duplicate
    MessageDeduplicationId: crypto.randomUUID(),
  }));
}

const MAX_GROUP_ID = 128;

/** SQS takes printable ASCII without spaces. Two groups with one id only wait for each other. */
function toGroupId(group: string): string {
  return encodeURIComponent(group).slice(0, MAX_GROUP_ID);
}

/**
 * Creates the delivery that runs jobs in this process right after COMMIT, for tests and for servers
 * of one process. The transaction's promise resolves when its jobs have run once; a job that is not
 * due yet, or that failed, is left to `worker.runDue()`.
 *
 * @param getWorker Returns the worker; called with the first jobs.
 * @returns The delivery for `configureJobs`.
 *
 * @example
 * ```ts
 * import { configureJobs, createInProcessDelivery, createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const greet = defineJob({ name: "greet", schema: z.string() })(({ payload }) => console.log(payload));
 * const worker = createJobWorker({ getDb: () => db, jobs: [greet] });
 * const restore = configureJobs({ delivery: createInProcessDelivery(() => worker) });
 *
 * await greet.enqueue(db, "hello"); // hello
 * restore();
 * await close();
 * ```
 */
export function createInProcessDelivery(getWorker: () => JobWorker): JobDelivery {
  return {
    graceSeconds: 0,
    async deliver(jobs): Promise<void> {
      await getWorker().runIds(jobs.map(({ id }) => id));
    },
  };
}
