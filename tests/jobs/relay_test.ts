import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as z from "zod";
import {
  closeDrizzleClient,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  cancelJobs,
  type CommittedJob,
  configureJobs,
  createInProcessDelivery,
  createJobWorker,
  defineJob,
  defineJobQueueHandler,
  defineJobRelayHandler,
  defineSchedule,
  getJob,
  listJobs,
  retryJobs,
} from "../../jobs/mod.ts";
import {
  createFakeClock,
  createLambdaContext,
  createQueueEvent,
  createScheduleEvent,
} from "../../testing/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { createJobsTable, listRows, withJobs } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const context = () => createLambdaContext();

Deno.test("the relay delivers what was not delivered, once per grace period, and frees jobs of dead workers", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const delivered: CommittedJob[] = [];
    let isDown = true;
    const restore = configureJobs({
      clock,
      delivery: {
        graceSeconds: 30,
        deliver(jobs): Promise<void> {
          if (isDown) return Promise.reject(new Error("down"));
          delivered.push(...jobs);
          return Promise.resolve();
        },
      },
    });
    try {
      const job = defineJob({ name: "index", schema: z.number(), timeoutSeconds: 20 })(() => {});
      const relay = defineJobRelayHandler({ getDb: () => db, clock, ...QUIET });
      const run = () => relay(createScheduleEvent(), context());
      const id = await job.enqueue(db, 1);
      isDown = false;
      assertEquals((await run()).delivered, 0);
      await clock.advance(30_000);
      assertEquals((await run()).delivered, 1);
      assertEquals(delivered.map((each) => each.id), [id]);
      // another relay, at the same time
      assertEquals((await run()).delivered, 0);
      await clock.advance(30_000);
      const later = await run();
      assertEquals([later.delivered, later.oldestSeconds], [1, 60]);
      // a worker leases it and dies
      await db.execute(
        sql`update trellis_jobs set state = 'running', fence = fence + 1, attempts = 1,
        due_at = ${new Date(clock.now() + 30_000).toISOString()}::timestamptz`,
      );
      await clock.advance(29_000);
      assertEquals((await run()).delivered, 0);
      await clock.advance(1000);
      assertEquals((await run()).delivered, 1);
      const queue = defineJobQueueHandler({ getDb: () => db, jobs: [job], clock, ...QUIET });
      const event = createQueueEvent([{ body: { ids: [id] } }, { body: { ids: [id] } }, {
        body: { ids: ["no id"] },
        messageId: "m3",
      }]);
      assertEquals((await queue(event, context())).batchItemFailures, [{ itemIdentifier: "m3" }]);
      assertEquals((await listRows(db)).map(({ state, attempts }) => [state, attempts]), [[
        "done",
        2,
      ]]);
    } finally {
      restore();
    }
  });
});

Deno.test("the relay without a delivery runs due jobs, counts dead ones and removes old rows", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const restore = configureJobs({ clock });
    try {
      const job = defineJob({
        name: "index",
        schema: z.number(),
        keepSeconds: 60,
        retry: { maxAttempts: 1 },
      })(({ payload }) => {
        if (payload < 0) throw new Error("negative");
      });
      const relay = defineJobRelayHandler({ getDb: () => db, jobs: [job], clock, ...QUIET });
      const run = () => relay(createScheduleEvent(), context());
      await job.enqueueMany(db, [1, 2, -3]);
      assertEquals(await run(), { delivered: 3, removed: 0, oldestSeconds: 0, dead: 1 });
      await clock.advance(61_000);
      const lines: string[] = [];
      const restoreOutput = setLogOutput((text) => lines.push(...text.split("\n")));
      assertEquals(await run(), { delivered: 0, removed: 2, oldestSeconds: 0, dead: 1 });
      restoreOutput();
      // stages with the same service have relays of different names
      const gauges = lines.filter((line) => line.includes("DeadJobs")).map((line) =>
        JSON.parse(line)
      );
      assertEquals(
        gauges.map(({ _aws, functionName, DeadJobs }) => [
          _aws.CloudWatchMetrics[0].Dimensions,
          functionName,
          DeadJobs,
        ]),
        [[[["service", "functionName"]], "local", 1]],
      );
      assertEquals((await listRows(db)).map(({ state }) => state), ["dead"]);
    } finally {
      restore();
    }
  });
});

