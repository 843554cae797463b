import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import * as z from "zod";
import { executeRows, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import {
  CommitOutcomeUnknownError,
  ConfigurationError,
  ValidationError,
} from "../../errors/mod.ts";
import {
  configureJobs,
  createJobWorker,
  defineJob,
  defineJobRelayHandler,
  type EnqueueOptions,
  pauseJobs,
  PermanentJobError,
  resumeJobs,
} from "../../jobs/mod.ts";
import { createFakeClock, createLambdaContext, createScheduleEvent } from "../../testing/mod.ts";
import type { JobClient } from "../../jobs/enqueue.ts";
import { runRelay } from "../../jobs/relay.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { listRows, withJobs } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const RELAY = {
  runDue: undefined,
  schedules: [],
  clock: undefined,
  random: () => 0,
  hasMetrics: false,
};
const Note = z.object({ noteId: z.string() });

Deno.test("enqueue() writes in the caller's transaction, and nothing when it is rolled back", async () => {
  await withJobs(async (db) => {
    const ran: string[] = [];
    const job = defineJob({ name: "index", schema: Note })(({ payload }) =>
      void ran.push(payload.noteId)
    );
    await withTransaction(db, async (tx) => {
      await job.enqueue(tx, { noteId: "n1" });
      await job.enqueue(tx, { noteId: "n2" });
    });
    await assertRejects(
      () =>
        withTransaction(db, async (tx) => {
          await job.enqueue(tx, { noteId: "n3" });
          throw new Error("rolled back");
        }),
      Error,
      "rolled back",
    );
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    assertEquals(await worker.runDue(), { done: 2, retried: 0, dead: 0, lost: 0 });
    assertEquals(ran.toSorted(), ["n1", "n2"]);
    assertEquals((await listRows(db)).map(({ state }) => state), ["done", "done"]);
    assertEquals((await worker.runDue()).done, 0);
  });
});

Deno.test("enqueue() refuses a payload that does not fit, and invalid options", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    await assertRejects(() => job.enqueue(db, { noteId: 1 } as never), ValidationError);
    await assertRejects(() => job.enqueue(db, { noteId: 1n } as never), ValidationError);
    const refused: EnqueueOptions[] = [{ delaySeconds: -1 }, { delaySeconds: NaN }, { key: "" }, {
      group: "a\0b",
    }];
    for (const options of refused) {
      await assertRejects(() => job.enqueue(db, { noteId: "n1" }, options), ConfigurationError);
    }
    await assertRejects(
      () => job.enqueue(db, { noteId: "x".repeat(1_000_001) }),
      ConfigurationError,
      "store the content elsewhere",
    );
    assertEquals(await listRows(db), []);
  });
});

Deno.test("enqueue() adds one job for a key, and returns its id each time", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    const other = defineJob({ name: "other", schema: Note })(() => {});
    const first = await job.enqueue(db, { noteId: "n1" }, { key: "n1" });
    assertEquals(await job.enqueue(db, { noteId: "n1" }, { key: "n1" }), first);
    await withTransaction(db, async (tx) => {
      assertEquals(await job.enqueue(tx, { noteId: "n1" }, { key: "n1" }), first);
      await other.enqueue(tx, { noteId: "n1" }, { key: "n1" });
    });
    assertEquals((await listRows(db)).map(({ name }) => name), ["index", "other"]);
  });
});

Deno.test("enqueue() outside of a transaction adds a job once, also if the first insert got no answer", async () => {
  await withJobs(async (db) => {
    let sent = 0;
    const client: JobClient = {
      async execute(query) {
        await db.execute(query);
        if (++sent === 1) throw new CommitOutcomeUnknownError();
      },
    };
    const job = defineJob({ name: "index", schema: z.number() })(() => {});
    const id = await job.enqueue(client, 1);
    assertEquals([sent, (await listRows(db)).map((row) => row.id)], [2, [id]]);
  });
});

