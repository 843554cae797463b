import { assertEquals, assertThrows } from "@std/assert";
import * as z from "zod";
import { withTransaction } from "../../database/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  cancelJobs,
  configureJobs,
  createJobWorker,
  defineJob,
  PermanentJobError,
} from "../../jobs/mod.ts";
import { createFakeClock, createTestDatabase } from "../../testing/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { createJobsTable, listRows } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const { db, close } = await createTestDatabase();
await createJobsTable(db);
const clock = createFakeClock();
const restore = configureJobs({ clock });

Deno.test.afterAll(async () => {
  restore();
  await close();
});

/** Reads the state of the jobs with a name. */
async function listStates(name: string): Promise<string[]> {
  return (await listRows(db)).filter((row) => row.name === name).map(({ state }) => state);
}

Deno.test("enqueue() with replace gives a job that waits the last payload and time: it is debounced", async () => {
  const ran: unknown[] = [];
  const job = defineJob({ name: "debounced", schema: z.number(), unique: { replace: true } })(
    ({ payload }) => void ran.push(payload),
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  const options = { key: "k", delaySeconds: 10 };
  const id = await job.enqueue(db, 1, options);
  await clock.advance(9000);
  assertEquals(
    await withTransaction(db, (tx) => job.enqueue(tx, 2, options)),
    id,
  );
  await clock.advance(9000);
  assertEquals((await worker.runDue()).done, 0);
  await job.enqueueMany(db, [3, 4], { ...options, key: () => "k" });
  await clock.advance(10_000);
  assertEquals((await worker.runDue()).done, 1);
  assertEquals(ran, [4]);
  // one that is done is replaced
  await job.enqueue(db, 5, { key: "k" });
  assertEquals((await worker.runDue()).done, 1);
  assertEquals(ran, [4, 5]);
  assertEquals(await listStates("debounced"), ["done"]);
});

Deno.test("enqueue() with replace runs a dead job of the key again, and one that runs once more with the last payload", async () => {
  let fails = true;
  let during = async () => {};
  const ran: unknown[] = [];
  const job = defineJob({ name: "revived", schema: z.number(), unique: { replace: true } })(
    async ({ payload, job }) => {
      await during();
      if (fails) throw new PermanentJobError("rejected");
      ran.push([payload, job.attempt]);
    },
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  await job.enqueue(db, 1, { key: "k" });
  assertEquals((await worker.runDue()).dead, 1);
  fails = false;
  await job.enqueue(db, 2, { key: "k" });
  during = async () => {
    during = async () => {};
    await job.enqueue(db, 3, { key: "k" });
    await job.enqueue(db, 4, { key: "k" });
  };
  assertEquals(await worker.runDue(), { done: 1, retried: 0, dead: 0, lost: 0 });
  assertEquals(await worker.runDue(), { done: 1, retried: 0, dead: 0, lost: 0 });
  assertEquals(ran, [[2, 1], [4, 1]]);
  assertEquals(await listStates("revived"), ["done"]);
});

Deno.test("enqueue() with whileQueued adds a job when the earlier one runs or has ended", async () => {
  let during = async () => {};
  const ran: unknown[] = [];
  const job = defineJob({ name: "queued", schema: z.number(), unique: { whileQueued: true } })(
    async ({ payload }) => {
      ran.push(payload);
      await during();
    },
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  for (const n of [1, 2]) await job.enqueue(db, n, { key: "k" });
  during = async () => {
    during = async () => {};
    for (const n of [3, 4]) await job.enqueue(db, n, { key: "k" });
  };
  assertEquals((await worker.runDue()).done, 1);
  await job.enqueue(db, 5, { key: "k" });
  assertEquals((await worker.runDue()).done, 1);
  await job.enqueue(db, 6, { key: "k" });
  assertEquals((await worker.runDue()).done, 1);
  assertEquals(ran, [1, 3, 6]);
  assertEquals(await listStates("queued"), ["done"]);
});

Deno.test("a job that was replaced while it ran keeps its new time when its attempt fails", async () => {
  let during = async () => {};
  const ran: unknown[] = [];
  const retry = { baseDelaySeconds: 1 };
  const job = defineJob({ name: "moved", schema: z.number(), retry, unique: { replace: true } })(
    async ({ payload }) => {
      ran.push(payload);
      await during();
    },
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  await job.enqueue(db, 1, { key: "k" });
  during = async () => {
    during = async () => {};
    await job.enqueue(db, 2, { key: "k", delaySeconds: 60 });
    throw new Error("down");
  };
  assertEquals((await worker.runDue()).retried, 1);
  await clock.advance(59_000);
  assertEquals((await worker.runDue()).done, 0);
  await clock.advance(1000);
  assertEquals((await worker.runDue()).done, 1);
  assertEquals(ran, [1, 2]);
});

Deno.test("a job that is cancelled while it runs does not hold its key", async () => {
  let during = async () => {};
  const ran: unknown[] = [];
  const job = defineJob({ name: "stopped", schema: z.number(), unique: { whileQueued: true } })(
    async ({ payload }) => {
      ran.push(payload);
      await during();
    },
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  const id = await job.enqueue(db, 1, { key: "k" });
  during = async () => {
    during = async () => {};
    await job.enqueue(db, 2, { key: "k" });
    await cancelJobs(db, [id], { running: true });
  };
  assertEquals((await worker.runDue()).lost, 1);
  assertEquals(await listStates("stopped"), ["cancelled"]);
  await job.enqueue(db, 3, { key: "k" });
  assertEquals((await worker.runDue()).done, 1);
  assertEquals((await worker.runDue()).done, 0);
  assertEquals(ran, [1, 3]);
});

Deno.test("enqueue() with periodSeconds frees a key when its job has ended and the period is over", async () => {
  const ran: unknown[] = [];
  const define = (name: string, periodSeconds: number) =>
    defineJob({ name, schema: z.number(), unique: { periodSeconds } })(
      ({ payload }) => void ran.push(payload),
    );
  const hourly = define("hourly", 3600);
  const once = define("one-at-a-time", 0);
  const worker = createJobWorker({ getDb: () => db, jobs: [hourly, once], ...QUIET });
  const enqueue = async (value: number) => {
    await hourly.enqueue(db, value, { key: "k" });
    await once.enqueue(db, value, { key: "k" });
  };
  await enqueue(1);
  await enqueue(2);
  await worker.runDue();
  assertEquals(ran.splice(0), [1, 1]);
  await clock.advance(3_599_000);
  await enqueue(3);
  await worker.runDue();
  assertEquals(ran.splice(0), [3]);
  await clock.advance(1000);
  await enqueue(4);
  await worker.runDue();
  assertEquals(ran.splice(0), [4, 4]);
});

Deno.test("jobs whose key is used again are part of a batch", async () => {
  const calls: number[] = [];
  const job = defineJob({
    name: "reused",
    schema: z.number(),
    unique: { periodSeconds: 0 },
    batchSize: 10,
  })(({ jobs }) => void calls.push(jobs.length));
  const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
  for (let n = 0; n < 3; n++) {
    await job.enqueueMany(db, [1, 2, 3], { key: String });
    await worker.runDue();
  }
  assertEquals(calls, [3, 3, 3]);
});

Deno.test("the last failure of a job with a key says that the key adds no other job", async () => {
  const fail = () => {
    throw new PermanentJobError("rejected");
  };
  const keyed = defineJob({ name: "keyed", schema: z.null() })(fail);
  const replaced = defineJob({ name: "replaced", schema: z.null(), unique: { replace: true } })(
    fail,
  );
  await keyed.enqueue(db, null);
  await keyed.enqueue(db, null, { key: "k" });
  await replaced.enqueue(db, null, { key: "k" });
  const worker = createJobWorker({ getDb: () => db, jobs: [keyed, replaced], ...QUIET });
  const { lines } = await captureLogs(() => worker.runDue());
  const advised = lines.filter(({ advice }) => advice !== undefined);
  assertEquals(advised.map(({ job, level }) => [job, level]), [["keyed", "ERROR"]]);
});

Deno.test("a worker runs jobs of a higher priority first, in all parts of the table", async () => {
  const ran: string[] = [];
  const job = defineJob({ name: "ranked", schema: z.string() })(({ payload }) =>
    void ran.push(payload)
  );
  for (const priority of ["low", undefined, "high"] as const) {
    const payloads = Array.from({ length: 20 }, () => priority ?? "normal");
    await job.enqueueMany(db, payloads, { priority });
  }
  for (const first of [0, 0.5, 0.99]) {
    const worker = createJobWorker({ getDb: () => db, jobs: [job], random: () => first, ...QUIET });
    await worker.runDue();
  }
  const count = (name: string) => Array(20).fill(name);
  assertEquals(ran, [...count("high"), ...count("normal"), ...count("low")]);
});

Deno.test("a worker leaves jobs of a later version to a worker that knows it", async () => {
  const ran: string[] = [];
  const define = (version: number) =>
    defineJob({ name: "versioned", schema: z.string(), version })(({ payload }) =>
      void ran.push(`${payload} by ${version}`)
    );
  const [old, recent] = [define(1), define(2)];
  const ids = [await recent.enqueue(db, "new"), await old.enqueue(db, "old")];
  const olderWorker = createJobWorker({ getDb: () => db, jobs: [old], ...QUIET });
  await olderWorker.runIds(ids);
  await olderWorker.runDue();
  await createJobWorker({ getDb: () => db, jobs: [recent], ...QUIET }).runDue();
  assertEquals(ran, ["old by 1", "new by 2"]);
});

Deno.test("defineJob() refuses invalid options of keys and versions", () => {
  const refused = [
    { unique: { periodSeconds: -1 } },
    { unique: { replaces: true } },
    { unique: { whileQueued: true, replace: true } },
    { batchSize: 101 },
    { batchSize: 2, result: z.null() },
    { version: 0 },
  ];
  for (const options of refused) {
    assertThrows(
      () => defineJob({ name: "a", schema: z.string(), ...options as object }),
      ConfigurationError,
    );
  }
});
