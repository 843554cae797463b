import { assert, assertEquals, assertThrows } from "@std/assert";
import * as z from "zod";
import { executeRows, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  type CommittedJob,
  configureJobs,
  countJobs,
  createJobWorker,
  defineJob,
  defineJobQueueHandler,
  type JobLimitOptions,
  listJobs,
} from "../../jobs/mod.ts";
import { buildLimitRow } from "../../jobs/limit_record.ts";
import { claimLimited, seekLimited } from "../../jobs/limits.ts";
import { runRelay } from "../../jobs/relay.ts";
import { runSql } from "../../database/session/run_sql.ts";
import {
  createFakeClock,
  createJobRunner,
  createLambdaContext,
  createQueueEvent,
} from "../../testing/mod.ts";
import { listRows, openServerJobs, withJobs } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const db = await openServerJobs("limits", 12);

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Counts the jobs that run at the same time, by key. */
class Gauge {
  readonly #running = new Map<string, number>();
  readonly most = new Map<string, number>();
  total = 0;
  mostTotal = 0;

  async run(key: string, ms = 2): Promise<void> {
    const count = (this.#running.get(key) ?? 0) + 1;
    this.#running.set(key, count);
    this.most.set(key, Math.max(count, this.most.get(key) ?? 0));
    this.mostTotal = Math.max(this.mostTotal, ++this.total);
    await wait(ms);
    this.total--;
    this.#running.set(key, this.#running.get(key)! - 1);
  }
}

Deno.test("limit.concurrency holds over all workers, which run all jobs", async () => {
  const gauge = new Gauge();
  const call = defineJob({ name: "call", schema: z.number(), limit: { concurrency: 2 } })(
    () => gauge.run("all"),
  );
  await call.enqueueMany(db, Array.from({ length: 40 }, (_, n) => n));
  const workers = [1, 2, 3].map(() =>
    createJobWorker({ getDb: () => db, jobs: [call], concurrency: 3, ...QUIET })
  );
  // all of them look for jobs each time that one has ended
  for (const worker of workers) worker.start({ pollMs: 10 });
  const countOpen = () =>
    executeRows(db, sql`select id from trellis_jobs where state in ('queued', 'running')`);
  while ((await countOpen()).length > 0) await wait(10);
  await Promise.all(workers.map((worker) => worker.stop()));
  assertEquals(gauge.mostTotal, 2);
});

Deno.test("limit.perKey holds, and a key with few jobs does not wait for one with many", async () => {
  const gauge = new Gauge();
  const order: string[] = [];
  const sync = defineJob({
    name: "sync",
    schema: z.object({ tenant: z.string(), n: z.number() }),
    limit: { concurrency: 3, perKey: { key: ({ tenant }) => tenant, concurrency: 1 } },
  })(async ({ payload: { tenant } }) => {
    order.push(tenant);
    await gauge.run(tenant);
  });
  const many = Array.from({ length: 60 }, (_, n) => ({ tenant: "many", n }));
  await sync.enqueueMany(db, many);
  await sync.enqueueMany(db, ["a", "b", "c"].map((tenant) => ({ tenant, n: 0 })));
  const workers = [1, 2].map(() =>
    createJobWorker({ getDb: () => db, jobs: [sync], concurrency: 4, ...QUIET })
  );
  await Promise.all(workers.map((worker) => worker.runDue()));
  assertEquals(order.length, 63);
  assertEquals(new Set(gauge.most.values()), new Set([1]));
  assert(gauge.mostTotal <= 3);
  for (const tenant of ["a", "b", "c"]) assert(order.indexOf(tenant) < 20, order.join());
});

Deno.test("a job that waits for its limit holds back no other job, and shows why it waits", async () => {
  let free = () => {};
  const gate = new Promise<void>((resolve) => free = resolve);
  let started = () => {};
  const isStarted = new Promise<void>((resolve) => started = resolve);
  const slow = defineJob({ name: "slow", schema: z.number(), limit: { concurrency: 1 } })(
    async () => {
      started();
      await gate;
    },
  );
  const other = defineJob({ name: "other", schema: z.number() })(() => {});
  await slow.enqueueMany(db, [1, 2, 3]);
  await other.enqueueMany(db, Array.from({ length: 20 }, (_, n) => n));
  const worker = createJobWorker({
    getDb: () => db,
    jobs: [slow, other],
    concurrency: 3,
    ...QUIET,
  });
  const running = worker.runDue();
  await isStarted;
  const isDone = () =>
    executeRows(db, sql`select id from trellis_jobs where name = 'other' and state <> 'done'`)
      .then((rows) => rows.length === 0);
  while (!await isDone()) await wait(5);
  const [stats] = (await countJobs(db)).filter(({ name, state }) =>
    name === "slow" && state === "queued"
  );
  assertEquals([stats.jobs, stats.due, stats.waitForLimit], [2, 2, 2]);
  const listed = await listJobs(db, { name: "slow" });
  assertEquals(listed.map(({ waitsForLimit }) => waitsForLimit).sort(), [false, true, true]);
  free();
  // the places that become free are used until no job is left
  assertEquals((await running).done, 23);
  assertEquals((await countJobs(db)).every(({ waitForLimit }) => waitForLimit === 0), true);
});

Deno.test("the place of a dead worker's job is free when its lease ends, and the job runs again", async () => {
  const ran: number[] = [];
  const once = defineJob({ name: "once", schema: z.number(), limit: { concurrency: 1 } })(
    ({ payload }) => void ran.push(payload),
  );
  const [first] = await once.enqueueMany(db, [1, 2]);
  await db.execute(
    sql`update trellis_jobs set state = 'running', fence = 1, attempts = 1, shard = 21,
    due_at = now() + interval '1 hour' where id = ${first}::uuid`,
  );
  const worker = createJobWorker({ getDb: () => db, jobs: [once], ...QUIET });
  assertEquals((await worker.runDue()).done, 0);
  await db.execute(sql`update trellis_jobs set due_at = now() where id = ${first}::uuid`);
  assertEquals((await worker.runDue()).done, 2);
  assertEquals(ran.sort(), [1, 2]);
});

Deno.test("limit.rate holds in any period, and counts each attempt", async () => {
  await withJobs(async (db) => {
    const starts: number[] = [];
    const job = defineJob({
      name: "rated",
      schema: z.number(),
      limit: { rate: { count: 3, periodSeconds: 60 } },
      retry: { maxAttempts: 2, baseDelaySeconds: 0 },
    })(({ payload, job }) => {
      starts.push(runner.now());
      if (payload === 0 && job.attempt === 1) throw new Error("once");
    });
    await using runner = await createJobRunner({ db, jobs: [job] });
    const startMs = runner.now();
    await job.enqueueMany(db, [0, 1, 2, 3, 4, 5, 6]);
    await runner.run();
    assertEquals(starts.length, 3);
    await runner.advance(59);
    assertEquals(starts.length, 3);
    await runner.advance(200);
    // seven jobs, one with two attempts
    assertEquals(starts.length, 8);
    for (const at of starts) {
      assert(starts.filter((other) => other >= at && other < at + 60_000).length <= 3);
    }
    // no place is left unused
    assertEquals(starts.map((at) => Math.round((at - startMs) / 60_000)), [0, 0, 0, 1, 1, 1, 2, 2]);
    assertEquals((await listRows(db)).filter(({ state }) => state === "done").length, 7);
  });
});

Deno.test("a period of limit.rate begins with the lease, also if a worker came to that late", async () => {
  await withJobs(async (db) => {
    const rate = { count: 1, periodSeconds: 60 };
    const limit = { rate, perKey: { key: () => "k", rate } };
    const job = defineJob({ name: "rated", schema: z.null(), limit })(() => {});
    const sought = await seekLimited(job);
    await job.enqueueMany(db, [null, null]);
    const startMs = Date.now() + 1000;
    let looks = 0;
    // the process was stopped between the statement that locks the limits and the one that leases
    const clock = { ...createFakeClock(), now: () => startMs + (looks++ === 0 ? 0 : 5000) };
    await runSql(db, buildLimitRow(sought, undefined));
    const claim = { limit: 1, clock, withGroups: true, from: crypto.randomUUID() };
    const leased = await withTransaction(db, (tx) => claimLimited(tx, sought, claim, 0));
    assertEquals(leased?.length, 1);
    const records = await executeRows<{ payload: string }>(
      db,
      sql`select payload from trellis_jobs where state = 'limit'`,
    );
    const starts = records.map(({ payload }) => JSON.parse(payload).starts);
    assertEquals(starts, Array(2).fill([[startMs + 5000, 1]]));
  });
});

Deno.test("limit.perKey.rate holds for each key in any period, and its counts are removed", async () => {
  await withJobs(async (db) => {
    const starts: [key: string, atMs: number][] = [];
    const options = { name: "keyed", schema: z.string() };
    const job = defineJob({
      ...options,
      limit: { perKey: { key: String, rate: { count: 2, periodSeconds: 60 } } },
      retry: { maxAttempts: 2, baseDelaySeconds: 0 },
    })(({ payload, job }) => {
      starts.push([payload, runner.now()]);
      if (payload === "b" && job.attempt === 1) throw new Error("once");
    });
    await using runner = await createJobRunner({ db, jobs: [job] });
    const startMs = runner.now();
    const minutes = (key: string) =>
      starts.filter(([of]) => of === key).map(([, ms]) => Math.floor((ms - startMs) / 60_000));
    // a job with the key "a" has the id that the limit gives to the key
    await job.enqueue(db, "a", { key: "a" });
    await job.enqueueMany(db, ["a", "a", "a", "a", "b", "b", "c"]);
    await runner.run();
    assertEquals([minutes("a"), minutes("b"), minutes("c")], [[0, 0], [0, 0], [0]]);
    const queued = await listJobs(db, { state: "queued" });
    assertEquals(queued.map(({ waitsForLimit }) => waitsForLimit), queued.map(() => true));
    const counted = (await countJobs(db)).find(({ state }) => state === "queued");
    assertEquals(counted?.waitForLimit, queued.length);

    await runner.advance(59);
    assertEquals(starts.length, 5);
    await runner.advance(200);
    // no place is left unused, and each attempt counts
    assertEquals(minutes("a"), [0, 0, 1, 1, 2]);
    assertEquals(minutes("b"), [0, 0, 1, 1]);
    for (const [key, at] of starts) {
      assert(
        starts.filter(([of, ms]) => of === key && ms >= at && ms < at + 60_000).length <= 2,
      );
    }
    assertEquals((await listRows(db)).filter(({ state }) => state === "done").length, 8);

    const countRows = async () =>
      (await executeRows(db, sql`select id from trellis_jobs where state = 'limit'`)).length;
    // the name, and its three keys
    assertEquals(await countRows(), 4);
    await runRelay({
      getDb: () => db,
      runDue: undefined,
      delivery: undefined,
      schedules: [],
      clock: createFakeClock({ nowMs: runner.now() }),
      random: () => 0,
      hasMetrics: false,
    });
    assertEquals(await countRows(), 1);
  });
});

Deno.test("limit.perKey.rate holds over all workers, which begin the next job as soon as it may", async () => {
  const starts: [key: string, atMs: number][] = [];
  const rate = { count: 3, periodSeconds: 2 };
  const job = defineJob({
    name: "keyed",
    schema: z.string(),
    limit: { perKey: { key: String, rate } },
  })(({ payload }) => void starts.push([payload, performance.now()]));
  await job.enqueueMany(db, ["a", "b", "c"].flatMap((key) => Array(6).fill(key)));
  const workers = [1, 2, 3].map(() =>
    createJobWorker({ getDb: () => db, jobs: [job], concurrency: 3, ...QUIET })
  );
  const startMs = performance.now();
  for (const worker of workers) worker.start({ pollMs: 60_000 });
  while (starts.length < 18 && performance.now() - startMs < 30_000) await wait(10);
  await Promise.all(workers.map((worker) => worker.stop()));
  assertEquals(starts.length, 18);
  for (const key of ["a", "b", "c"]) {
    const times = starts.filter(([of]) => of === key).map(([, ms]) => ms);
    // an attempt begins a moment after it was counted
    for (const [at, ms] of times.entries()) {
      const next = times[at + rate.count] ?? Infinity;
      assert(next - ms > 1000, `${rate.count + 1} attempts in ${Math.round(next - ms)} ms`);
    }
  }
});

Deno.test("jobs of a queue that wait for their limit are delivered later, once", async () => {
  await withJobs(async (db) => {
    const delivered: CommittedJob[] = [];
    const restore = configureJobs({
      delivery: {
        graceSeconds: 60,
        maxDelaySeconds: 900,
        deliver: (jobs) => Promise.resolve(void delivered.push(...jobs)),
      },
    });
    let inside: (() => Promise<unknown>) | undefined;
    const job = defineJob({ name: "queued", schema: z.number(), limit: { concurrency: 1 } })(
      async () => {
        await inside?.();
        inside = undefined;
      },
    );
    const ids = await job.enqueueMany(db, [1, 2, 3]);
    const work = () => createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    delivered.length = 0;
    inside = async () => {
      const others = await work().runIds(ids.slice(1));
      assertEquals(others.done, 0);
      assertEquals(delivered.map(({ id }) => id).sort(), ids.slice(1).sort());
      for (const { delaySeconds } of delivered) assert(delaySeconds >= 30 && delaySeconds <= 60);
      // a message that comes twice is not sent again
      await work().runIds(ids.slice(1));
      assertEquals(delivered.length, 2);
    };
    // a job that has ended gives its place to the next one
    assertEquals((await work().runIds([ids[0]])).done, 3);
    // messages of jobs that are done have no effect
    assertEquals((await work().runIds(ids)).done, 0);
    restore();
  });
});

Deno.test("limits hold for functions that a queue starts, and each job runs without a relay", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const gauge = new Gauge();
    const starts: [key: string, atMs: number][] = [];
    const rate = { count: 3, periodSeconds: 60 };
    const job = defineJob({
      name: "queued",
      schema: z.string(),
      limit: { concurrency: 2, perKey: { key: String, concurrency: 1, rate } },
    })(async ({ payload }) => {
      starts.push([payload, clock.now()]);
      await gauge.run(payload);
    });
    let messages = 0;
    const waiting: { id: string; atMs: number }[] = [];
    const restore = configureJobs({
      clock,
      delivery: {
        graceSeconds: 60,
        maxDelaySeconds: 900,
        deliver(jobs): Promise<void> {
          messages += jobs.length;
          // a queue has delays of whole seconds
          for (const { id, delaySeconds } of jobs) {
            waiting.push({ id, atMs: clock.now() + Math.ceil(delaySeconds) * 1000 });
          }
          return Promise.resolve();
        },
      },
    });
    const options = { getDb: () => db, jobs: [job], clock, concurrency: 3, ...QUIET };
    const functions = [1, 2, 3].map(() => defineJobQueueHandler(options));
    await job.enqueueMany(db, [..."aaaaabbbc"]);
    while (waiting.length > 0) {
      await clock.advance(Math.max(0, Math.min(...waiting.map(({ atMs }) => atMs)) - clock.now()));
      const due = waiting.filter(({ atMs }) => atMs <= clock.now());
      for (const message of due) waiting.splice(waiting.indexOf(message), 1);
      // each function gets some of the messages, and each message comes twice
      const shares = functions.map((_, at) => [...due, ...due].filter((_, n) => n % 3 === at));
      await Promise.all(functions.map(async (run, at) => {
        const event = createQueueEvent(shares[at].map(({ id }) => ({ body: { ids: [id] } })));
        assertEquals((await run(event, createLambdaContext())).batchItemFailures, []);
      }));
    }
    restore();
    const states = new Set((await listRows(db)).map(({ state }) => state));
    assertEquals(states, new Set(["done", "limit"]));
    assertEquals(starts.length, 9);
    assert(gauge.mostTotal <= 2, `${gauge.mostTotal} jobs at once`);
    assertEquals([...gauge.most].toSorted(), [["a", 1], ["b", 1], ["c", 1]]);
    for (const [key, at] of starts) {
      const begun = starts.filter(([of, ms]) => of === key && ms >= at && ms < at + 60_000);
      assert(begun.length <= rate.count, `${begun.length} attempts of ${key} in a minute`);
    }
    // one for each job, and one for each 30 seconds or more that it waits
    assert(messages <= 9 + 8 * 4, `${messages} messages`);
  });
});

