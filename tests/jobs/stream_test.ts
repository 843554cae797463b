// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as z from "zod";
import { createJobRow } from "../../jobs/job_row.ts";
import { listInsertedJobs } from "../../jobs/job_stream_handler.ts";
import { executeRows, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ValidationError } from "../../errors/mod.ts";
import {
  configureJobs,
  createStreamDelivery,
  defineJob,
  defineJobRelayHandler,
  defineJobStreamHandler,
  type KinesisRecord,
} from "../../jobs/mod.ts";
import { createFakeClock, createLambdaContext, createScheduleEvent } from "../../testing/mod.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { listRows, withJobs } from "./jobs_database.ts";
import { createChange, toRecord } from "./stream_records.ts";

const ROUNDS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100 : 3;
const JOBS = 40;
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

/** A row of another table that Aurora DSQL has split: its main record and the fragments. */
function splitOtherRow(random: () => number): KinesisRecord[] {
  const text = JSON.stringify({ id: crypto.randomUUID(), text: "x".repeat(40) });
  const chunk = crypto.randomUUID();
  const size = 10 + Math.floor(random() * 20);
  const parts = Array.from(
    { length: Math.ceil(text.length / size) },
    (_, at) => text.slice(at * size, (at + 1) * size),
  );
  const { after: _, ...main } = createChange("c", chunk, "documents");
  return [
    toRecord({
      ...main,
      type: "chunked",
      after: null,
      chunked: { after: { chunk_id: chunk, total_fragments: parts.length, crc32c: "1" } },
    }),
    ...parts.map((data, index) => toRecord({ type: "fragment", chunk_id: chunk, index, data })),
  ];
}

Deno.test("listInsertedJobs() skips split rows of other tables, and refuses a split job", () => {
  for (const { kinesis } of splitOtherRow(() => 0.5)) {
    assertEquals(listInsertedJobs(kinesis.data), []);
  }
  const job = { ...createChange("c", crypto.randomUUID()), type: "chunked", after: null };
  const chunked = { after: { chunk_id: "c", total_fragments: 2, crc32c: "1" } };
  for (const record of [{ ...job, chunked }, { ...job, chunked: undefined }, { type: "later" }]) {
    assertThrows(() => listInsertedJobs(toRecord(record).kinesis.data), ValidationError);
  }
});

Deno.test("the largest job fits into one record of the change stream, however JSON escapes it", async () => {
  const schema = z.string();
  const largest = "x".repeat(1_000_000 - 2);
  const row = await createJobRow("n".repeat(100), schema, largest, { group: "g".repeat(500) });
  await assertRejects(() => createJobRow("n", schema, `${largest}x`, {}), Error, "bytes");
  const rest = { ...row, payload: "" };
  // a serializer may escape every byte with six
  const bytes = 6 * (row.payload.length + JSON.stringify(rest).length) +
    JSON.stringify(createChange("c", row.id)).length;
  assert(bytes < 9 * 1024 * 1024, String(bytes));
});

Deno.test("defineJobStreamHandler() runs each job once and groups in order, whatever the stream does", async () => {
  const random = createRandom(testSeed).next;
  const counts = { jobs: 0, missing: 0, doubled: 0, split: 0, fragments: 0 };
  await withJobs(async (db) => {
    await db.execute(sql`create table ran (n serial, job uuid, group_name text, step int)`);
    for (let round = 0; round < ROUNDS; round++) {
      await db.execute(sql`truncate trellis_jobs, ran`);
      const clock = createFakeClock();
      const restore = configureJobs({
        clock,
        delivery: createStreamDelivery({ graceSeconds: 60 }),
      });
      const step = defineJob({
        name: "step",
        schema: z.object({ group: z.string().nullable(), step: z.int() }),
        transaction: true,
      })(async ({ payload, job, tx }) => {
        await tx.execute(
          sql`insert into ran (job, group_name, step) values (${job.id}::uuid, ${payload.group}, ${payload.step})`,
        );
      });
      try {
        const ids: string[] = [];
        for (let n = 0; n < JOBS; n++) {
          const group = random() < 0.7 ? `g${Math.floor(random() * 4)}` : null;
          await withTransaction(db, async (tx) => {
            ids.push(await step.enqueue(tx, { group, step: n }, { group: group ?? undefined }));
          });
        }
        const records: KinesisRecord[] = [];
        for (const id of ids) {
          const kind = random();
          if (kind < 0.15) {
            counts.missing++;
            continue;
          }
          if (kind < 0.25) {
            const text = JSON.stringify(createChange("c", id));
            const at = Math.floor(random() * text.length);
            records.push(toRecord(text.slice(0, at)), toRecord(text.slice(at)));
            counts.split++;
            continue;
          }
          records.push(toRecord(createChange("c", id)));
          if (kind < 0.5) {
            records.push(toRecord(createChange("c", id)));
            counts.doubled++;
          }
          if (kind > 0.9) {
            records.push(...splitOtherRow(random));
            counts.fragments++;
          }
          records.push(toRecord(createChange("u", id)), toRecord(createChange("c", id, "orders")));
        }
        for (let at = records.length - 1; at > 0; at--) {
          const other = Math.floor(random() * (at + 1));
          [records[at], records[other]] = [records[other], records[at]];
        }
        const handlers = [1, 2].map(() =>
          defineJobStreamHandler({ getDb: () => db, jobs: [step], clock, random, ...QUIET })
        );
        while (records.length > 0) {
          const batch = { Records: records.splice(0, 1 + Math.floor(random() * 20)) };
          const deliveries = random() < 0.3 ? handlers : [handlers[0]];
          await Promise.all(deliveries.map((handler) => handler(batch, createLambdaContext())));
        }
        const relay = defineJobRelayHandler({ getDb: () => db, jobs: [step], clock, ...QUIET });
        await clock.advance(60_000);
        await relay(createScheduleEvent(), createLambdaContext());
        const ran = await executeRows<{ job: string; group_name: string | null; step: number }>(
          db,
          sql`select job, group_name, step from ran order by n`,
        );
        assertEquals(ran.map(({ job }) => job).toSorted(), ids.toSorted());
        for (const group of ["g0", "g1", "g2", "g3"]) {
          const steps = ran.filter(({ group_name }) => group_name === group).map((row) => row.step);
          assertEquals(steps, steps.toSorted((a, b) => a - b), `group ${group}`);
        }
        assertEquals(new Set((await listRows(db)).map(({ state }) => state)), new Set(["done"]));
        counts.jobs += ids.length;
      } finally {
        restore();
      }
    }
  });
  assert(counts.missing > 0 && counts.doubled > 0 && counts.split > 0 && counts.fragments > 0);
  console.log(
    `change stream: ${counts.jobs} jobs, ${counts.missing} records missing, ${counts.doubled} doubled, ` +
      `${counts.split} split: 0 lost, 0 run twice, groups in order (seed ${testSeed})`,
  );
});

Deno.test("defineJobStreamHandler() refuses an event that is none of Kinesis", async () => {
  const job = defineJob({ name: "step", schema: z.null() })(() => {});
  const handler = defineJobStreamHandler({
    getDb: () => undefined as never,
    jobs: [job],
    ...QUIET,
  });
  await assertRejects(() => handler({} as never, createLambdaContext()), Error, "Kinesis");
});