Deno.test("enqueueMany() adds all payloads, in batches, with keys and groups", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    const payloads = Array.from({ length: 357 }, (_, n) => ({ noteId: `n${n}` }));
    const ids = await job.enqueueMany(db, payloads, { key: ({ noteId }) => noteId });
    assertEquals(new Set(ids).size, 357);
    await withTransaction(
      db,
      (tx) => job.enqueueMany(tx, payloads, { key: ({ noteId }) => noteId }),
    );
    assertEquals((await listRows(db)).length, 357);
    assertEquals(await job.enqueueMany(db, []), []);
    // more than a statement has, and payloads of more than it takes together
    await job.enqueueMany(db, Array.from({ length: 1001 }, () => ({ noteId: "n" })));
    await job.enqueueMany(db, Array.from({ length: 4 }, () => ({ noteId: "x".repeat(200_000) })));
    // jobs of one statement have one time
    const times = await executeRows(
      db,
      sql`select count(*)::int as jobs from trellis_jobs group by enqueued_at order by enqueued_at`,
    );
    assertEquals(times.map(({ jobs }) => jobs), [357, 1000, 1, 1, 1, 1, 1]);
  });
});

Deno.test("enqueue() in a savepoint is undone with it", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    await withTransaction(db, async (tx) => {
      await job.enqueue(tx, { noteId: "kept" }, { key: "kept" });
      await tx.transaction(async (inner) => {
        await job.enqueue(inner, { noteId: "lost" });
        throw new Error("undone");
      }).catch(() => {});
    });
    assertEquals((await listRows(db)).length, 1);
  });
});

Deno.test("a transaction fails when the insert of a job that it did not wait for has failed", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    await db.execute(sql`create table notes (id text)`);
    await db.execute(sql`drop table trellis_jobs`);
    await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.execute(sql`insert into notes values ('n1')`);
        await job.enqueue(tx, { noteId: "n1" });
      })
    );
    assertEquals(await executeRows(db, sql`select * from notes`), []);
  });
});

Deno.test("a table of an earlier release is an error that names the command for its migration", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {});
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    const relay = defineJobRelayHandler({ getDb: () => db, ...QUIET });
    const command = "trellis db tables jobs > migrations/<number>_jobs.sql";
    await db.execute(sql`alter table trellis_jobs drop column version`);
    await assertRejects(() => worker.runDue(), ConfigurationError, command);
    await assertRejects(() => job.enqueue(db, { noteId: "n1" }), ConfigurationError, command);
    const { lines } = await captureLogs(() =>
      assertRejects(() => withTransaction(db, (tx) => job.enqueue(tx, { noteId: "n1" })))
    );
    assertStringIncludes(JSON.stringify(lines), command);
    await db.execute(sql`drop table trellis_jobs`);
    await assertRejects(() => relay(createScheduleEvent(), createLambdaContext()));
  });
});

Deno.test("a job with transaction: true applies its writes and its end together", async () => {
  await withJobs(async (db) => {
    await db.execute(sql`create table sums (n int)`);
    let failures = 2;
    const job = defineJob({
      name: "add",
      schema: z.object({ n: z.number() }),
      transaction: true,
      retry: { baseDelaySeconds: 0 },
    })(async ({ payload, tx }) => {
      await tx.execute(sql`insert into sums values (${payload.n})`);
      if (failures-- > 0) throw new Error("not yet");
    });
    await job.enqueue(db, { n: 5 });
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    assertEquals(await worker.runDue(), { done: 1, retried: 2, dead: 0, lost: 0 });
    assertEquals(await executeRows(db, sql`select n from sums`), [{ n: 5 }]);
    const [row] = await listRows(db);
    assertEquals([row.state, row.attempts, row.last_error], ["done", 3, null]);
  });
});

Deno.test("a job is tried again after a growing delay, and dead after the last attempt", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const restore = configureJobs({ clock });
    try {
      const job = defineJob({
        name: "fail",
        schema: Note,
        retry: { maxAttempts: 3, baseDelaySeconds: 10, maxDelaySeconds: 15 },
      })(() => {
        throw new Error("down, password=hunter2");
      });
      await job.enqueue(db, { noteId: "n1" }, { delaySeconds: 60 });
      // the greatest delay of full jitter
      const worker = createJobWorker({
        getDb: () => db,
        jobs: [job],
        random: () => 0.999,
        ...QUIET,
      });
      const steps: [number, number, number][] = [[59, 0, 0], [1, 1, 0], [9, 0, 0], [1, 1, 0], [
        14,
        0,
        0,
      ], [1, 0, 1]];
      for (const [seconds, retried, dead] of steps) {
        await clock.advance(seconds * 1000);
        assertEquals(await worker.runDue(), { done: 0, retried, dead, lost: 0 });
      }
      const [row] = await listRows(db);
      assertEquals([row.state, row.attempts], ["dead", 3]);
      assertEquals(row.last_error?.includes("down"), true);
      assertEquals(row.last_error?.includes("hunter2"), false);
    } finally {
      restore();
    }
  });
});

