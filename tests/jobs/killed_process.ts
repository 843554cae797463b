/**
 * A process that enqueues jobs in transactions, runs a relay and a worker, and ends. The test kills
 * it at any moment.
 */
import * as z from "zod";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  type TransactionClient,
  withDistSqlRetry,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import {
  configureJobs,
  createJobWorker,
  defineJob,
  defineJobRelayHandler,
  type JobUniqueOptions,
} from "../../jobs/mod.ts";
import { createLambdaContext } from "../../testing/context.ts";
import { createScheduleEvent } from "../../testing/trigger_events.ts";

const [json, orders] = Deno.args;
const config: DatabaseConfig = JSON.parse(json);
const GROUPS = 5;
const KEYS = 7;
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const getDb = () => getDrizzleClient(config);

/** Applies several orders in the transaction that ends their jobs. */
export const apply = defineJob({
  name: "apply",
  schema: z.object({ order: z.uuid() }),
  transaction: true,
  timeoutSeconds: 20,
  batchSize: 5,
})(async ({ jobs, tx }) => {
  for (const { payload } of jobs) {
    await tx.execute(
      sql`insert into applied values (${crypto.randomUUID()}::uuid, ${payload.order}::uuid)`,
    );
  }
});

const Entry = z.object({ order: z.uuid(), group: z.string(), at: z.number() });

/** Writes an order into the list of its group. */
export const list = defineJob({
  name: "list",
  schema: Entry,
  transaction: true,
  timeoutSeconds: 20,
})(async ({ payload: { order, group, at }, tx }) => {
  await tx.execute(
    sql`insert into listed values (${crypto.randomUUID()}::uuid, ${order}::uuid, ${group}, ${at}::float8, clock_timestamp())`,
  );
});

/** Has an effect outside of the job's transaction. */
export const notify = defineJob({
  name: "notify",
  schema: z.object({ order: z.uuid() }),
  timeoutSeconds: 20,
})(
  async ({ payload, idempotencyKey }) => {
    await (await getDb()).execute(
      sql`insert into effects values (${crypto.randomUUID()}::uuid, ${payload.order}::uuid, ${idempotencyKey}::uuid)`,
    );
  },
);

/** Defines a job that reads how often its key has changed, sometimes fails, and writes what it has read. */
function defineIndex(name: string, unique: JobUniqueOptions) {
  return defineJob({
    name,
    schema: z.string(),
    unique,
    timeoutSeconds: 20,
    retry: { maxAttempts: 100, baseDelaySeconds: 0 },
  })(async ({ payload: key }) => {
    const db = await getDb();
    const [{ n }] = await executeRows<{ n: number }>(
      db,
      sql`select n from changed where key = ${key}`,
    );
    if (Math.random() < 0.1) throw new Error("It fails sometimes");
    await withDistSqlRetry(() =>
      db.execute(sql`insert into indexed values (${name}, ${key}, ${n}::int)
        on conflict (job, key) do update set n = greatest(indexed.n, excluded.n)`)
    );
  });
}

/** Jobs that run after each change of their key, at last after the last one. */
export const indexes = [
  defineIndex("debounced", { replace: true }),
  defineIndex("queued-once", { whileQueued: true }),
];

async function enqueueOrders(count: number): Promise<void> {
  const db = await getDb();
  for (let n = 0; n < count; n++) {
    const order = crypto.randomUUID();
    const key = `key ${n % KEYS}`;
    const work = async (tx: TransactionClient) => {
      await tx.execute(sql`insert into orders values (${order}::uuid)`);
      await tx.execute(sql`insert into changed values (${key}, 1)
        on conflict (key) do update set n = changed.n + 1`);
      for (const [at, index] of indexes.entries()) {
        await index.enqueue(tx, key, { key, delaySeconds: at === 0 ? 0.02 : 0 });
      }
      await apply.enqueue(tx, { order });
      await notify.enqueue(tx, { order }, { key: order });
      const group = `group ${Math.floor(n / 2) % GROUPS}`;
      const at = performance.timeOrigin + performance.now();
      await list.enqueue(tx, { order, group, at }, { group });
    };
    await withDistSqlRetry(() => withTransaction(db, work), { maxRetries: 20 });
  }
}

if (import.meta.main) {
  const jobs = [apply, notify, list, ...indexes];
  const worker = createJobWorker({ getDb, jobs, concurrency: 2, ...QUIET });
  // a worker of one job leases whole batches
  const batches = createJobWorker({ getDb, jobs: [apply], concurrency: 2, ...QUIET });
  // a queue that loses everything: the relay's hand-over is all that remains
  const relay = defineJobRelayHandler({ getDb, ...QUIET });
  await enqueueOrders(Math.ceil(Number(orders) / 2));
  configureJobs({
    delivery: {
      graceSeconds: 0,
      deliver: async (jobs) => void await worker.runIds(jobs.map(({ id }) => id)),
    },
  });
  await relay(createScheduleEvent(), createLambdaContext());
  configureJobs({});
  // keys change while their jobs run
  await Promise.all([
    worker.runDue(),
    batches.runDue(),
    enqueueOrders(Math.floor(Number(orders) / 2)),
  ]);
  await Promise.all([batches.runDue(), worker.runDue()]);
  await closeDrizzleClient(config);
  // deno-lint-ignore no-console -- tells the test that nothing is left to kill
  console.log("done");
}