Deno.test("the relay removes old rows and adds its metrics although the queue refuses messages", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const delivery = { graceSeconds: 30, deliver: () => Promise.reject(new Error("refused")) };
    const restore = configureJobs({ clock, delivery });
    const lines: string[] = [];
    const restoreOutput = setLogOutput((text) => lines.push(...text.split("\n")));
    try {
      const job = defineJob({ name: "index", schema: z.number() })(() => {});
      const [old] = await job.enqueueMany(db, [1, 2]);
      await db.execute(sql`update trellis_jobs set state = 'done', finished_at = run_at,
        due_at = run_at where id = ${old}::uuid`);
      await clock.advance(90_000);
      const relay = defineJobRelayHandler({ getDb: () => db, clock, ...QUIET });
      await assertRejects(() => relay(createScheduleEvent(), context()), Error, "refused");
      assertEquals((await listRows(db)).length, 1);
      const gauge = lines.find((line) => line.includes("OldestJobAge"));
      assertEquals(JSON.parse(gauge ?? "{}").OldestJobAge, 90);
    } finally {
      restoreOutput();
      restore();
    }
  });
});

Deno.test("a schedule runs once for each time, although several relays are up", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock({ nowMs: Date.UTC(2026, 0, 1, 11, 59, 59) });
    const restore = configureJobs({ clock });
    try {
      const ran: string[] = [];
      const job = defineJob({ name: "report", schema: z.string() })(({ payload }) =>
        void ran.push(payload)
      );
      const schedules = [
        defineSchedule(job, {
          name: "noon",
          cron: "0 12 * * *",
          payload: (time) => `cron ${time.toISOString()}`,
        }),
        defineSchedule(job, {
          name: "often",
          everySeconds: 600,
          payload: (time) => `every ${time.toISOString()}`,
        }),
      ];
      const relays = [1, 2, 3].map(() =>
        defineJobRelayHandler({ getDb: () => db, jobs: [job], schedules, clock, ...QUIET })
      );
      const tick = () =>
        Promise.all(relays.map((relay) => relay(createScheduleEvent(), context())));
      await tick();
      assertEquals(ran, ["every 2026-01-01T11:50:00.000Z"]);
      await clock.advance(1000);
      await tick();
      await tick();
      assertEquals(ran.toSorted(), [
        "cron 2026-01-01T12:00:00.000Z",
        "every 2026-01-01T11:50:00.000Z",
        "every 2026-01-01T12:00:00.000Z",
      ]);
      // relays were down: the last missed time within an hour is made up for
      await clock.advance(40 * 60_000);
      await tick();
      assertEquals(ran.at(-1), "every 2026-01-01T12:40:00.000Z");
      assertEquals(ran.length, 4);
    } finally {
      restore();
    }
  });
});

Deno.test("a schedule leaves out no minute if one run of the relay is late", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock({ nowMs: Date.UTC(2026, 0, 1, 12, 0, 59, 900) });
    const restore = configureJobs({ clock });
    const ran: string[] = [];
    const job = defineJob({ name: "report", schema: z.string() })(({ payload }) =>
      void ran.push(payload)
    );
    const payload = (time: Date) => time.toISOString().slice(11, 16);
    const schedules = [
      defineSchedule(job, { name: "interval", everySeconds: 60, payload }),
      defineSchedule(job, { name: "cron", cron: "* * * * *", payload }),
    ];
    const relay = defineJobRelayHandler({
      getDb: () => db,
      jobs: [job],
      schedules,
      clock,
      ...QUIET,
    });
    await relay(createScheduleEvent(), context());
    ran.length = 0;
    await clock.advance(60_200);
    await relay(createScheduleEvent(), context());
    restore();
    assertEquals(ran.toSorted(), ["12:01", "12:01", "12:02", "12:02"]);
  });
});

