import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { withProject } from "../fixtures/analyse.ts";
import { infra, readInfra } from "../fixtures/infra_project.ts";

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
  "trellis.config.ts":
    `export default { infra: { database: "none", functions: { JobsRelay: { schedule: "rate(1 minute)" } } } };`,
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
