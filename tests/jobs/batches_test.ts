import { assertEquals } from "@std/assert";
import * as z from "zod";
import { executeRows } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { JobClaimer } from "../../jobs/job_claimer.ts";
import {
  configureJobs,
  createJobWorker,
  defineJob,
  type JobCounts,
  PermanentJobError,
} from "../../jobs/mod.ts";
import { createFakeClock } from "../../testing/mod.ts";
import { withJobs } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

Deno.test("a handler of batches gets jobs together, and each alone after a failure", async () => {
  await withJobs(async (db) => {
    await db.execute(sql`create table applied (n int)`);
    const calls: (readonly number[])[] = [];
    const clock = createFakeClock();
    const restore = configureJobs({ clock });
    const options = { schema: z.number(), retry: { maxAttempts: 2, baseDelaySeconds: 0 } };
    const plain = defineJob({ ...options, name: "plain", batchSize: 3 })(({ jobs }) => {
      calls.push(jobs.map(({ attempt }) => attempt));
      if (jobs.some(({ payload }) => payload === 1)) throw new Error("one of them fails");
    });
    const exact = defineJob({ ...options, name: "exact", batchSize: 100, transaction: true })(
      async ({ jobs, tx }) => {
        for (const { payload } of jobs) {
          await tx.execute(sql`insert into applied values (${payload})`);
        }
        if (jobs.length > 1) throw new Error("rolled back");
      },
    );
    const worker = createJobWorker({ getDb: () => db, jobs: [plain, exact], clock, ...QUIET });
    await plain.enqueueMany(db, [0, 0, 0, 0, 0, 0, 0]);
    assertEquals((await worker.runDue()).done, 7);
    assertEquals(calls.map((call) => call.length), [3, 3, 1]);
    calls.length = 0;
    await plain.enqueueMany(db, [0, 1, 0]);
    assertEquals(await worker.runDue(), { done: 2, retried: 3, dead: 1, lost: 0 });
    assertEquals(calls, [[1, 1, 1], [2], [2], [2]]);
    await exact.enqueueMany(db, [1, 2, 3]);
    assertEquals(await worker.runDue(), { done: 3, retried: 3, dead: 0, lost: 0 });
    const applied = await executeRows<{ n: number }>(db, sql`select n from applied order by n`);
    assertEquals(applied.map(({ n }) => n), [1, 2, 3]);
    restore();
  });
});

Deno.test("a job of a batch that cannot run ends alone", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const restore = configureJobs({ clock });
    const old = defineJob({ name: "index", schema: z.any() })(() => {});
    const job = defineJob({ name: "index", schema: z.number(), batchSize: 3 })(({ jobs }) => {
      if (jobs.some(({ payload }) => payload === 2)) throw new PermanentJobError("rejected");
    });
    const worker = createJobWorker({ getDb: () => db, jobs: [job], clock, ...QUIET });
    const counts: JobCounts[] = [];
    for (const wrong of ["text", 2]) {
      await old.enqueueMany(db, [1, wrong, 3]);
      // a payload that does not fit counts after this time
      await clock.advance(16 * 60_000);
      counts.push(await worker.runDue());
      await clock.advance(60_000);
      counts.push(await worker.runDue());
    }
    restore();
    const together = { done: 0, retried: 3, dead: 0, lost: 0 };
    const alone = { done: 2, retried: 0, dead: 1, lost: 0 };
    assertEquals(counts, [together, alone, together, alone]);
  });
});

Deno.test("one statement leases whole batches, and no more calls than asked for", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: z.number(), batchSize: 10 })(() => {});
    let statements = 0;
    const claimer = new JobClaimer({
      getDb() {
        statements++;
        return db;
      },
      jobs: [job],
      clock: undefined,
      random: () => 0,
    });
    async function look(calls: number): Promise<number[]> {
      statements = 0;
      const found = await claimer.claimDue(() => calls);
      assertEquals([statements, found.every(({ isWhole }) => isWhole)], [1, true]);
      return found.map(({ jobs }) => jobs.length).toSorted((a, b) => a - b);
    }
    await job.enqueueMany(db, Array(38).fill(1));
    await job.enqueueMany(db, [2, 2], { group: "g" });
    // two that have begun before and one of a group are the first that are due
    await db.execute(sql`update trellis_jobs set shard = 0, due_at = due_at - interval '1 minute',
      attempts = case when group_key is null then 1 else 0 end where group_key is not null or id in (
        select id from trellis_jobs where group_key is null order by position limit 2)`);
    assertEquals(await look(2), [1, 1]);
    assertEquals(await look(2), [1, 10]);
    assertEquals(await look(4), [6, 10, 10]);
    assertEquals(await look(4), []);
  });
});

Deno.test("a statement leases at most 1,000 jobs of batches", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: z.number(), batchSize: 100 })(() => {});
    const options = { getDb: () => db, jobs: [job], clock: undefined, random: () => 0 };
    await job.enqueueMany(db, Array(1200).fill(1));
    const calls = await new JobClaimer(options).claimDue(() => 50);
    assertEquals(calls.map(({ jobs }) => jobs.length), Array(10).fill(100));
  });
});

Deno.test("a worker gives back a batch that was leased ahead and did not begin", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: z.number(), batchSize: 5 })(() => {
      // the third batch was leased ahead
      if (++calls === 2) void worker.stop();
    });
    let calls = 0;
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    await job.enqueueMany(db, Array(40).fill(1));
    assertEquals((await worker.runDue()).done, 10);
    const rows = await executeRows<{ state: string; attempts: number; jobs: number }>(
      db,
      sql`select state, attempts, count(*)::int as jobs from trellis_jobs group by 1, 2 order by 1`,
    );
    assertEquals(rows, [
      { state: "done", attempts: 1, jobs: 10 },
      { state: "queued", attempts: 0, jobs: 30 },
    ]);
  });
});

Deno.test("enqueueMany() inserts each job once, whatever the number of its statements", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "many", schema: z.number() })(() => {});
    // more than are sent side by side
    const payloads = Array.from({ length: 4500 }, (_, n) => n);
    const ids = await job.enqueueMany(db, payloads);
    const rows = await executeRows<{ id: string; payload: string }>(
      db,
      sql`select id, payload from trellis_jobs order by payload::int`,
    );
    assertEquals(rows.map(({ payload }) => Number(payload)), payloads);
    assertEquals(rows.map(({ id }) => id), ids);
  });
});