Deno.test("a schedule runs once for each time, whatever its job does with keys", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock({ nowMs: Date.UTC(2026, 0, 1, 12) });
    const restore = configureJobs({ clock });
    const ran: string[] = [];
    const jobs = [{ periodSeconds: 0 }, { replace: true }, { whileQueued: true }].map(
      (unique, at) =>
        defineJob({ name: `report-${at}`, schema: z.null(), unique })(({ job }) =>
          void ran.push(job.name)
        ),
    );
    const schedules = jobs.map((job) =>
      defineSchedule(job, { name: job.jobName, everySeconds: 3600, payload: null })
    );
    const relay = defineJobRelayHandler({ getDb: () => db, jobs, schedules, clock, ...QUIET });
    for (let minute = 0; minute < 3; minute++) {
      await relay(createScheduleEvent(), context());
      await clock.advance(60_000);
    }
    restore();
    assertEquals(ran.toSorted(), ["report-0", "report-1", "report-2"]);
  });
});

Deno.test("worker.start() enqueues schedules, removes old rows and adds the metrics of a relay", async () => {
  await withJobs(async (db) => {
    const ran: string[] = [];
    const job = defineJob({ name: "tick", schema: z.string() })(({ payload }) =>
      void ran.push(payload)
    );
    const [old] = await job.enqueueMany(db, ["old"]);
    await cancelJobs(db, [old]);
    await db.execute(sql`update trellis_jobs set due_at = now() - interval '1 hour'`);
    const lines: string[] = [];
    const restoreOutput = setLogOutput((text) => lines.push(...text.split("\n")));
    const worker = createJobWorker({ getDb: () => db, jobs: [job], logging: { level: "SILENT" } });
    // more often than a relay could
    const often = defineSchedule(job, { name: "often", everySeconds: 1, payload: "new" });
    worker.start({ pollMs: 10, schedules: [often] });
    while (ran.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await worker.stop();
    restoreOutput();
    assertEquals(new Set(ran), new Set(["new"]));
    assertEquals(await getJob(db, old), undefined);
    assertEquals(lines.some((line) => line.includes("OldestJobAge")), true);
    assertThrows(
      () => defineJobRelayHandler({ getDb: () => db, jobs: [job], schedules: [often] }),
      ConfigurationError,
      "often has everySeconds: 1",
    );
  });
});

Deno.test("a schedule uses the time of the database, not that of the relay", async () => {
  const postgres = await startPostgres();
  const config = getDirectConfig(await postgres.createDatabase("schedules"));
  const db = await getDrizzleClient(config);
  const { now } = Date;
  try {
    await createJobsTable(db);
    const job = defineJob({ name: "report", schema: z.string() })(() => {});
    const hourly = defineSchedule(job, {
      name: "hourly",
      everySeconds: 3600,
      payload: (time) => time.toISOString(),
    });
    const relay = defineJobRelayHandler({ getDb: () => db, schedules: [hourly], ...QUIET });
    Date.now = () => now() + 2 * 3600_000;
    await relay(createScheduleEvent(), context());
    const [{ isPast }] = await executeRows<{ isPast: boolean }>(
      db,
      sql`select (payload::jsonb #>> '{}')::timestamptz <= now() as "isPast" from trellis_jobs`,
    );
    assertEquals(isPast, true);
  } finally {
    Date.now = now;
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});

Deno.test("a delivery with delays gets the next attempts, and the relay hands over later jobs in time", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const delivered: CommittedJob[] = [];
    const restore = configureJobs({
      clock,
      delivery: {
        graceSeconds: 60,
        maxDelaySeconds: 900,
        deliver: (jobs) => Promise.resolve(void delivered.push(...jobs)),
      },
    });
    try {
      let fails = true;
      const job = defineJob({
        name: "index",
        schema: z.number(),
        retry: { baseDelaySeconds: 10, maxDelaySeconds: 10 },
      })(() => {
        if (fails) throw new Error("not yet");
      });
      const worker = createJobWorker({
        getDb: () => db,
        jobs: [job],
        random: () => 0.5,
        ...QUIET,
      });
      const relay = defineJobRelayHandler({ getDb: () => db, ...QUIET });
      const id = await job.enqueue(db, 1);
      assertEquals((await worker.runIds([id])).retried, 1);
      assertEquals(delivered.map((each) => [each.id, each.delaySeconds]), [[id, 0], [id, 5]]);
      // the relay leaves the message its time
      await clock.advance(5000);
      assertEquals((await relay(createScheduleEvent(), context())).delivered, 0);
      fails = false;
      assertEquals((await worker.runIds([id])).done, 1);

      delivered.length = 0;
      const late = await job.enqueue(db, 2, { delaySeconds: 3600 });
      delivered.length = 0;
      await clock.advance(2700_000);
      assertEquals((await worker.runDue()).done, 0);
      assertEquals((await relay(createScheduleEvent(), context())).delivered, 1);
      assertEquals(delivered.map((each) => [each.id, each.delaySeconds]), [[late, 900]]);
      assertEquals((await relay(createScheduleEvent(), context())).delivered, 0);
      assertEquals((await worker.runIds([late])).done, 0);
      await clock.advance(900_000);
      assertEquals((await worker.runIds([late])).done, 1);
    } finally {
      restore();
    }
  });
});

