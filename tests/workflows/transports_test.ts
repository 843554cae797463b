import { assertEquals } from "@std/assert";
import * as z from "zod";
import { executeRows } from "../../database/session/execute.ts";
import { sql } from "../../database/orm.ts";
import {
  configureJobs,
  createSqsDelivery,
  createStreamDelivery,
  defineJobQueueHandler,
  defineJobRelayHandler,
  defineJobStreamHandler,
  type JobDelivery,
} from "../../jobs/mod.ts";
import { createLambdaContext, createQueueEvent, createScheduleEvent } from "../../testing/mod.ts";
import { defineWorkflow, signalWorkflow } from "../../workflows/mod.ts";
import { withQueue } from "../jobs/sqs_queue.ts";
import { createChange, toRecord } from "../jobs/stream_records.ts";
import { openWorkflowWorld, type WorkflowWorld } from "./workflow_world.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

const child = defineWorkflow({ name: "child", input: z.string() })(({ step, input }) =>
  step("child", async (tx) => {
    await tx.execute(sql`insert into applied (value) values (${`child ${input}`})`);
    return input.length;
  })
);

/** Waits for a child, a time and a signal. */
const parent = defineWorkflow({ name: "parent", input: z.string() })(
  async ({ step, sleep, waitFor, child: run, input }) => {
    const length = await run(child, input);
    await sleep(600);
    await step("parent", async (tx) => {
      await tx.execute(sql`insert into applied (value) values (${`parent ${length}`})`);
    });
    return await waitFor("go");
  },
);
const jobs = [parent.job, child.job];

/** Runs a workflow whose turns a transport delivers: each of them twice, the last one first. */
async function runThrough(
  { db, clock, applied, clear }: WorkflowWorld,
  delivery: JobDelivery,
  deliver: () => Promise<void>,
): Promise<void> {
  const restore = configureJobs({ clock, delivery });
  try {
    const id = await parent.start(db, "abc");
    await deliver();
    assertEquals(await applied(), ["child abc"]);
    await clock.advance(600_000);
    await deliver();
    assertEquals(await applied(), ["child abc", "parent 3"]);
    assertEquals((await parent.get(db, id))?.state, "running");
    await signalWorkflow(db, id, "go", "gone");
    await deliver();
    const { state, output } = (await parent.get(db, id))!;
    assertEquals({ state, output }, { state: "done", output: "gone" });
  } finally {
    restore();
    await clear();
  }
}

Deno.test("workflows run their turns with the messages of a queue", async () => {
  await using world = await openWorkflowWorld();
  const { db, clock } = world;
  await withQueue(async (client, sent) => {
    const queueUrl = "https://sqs.eu-central-1.amazonaws.com/000000000000/jobs";
    const worker = defineJobQueueHandler({ getDb: () => db, jobs, clock, ...QUIET });
    // the queue delivers a message with a delay again, when its time has come
    const delayed: string[] = [];
    await runThrough(world, createSqsDelivery({ queueUrl, client }), async () => {
      sent.push(...delayed.splice(0).map((body) => ({ ...sent[0], body })));
      while (sent.length > 0) {
        const bodies = sent.splice(0).map(({ body }) => body).reverse();
        delayed.push(...bodies);
        const records = [...bodies, ...bodies].map((body) => ({ body }));
        await worker(createQueueEvent(records), createLambdaContext());
      }
    });
  });
});

Deno.test("workflows run their turns with the records of a change stream, and their times with the relay", async () => {
  await using world = await openWorkflowWorld();
  const { db, clock } = world;
  const worker = defineJobStreamHandler({ getDb: () => db, jobs, clock, ...QUIET });
  const relay = defineJobRelayHandler({ getDb: () => db, jobs, clock, ...QUIET });
  const seen = new Set<string>();
  const listInserted = async () =>
    (await executeRows<{ id: string }>(db, sql`select id from trellis_jobs`))
      .map(({ id }) => id).filter((id) => !seen.has(id));
  async function deliver(): Promise<void> {
    for (let ids = await listInserted(); ids.length > 0; ids = await listInserted()) {
      for (const id of ids) seen.add(id);
      const records = [...ids, ...ids].reverse().map((id) => toRecord(createChange("c", id)));
      await worker({ Records: records }, createLambdaContext());
    }
  }
  await runThrough(world, createStreamDelivery(), async () => {
    await deliver();
    await clock.advance(60_000);
    await relay(createScheduleEvent(), createLambdaContext());
    await deliver();
  });
});
