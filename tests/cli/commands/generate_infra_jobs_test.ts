import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { withProject } from "../fixtures/analyse.ts";
import { infra, permissions, readInfra } from "../fixtures/infra_project.ts";

const JOBS = `import { configureJobs, createSqsDelivery, defineJob } from "@trellis/fn/jobs";
import { getDrizzleClient } from "@trellis/fn/database";
import { z } from "zod";
configureJobs({ delivery: createSqsDelivery() });
export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
export const report = defineJob({ name: "report", schema: z.null() })(async () => {});`;
const PROJECT = {
  "deno.json": `{ "name": "@acme/app" }`,
  "src/jobs.ts": JOBS,
  "src/functions/api/reports.post.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { getDb, report } from "../../jobs.ts";
export const handler = defineApiHandler()(async () => { await report.enqueue(await getDb(), null); });`,
  "src/functions/queue/run-jobs.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { getDb, report } from "../../jobs.ts";
export const handler = defineJobQueueHandler({ getDb, jobs: [report], timeout: 60 });`,
  "src/functions/schedule/jobs-relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb } from "../../jobs.ts";
export const handler = defineJobRelayHandler({ getDb });`,
  "trellis.config.ts": `export default { infra: { database: "none" } };`,
};

const run = (root: string) => infra(root, "--modules-path", join(Deno.cwd(), "modules"));

Deno.test("generate infra gives each function that delivers jobs the queue of their consumer", async () => {
  await withProject(PROJECT, async (root) => {
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    for (const name of ["fn_reports.tf", "fn_jobs_relay.tf"]) {
      const text = await readInfra(root, name);
      assertMatch(text, /JOBS_QUEUE_URL += module\.queue_run_jobs\.queue_url/, name);
      assertMatch(text, /module\.queue_run_jobs\.send_policy_json/, name);
    }
    assertMatch(
      await readInfra(root, "fn_jobs_relay.tf"),
      /schedule_expression += "rate\(1 minute\)"/,
    );
    const alarms = await readInfra(root, "jobs.tf");
    assertMatch(alarms, /metric_name +=? "OldestJobAge"[^}]*threshold +=? 900/s);
    assertMatch(alarms, /treat_missing_data +=? "breaching"/);
    assertMatch(alarms, /metric_name +=? "DeadJobs"[^}]*threshold +=? 0/s);
    assertMatch(alarms, /service += module\.fn_jobs_relay\.function_name/);
    assertMatch(
      await readInfra(root, "fn_run_jobs.tf"),
      /sqs_trigger_arn += module\.queue_run_jobs/,
    );
  });
});

Deno.test("generate infra asks for the queue of jobs when two functions consume one", async () => {
  const other = PROJECT["src/functions/queue/run-jobs.ts"];
  await withProject({ ...PROJECT, "src/functions/queue/slow-jobs.ts": other }, async (root) => {
    const { exitCode } = await run(root);
    assertEquals(exitCode, 0);
    assertMatch(
      await readInfra(root, "fn_reports.tf"),
      /JOBS_QUEUE_URL += var\.jobs_queue_url/,
    );
  });
});

Deno.test("generate infra takes the schedule of the relay and the age of the oldest job from the configuration", async () => {
  const config = `export default { infra: { database: "none", jobs: { oldestJobSeconds: 60 },
    environment: { SERVICE_NAME: "app", METRICS_NAMESPACE: "Acme" },
    functions: { JobsRelay: { schedule: "rate(5 minutes)" } } } };`;
  await withProject({ ...PROJECT, "trellis.config.ts": config }, async (root) => {
    assertEquals((await run(root)).exitCode, 0);
    assertMatch(await readInfra(root, "fn_jobs_relay.tf"), /"rate\(5 minutes\)"/);
    const alarms = await readInfra(root, "jobs.tf");
    assertMatch(alarms, /threshold += 60/);
    assertMatch(alarms, /namespace += "Acme"/);
    // stages of one account share the name of the service
    assertMatch(alarms, /service += "app"\n +functionName = module\.fn_jobs_relay\.function_name/);
    assertEquals(alarms.includes(`"breaching"`), false);
  });
});

Deno.test("generate infra warns when jobs are enqueued and no function is their relay", async () => {
  const { "src/functions/schedule/jobs-relay.ts": _, ...project } = PROJECT;
  await withProject(project, async (root) => {
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals(exitCode, 0);
    assertMatch(stdout + stderr, /no function is the relay of jobs/);
    assertEquals(await readInfra(root, "jobs.tf").catch(() => "none"), "none");
  });
});

const STREAM = {
  "deno.json": `{ "name": "@acme/app" }`,
  "src/jobs.ts": `import { configureJobs, createStreamDelivery, defineJob } from "@trellis/fn/jobs";
import { getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import { z } from "zod";
configureJobs({ delivery: createStreamDelivery() });
export const getDb = () => getDrizzleClient({ provider: "distsql", endpoint: getRequiredEnv("DATABASE_ENDPOINT"), username: getRequiredEnv("DATABASE_USERNAME") });
export const report = defineJob({ name: "report", schema: z.null() })(async () => {});`,
  "src/functions/standalone/run-jobs.ts":
    `import { defineJobStreamHandler } from "@trellis/fn/jobs";
import { getDb, report } from "../../jobs.ts";
export const handler = defineJobStreamHandler({ getDb, jobs: [report] });`,
  "src/functions/schedule/jobs-relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb, report } from "../../jobs.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [report] });`,
};

Deno.test("generate infra creates the stream of the database's changes for the function that consumes it", async () => {
  await withProject(STREAM, async (root) => {
    assertEquals((await permissions(root)).exitCode, 0);
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const stream = await readInfra(root, "change_stream.tf");
    assertMatch(stream, /max_record_size_in_kib = 10240/);
    assertMatch(stream, /aws dsql create-stream/);
    const fn = await readInfra(root, "fn_run_jobs.tf");
    assertMatch(fn, /resource "aws_lambda_event_source_mapping" "run_jobs_changes"/);
    assertMatch(fn, /"kinesis:GetRecords"/);
    assertMatch(await readInfra(root, "versions.tf"), />= 6\.66/);
    assertEquals((await readInfra(root, "fn_jobs_relay.tf")).includes("kinesis"), false);
  });
});

Deno.test("generate infra names the folder of a consumer of the change stream", async () => {
  const { "src/functions/standalone/run-jobs.ts": consumer, ...rest } = STREAM;
  const files = {
    ...rest,
    "src/functions/schedule/run-jobs.ts": consumer,
    "trellis.config.ts":
      `export default { infra: { functions: { RunJobs: { schedule: "rate(1 day)" } } } };`,
  };
  await withProject(files, async (root) => {
    assertEquals((await permissions(root)).exitCode, 0);
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals(exitCode, 1);
    assertMatch(stdout + stderr, /RunJobs is in schedule\/, but defineJobStreamHandler/);
  });
});

Deno.test("generate infra refuses a consumer of the change stream without the cluster", async () => {
  const config = `export default { infra: { database: "none" } };`;
  await withProject({ ...STREAM, "trellis.config.ts": config }, async (root) => {
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals(exitCode, 1);
    assertMatch(stdout + stderr, /RunJobs reads the change stream of Aurora DSQL/);
  });
});

const CHANGES = {
  "deno.json": `{ "name": "@acme/app" }`,
  "src/orders.ts": `import { getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import { integer, pgTable } from "drizzle-orm/pg-core";
export const orders = pgTable("orders", { id: integer("id").primaryKey() });
export const getDb = () => getDrizzleClient({ provider: "distsql", endpoint: getRequiredEnv("DATABASE_ENDPOINT"), username: getRequiredEnv("DATABASE_USERNAME") });`,
  "src/functions/stream/index-orders.ts":
    `import { defineChangeStreamHandler } from "@trellis/fn/jobs";
import { getDb, orders } from "../../orders.ts";
export const handler = defineChangeStreamHandler({ name: "index-orders", table: orders, getDb })(async () => {});`,
};

Deno.test("generate infra gives a consumer of a table's changes the generated stream with its filter and destination", async () => {
  await withProject(CHANGES, async (root) => {
    assertEquals((await permissions(root)).exitCode, 0);
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    assertMatch(await readInfra(root, "change_stream.tf"), /aws dsql create-stream/);
    const fn = await readInfra(root, "fn_index_orders.tf");
    assertMatch(fn, /arn += aws_kinesis_stream\.changes\.arn/);
    assertMatch(fn, /source = \{\s+schema = \["public"\]\s+table += \["orders"\]/);
    assertMatch(fn, /type = \["fragment"\]/);
    assertMatch(fn, /failure_destination_arn += module\.dead_letters_index_orders\.queue_arn/);
    const grants = await Array.fromAsync(Deno.readDir(join(root, "permissions")));
    const texts = await Promise.all(
      grants.map(({ name }) => Deno.readTextFile(join(root, "permissions", name))),
    );
    for (const table of ["trellis_change_positions", "trellis_change_parts"]) {
      assertMatch(texts.join("\n"), new RegExp(`SELECT, INSERT, UPDATE, DELETE ON[^;]*${table}`));
    }
  });
});

Deno.test("generate infra leaves a consumer of changes the source that is configured", async () => {
  const config = `export default { infra: { functions: { IndexOrders: {
    source: "arn:aws:kinesis:eu-central-1:123456789012:stream/mine", batchSize: 5 } } } };`;
  await withProject({ ...CHANGES, "trellis.config.ts": config }, async (root) => {
    assertEquals((await permissions(root)).exitCode, 0);
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    assertMatch(await readInfra(root, "fn_index_orders.tf"), /stream\/mine/);
    assertEquals(await readInfra(root, "change_stream.tf").catch(() => "none"), "none");
  });
});