Deno.test("a relay hands over a delayed job at its time where the delivery has no delays", async () => {
  await withJobs(async (db) => {
    const clock = createFakeClock();
    const delivered: string[] = [];
    const deliver = (jobs: readonly CommittedJob[]) =>
      Promise.resolve(void delivered.push(...jobs.map(({ id }) => id)));
    const restore = configureJobs({ clock, delivery: { graceSeconds: 60, deliver } });
    const job = defineJob({ name: "index", schema: z.null() })(() => {});
    const relay = defineJobRelayHandler({ getDb: () => db, ...QUIET });
    const id = await job.enqueue(db, null, { delaySeconds: 30 });
    delivered.length = 0;
    const found: string[][] = [];
    for (const ms of [29_000, 1000]) {
      await clock.advance(ms);
      await relay(createScheduleEvent(), context());
      found.push(delivered.splice(0));
    }
    restore();
    assertEquals(found, [[], [id]]);
  });
});

Deno.test("defineSchedule() finds the last time in a time zone with summer time", async () => {
  const job = defineJob({ name: "report", schema: z.null() })(() => {});
  const daily = defineSchedule(job, {
    name: "daily",
    cron: "30 2 * * *",
    timeZone: "Europe/Berlin",
    payload: null,
  });
  const find = async (now: string) => (await daily.findLast(new Date(now)))?.toISOString();
  assertEquals(await find("2026-01-10T01:30:00Z"), "2026-01-10T01:30:00.000Z");
  assertEquals(await find("2026-01-10T01:29:59Z"), "2026-01-09T01:30:00.000Z");
  assertEquals(await find("2026-07-10T00:30:00Z"), "2026-07-10T00:30:00.000Z");
  /** Lists the times that a relay finds which runs once a minute. */
  async function listTimes(from: string, hours: number): Promise<Set<string>> {
    const times = new Set<string>();
    for (let minute = 0; minute <= hours * 60; minute++) {
      times.add((await find(new Date(Date.parse(from) + minute * 60_000).toISOString()))!);
    }
    return times;
  }
  // 2:30 does not exist on the day on which summer time begins: 3:00 follows 2:00. It comes twice on the day on which it ends
  assertEquals([...await listTimes("2026-03-28T12:00:00Z", 48)], [
    "2026-03-28T01:30:00.000Z",
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
  ]);
  assertEquals([...await listTimes("2026-10-24T12:00:00Z", 48)], [
    "2026-10-24T00:30:00.000Z",
    "2026-10-25T00:30:00.000Z",
    "2026-10-26T01:30:00.000Z",
  ]);
});

