import { assertEquals, assertRejects } from "@std/assert";
import * as z from "zod";
import { closeDrizzleClient } from "../../database/providers/client.ts";
import { executeRows, getDrizzleClient, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  configureJobs,
  createJobWorker,
  createNotifyDelivery,
  defineJob,
  JOBS_MIGRATION_SQL,
} from "../../jobs/mod.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { listRows } from "./jobs_database.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

Deno.test("jobs run exactly once on the distributed provider, with workers that compete", async () => {
  await withDistSqlLab(async (lab) => {
    const result = await lab.migrate([
      JOBS_MIGRATION_SQL,
      `CREATE TABLE "applied" ("id" uuid PRIMARY KEY NOT NULL, "n" integer NOT NULL);`,
    ]);
    assertEquals(result.applied, 2);
    const config = { ...lab.config, maxConnections: 8, instrument: false };
    const db = await getDrizzleClient(config);
    try {
      const add = defineJob({ name: "add", schema: z.number(), transaction: true })(
        async ({ payload, tx }) => {
          await tx.execute(sql`insert into applied values (${crypto.randomUUID()}, ${payload})`);
        },
      );
      const step = defineJob({ name: "step", schema: z.number(), transaction: true })(
        async ({ payload, tx }) => {
          await tx.execute(sql`insert into applied values (${crypto.randomUUID()}, ${payload})`);
        },
      );
      await withTransaction(db, async (tx) => {
        await add.enqueueMany(tx, Array.from({ length: 60 }, (_, n) => n));
        await step.enqueueMany(tx, [100, 101, 102], { group: "g" });
      });
      const many = defineJob({
        name: "many",
        schema: z.number(),
        transaction: true,
        batchSize: 10,
      })(
        async ({ jobs, tx }) => {
          for (const { payload } of jobs) {
            await tx.execute(sql`insert into applied values (${crypto.randomUUID()}, ${payload})`);
          }
        },
      );
      await many.enqueueMany(db, Array.from({ length: 45 }, (_, n) => 200 + n));
      const restore = configureJobs({ delivery: createNotifyDelivery() });
      await assertRejects(() => add.enqueue(db, 1), ConfigurationError, "NOTIFY");
      restore();
      const workers = [[add, step], [add, step], [many], [add, step], [many]].map((jobs) =>
        createJobWorker({ getDb: () => db, jobs, concurrency: 2, ...QUIET })
      );
      for (let round = 0; round < 20; round++) {
        await Promise.all(workers.map((worker) => worker.runDue()));
        const states = await listRows(db);
        if (states.every(({ state }) => state === "done")) break;
      }
      assertEquals(new Set((await listRows(db)).map(({ state }) => state)), new Set(["done"]));
      const applied = await executeRows<{ n: number }>(db, sql`select n from applied order by n`);
      assertEquals(applied.map(({ n }) => n), [
        ...Array.from({ length: 60 }, (_, n) => n),
        100,
        101,
        102,
        ...Array.from({ length: 45 }, (_, n) => 200 + n),
      ]);
    } finally {
      await closeDrizzleClient(config);
    }
  });
});
