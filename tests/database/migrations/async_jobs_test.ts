import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { waitForJob } from "../../../database/migrations/async_jobs.ts";
import type { MigrationContext } from "../../../database/migrations/context.ts";
import { nameTables } from "../../../database/migrations/history.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import type { DistSqlJob } from "../../../distsql/translate/context/translation.ts";
import type { Row } from "../../../sql/session.ts";
import { createFakeClock, type FakeClock } from "../../../testing/mod.ts";
import { connectionLost, fakeSession, heldLock, withDeadline } from "./migration_support.ts";

interface Provider {
  context: MigrationContext;
  clock: FakeClock;
  lines: string[];
  /** Questions to the job table and to the catalog, in order. */
  asked: [about: "job" | "catalog", text: string, params: readonly unknown[]][];
}

type Look = { job?: Row; valid?: boolean };

/** A provider whose job and catalog look like this, one look after the other; the last one stays. */
function provider(looks: readonly Look[], more: Partial<MigrationContext> = {}): Provider {
  const clock = createFakeClock({ nowMs: 0, autoAdvance: true });
  const lines: string[] = [];
  const asked: Provider["asked"] = [];
  let at = -1;
  const session = fakeSession((text, params) => {
    const isJob = text.includes("sys.jobs");
    if (isJob) at = Math.min(at + 1, looks.length - 1);
    asked.push([isJob ? "job" : "catalog", text, params]);
    const { job, valid } = looks[at];
    if (isJob) return job === undefined ? [] : [job];
    return valid === undefined ? [] : [{ valid }];
  });
  const context: MigrationContext = {
    session,
    tables: nameTables(),
    lock: heldLock(),
    limitsRows: true,
    lockLimits: undefined,
    backfill: { batchMs: 200, maxLagMs: 5000, maxWaitMs: 600_000 },
    jobTimeoutMs: 60_000,
    isOver: () => false,
    logger: (line) => void lines.push(line),
    clock,
    onUndecided: undefined,
    openClient: () => Promise.reject(new Error("no client")),
    ...more,
  };
  return { context, clock, lines, asked };
}

const INDEX: DistSqlJob = { kind: "index", table: "app.notes", name: '"App"."Notes_i"' };

function job(status: string, more: Partial<Row> = {}): Row {
  return { status, details: null, object_name: null, ...more };
}

Deno.test("waitForJob() waits until the catalog says that the index is valid, longer each time", async () => {
  const running = [
    { job: job("SUBMITTED") },
    ...Array(8).fill({ job: job("processing"), valid: false }),
  ];
  const { context, clock, lines, asked } = provider([...running, {
    job: job("completed"),
    valid: true,
  }]);
  assertEquals(await waitForJob(INDEX, "job-1", context), { isValid: true, detail: undefined });
  assertEquals(clock.sleeps, [200, 300, 450, 675, 1012.5, 1518.75, 2278.125, 3000, 3000]);
  assertEquals(lines, ["waiting for the background job on app.notes"]);
  assertEquals([asked[0][0], asked[0][1].includes("WHERE job_id = 'job-1' ")], ["job", true]);
  assertEquals(asked[1][2], ["Notes_i", "app.notes"]);
  assertEquals([asked[1][1].includes("pg_index"), asked.length], [true, 20]);
});

Deno.test("waitForJob() believes the catalog, not the job", async () => {
  const cases: [what: string, look: Look, expected: Awaited<ReturnType<typeof waitForJob>>][] = [
    ["a job that is gone, its index valid", { valid: true }, { isValid: true, detail: undefined }],
    ["a failed job, its index valid", { job: job("failed"), valid: true }, {
      isValid: true,
      detail: undefined,
    }],
    ["a completed job without an index", { job: job("completed") }, {
      isValid: false,
      detail: "completed: ",
    }],
    [
      "a failed job",
      { job: job("FAILED", { details: "duplicate keys" }), valid: false },
      { isValid: false, detail: "failed: duplicate keys" },
    ],
    ["a job that is gone, its index not valid", { valid: false }, {
      isValid: false,
      detail: undefined,
    }],
    ["nothing at all", {}, { isValid: false, detail: undefined }],
  ];
  for (const [what, look, expected] of cases) {
    const { context, clock } = provider([look]);
    assertEquals(await waitForJob(INDEX, "job-1", context), expected, what);
    assertEquals(clock.sleeps, [], what);
  }
});

