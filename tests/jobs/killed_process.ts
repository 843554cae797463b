/**
 * A process that enqueues jobs in transactions, runs a relay and a worker, and ends. The test kills
 * it at any moment.
 */
import * as z from "zod";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import {
  configureJobs,
  createJobWorker,
  defineJob,
  defineJobRelayHandler,
} from "../../jobs/mod.ts";
import { createLambdaContext } from "../../testing/context.ts";
import { createScheduleEvent } from "../../testing/trigger_events.ts";

const [json, orders] = Deno.args;
const config: DatabaseConfig = JSON.parse(json);
const GROUPS = 5;
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const getDb = () => getDrizzleClient(config);

/** Applies an order in the transaction that ends the job. */
export const apply = defineJob({
  name: "apply",
  schema: z.object({ order: z.uuid() }),
  transaction: true,
  timeoutSeconds: 20,
})(async ({ payload, tx }) => {
  await tx.execute(
    sql`insert into applied values (${crypto.randomUUID()}::uuid, ${payload.order}::uuid)`,
  );
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

async function enqueueOrders(count: number): Promise<void> {
  const db = await getDb();
  for (let n = 0; n < count; n++) {
    const order = crypto.randomUUID();
    await withTransaction(db, async (tx) => {
      await tx.execute(sql`insert into orders values (${order}::uuid)`);
      await apply.enqueue(tx, { order });
      await notify.enqueue(tx, { order }, { key: order });
      const group = `group ${Math.floor(n / 2) % GROUPS}`;
      const at = performance.timeOrigin + performance.now();
      await list.enqueue(tx, { order, group, at }, { group });
    });
  }
}

if (import.meta.main) {
  const worker = createJobWorker({ getDb, jobs: [apply, notify, list], concurrency: 2, ...QUIET });
  // a queue that loses everything: the relay's hand-over is all that remains
  const relay = defineJobRelayHandler({ getDb, ...QUIET });
  await enqueueOrders(Number(orders));
  configureJobs({
    delivery: {
      graceSeconds: 0,
      deliver: async (jobs) => void await worker.runIds(jobs.map(({ id }) => id)),
    },
  });
  await relay(createScheduleEvent(), createLambdaContext());
  configureJobs({});
  await worker.runDue();
  await closeDrizzleClient(config);
  // deno-lint-ignore no-console -- tells the test that nothing is left to kill
  console.log("done");
}
