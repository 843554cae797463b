import { assertEquals, assertRejects } from "@std/assert";
import * as z from "zod";
import {
  closeDrizzleClient,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { TransactionMisuseError } from "../../errors/mod.ts";
import { defineJob } from "../../jobs/mod.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";
import { createJobsTable, listRows } from "./jobs_database.ts";

const postgres = await startPostgres();
const proxy = await countRoundTrips(await postgres.createDatabase("trips"));
const database = getDirectConfig(proxy.url);
const db = await getDrizzleClient(database);
await createJobsTable(db);
await db.execute(sql`create table notes (id int primary key)`);

const job = defineJob({ name: "index", schema: z.number() })(() => {});
let next = 0;

Deno.test.afterAll(async () => {
  await closeDrizzleClient(database);
  await proxy.stop();
  await postgres.stop();
});

async function countTrips(work: () => Promise<unknown>): Promise<number> {
  const before = proxy.count();
  await work();
  return proxy.count() - before;
}

const insertNote = (enqueue: number) =>
  withTransaction(db, async (tx) => {
    await tx.execute(sql`insert into notes values (${next++})`);
    for (let n = 0; n < enqueue; n++) await job.enqueue(tx, next);
  });

Deno.test("enqueue() in a transaction takes no round trip", async () => {
  // the first time prepares the statements
  await insertNote(1);
  assertEquals(await countTrips(() => insertNote(0)), 3);
  assertEquals(await countTrips(() => insertNote(1)), 3);
  assertEquals(await countTrips(() => insertNote(5)), 3);
  assertEquals((await listRows(db)).length, 7);
});

Deno.test("a pipelined insert that fails rolls the transaction back, and rejects it", async () => {
  await db.execute(sql`alter table trellis_jobs add constraint small check (length(payload) < 4)`);
  const before = (await executeRows(db, sql`select * from notes`)).length;
  for (const last of [false, true]) {
    await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await tx.execute(sql`insert into notes values (${next++})`);
        await job.enqueue(tx, 12345);
        if (!last) await tx.execute(sql`select 1`);
      })
    );
  }
  assertEquals((await executeRows(db, sql`select * from notes`)).length, before);
  // the connection can be used again
  await insertNote(1);
});

Deno.test("enqueue() that was not awaited is refused once its transaction has ended", async () => {
  let late: Promise<unknown> | undefined;
  let free = () => {};
  const gate = new Promise<void>((resolve) => free = resolve);
  await withTransaction(db, async (tx) => {
    late = gate.then(() => job.enqueue(tx, 1));
    await tx.execute(sql`select 1`);
  });
  const before = (await listRows(db)).length;
  free();
  await assertRejects(() => late!, TransactionMisuseError);
  assertEquals((await listRows(db)).length, before);
});
