import { assertEquals } from "@std/assert";
import * as z from "zod";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { configureJobs, createJobWorker, createNotifyDelivery, defineJob } from "../../jobs/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { createTestDatabase } from "../../testing/mod.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { createJobsTable } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
/** No look at the table within a test: only a notification lets a job begin. */
const NEVER = { pollMs: 60_000 };

const postgres = await startPostgres();
const url = await postgres.createDatabase("notify");
const enqueuing = getDirectConfig(url);
const working: DatabaseConfig = {
  ...enqueuing,
  connectionString: `${url}?application_name=worker`,
};
const db = await getDrizzleClient(enqueuing);
await createJobsTable(db);
const restore = configureJobs({ delivery: createNotifyDelivery() });

Deno.test.afterAll(async () => {
  restore();
  await closeDrizzleClient(enqueuing);
  await closeDrizzleClient(working);
  await postgres.stop();
});

/** Collects what ran, for tests that wait for it. */
function createRuns<T>() {
  const ran: T[] = [];
  let check = () => {};
  return {
    add(value: T): void {
      ran.push(value);
      check();
    },
    async until(count: number): Promise<T[]> {
      await new Promise<void>((resolve) => {
        check = () => void (ran.length >= count && resolve());
        check();
      });
      return ran;
    },
  };
}

/** Waits until a worker listens, and returns the id of its server process. */
async function findListener(except = 0): Promise<number> {
  for (;;) {
    const [row] = await executeRows<{ pid: number }>(
      db,
      sql`select pid from pg_stat_activity where query = 'listen "trellis_jobs"' and pid <> ${except}`,
    );
    if (row !== undefined) return row.pid;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

Deno.test("start() runs a job of another client, a delayed one and the next attempt when they are due, without a look in between", async () => {
  const runs = createRuns<string>();
  const job = defineJob({
    name: "index",
    schema: z.string(),
    retry: { baseDelaySeconds: 1 },
  })(({ payload, job }) => {
    runs.add(`${payload} ${job.attempt}`);
    if (payload === "fails" && job.attempt === 1) throw new Error("once");
  });
  const worker = createJobWorker({
    getDb: () => getDrizzleClient(working),
    jobs: [job],
    random: () => 0.5,
    ...QUIET,
  });
  worker.start(NEVER);
  await findListener();
  await job.enqueue(db, "at once");
  assertEquals(await runs.until(1), ["at once 1"]);
  await withTransaction(db, async (tx) => {
    await job.enqueue(tx, "later", { delaySeconds: 0.2 });
    await job.enqueueMany(tx, ["fails"]);
  });
  assertEquals((await runs.until(4)).toSorted(), ["at once 1", "fails 1", "fails 2", "later 1"]);
  await worker.stop();
});

Deno.test("start() begins a job at once on the embedded database", async () => {
  const { db: embedded, close } = await createTestDatabase();
  await createJobsTable(embedded);
  const runs = createRuns<string>();
  const job = defineJob({ name: "index", schema: z.string() })(({ payload }) => runs.add(payload));
  const worker = createJobWorker({ getDb: () => embedded, jobs: [job], ...QUIET });
  const { lines } = await captureLogs(async () => {
    worker.start(NEVER);
    await job.enqueue(embedded, "first");
    await runs.until(1);
    // the worker sees nothing due, and listens
    await job.enqueue(embedded, "at once", { delaySeconds: 0.1 });
    assertEquals(await runs.until(2), ["first", "at once"]);
    await worker.stop();
  });
  assertEquals(lines.filter(({ level }) => level === "WARN"), []);
  await close();
});

Deno.test("start() listens again when its connection was cut", async () => {
  const runs = createRuns<number>();
  const job = defineJob({ name: "index", schema: z.number() })(({ payload }) => runs.add(payload));
  const worker = createJobWorker({ getDb: () => getDrizzleClient(working), jobs: [job], ...QUIET });
  worker.start(NEVER);
  const pid = await findListener();
  await db.execute(sql`select pg_terminate_backend(${pid}::int)`);
  await findListener(pid);
  await job.enqueue(db, 1);
  assertEquals(await runs.until(1), [1]);
  await worker.stop();
});

Deno.test("start() polls, and says so once, when its provider cannot listen", async () => {
  const runs = createRuns<number>();
  const job = defineJob({ name: "index", schema: z.number() })(({ payload }) => runs.add(payload));
  const { lines } = await captureLogs(async () => {
    const deaf = new Proxy(db, {
      get: (target, key) => key === "$client" ? {} : Reflect.get(target, key),
    });
    const worker = createJobWorker({ getDb: () => deaf, jobs: [job], ...QUIET });
    worker.start({ pollMs: 10 });
    await job.enqueue(db, 1);
    await runs.until(1);
    await job.enqueue(db, 2);
    await runs.until(2);
    await worker.stop();
  });
  assertEquals(lines.filter(({ level }) => level === "WARN").map(({ message }) => message), [
    "listening for jobs failed, the worker looks at the table more often",
  ]);
});

Deno.test("a look at an idle table is one statement", async () => {
  const job = defineJob({ name: "index", schema: z.number() })(() => {});
  let statements = 0;
  const getDb = () => {
    statements++;
    return db;
  };
  const worker = createJobWorker({ getDb, jobs: [job], random: () => 0.5, ...QUIET });
  await worker.runDue();
  assertEquals(statements, 1);
});
