import { assertEquals, assertRejects } from "@std/assert";
import * as z from "zod";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  createJobWorker,
  defineJob,
  getJob,
  JobNotDoneError,
  PermanentJobError,
} from "../../jobs/mod.ts";
import { createFakeClock, createTestDatabase } from "../../testing/mod.ts";
import { createJobsTable } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const { db, close } = await createTestDatabase();
await createJobsTable(db);
Deno.test.afterAll(close);

const Sum = z.object({ sum: z.int() });

Deno.test("waitFor() returns the typed result of a job, also of one with a transaction", async () => {
  const pair = z.tuple([z.int(), z.int()]);
  const add = defineJob({ name: "add", schema: pair, result: Sum })(({ payload: [a, b] }) => ({
    sum: a + b,
  }));
  const inTransaction = defineJob({
    name: "add-in-transaction",
    schema: pair,
    result: Sum,
    transaction: true,
  })(({ payload: [a, b] }) => ({ sum: a + b }));
  const nothing = defineJob({ name: "nothing", schema: z.null() })(() => "not kept");
  const worker = createJobWorker({
    getDb: () => db,
    jobs: [add, inTransaction, nothing],
    ...QUIET,
  });
  const ids = await add.enqueueMany(db, [[1, 2], [3, 4]]);
  const third = await inTransaction.enqueue(db, [5, 6]);
  const fourth = await nothing.enqueue(db, null);
  const waiting = add.waitFor(db, ids[0]);
  await worker.runDue();
  const first: { sum: number } = await waiting;
  assertEquals(first, { sum: 3 });
  assertEquals(await add.waitFor(db, ids[1]), { sum: 7 });
  assertEquals(await inTransaction.waitFor(db, third), { sum: 11 });
  assertEquals(await nothing.waitFor(db, fourth), undefined);
  assertEquals((await getJob(db, third))?.result, '{"sum":11}');
});

Deno.test("a result that does not fit ends the job, and what its transaction wrote", async () => {
  const job = defineJob({ name: "misfit", schema: z.null(), result: Sum, transaction: true })(
    () => ({ sum: "3" }) as never,
  );
  const id = await job.enqueue(db, null);
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  assertEquals((await worker.runDue()).dead, 1);
  const error = await assertRejects(() => job.waitFor(db, id), JobNotDoneError, "does not fit");
  assertEquals(error.state, "dead");
});

Deno.test("waitFor() rejects when a job fails, is not in the table, or does not end in time", async () => {
  const job = defineJob({ name: "fails", schema: z.null() })(() => {
    throw new PermanentJobError("rejected");
  });
  const id = await job.enqueue(db, null);
  const clock = createFakeClock();
  const late = assertRejects(
    () => job.waitFor(db, id, { timeoutSeconds: 2, clock }),
    JobNotDoneError,
    `The job ${id} is queued`,
  );
  while (clock.now() < 0 || await isPending(late)) await clock.advance(500);
  await createJobWorker({ getDb: () => db, jobs: [job], ...QUIET }).runDue();
  await assertRejects(() => job.waitFor(db, id), JobNotDoneError, "rejected");
  await assertRejects(() => job.waitFor(db, crypto.randomUUID()), JobNotDoneError, "not in the");
  await assertRejects(() => job.waitFor(db, id, { timeoutSeconds: 901 }), ConfigurationError);
});

/** Checks whether a promise is not settled, a moment later. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol();
  const pause = new Promise((resolve) => setTimeout(() => resolve(pending), 5));
  return await Promise.race([promise, pause]) === pending;
}

Deno.test("job.report() writes the progress, at most once a second, and refuses what it cannot", async () => {
  const seen: unknown[] = [];
  const job = defineJob({ name: "long", schema: z.null() })(async ({ job }) => {
    await job.report(0.4);
    await job.report(0.5);
    seen.push((await getJob(db, job.id))?.progress);
    await assertRejects(() => job.report(40), ConfigurationError, "0 to 1");
  });
  const locked = defineJob({ name: "locked", schema: z.null(), transaction: true })(
    async ({ job }) => {
      await assertRejects(() => job.report(0.4), ConfigurationError, "transaction");
    },
  );
  await job.enqueue(db, null);
  await locked.enqueue(db, null);
  const worker = createJobWorker({ getDb: () => db, jobs: [job, locked], ...QUIET });
  assertEquals((await worker.runDue()).done, 2);
  assertEquals(seen, [0.4]);
});