Deno.test("waitForJob() looks at a constraint in its own catalog", async () => {
  const { context, asked } = provider([{ job: job("completed"), valid: true }]);
  await waitForJob({ kind: "constraint", table: "notes", name: "Notes_fk" }, "job-1", context);
  assertEquals([asked[1][1].includes("pg_constraint"), asked[1][2]], [true, ["notes_fk", "notes"]]);
});

Deno.test("waitForJob() finds the newest job by name if its id is unknown", async () => {
  const named = provider([{ job: job("completed"), valid: true }]);
  await waitForJob(INDEX, undefined, named.context);
  assertStringIncludes(
    named.asked[0][1],
    "WHERE object_name = 'Notes_i' OR object_name LIKE '%.' || 'Notes_i' " +
      `OR object_name = '"Notes_i"' OR object_name LIKE '%.' || '"Notes_i"' ` +
      "ORDER BY start_time DESC LIMIT 1",
  );
  const unnamed = provider([{
    job: job("completed", { object_name: "app.notes_idx" }),
    valid: true,
  }]);
  await waitForJob({ kind: "index", table: "app.notes" }, undefined, unnamed.context);
  // the server named the index: the job tells how
  assertStringIncludes(unnamed.asked[0][1], "WHERE object_name = 'notes' OR");
  assertEquals(unnamed.asked.map(([, , params]) => params), [[], [
    "notes_idx",
    "app.notes",
  ]]);
});

Deno.test("waitForJob() takes an index that has no name anywhere as not valid", async () => {
  const { context, asked } = provider([{ job: job("failed", { details: "why" }), valid: true }]);
  const outcome = await waitForJob({ kind: "index", table: "notes" }, "job-1", context);
  assertEquals(outcome, { isValid: false, detail: "failed: why" });
  assertEquals(asked.map(([about]) => about), ["job"]);
});

Deno.test("waitForJob() gives a name of no words to the catalog as it is", async () => {
  const { context, asked } = provider([{ valid: true }]);
  await waitForJob({ kind: "index", table: "notes", name: "''" }, "job-1", context);
  assertEquals(asked[1][2], ["''", "notes"]);
});

Deno.test("waitForJob() stops when the run may not wait any longer, and says what to do", async () => {
  const { context, clock } = provider([{ job: job("processing") }], { jobTimeoutMs: 1000 });
  const error = await assertRejects(() => waitForJob(INDEX, "job-1", context), MigrationError);
  assertEquals(error.code, "MIGRATION");
  assertEquals(
    error.message,
    "The background job on app.notes is still processing: run the migrations again to continue waiting for it",
  );
  assertEquals(clock.sleeps, [200, 300, 450]); // the next one, 675 ms, would end after 1,000
});

Deno.test("waitForJob() waits up to its time and no longer", async () => {
  const exact = provider([{ job: job("processing") }], { jobTimeoutMs: 500 });
  await assertRejects(() => waitForJob(INDEX, "job-1", exact.context), MigrationError);
  assertEquals(exact.clock.sleeps, [200, 300]);
});

Deno.test("waitForJob() leaves an invocation the time to say that it has not ended", async () => {
  await withDeadline(async (deadlineMs) => {
    const clock = createFakeClock({ nowMs: deadlineMs - 1000, autoAdvance: true });
    const { context } = provider([{ job: job("processing") }], { clock });
    await assertRejects(
      () => waitForJob(INDEX, "job-1", context),
      MigrationError,
      "is still processing",
    );
    // 500 ms are left when the third wait, of 450 ms, would begin
    assertEquals(clock.sleeps, [200, 300]);
  });
});

Deno.test("waitForJob() stops when the lock is lost, and asks again when an answer is lost", async () => {
  const lost = new MigrationError("another run took over");
  const stopped = provider([{ job: job("processing") }], {
    lock: heldLock({ check: () => Promise.reject(lost) }),
  });
  assertEquals(await assertRejects(() => waitForJob(INDEX, "job-1", stopped.context)), lost);
  assertEquals(stopped.clock.sleeps, [200]);

  let times = 0;
  const cut = provider([{}], {
    session: fakeSession((text) => {
      if (++times % 2 === 1) throw connectionLost();
      return text.includes("sys.jobs") ? [] : [{ valid: true }];
    }),
  });
  assertEquals(await waitForJob(INDEX, "job-1", cut.context), { isValid: true, detail: undefined });
  assertEquals(times, 4);
});
