import { assertEquals } from "@std/assert";
import { analyse, handler, testGrants } from "../fixtures/analyse.ts";

const JOBS = {
  "jobs.ts": `import { defineJob, defineSchedule } from "@trellis/fn/jobs";
    import { z } from "zod";
    import { readA, addB } from "./queries.ts";
    export const indexNote = defineJob({ name: "index-note", schema: z.object({ id: z.string() }), transaction: true })(
      async function indexNote({ payload, tx }) { await addB.on(tx, payload.id); });
    export const report = defineJob({ name: "report", schema: z.null() })(async () => { await readA(); });
    export const daily = defineSchedule(report, { name: "daily", everySeconds: 86400, payload: null });`,
};
const WORK = `import { defineJobQueueHandler, defineJobRelayHandler } from "@trellis/fn/jobs";
  import { getDrizzleClient } from "@trellis/fn/database";
  import { daily, indexNote, report } from "./jobs.ts";
  const getDb = () => getDrizzleClient({ provider: "embedded-pg" });`;

testGrants([
  [
    "grants INSERT to a query that enqueues a job, and nothing of the job's handler",
    "c UPDATE, trellis_jobs INSERT",
    {
      ...JOBS,
      "save.ts":
        `import { defineQuery } from "./db.ts"; import { indexNote } from "./jobs.ts"; import { c } from "./schema.ts";
        export const save = defineQuery({ transaction: true, tables: [{ table: c, operations: ["UPDATE"] }] },
          async function save(tx, id) { await tx.update(c).set({ id }); await indexNote.enqueue(tx, { id }); });`,
      "fn.ts": handler(`import { save } from "./save.ts";`, "return save('n1');"),
    },
  ],
  [
    "grants INSERT to a handler that enqueues several jobs",
    "trellis_jobs INSERT",
    {
      ...JOBS,
      "fn.ts": handler(
        `import { report } from "./jobs.ts"; import { getDrizzleClient } from "@trellis/fn/database";`,
        `return report.enqueueMany(await getDrizzleClient({ provider: "embedded-pg" }), [null]);`,
      ),
    },
  ],
  [
    "grants what replaces the earlier job of a key",
    "trellis_jobs SELECT+INSERT+UPDATE",
    {
      "fn.ts": handler(
        `import { defineJob } from "@trellis/fn/jobs"; import { z } from "zod";
        import { getDrizzleClient } from "@trellis/fn/database";
        const latest = defineJob({ name: "latest", schema: z.null(), unique: { replace: true } })(() => {});`,
        `return latest.enqueue(await getDrizzleClient({ provider: "embedded-pg" }), null, { key: "k" });`,
      ),
    },
  ],
  [
    "grants nothing to a function that reads a job's name",
    "",
    { ...JOBS, "fn.ts": handler(`import { report } from "./jobs.ts";`, "return report.jobName;") },
  ],
  [
    "grants a worker the table of jobs and the tables of its jobs",
    "b INSERT, trellis_jobs SELECT+UPDATE",
    {
      ...JOBS,
      "fn.ts":
        `${WORK} export const handler = defineJobQueueHandler({ getDb, jobs: [indexNote] });`,
    },
  ],
  [
    "grants a worker of jobs with a limit the row of the limit",
    "trellis_jobs SELECT+INSERT+UPDATE",
    {
      "fn.ts": `import { defineJob, defineJobQueueHandler } from "@trellis/fn/jobs";
        import { getDrizzleClient } from "@trellis/fn/database"; import * as z from "zod";
        const call = defineJob({ name: "call", schema: z.number(), limit: { concurrency: 1 } })(() => {});
        const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
        export const handler = defineJobQueueHandler({ getDb, jobs: [call] });`,
    },
  ],
  [
    "grants a worker that is started everything on the table of jobs",
    "b INSERT, trellis_jobs SELECT+INSERT+UPDATE+DELETE",
    {
      ...JOBS,
      "fn.ts": handler(
        `import { createJobWorker } from "@trellis/fn/jobs"; import { indexNote } from "./jobs.ts";
        import { getDrizzleClient } from "@trellis/fn/database";
        const getDb = () => getDrizzleClient({ provider: "embedded-pg" });`,
        "createJobWorker({ getDb, jobs: [indexNote] }).start();",
      ),
    },
  ],
  [
    "grants a relay everything on the table of jobs, and the tables of jobs that it runs",
    "a SELECT, trellis_jobs SELECT+INSERT+UPDATE+DELETE",
    {
      ...JOBS,
      "fn.ts": `${WORK} export const handler = defineJobRelayHandler({ getDb, jobs: [report] });`,
    },
  ],
]);

Deno.test("analysePermissions() counts a function that only enqueues as one that uses the database", async () => {
  const analysis = await analyse({
    ...JOBS,
    "fn.ts": handler(
      `import { report } from "./jobs.ts"; import { getDrizzleClient } from "@trellis/fn/database";`,
      `return report.enqueue(await getDrizzleClient({ provider: "embedded-pg" }), null);`,
    ),
  });
  assertEquals(analysis.functions[0].usesDatabase, true);
  assertEquals(analysis.missed, []);
});