Deno.test("defineSchedule() refuses invalid options", () => {
  const job = defineJob({ name: "report", schema: z.null(), keepSeconds: 3600 })(() => {});
  const kept = defineJob({ name: "report", schema: z.null() })(() => {});
  const refused = [
    () => defineSchedule(job, { name: "a", everySeconds: 60, payload: null }),
    () => defineSchedule(kept, { name: "a", payload: null }),
    () => defineSchedule(kept, { name: "a", everySeconds: 60, cron: "* * * * *", payload: null }),
    () => defineSchedule(kept, { name: "a", cron: "* * * * * *", payload: null }),
    () => defineSchedule(kept, { name: "a", cron: "* * * * *", timeZone: "Mars", payload: null }),
    () => defineSchedule(kept, { name: "a b", everySeconds: 60, payload: null }),
  ];
  for (const define of refused) assertThrows(define, ConfigurationError);
});

Deno.test("createInProcessDelivery() runs jobs right after COMMIT", async () => {
  await withJobs(async (db) => {
    await db.execute(sql`create table done (n int)`);
    const job = defineJob({ name: "add", schema: z.number(), transaction: true })(
      async ({ payload, tx }) => {
        await tx.execute(sql`insert into done values (${payload})`);
        if (payload < 3) await job.enqueue(tx, payload + 1);
      },
    );
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    const restore = configureJobs({ delivery: createInProcessDelivery(() => worker) });
    try {
      await withTransaction(db, async (tx) => {
        await job.enqueue(tx, 1);
      });
      assertEquals(await executeRows(db, sql`select n from done order by n`), [
        { n: 1 },
        { n: 2 },
        { n: 3 },
      ]);
    } finally {
      restore();
    }
  });
});

Deno.test("dead jobs can be listed, shown, sent again and cancelled", async () => {
  await withJobs(async (db) => {
    let isBroken = true;
    const job = defineJob({ name: "index", schema: z.number(), retry: { maxAttempts: 1 } })(() => {
      if (isBroken) throw new Error("broken");
    });
    const ids = await job.enqueueMany(db, [1, 2, 3]);
    const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
    await worker.runDue();
    const dead = await listJobs(db, { state: "dead", name: "index" });
    assertEquals(dead.map(({ id }) => id).toSorted(), ids.toSorted());
    assertEquals(dead[0].lastError, "Error: broken");
    assertEquals(Number.isNaN(Date.parse(dead[0].enqueuedAt)), false);
    assertEquals((await getJob(db, ids[0]))?.payload, "1");
    assertEquals(await getJob(db, crypto.randomUUID()), undefined);
    isBroken = false;
    assertEquals(await cancelJobs(db, [ids[2]]), [ids[2]]);
    assertEquals((await retryJobs(db, ids.slice(0, 2))).length, 2);
    assertEquals((await worker.runDue()).done, 2);
    assertEquals(await retryJobs(db, ids.slice(0, 2)), []);
    assertEquals((await listRows(db)).map(({ state }) => state), ["done", "done", "cancelled"]);
    // a lease that has ended, without a worker that knows the job
    await db.execute(
      sql`update trellis_jobs set state = 'running', finished_at = null, due_at = now() + interval '1 hour'`,
    );
    assertEquals([await retryJobs(db, ids), await cancelJobs(db, ids)], [[], []]);
    await db.execute(sql`update trellis_jobs set due_at = now() - interval '1 second'`);
    assertEquals(await retryJobs(db, [ids[0]]), [ids[0]]);
    assertEquals((await cancelJobs(db, ids.slice(1))).toSorted(), ids.slice(1).toSorted());
    assertEquals((await listRows(db)).map(({ state }) => state), [
      "queued",
      "cancelled",
      "cancelled",
    ]);
  });
});
