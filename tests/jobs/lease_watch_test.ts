import { assertEquals, assertInstanceOf } from "@std/assert";
import * as z from "zod";
import { sql } from "../../database/orm.ts";
import {
  cancelJobs,
  createJobWorker,
  defineJob,
  JobCancelledError,
  JobLeaseLostError,
} from "../../jobs/mod.ts";
import { LeaseWatch } from "../../jobs/lease_watch.ts";
import { executeRows } from "../../database/mod.ts";
import { openServerJobs } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const db = await openServerJobs("leases", 4);

/** Returns the reason with which a watched job is aborted. */
async function watch(lease: { id: string; fence: number }): Promise<unknown> {
  const watch = new LeaseWatch(() => db, 5);
  const abort = new AbortController();
  const { signal } = abort;
  const reason = await watch.run(
    lease,
    abort,
    () =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve(signal.reason), { once: true })
      ),
  );
  watch.rest();
  return reason;
}

Deno.test("a running job that is cancelled has its signal aborted, and is not tried again", async () => {
  let watched: Promise<unknown> | undefined;
  let kept: string[] | undefined;
  const job = defineJob({ name: "long", schema: z.null() })(async ({ job: { id } }) => {
    watched = watch({ id, fence: 1 });
    kept = await cancelJobs(db, [id]);
    await cancelJobs(db, [id], { running: true });
    await watched;
    throw new Error("stopped");
  });
  const id = await job.enqueue(db, null);
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  assertEquals(await worker.runDue(), { done: 0, retried: 0, dead: 0, lost: 1 });
  assertInstanceOf(await watched, JobCancelledError);
  assertEquals(kept, []);
  const [row] = await executeRows(db, sql`select state from trellis_jobs where id = ${id}`);
  assertEquals(row.state, "cancelled");
});

Deno.test("a job that another worker has leased has its signal aborted", async () => {
  const job = defineJob({ name: "taken", schema: z.null() })(async ({ job: { id } }) => {
    const watched = watch({ id, fence: 1 });
    await db.execute(sql`update trellis_jobs set fence = 2 where id = ${id}`);
    assertInstanceOf(await watched, JobLeaseLostError);
  });
  await job.enqueue(db, null);
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  assertEquals((await worker.runDue()).lost, 1);
});

Deno.test("cancelJobs() leaves a job whose transaction runs", async () => {
  let lock = () => {};
  const locked = new Promise<void>((resolve) => lock = resolve);
  let free = () => {};
  const gate = new Promise<void>((resolve) => free = resolve);
  const job = defineJob({ name: "locked", schema: z.null(), transaction: true })(
    async ({ tx }) => {
      // the row is locked once the first statement is answered
      await tx.execute(sql`select 1`);
      lock();
      await gate;
    },
  );
  const id = await job.enqueue(db, null);
  const running = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET }).runDue();
  await locked;
  assertEquals(await cancelJobs(db, [id], { running: true }), []);
  free();
  assertEquals((await running).done, 1);
});
