import { assert, assertEquals, assertRejects } from "@std/assert";
import * as z from "zod";
import { buildValidatedResponse } from "../../core/mod.ts";
import { withTransaction } from "../../database/mod.ts";
import { createJobWorker, defineJob } from "../../jobs/mod.ts";
import { onSpanEnd, setLogOutput, type Span } from "../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withJobs } from "./jobs_database.ts";

interface Line {
  readonly job?: string;
  readonly JobsEnqueued?: number;
}

/** Returns the metric documents that were written while `work` ran. */
async function collectEnqueued(
  work: () => Promise<void>,
): Promise<(readonly [unknown, unknown])[]> {
  let text = "";
  const restore = setLogOutput((lines) => text += `${lines}\n`);
  try {
    await work();
  } finally {
    restore();
  }
  return text.split("\n").filter((line) => line.includes('"JobsEnqueued"'))
    .map((line) => JSON.parse(line) as Line).map(({ job, JobsEnqueued }) => [job, JobsEnqueued]);
}

Deno.test("enqueue() adds the metric JobsEnqueued after COMMIT, and none after a rollback", async () => {
  await withJobs(async (db) => {
    const report = defineJob({ name: "report", schema: z.int() })(() => {});
    const greet = defineJob({ name: "greet", schema: z.int() })(() => {});
    const found = await collectEnqueued(async () => {
      await withTransaction(db, async (tx) => {
        await report.enqueueMany(tx, [1, 2, 3]);
        await greet.enqueue(tx, 1);
      });
      await report.enqueue(db, 4);
      await assertRejects(() =>
        withTransaction(db, async (tx) => {
          await report.enqueue(tx, 5);
          throw new Error("rolled back");
        })
      );
    });
    assertEquals(found, [["report", 3], ["greet", 1], ["report", 1]]);
  });
});

Deno.test("an attempt belongs to the trace of the request that enqueued its job", async () => {
  await withJobs(async (db) => {
    const spans: Span[] = [];
    const stop = onSpanEnd((span) => void spans.push(span));
    const restore = setLogOutput(() => {});
    try {
      const seen: string[] = [];
      const report = defineJob({ name: "report", schema: z.int() })(({ metadata }) => {
        seen.push(metadata.correlationId);
      });
      const request = defineApiHandler()(async function order({ context }) {
        await withTransaction(db, async (tx) => void await report.enqueue(tx, 1));
        return buildValidatedResponse(context, 202);
      });
      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
      const event = createRestApiEvent({
        method: "POST",
        path: "/orders",
        headers: {
          traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
          "X-Correlation-Id": "order-4711",
        },
      });
      await request(event, createLambdaContext());
      const ofRequest = spans.filter((span) => span.traceId === traceId);
      await createJobWorker({ getDb: () => db, jobs: [report] }).runDue();

      const attempt = spans.find((span) => span.name === "report");
      assert(attempt !== undefined);
      assertEquals(attempt.traceId, traceId);
      assert(ofRequest.some(({ spanId }) => spanId === attempt.parentSpanId));
      assertEquals(seen, ["order-4711"]);
    } finally {
      restore();
      stop();
    }
  });
});

Deno.test("a job writes at most 500 bytes of logs, and its metrics together with those of others", async () => {
  await withJobs(async (db) => {
    let fails = true;
    // not due again while the worker runs
    const retry = { baseDelaySeconds: 900 };
    const job = defineJob({ name: "index", schema: z.number(), retry })(() => {
      if (!fails) return;
      fails = false;
      throw new Error("once");
    });
    await job.enqueueMany(db, Array.from({ length: 40 }, (_, n) => n));
    const { lines } = await captureLogs(() =>
      createJobWorker({ getDb: () => db, jobs: [job] }).runDue()
    );
    const completed = lines.filter(({ message }) => message === "job completed");
    assertEquals([completed.length, completed[0].operation], [39, "index"]);
    assertEquals(lines.filter(({ message }) => message === "job failed").length, 1);
    const [counted, ...others] = lines.filter((line) => "JobsDelivered" in line);
    assertEquals(others, []);
    const { JobsDelivered, JobsRetried, JobsDead, JobWait, job: name } = counted;
    assertEquals([name, JobsDelivered, JobsRetried, JobsDead], ["index", 40, 1, undefined]);
    assertEquals((JobWait as number[]).length, 40);
    const timed = lines.filter((line) => "Duration" in line);
    assertEquals(timed.map(({ operationName, Errors }) => [operationName, Errors]), [["index", 1]]);
    const usual = lines.filter(({ level }) => level === undefined || level === "INFO");
    const bytes = usual.reduce((sum, line) => sum + JSON.stringify(line).length + 1, 0);
    assert(bytes / 39 <= 500, `${bytes / 39} bytes`);
  });
});