Deno.test("PermanentJobError ends a job at once", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: Note })(() => {
      throw new PermanentJobError("rejected");
    });
    await job.enqueue(db, { noteId: "n1" });
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    assertEquals((await worker.runDue()).dead, 1);
    assertEquals((await listRows(db))[0].last_error, "PermanentJobError: rejected");
  });
});

Deno.test("a payload that does not fit is left to a worker of its release for 15 minutes, and is dead then", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const restore = configureJobs({ clock });
    try {
      const ran: unknown[] = [];
      const old = defineJob({ name: "index", schema: z.any() })(({ payload }) =>
        void ran.push(payload)
      );
      const job = defineJob({ name: "index", schema: Note, retry: { maxAttempts: 1 } })(() => {});
      const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
      const olderWorker = createJobWorker({ getDb: () => db, jobs: [old], ...QUIET });
      await old.enqueueMany(db, [{ noteId: 5 }, { noteId: 6 }]);
      assertEquals(await worker.runDue(), { done: 0, retried: 2, dead: 0, lost: 0 });
      assertEquals((await listRows(db)).map(({ state, attempts }) => [state, attempts]), [
        ["queued", 0],
        ["queued", 0],
      ]);
      await clock.advance(15_000);
      await olderWorker.runIds([(await listRows(db))[0].id]);
      assertEquals(ran, [{ noteId: 5 }]);
      await clock.advance(15 * 60_000);
      assertEquals(await worker.runDue(), { done: 0, retried: 0, dead: 1, lost: 0 });
      const [done, dead] = await listRows(db);
      assertEquals([done.state, dead.state], ["done", "dead"]);
      assertEquals(dead.last_error?.includes("noteId"), true);
    } finally {
      restore();
    }
  });
});

Deno.test("a worker leases a job when it can begin it, so that an attempt counts only then", async () => {
  await withJobs(async (db) => {
    let free = () => {};
    const gate = new Promise<void>((resolve) => free = resolve);
    let begun = 0;
    const job = defineJob({ name: "slow", schema: z.number() })(async () => {
      begun++;
      await gate;
    });
    const ids = await job.enqueueMany(db, Array.from({ length: 10 }, (_, n) => n));
    const worker = createJobWorker({ getDb: () => db, jobs: [job], concurrency: 2, ...QUIET });
    const running = [worker.runDue(), worker.runIds(ids)];
    while (begun < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    const counts = Map.groupBy(await listRows(db), ({ state, attempts }) => `${state} ${attempts}`);
    assertEquals(
      Object.fromEntries([...counts].map(([key, rows]) => [key, rows.length])),
      { "running 1": 4, "queued 0": 6 },
    );
    free();
    await Promise.all(running);
    assertEquals((await listRows(db)).map(({ state }) => state), Array(10).fill("done"));
  });
});

Deno.test("jobs of a group with one time and position run one after the other, and hold back no other job", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "step", schema: z.number() })(() => {});
    await job.enqueueMany(db, [1, 2, 3], { group: "g" });
    await job.enqueue(db, 4);
    // as two sandboxes write them
    await db.execute(sql`update trellis_jobs set enqueued_at = '2026-01-01', position = 0`);
    const worker = createJobWorker({ getDb: () => db, jobs: [job], concurrency: 4, ...QUIET });
    assertEquals((await worker.runDue()).done, 4);
  });
});

Deno.test("pauseJobs() holds back the jobs of a name, for workers and relays, until resumeJobs()", async () => {
  await withJobs(async (db) => {
    const [held, free] = ["held", "free"].map((name) =>
      defineJob({ name, schema: z.null() })(() => {})
    );
    const ids = [
      await held.enqueue(db, null),
      await held.enqueue(db, null, { group: "g" }),
      await free.enqueue(db, null),
    ];
    assertEquals([await pauseJobs(db, "held"), await pauseJobs(db, "held")], [true, false]);
    const worker = createJobWorker({
      getDb: () => db,
      jobs: [held, free],
      concurrency: 3,
      ...QUIET,
    });
    assertEquals((await worker.runDue()).done, 1);
    assertEquals((await worker.runIds(ids)).done, 0);
    const delivered: string[] = [];
    const deliver = (jobs: readonly { id: string }[]) =>
      Promise.resolve(void delivered.push(...jobs.map(({ id }) => id)));
    await db.execute(sql`update trellis_jobs set run_at = run_at - interval '1 hour'`);
    const relay = () =>
      runRelay({ ...RELAY, getDb: () => db, delivery: { graceSeconds: 0, deliver } });
    const { oldestSeconds } = await relay();
    assertEquals({ oldestSeconds, delivered }, { oldestSeconds: 0, delivered: [] });
    assertEquals([await resumeJobs(db, "held"), await resumeJobs(db, "held")], [true, false]);
    assert((await relay()).oldestSeconds >= 3600);
    assertEquals(delivered.toSorted(), ids.slice(0, 2).toSorted());
    assertEquals((await worker.runIds(delivered)).done, 2);
    assertEquals((await listRows(db)).length, 3);
  });
});

