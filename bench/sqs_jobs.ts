/**
 * Time of 1,000 jobs over a queue that behaves like Amazon SQS, beside the ideal: jobs × duration ÷
 * concurrency. The jobs last a tenth of two seconds, so that the overhead weighs ten times as much.
 *
 *   deno run -A bench/sqs_jobs.ts [--jobs 1000] [--ms 200] [--functions 5] [--batch 10]
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { SQSClient } from "@aws-sdk/client-sqs";
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import * as z from "zod";
import { answerAwsClient, AWS_PATH } from "../cli/dev/aws/aws_sink.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import { sql } from "../database/orm.ts";
import {
  configureJobs,
  createSqsDelivery,
  defineJob,
  defineJobQueueHandler,
  JOBS_MIGRATION_SQL,
} from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { createLambdaContext, createQueueEvent } from "../testing/mod.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string" },
    ms: { type: "string" },
    functions: { type: "string" },
    batch: { type: "string" },
  },
});
const jobs = Number(values.jobs ?? 1000);
const ms = Number(values.ms ?? 200);
const functions = Number(values.functions ?? 5);
const batch = Number(values.batch ?? 10);

setLogOutput(() => {});
const postgres = await startPostgres();
const config: DatabaseConfig = {
  provider: "serverless-pg",
  connectionString: await postgres.createDatabase("sqs"),
  instrument: false,
  maxConnections: 10,
};
const db = await getDrizzleClient(config);
for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
  await db.execute(sql.raw(statement));
}

/** Bodies of the messages that wait. */
const queue: string[] = [];
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  answerAwsClient(request, response, Buffer.concat(chunks), url, ({ body }) => queue.push(body));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
const client = new SQSClient({
  endpoint: `http://127.0.0.1:${port}${AWS_PATH}`,
  region: "eu-central-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
});
const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs";
configureJobs({ delivery: createSqsDelivery({ queueUrl, client }) });

let ran = 0;
const job = defineJob({ name: "slow", schema: z.int() })(async () => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  ran++;
});
const handler = defineJobQueueHandler({
  getDb: () => db,
  jobs: [job],
  concurrency: batch,
  metrics: false,
});

/** Hands batches to one function until nothing is left; what it gives back is delivered again. */
async function pollQueue(): Promise<void> {
  while (ran < jobs) {
    const bodies = queue.splice(0, batch);
    if (bodies.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      continue;
    }
    const messages = bodies.map((body, at) => ({ body: JSON.parse(body), messageId: `m${at}` }));
    const { batchItemFailures } = await handler(createQueueEvent(messages), createLambdaContext());
    for (const { itemIdentifier } of batchItemFailures) {
      queue.push(bodies[Number(itemIdentifier.slice(1))]);
    }
  }
}

const startedAt = performance.now();
await job.enqueueMany(db, Array.from({ length: jobs }, (_, n) => n));
const enqueuedAt = performance.now();
await Promise.all(Array.from({ length: functions }, pollQueue));
const total = performance.now() - startedAt;
const ideal = jobs * ms / (functions * batch);
console.log(
  `${jobs} jobs of ${ms} ms, ${functions} functions × ${batch} messages: ` +
    `${Math.round(total)} ms (enqueueing ${
      Math.round(enqueuedAt - startedAt)
    } ms), ideal ${ideal} ms: ` +
    `${(total / ideal).toFixed(2)} ×`,
);
client.destroy();
server.close();
await closeDrizzleClient(config);
await postgres.stop();
