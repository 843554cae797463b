import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { SentMessage } from "../../cli/dev/aws/aws_sink.ts";
import { ConfigurationError, ServiceUnavailableError } from "../../errors/mod.ts";
import { type CommittedJob, configureJobs, createSqsDelivery, defineJob } from "../../jobs/mod.ts";
import { withObservability } from "../../core/mod.ts";
import { withTransaction } from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createLambdaContext } from "../../testing/mod.ts";
import * as z from "zod";
import { listRows, withJobs } from "./jobs_database.ts";
import { startStallingServer } from "../support/stalling_server.ts";
import { withEnv } from "../support/with_env.ts";
import { withQueue } from "./sqs_queue.ts";

function createCommitted(n: number, extra: Partial<CommittedJob> = {}): CommittedJob {
  const id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  return { id, name: "index", group: null, delaySeconds: 0, correlationId: null, ...extra };
}

const listIds = (sent: readonly SentMessage[]) =>
  sent.flatMap(({ body }) => JSON.parse(body).ids as string[]).toSorted();

Deno.test("createSqsDelivery() sends a message for each job, and fewer messages for many", async () => {
  await withQueue(async (client, sent) => {
    const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs";
    const delivery = createSqsDelivery({ queueUrl, client });
    const few = [1, 2, 3].map((n) => createCommitted(n, { delaySeconds: n === 3 ? 901 : 0 }));
    await delivery.deliver(few);
    assertEquals(sent.map(({ target }) => target), ["jobs", "jobs"]);
    assertEquals(listIds(sent), few.slice(0, 2).map(({ id }) => id));
    sent.length = 0;
    const many = Array.from({ length: 1203 }, (_, n) => createCommitted(n));
    await delivery.deliver(many);
    assertEquals(listIds(sent), many.map(({ id }) => id));
    // two in a message, because a delivery has at most 1,000 messages
    assertEquals(sent.length, 602);
    sent.length = 0;
    await delivery.deliver(many.slice(0, 100));
    assertEquals(sent.length, 100);
  });
});

Deno.test("createSqsDelivery() sends to a FIFO queue by group", async () => {
  await withQueue(async (client, sent) => {
    const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs.fifo";
    const delivery = createSqsDelivery({ queueUrl, client });
    await delivery.deliver([
      createCommitted(1, { group: "user ü" }),
      createCommitted(2, { group: "user ü" }),
      createCommitted(3),
      createCommitted(4, { delaySeconds: 5 }),
    ]);
    assertEquals(sent.map(({ groupId }) => groupId), [
      "user%20%C3%BC",
      "user%20%C3%BC",
      createCommitted(3).id,
    ]);
  });
});

Deno.test("createSqsDelivery() rejects when the queue cannot be reached, and refuses invalid options", async () => {
  const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs";
  const client = { send: () => Promise.resolve({ Failed: [{ Code: "InternalError" }] }) };
  const delivery = createSqsDelivery({ queueUrl, client: client as never });
  await assertRejects(() => delivery.deliver([createCommitted(1)]), Error, "InternalError");
  // the message of a client names neither the service nor the queue
  const cause = new Error("connect ECONNREFUSED 127.0.0.1:9");
  const unreachable = { send: () => Promise.reject(cause) };
  const error = await assertRejects(
    () =>
      createSqsDelivery({ queueUrl, client: unreachable as never }).deliver([createCommitted(1)]),
    ServiceUnavailableError,
    `Amazon SQS took no messages for the queue ${queueUrl}`,
  );
  assertEquals(error.cause, cause);
  // tests and the CLI load modules without the variables of the function
  const missing = createSqsDelivery({});
  await assertRejects(
    () => missing.deliver([createCommitted(1)]),
    ConfigurationError,
    "JOBS_QUEUE_URL",
  );
  await withEnv({ AWS_LAMBDA_FUNCTION_NAME: "deployed" }, () => {
    assertThrows(() => createSqsDelivery({}), ConfigurationError, "JOBS_QUEUE_URL");
  });
  assertThrows(() => createSqsDelivery({ queueUrl, graceSeconds: 1 }), ConfigurationError);
});

Deno.test({
  name:
    "a request succeeds when SQS does not answer after its COMMIT, also shortly before its deadline",
  // the client of AWS keeps timers
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const server = await startStallingServer();
    const client = new SQSClient({
      endpoint: server.url,
      region: "eu-central-1",
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    });
    const logs: string[] = [];
    const restoreOutput = setLogOutput((line) => void logs.push(line));
    await withJobs(async (db) => {
      const greet = defineJob({ name: "greet", schema: z.string() })(() => {});
      const handler = withObservability(
        async () => {
          await withTransaction(db, (tx) => greet.enqueue(tx, "hello"));
          return { statusCode: 201 };
        },
        { operationName: "Greet", respondToError: () => ({ statusCode: 504 }), metrics: false },
      );
      for (
        const [left, reason] of [[30_000, "Amazon SQS"], [800, "The delivery of jobs"]] as const
      ) {
        logs.length = 0;
        const delivery = createSqsDelivery({ queueUrl: `${server.url}/jobs`, client });
        const restore = configureJobs({ delivery });
        const context = { ...createLambdaContext(), getRemainingTimeInMillis: () => left };
        assertEquals(await handler({}, context), { statusCode: 201 });
        assertStringIncludes(logs.join(""), "jobs were not delivered, the relay will do it");
        assertStringIncludes(logs.join(""), reason);
        restore();
      }
      assertEquals((await listRows(db)).length, 2);
    });
    restoreOutput();
    client.destroy();
    await server.stop();
  },
});

Deno.test("createSqsDelivery() does not wait for SQS again after a request without an answer", async () => {
  let requests = 0;
  const client = {
    send: () => {
      requests++;
      return new Promise(() => {});
    },
  };
  const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs";
  const delivery = createSqsDelivery({ queueUrl, client: client as never });
  for (let n = 0; n < 3; n++) {
    await assertRejects(() => delivery.deliver([createCommitted(n)]), Error, "did not answer");
  }
  assertEquals(requests, 1);
});