Deno.test("a handler that ignores its signal does not run beside itself", async () => {
  await withJobs(async (db) => {
    let free = () => {};
    const gate = new Promise<void>((resolve) => free = resolve);
    let begun = 0;
    const job = defineJob({
      name: "deaf",
      schema: z.null(),
      timeoutSeconds: 1,
      retry: { baseDelaySeconds: 0 },
    })(async () => {
      begun++;
      await gate;
    });
    await job.enqueue(db, null);
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    // the time of the first attempt is up, and the second one does not begin
    assertEquals(await worker.runDue(), { done: 0, retried: 2, dead: 0, lost: 0 });
    assertEquals(begun, 1);
    const [row] = await listRows(db);
    assertEquals([row.state, row.attempts], ["queued", 1]);
    assertEquals(row.last_error?.includes("ignores the signal"), true);
    free();
  });
});

Deno.test("enqueue() refuses what JSON cannot hold, with its path", async () => {
  await withJobs(async (db) => {
    const job = defineJob({ name: "index", schema: z.any() })(() => {});
    const refused: [unknown, string][] = [
      [new Map(), "_form"],
      [{ tags: new Set(["a"]) }, "tags"],
      [{ notes: [{ body: new Uint8Array(2) }] }, "notes.0.body"],
      [{ notes: [1, Number.NaN] }, "notes.1"],
      [{ then: () => {} }, "then"],
      [{ match: /a/ }, "match"],
      [{ failure: new Error("lost") }, "failure"],
      [{ query: new URLSearchParams("a=1") }, "query"],
    ];
    for (const [payload, path] of refused) {
      const error = await assertRejects(() => job.enqueue(db, payload), ValidationError);
      assertEquals(Object.keys(error.errors ?? {}), [path]);
    }
    await job.enqueue(db, {
      at: new Date(0),
      url: new URL("https://example.com"),
      none: undefined,
    });
    assertEquals((await listRows(db)).length, 1);
  });
});

Deno.test("a worker that lost its lease cannot finish the job", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    await db.execute(sql`create table sums (n int)`);
    let first = true;
    let free = () => {};
    const gate = new Promise<void>((resolve) => free = resolve);
    let started = () => {};
    const hasStarted = new Promise<void>((resolve) => started = resolve);
    const restore = configureJobs({ clock });
    const job = defineJob({ name: "slow", schema: z.null(), timeoutSeconds: 20 })(async () => {
      if (!first) return;
      first = false;
      started();
      await gate;
    });
    try {
      await job.enqueue(db, null);
      const slow = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
      const fast = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
      const running = slow.runDue();
      await hasStarted;
      assertEquals((await fast.runDue()).done, 0);
      await clock.advance(30_001);
      assertEquals((await fast.runDue()).done, 1);
      free();
      assertEquals(await running, { done: 0, retried: 0, dead: 0, lost: 1 });
      const [row] = await listRows(db);
      assertEquals([row.state, row.fence], ["done", 2]);
    } finally {
      restore();
    }
  });
});