Deno.test("jobs that were enqueued before their job had a limit, or while it has none, are run", async () => {
  await withJobs(async (db) => {
    const declare = (limit?: JobLimitOptions) =>
      defineJob({ name: "changing", schema: z.number(), limit })(() => {});
    const limited = declare({ concurrency: 2, perKey: { key: String, concurrency: 1 } });
    const run = async (job: typeof limited) =>
      (await createJobWorker({ getDb: () => db, jobs: [job], ...QUIET }).runDue()).done;
    for (const priority of ["high", "normal", "low"] as const) {
      await declare().enqueueMany(db, [1, 2], { priority });
    }
    assertEquals(await run(limited), 6);
    for (const priority of ["high", "normal", "low"] as const) {
      await limited.enqueueMany(db, [1, 2], { priority });
    }
    assertEquals(await run(declare()), 6);
  });
});

Deno.test("jobs with a limit keep the order of their group and their priority", async () => {
  await withJobs(async (db) => {
    const ran: number[] = [];
    const job = defineJob({ name: "ordered", schema: z.number(), limit: { concurrency: 5 } })(
      ({ payload }) => void ran.push(payload),
    );
    await job.enqueue(db, 9, { priority: "low" });
    await job.enqueueMany(db, [1, 2, 3], { group: "g" });
    await job.enqueue(db, 0, { priority: "high" });
    const worker = createJobWorker({ getDb: () => db, jobs: [job], concurrency: 1, ...QUIET });
    assertEquals((await worker.runDue()).done, 5);
    assertEquals(ran, [0, 1, 2, 3, 9]);
  });
});

Deno.test("defineJob() refuses limits that cannot hold", () => {
  const refuse = (options: object, message: string) =>
    assertThrows(
      () => defineJob({ name: "job", schema: z.number(), ...options })(() => {}),
      ConfigurationError,
      message,
    );
  const perKey = { key: String, concurrency: 1 };
  refuse({ limit: {} }, "limit of the job job is empty");
  refuse({ limit: { concurrency: 0 } }, "limit.concurrency is 0");
  refuse({ limit: { perKey: { concurrency: 1 } } }, "limit.perKey.key is null");
  refuse({ limit: { perKey: { key: String } } }, "has perKey without a limit");
  refuse(
    { limit: { perKey: { key: String, rate: { count: 1 } } } },
    "limit.perKey.rate.periodSeconds is null",
  );
  refuse({ limit: { rate: { count: 1 } } }, "limit.rate.periodSeconds is null");
  refuse({ limit: { rate: { count: 1, period: 1, periodSeconds: 1 } } }, "no option period");
  refuse({ limit: { concurrency: 1 }, batchSize: 2 }, "batchSize");
  refuse({ limit: { perKey }, unique: { replace: true } }, "has perKey");
});
