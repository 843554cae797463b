/**
 * A process that starts workflows in transactions, signals them and runs a worker, and ends. The test kills it at any
 * moment.
 */
import * as z from "zod";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
  type TransactionClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createJobWorker } from "../../jobs/mod.ts";
import { defineWorkflow, signalWorkflow } from "../../workflows/mod.ts";

const [json, orders] = Deno.args;
const config: DatabaseConfig = JSON.parse(json);
const getDb = () => getDrizzleClient(config);

const Order = z.object({ order: z.uuid(), fails: z.boolean() });

async function apply(tx: TransactionClient, order: string, step: string): Promise<void> {
  await tx.execute(
    sql`insert into applied values (${crypto.randomUUID()}::uuid, ${order}::uuid, ${step})`,
  );
}

/** A part of an order that has a workflow of its own. */
export const parcel = defineWorkflow({ name: "parcel", input: Order })(
  async ({ step, input: { order } }) => {
    await step("pack", (tx) => apply(tx, order, "pack"));
    return "packed";
  },
);

/** Uses every kind of step. An order that fails is taken back. */
export const order = defineWorkflow({ name: "order", input: Order, timeoutSeconds: 20 })(
  async ({ step, sleep, waitFor, all, child, input, input: { order, fails } }) => {
    await step("first", {
      undo: (_result, tx) => apply(tx, order, "undo first"),
    }, (tx) => apply(tx, order, "first"));
    await step("effect", async () => {
      const id = crypto.randomUUID();
      await (await getDb()).execute(
        sql`insert into effects values (${id}::uuid, ${order}::uuid)`,
      );
    });
    await all([
      async () => {
        await sleep(0.01);
        await step("left", (tx) => apply(tx, order, "left"));
      },
      () => step("right", (tx) => apply(tx, order, "right")),
      () => child(parcel, input),
    ]);
    const paid = await waitFor("paid", { timeoutSeconds: 86_400, schema: z.string() });
    await step("paid", (tx) => apply(tx, order, `paid ${paid}`));
    if (fails) throw new Error("The order fails");
  },
);

if (import.meta.main) {
  const db = await getDb();
  const ids: string[] = [];
  for (let n = 0; n < Number(orders); n++) {
    const input = { order: crypto.randomUUID(), fails: n % 2 === 1 };
    await withTransaction(db, async (tx) => {
      await tx.execute(sql`insert into orders values (${input.order}::uuid)`);
      const id = await order.start(tx, input);
      await signalWorkflow(tx, id, "paid", "yes");
      ids.push(id);
    });
  }
  const worker = createJobWorker({
    getDb,
    jobs: [order.job, parcel.job],
    concurrency: 3,
    logging: { level: "SILENT" },
    metrics: false,
  });
  for (let round = 0; round < 3; round++) {
    await worker.runDue();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await closeDrizzleClient(config);
  // deno-lint-ignore no-console -- tells the test that nothing is left to kill
  console.log("done");
}