Deno.test("jobs of a group run in order, one at a time, also after a failure", async () => {
  await withJobs(async (db) => {
    const ran: number[] = [];
    let running = 0;
    let failed = false;
    const job = defineJob({ name: "step", schema: z.number(), retry: { baseDelaySeconds: 0 } })(
      async ({ payload }) => {
        assertEquals(++running, 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running--;
        if (payload === 3 && !failed) {
          failed = true;
          throw new Error("once");
        }
        ran.push(payload);
      },
    );
    await job.enqueueMany(db, [1, 2, 3, 4, 5, 6], { group: "g" });
    const workers = [1, 2, 3].map(() =>
      createJobWorker({ getDb: () => db, jobs: [job], concurrency: 4, ...QUIET })
    );
    while (ran.length < 6) await Promise.all(workers.map((worker) => worker.runDue()));
    assertEquals(ran, [1, 2, 3, 4, 5, 6]);
  });
});

Deno.test("runIds() runs the jobs with these ids, and no job that is not due", async () => {
  await withJobs(async (db) => {
    const ran: string[] = [];
    const job = defineJob({ name: "index", schema: Note })(({ payload }) =>
      void ran.push(payload.noteId)
    );
    const id = await job.enqueue(db, { noteId: "n1" });
    await job.enqueue(db, { noteId: "n2" });
    const late = await job.enqueue(db, { noteId: "n3" }, { delaySeconds: 60 });
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    await worker.runIds([id, id, late, crypto.randomUUID()]);
    assertEquals(ran, ["n1"]);
    await worker.runIds([id]);
    assertEquals(ran, ["n1"]);
  });
});

Deno.test("stop() waits for running jobs and leaves the others", async () => {
  await withJobs(async (db) => {
    let ran = 0;
    const job = defineJob({ name: "index", schema: z.number() })(() => {
      ran++;
      // not awaited: it waits for this job
      polling.stop();
    });
    const polling = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    await job.enqueueMany(db, [1, 2, 3]);
    polling.start({ pollMs: 10 });
    while (ran === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await polling.stop();
    assertEquals(ran, 1);
    const rows = await listRows(db);
    assertEquals(rows.filter(({ state }) => state === "done").length, 1);
    assertEquals(
      rows.filter(({ state, attempts }) => state === "queued" && attempts === 0).length,
      2,
    );
  });
});

Deno.test("start() goes on with the next jobs when the outcome of one could not be recorded", async () => {
  await withJobs(async (db) => {
    const ran: string[] = [];
    let isDown = false;
    const job = defineJob({ name: "index", schema: Note })(({ payload }) => {
      ran.push(payload.noteId);
      isDown = ran.length === 1;
    });
    const getDb = () => {
      if (!isDown) return db;
      isDown = false;
      throw new Error("the database restarts");
    };
    // a single lane records the outcome of a group's job before it leases the next one
    await job.enqueue(db, { noteId: "n1" }, { group: "notes" });
    const worker = createJobWorker({ getDb, jobs: [job], concurrency: 1, ...QUIET });
    const { lines } = await captureLogs(async () => {
      worker.start({ pollMs: 10 });
      while (ran.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await job.enqueue(db, { noteId: "n2" });
      for (let tries = 0; ran.length === 1 && tries < 2000; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await worker.stop();
    });
    assertEquals(ran, ["n1", "n2"]);
    assertEquals(lines.filter(({ level }) => level === "ERROR").map(({ message }) => message), [
      "running jobs failed, the worker tries again",
    ]);
  });
});

Deno.test("start() keeps its lanes when the next job of a group could not be leased", async () => {
  await withJobs(async (db) => {
    let isDown = false;
    let running = 0;
    let most = 0;
    let ran = 0;
    const job = defineJob({ name: "index", schema: z.null() })(async ({ job }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running--;
      ran++;
      // the statement that follows the end of this job fails
      if (job.group !== undefined) isDown = true;
    });
    const getDb = () => {
      // the end is recorded before
      if (isDown && new Error().stack?.includes("claimGroup")) {
        isDown = false;
        throw new Error("the database restarts");
      }
      return db;
    };
    const worker = createJobWorker({ getDb, jobs: [job], concurrency: 2, ...QUIET });
    await captureLogs(async () => {
      worker.start({ pollMs: 10 });
      const until = async (jobs: number) => {
        for (let tries = 0; ran < jobs && tries < 500; tries++) {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        assertEquals(ran, jobs);
      };
      await job.enqueue(db, null, { group: "notes" });
      await until(1);
      most = 0;
      await job.enqueueMany(db, Array(6).fill(null));
      await until(7);
      await worker.stop();
    });
    assertEquals(most, 2);
    assertThrows(() => worker.start(), ConfigurationError, "started once");
  });
});

Deno.test("configureJobs() hands over jobs after COMMIT; what fails to be delivered stays for the relay", async () => {
  await withJobs(async (db) => {
    const delivered: string[][] = [];
    let isDown = false;
    const restore = configureJobs({
      delivery: {
        graceSeconds: 30,
        async deliver(jobs): Promise<void> {
          const rows = await listRows(db);
          const known = new Set(rows.map(({ id }) => id));
          assertEquals(jobs.every(({ id }) => known.has(id)), true);
          if (isDown) throw new Error("the queue is down");
          delivered.push(jobs.map(({ id }) => id));
        },
      },
    });
    try {
      const job = defineJob({ name: "index", schema: z.number() })(() => {});
      const ids: string[] = [];
      await withTransaction(db, async (tx) => {
        ids.push(await job.enqueue(tx, 1), await job.enqueue(tx, 2));
        assertEquals(delivered, []);
      });
      await withTransaction(db, async (tx) => {
        await job.enqueue(tx, 3);
        throw new Error("rolled back");
      }).catch(() => {});
      ids.push(await job.enqueue(db, 4));
      assertEquals(delivered.flat(), ids);
      isDown = true;
      await job.enqueue(db, 5);
      const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
      // the table's own look leaves the delivery its time, ids do not wait
      assertEquals((await worker.runDue()).done, 0);
      assertEquals((await worker.runIds(ids)).done, 3);
    } finally {
      restore();
    }
  });
});

Deno.test("createJobWorker() and defineJob() refuse invalid options", () => {
  const job = defineJob({ name: "index", schema: Note })(() => {});
  const getDb = () => undefined as never;
  const refused = [
    () => createJobWorker({ getDb, jobs: [] }),
    () => createJobWorker({ getDb, jobs: [job, job] }),
    () => createJobWorker({ getDb, jobs: [{} as never] }),
    () => createJobWorker({ getDb, jobs: [job], concurrency: 0 }),
    () => defineJob({ name: "a b", schema: Note }),
    () => defineJob({ name: "a" } as never),
    () => defineJob({ name: "a", schema: Note, retry: { maxAttempts: 0 } }),
    () => defineJob({ name: "a", schema: Note, timeoutSeconds: 901 }),
    () => defineJob({ name: "a", schema: Note, attempts: 3 } as never),
  ];
  for (const define of refused) assertThrows(define, ConfigurationError);
});

Deno.test("a worker of fast jobs leases one more for each lane, and gives it back behind a slow one", async () => {
  await withJobs(async (db) => {
    let free = () => {};
    const gate = new Promise<void>((resolve) => free = resolve);
    const ran: number[] = [];
    const job = defineJob({ name: "mixed", schema: z.number() })(async ({ payload }) => {
      ran.push(payload);
      if (payload === 2) await gate;
    });
    let statements = 0;
    const getDb = () => {
      statements++;
      return db;
    };
    const options = { jobs: [job], random: () => 0, ...QUIET };
    const worker = createJobWorker({ getDb, ...options });
    await job.enqueueMany(db, Array(20).fill(1));
    await worker.runDue();
    // ten claims for twenty jobs, the first one and the last one, and what marks them as done
    assert(statements < 18, `${statements} statements for 20 jobs`);

    await job.enqueue(db, 1);
    await job.enqueueMany(db, [2, 3], { priority: "low" });
    // the slow one is leased first
    await db.execute(
      sql`update trellis_jobs set run_at = run_at - interval '1 minute', due_at = due_at - interval '1 minute', shard = 16 where payload = '2'`,
    );
    ran.length = 0;
    const running = worker.runDue();
    const other = createJobWorker({ getDb: () => db, ...options });
    while (!ran.includes(3)) {
      if (ran.includes(2)) await other.runDue();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assertEquals(ran.filter((payload) => payload > 1), [2, 3]);
    free();
    await running;
    const last = (await listRows(db)).slice(-2);
    assertEquals(last.map(({ state, attempts }) => [state, attempts]), [["done", 1], ["done", 1]]);
  });
});

Deno.test("a worker of fast jobs leases few that were leased before and cannot begin at once", async () => {
  await withJobs(async (db) => {
    const JOBS = 160;
    const job = defineJob({ name: "again", schema: z.number() })(() => {});
    await job.enqueueMany(db, Array.from({ length: JOBS }, (_, n) => n));
    await db.execute(sql`update trellis_jobs set fence = 1, attempts = 1`);
    const worker = createJobWorker({ getDb: () => db, jobs: [job], concurrency: 4, ...QUIET });
    assertEquals((await worker.runDue()).done, JOBS);
    const rows = await listRows(db);
    const given = rows.reduce((sum, { fence }) => sum + fence - 2, 0);
    assert(given <= JOBS / 6, `${given} leases were given back`);
    // a lease that was given back is no attempt
    assertEquals(new Set(rows.map(({ attempts }) => attempts)), new Set([2]));
  });
});
