import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import * as z from "zod";
import { executeRows } from "../../database/session/execute.ts";
import { sql } from "../../database/orm.ts";
import { type TransactionClient, withTransaction } from "../../database/session/transaction.ts";
import { NotFoundError, ValidationError } from "../../errors/http_errors.ts";
import {
  type AnyWorkflow,
  cancelWorkflow,
  defineWorkflow,
  getWorkflow,
  listWorkflows,
  replayWorkflow,
  retryWorkflow,
  signalWorkflow,
  type WorkflowOptions,
  type WorkflowParams,
  type WorkflowStepError,
} from "../../workflows/mod.ts";
import { configureJobs, createInProcessDelivery, createJobWorker } from "../../jobs/mod.ts";
import { JobCancelledError, JobLeaseLostError } from "../../jobs/job_errors.ts";
import { type Entry, NEW_ENTRY, writeEntries } from "../../workflows/journal.ts";
import { createJobRunner } from "../../testing/job_runner.ts";
import { openWorkflowWorld, type WorkflowWorld } from "./workflow_world.ts";

const DAY = 86_400;
const apply = (tx: TransactionClient, value: string) =>
  tx.execute(sql`insert into applied (value) values (${value})`).then(() => {});

/** Declares a workflow whose input is a text. */
function flow<T>(
  body: (params: WorkflowParams<string>) => T | Promise<T>,
  options: Partial<WorkflowOptions<typeof TEXT>> = {},
) {
  return defineWorkflow({ name: "flow", input: TEXT, ...options })(body);
}
const TEXT = z.string();
/** A part of a workflow's code. */
type StepOfTest = (params: WorkflowParams<string>) => unknown;

/** Starts a workflow and runs what is due. */
async function begin(world: WorkflowWorld, workflow: AnyWorkflow): Promise<string> {
  const id = await workflow.start(world.db, "in");
  await world.run(workflow);
  return id;
}

/** One database for all: each part starts with empty tables. */
Deno.test("workflows", async (t) => {
  await using world = await openWorkflowWorld();
  const { db, clock } = world;
  const part = (name: string, test: () => Promise<void>) =>
    t.step(name, async () => {
      await test();
      await world.clear();
    });
  const read = async (id: string) => (await getWorkflow(db, id))!;

  await part("a step that another worker has recorded takes its rows back", async () => {
    const id = await begin(world, flow(({ sleep }) => sleep(60)));
    const done: Entry = { ...NEW_ENTRY, key: "00009", kind: "step", name: "create", state: "done" };
    const record = (value: string) =>
      withTransaction(db, async (tx) => {
        await apply(tx, value);
        await writeEntries(tx, id, [done], clock);
      });
    await record("first");
    await assertRejects(() => record("second"), JobLeaseLostError);
    assertEquals(await world.applied(), ["first"]);
  });

  await part("step() runs once and keeps its result when the workflow goes on", async () => {
    let bodies = 0;
    const onboard = flow(async ({ step, sleep, input, id }) => {
      bodies++;
      const firm = await step("create", async (tx) => {
        await apply(tx, input);
        return { name: "Acme", n: [1, 2] };
      });
      await sleep(14 * DAY);
      const effect = await step("welcome", () => `${firm.name} ${firm.n[1]}`);
      await step("nothing", () => {});
      return { effect, id };
    });
    const id = await withTransaction(db, (tx) => onboard.start(tx, "firm"));
    await world.run(onboard);
    assertEquals((await read(id)).state, "running");
    await clock.advance(13 * DAY * 1000);
    await world.run(onboard);
    assertEquals(bodies, 1);
    await clock.advance(DAY * 1000);
    await world.run(onboard);
    const { state, output } = (await onboard.get(db, id))!;
    assertEquals({ state, output }, { state: "done", output: { effect: "Acme 2", id } });
    assertEquals([bodies, await world.applied()], [2, ["firm"]]);
  });

  await part("start() belongs to the caller's transaction, and a key to one workflow", async () => {
    const once = flow(({ step }) => step("a", (tx) => apply(tx, "a")));
    await assertRejects(() =>
      withTransaction(db, async (tx) => {
        await once.start(tx, "in");
        throw new Error("no");
      })
    );
    const ids = [
      await once.start(db, "in", { key: "k" }),
      await once.start(db, "in", { key: "k" }),
    ];
    await world.run(once);
    assertEquals([ids[0], await once.getId("k")], [ids[1], ids[1]]);
    assertNotEquals(await once.getId("other"), ids[0]);
    assertEquals([(await listWorkflows(db)).length, await world.applied()], [1, ["a"]]);
    await assertRejects(() => once.start(db, 1 as unknown as string), ValidationError);
  });

  await part(
    "step() is tried again, then its error reaches the workflow, also in a replay",
    async () => {
      let calls = 0;
      const caught = flow(async ({ step, sleep }) => {
        const reason = await step(
          "fails",
          { retry: { maxAttempts: 3, baseDelaySeconds: 1 } },
          (tx) => {
            calls++;
            return apply(tx, "lost").then(() => Promise.reject(new Error("down")));
          },
        ).catch((error) => (error as WorkflowStepError).reason);
        await sleep(10);
        return reason;
      });
      const id = await begin(world, caught);
      for (let n = 0; n < 3; n++) {
        await clock.advance(10_000);
        await world.run(caught);
      }
      assertEquals(calls, 3);
      const { state, output } = await read(id);
      assertEquals({ state, output }, { state: "done", output: "Error: down" });
      assertEquals(await world.applied(), []);
    },
  );

  await part("a timer that comes late starts no attempt before its time", async () => {
    let calls = 0;
    const failing = flow(({ step }) =>
      step("fails", { retry: { baseDelaySeconds: 3600, maxDelaySeconds: 7200 } }, () => {
        calls++;
        throw new Error("down");
      })
    );
    const id = await begin(world, failing);
    await clock.advance(3600_000);
    // a turn that a signal enqueued comes before the timer, and runs the second attempt
    await signalWorkflow(db, id, "go");
    const turns = await executeRows<{ id: string }>(
      db,
      sql`select id from trellis_jobs where state = 'queued' and payload not like '%timer%'`,
    );
    const options = { getDb: () => db, jobs: [failing.job], clock, metrics: false };
    const worker = createJobWorker({ ...options, logging: { level: "SILENT" } });
    assertEquals((await worker.runIds(turns.map((turn) => turn.id))).done, 1);
    assertEquals(calls, 2);
    assertEquals((await worker.runDue()).done, 2);
    assertEquals(calls, 2);
    await clock.advance(7200_000);
    await worker.runDue();
    assertEquals(calls, 3);
    // its own timer may come before the clock of the database says so
    const [{ payload }] = await executeRows<{ payload: string }>(
      db,
      sql`update trellis_jobs set run_at = ${new Date(clock.now()).toISOString()}::timestamptz,
        due_at = ${new Date(clock.now()).toISOString()}::timestamptz
        where state = 'queued' and payload like '%timer%' returning payload`,
    );
    assertEquals(JSON.parse(payload).id, id);
    await worker.runDue();
    assertEquals(calls, 4);
  });

  await part(
    "waitFor() returns a signal that came before or after, or undefined in the end",
    async () => {
      const Paid = z.object({ cents: z.number() });
      const wait = flow(async ({ waitFor, step }) => {
        const first = await waitFor("paid", { schema: Paid, timeoutSeconds: DAY });
        await step("first", (tx) => apply(tx, String(first?.cents)));
        const second = await waitFor("paid", { schema: Paid, timeoutSeconds: DAY });
        const third = await waitFor("paid", { timeoutSeconds: DAY });
        return [first, second, third ?? "late"];
      });
      const id = await wait.start(db, "in");
      assertEquals(await signalWorkflow(db, id, "paid", { cents: 1 }), true);
      await world.run(wait);
      assertEquals(await world.applied(), ["1"]);
      await withTransaction(db, (tx) => signalWorkflow(tx, id, "paid", { cents: 2 }));
      await world.run(wait);
      // the timer of a wait that has ended is cancelled
      const timers = await executeRows(
        db,
        sql`select state from trellis_jobs where payload like '%timer%' order by state`,
      );
      assertEquals(timers, [{ state: "cancelled" }, { state: "queued" }]);
      await clock.advance(DAY * 1000);
      await world.run(wait);
      assertEquals((await read(id)).output, [{ cents: 1 }, { cents: 2 }, "late"]);
      assertEquals(await signalWorkflow(db, id, "paid"), false);
      await assertRejects(() => signalWorkflow(db, crypto.randomUUID(), "paid"), NotFoundError);
    },
  );

  await part(
    "all() runs steps and branches side by side, the same way in each replay",
    async () => {
      const both = flow(async ({ step, sleep, all, now, random, uuid }) => {
        const facts = [now().getTime(), random(), uuid()];
        const [a, b, c] = await all([
          step("a", () => 1),
          async () => {
            await sleep(20);
            return await step("slow", (tx) => apply(tx, "slow").then(() => 2));
          },
          async () => {
            await step("quick", (tx) => apply(tx, "quick"));
            await sleep(10);
            await step("later", (tx) => apply(tx, "later"));
            return 3;
          },
        ]);
        return { sum: a + b + c, facts, again: [random(), uuid()] };
      });
      const outputs = [];
      for (const _ of [1, 2]) {
        const id = await begin(world, both);
        for (let n = 0; n < 3; n++) {
          await clock.advance(10_000);
          await world.run(both);
        }
        const { output } = (await both.get(db, id))!;
        assertEquals(output?.sum, 6);
        assertEquals(output?.facts[0], Date.parse((await read(id)).startedAt));
        outputs.push(JSON.stringify([output?.facts.slice(1), output?.again]));
      }
      assert(outputs[0] !== outputs[1], "two workflows differ");
      assertEquals((await world.applied()).slice(0, 3), ["quick", "later", "slow"]);
    },
  );

  await part("all() reports the first error in order, when all have ended", async () => {
    const fails = flow(async ({ step, all }) => {
      await all([
        () => step("x", (tx) => apply(tx, "x")),
        () => step("bad", { retry: { maxAttempts: 1 } }, () => Promise.reject(new Error("bad"))),
      ]);
    });
    const { state, error } = await read(await begin(world, fails));
    assertEquals(state, "failed");
    assertStringIncludes(error!, 'WorkflowStepError: The step "bad" failed: Error: bad');
    assertEquals(await world.applied(), ["x"]);
  });

  await part(
    "undo takes steps back in reverse when the workflow fails, and when it is cancelled",
    async () => {
      const trip = flow(async ({ step, sleep, input }) => {
        for (const name of ["hotel", "flight"]) {
          await step(name, {
            undo: (result: string, tx) => apply(tx, `undo ${result}`),
          }, (tx) => apply(tx, name).then(() => name));
        }
        if (input === "wait") await sleep(DAY);
        throw new Error("no seat");
      });
      const failed = await read(await begin(world, trip));
      assertEquals([failed.state, failed.error], ["failed", "Error: no seat"]);
      const expected = ["hotel", "flight", "undo flight", "undo hotel"];
      assertEquals(await world.applied(), expected);
      assertEquals(await retryWorkflow(db, failed.id), false);

      const id = await trip.start(db, "wait");
      await world.run(trip);
      await cancelWorkflow(db, id);
      await world.run(trip);
      assertEquals((await read(id)).state, "cancelled");
      assertEquals(await world.applied(), [...expected, ...expected]);
      assertEquals(await cancelWorkflow(db, id), false);
    },
  );

  await part("child() waits for another workflow, and is cancelled with its parent", async () => {
    const child = defineWorkflow({ name: "child", input: z.number() })(
      async ({ step, waitFor, input }) => {
        if (input === 2) throw new Error("two");
        await waitFor("go");
        return await step("double", (tx) => apply(tx, "child").then(() => input * 2));
      },
    );
    const parent = flow(async ({ child: run }) => {
      const reason = await run(child, 2).catch((error) => (error as Error).message);
      return [await run(child, 21), reason];
    });
    const id = await parent.start(db, "in");
    await world.run(parent, child);
    const open = (await listWorkflows(db, { name: "child", state: "running" }))[0];
    assertEquals(open.parentId, id);
    await signalWorkflow(db, open.id, "go");
    await world.run(parent, child);
    const { output } = await read(id);
    assertEquals(output, [42, 'The step "child" failed: Error: two']);

    const other = await parent.start(db, "in");
    await world.run(parent, child);
    await cancelWorkflow(db, other);
    await world.run(parent, child);
    assertEquals(
      (await listWorkflows(db, { state: "cancelled" })).map(({ name }) => name).sort(),
      ["child", "flow"],
    );
  });

  await part(
    "a workflow that does not fit its code stops, and goes on with the right code",
    async () => {
      const first = flow(async ({ step, sleep }) => {
        await step("create", (tx) => apply(tx, "create"));
        await sleep(1);
        await step("end", (tx) => apply(tx, "end"));
      });
      const changed = flow(async ({ step }) => {
        await step("welcome", (tx) => apply(tx, "welcome"));
      });
      const shorter = flow(async ({ step }) => {
        await step("create", (tx) => apply(tx, "create"));
      });
      const id = await begin(world, first);
      await clock.advance(1000);
      await world.run(changed);
      let found = await read(id);
      assertEquals(found.state, "stopped");
      assertStringIncludes(
        found.error!,
        'At position 00000 step "create" was recorded, and the code now has step "welcome"',
      );
      await retryWorkflow(db, id);
      await world.run(shorter);
      found = await read(id);
      assertStringIncludes(found.error!, "It ended, but sleep was recorded next");
      await retryWorkflow(db, id);
      await world.run(first);
      assertEquals((await read(id)).state, "done");
      assertEquals(await world.applied(), ["create", "end"]);
    },
  );

  await part("patched() and version change workflows that run", async () => {
    const before = flow(async ({ step, sleep }) => {
      await step("a", (tx) => apply(tx, "a"));
      await sleep(1);
      await step("z", (tx) => apply(tx, "z"));
    });
    const after = flow(async ({ step, sleep, patched, version }) => {
      if (patched("check")) await step("check", (tx) => apply(tx, "check"));
      await step("a", (tx) => apply(tx, "a"));
      await sleep(1);
      if (patched("late")) await step("late", (tx) => apply(tx, "late"));
      await step("z", (tx) => apply(tx, `z${version}`));
    }, { version: 2 });
    const old = await begin(world, before);
    const fresh = await begin(world, after);
    // the former release leaves what a newer one has started
    await clock.advance(1000);
    await world.run(before);
    assertEquals([(await read(old)).state, (await read(fresh)).state], ["done", "running"]);
    await clock.advance(60_000);
    await world.run(after);
    assertEquals((await read(fresh)).state, "done");
    assertEquals(await world.applied(), ["a", "check", "a", "z", "late", "z2"]);
    // a former release that stays is no reason for a failure
    const newer = await begin(world, after);
    for (const _ of ["its time", "the turn"]) {
      await clock.advance(16 * 60_000);
      await world.run(before);
    }
    assertEquals((await read(newer)).state, "stopped");
    await retryWorkflow(db, newer);
    await world.run(after);
    assertEquals((await read(newer)).state, "done");
    await db.execute(sql`delete from applied`);
    const running = await begin(world, before);
    await clock.advance(1000);
    await world.run(after);
    assertEquals((await read(running)).state, "done");
    assertEquals(await world.applied(), ["a", "late", "z1"]);
  });

  await part("a replay knows where all() was, also before and after a patch", async () => {
    const twoSteps = ({ all, step }: WorkflowParams<string>) =>
      all([
        () => step("a", (tx) => apply(tx, "a")),
        () => step("b", (tx) => apply(tx, "b")),
      ]);
    const before = flow(async (params) => {
      await twoSteps(params);
      await params.sleep(1);
    });
    const patched = flow(async (params) => {
      if (params.patched("check")) await params.step("check", (tx) => apply(tx, "check"));
      await twoSteps(params);
      await params.sleep(1);
    });
    for (const first of [before, patched]) {
      const id = await begin(world, first);
      await clock.advance(1000);
      await world.run(patched);
      assertEquals((await read(id)).state, "done");
    }
    assertEquals((await world.applied()).sort(), ["a", "a", "b", "b", "check"]);
  });

  await part("the code of a patch can be removed before all()", async () => {
    const branch = ({ all, step }: WorkflowParams<string>) =>
      all([() => step("a", (tx) => apply(tx, "a"))]);
    const marked = flow(async (params) => {
      params.patched("new");
      await branch(params);
      await params.sleep(1);
    });
    const removed = flow(async (params) => {
      await branch(params);
      await params.sleep(1);
    });
    const id = await begin(world, marked);
    await clock.advance(1000);
    await world.run(removed);
    assertEquals([(await read(id)).state, await world.applied()], ["done", ["a"]]);
  });

  const a: StepOfTest = ({ step }) => step("a", (tx) => apply(tx, "a"));
  const b: StepOfTest = ({ step }) => step("b", (tx) => apply(tx, "b"));
  const both: StepOfTest = (params) => params.all([() => a(params), () => b(params)]);
  const changes: [string, StepOfTest, StepOfTest, string][] = [
    [
      "a step in place of all()",
      both,
      a,
      'At position 00000 all was recorded, and the code now has step "a"',
    ],
    [
      "all() in place of a step",
      a,
      both,
      'At position 00000 step "a" was recorded, and the code now has all',
    ],
    [
      "a branch of all() less",
      both,
      (params) => params.all([() => a(params)]),
      "Branch 1 of all at position 00000 was recorded",
    ],
    [
      "a call in place of a branch",
      both,
      (params) => params.all([() => a(params), 1]),
      "Branch 1 of all at position 00000 was recorded",
    ],
    ["an end before all()", both, () => {}, "It ended, but all was recorded next"],
  ];
  for (const [name, first, then, message] of changes) {
    await part(`a replay refuses ${name}`, async () => {
      const id = await begin(
        world,
        flow(async (params) => {
          await first(params);
          await params.sleep(1);
        }),
      );
      const steps = await world.applied();
      await clock.advance(1000);
      await world.run(flow(async (params) => {
        await then(params);
        if (name !== "an end before all()") await params.sleep(1);
      }));
      const { state, error } = await read(id);
      assertEquals(state, "stopped", error);
      assertStringIncludes(error!, message);
      assertEquals(await world.applied(), steps);
    });
  }

  await part("a worker whose lease has ended cannot change a decision", async () => {
    const id = await begin(world, flow(({ sleep }) => sleep(60)));
    const waited: Entry = { ...NEW_ENTRY, key: "00009", kind: "wait", name: "paid", state: "done" };
    const decide = (result: string | null, finishedMs: number) =>
      writeEntries(db, id, [{ ...waited, result, finishedMs }], clock);
    await writeEntries(db, id, [{ ...waited, state: "pending" }], clock);
    await decide('"yes"', clock.now());
    // branches of one turn write what it has decided with each of their steps
    await decide('"yes"', clock.now());
    await assertRejects(() => decide(null, clock.now()), JobLeaseLostError);
    await assertRejects(() => decide('"yes"', clock.now() + 1), JobLeaseLostError);
    const [entry] = (await read(id)).entries.filter(({ position }) => position === "00009");
    assertEquals([entry.state, entry.finishedAt], ["done", new Date(clock.now()).toISOString()]);
  });

  await part(
    "a workflow whose turns were lost fails, and goes on when it is retried or cancelled",
    async () => {
      const waits = flow(async ({ step, waitFor }) => {
        const undo = (_: unknown, tx: TransactionClient) => apply(tx, "undo");
        await step("one", { undo }, (tx) => apply(tx, "one"));
        return await waitFor("go");
      });
      const lose = async () => {
        const id = await begin(world, waits);
        await signalWorkflow(db, id, "go", "gone");
        // as many workers have died with the turn
        await db.execute(sql`update trellis_jobs set attempts = 20 where finished_at is null`);
        await world.run(waits);
        return id;
      };
      const id = await lose();
      const [lost] = await listWorkflows(db, { state: "failed" });
      assertEquals(lost.id, id);
      assertStringIncludes(lost.error!, "The worker of the last attempt ended");
      const dead = await executeRows(db, sql`select 1 from trellis_jobs where state = 'dead'`);
      assertEquals(dead, []);
      assertEquals(await retryWorkflow(db, id), true);
      await world.run(waits);
      const { state, output, error } = await read(id);
      assertEquals({ state, output, error }, { state: "done", output: "gone", error: undefined });
      const other = await lose();
      assertEquals(await cancelWorkflow(db, other), true);
      await world.run(waits);
      assertEquals((await read(other)).state, "cancelled");
      assertEquals(await world.applied(), ["one", "one", "undo"]);
    },
  );

  await part("cancelWorkflow() aborts the signal of a step that runs", async () => {
    let reason: unknown;
    const long = flow(async ({ step, signal, id }) => {
      const undo = (_: unknown, tx: TransactionClient) => apply(tx, "undo");
      await step("first", { undo }, (tx) => apply(tx, "first"));
      await step("long", { undo }, async () => {
        await cancelWorkflow(db, id);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        reason = signal.reason;
      });
      await step("never", (tx) => apply(tx, "never"));
    });
    const { state } = await read(await begin(world, long));
    assertEquals(state, "cancelled");
    assertInstanceOf(reason, JobCancelledError);
    // the step that ended in spite of the signal is taken back, too
    assertEquals(await world.applied(), ["first", "undo", "undo"]);
  });

  await part(
    "replayWorkflow() tells before a release whether a workflow that runs fits it",
    async () => {
      const first = flow(async ({ step, sleep }) => {
        await step("a", (tx) => apply(tx, "a"));
        await sleep(1);
      });
      const longer = flow(async ({ step, sleep }) => {
        await step("a", (tx) => apply(tx, "never"));
        await sleep(1);
        await step("b", (tx) => apply(tx, "never"));
      });
      const other = flow(({ sleep }) => sleep(1));
      const id = await begin(world, first);
      assertEquals(await replayWorkflow(db, longer, id), { fits: true, reason: undefined });
      const { fits, reason } = (await replayWorkflow(db, other, id))!;
      assertEquals(fits, false);
      assertStringIncludes(reason!, 'step "a" was recorded, and the code now has sleep');
      assertEquals([await world.applied(), (await read(id)).state], [["a"], "running"]);
    },
  );

  await part("workflows run right after COMMIT with a delivery in the process", async () => {
    const child = defineWorkflow({ name: "child", input: TEXT })(({ step }) =>
      step("c", (tx) => apply(tx, "c").then(() => "c"))
    );
    const parent = flow(async ({ step, all, child: run }) =>
      await all([run(child, "in"), () => step("p", (tx) => apply(tx, "p").then(() => "p"))])
    );
    const worker = createJobWorker({
      getDb: () => db,
      jobs: [parent.job, child.job],
      clock,
      logging: { level: "SILENT" },
      metrics: false,
    });
    const restore = configureJobs({ clock, delivery: createInProcessDelivery(() => worker) });
    try {
      const id = await withTransaction(db, (tx) => parent.start(tx, "in"));
      await worker.runDue();
      assertEquals((await read(id)).output, ["c", "p"]);
      assertEquals((await world.applied()).sort(), ["c", "p"]);
    } finally {
      restore();
    }
  });

  await part("createJobRunner() runs each wait at its time", async () => {
    const trial = flow(async ({ step, sleep, waitFor, now }) => {
      for (let n = 0; n < 3; n++) {
        await sleep(4 * DAY);
        await step(`remind ${n}`, (tx) => apply(tx, now().toISOString().slice(0, 10)));
      }
      return await waitFor("paid", { timeoutSeconds: 2 * DAY }) ?? now().toISOString();
    });
    await using runner = await createJobRunner({ db, jobs: [trial.job] });
    const id = await trial.start(db, "in");
    await runner.advance(14 * DAY);
    assertEquals(await world.applied(), ["2026-01-05", "2026-01-09", "2026-01-13"]);
    assertEquals((await read(id)).output, "2026-01-15T00:00:00.000Z");
    assertEquals(runner.now(), Date.UTC(2026, 0, 15));
  });

  const misuses: [string, Parameters<typeof flow>[0], string][] = [
    ["a step that is not awaited", async ({ step }) => {
      step("lost", () => 1);
      await step("next", () => 2);
    }, 'step "lost" was not awaited before step "next"'],
    [
      "a step that is not awaited at the end",
      ({ step }) => void step("lost", () => 1),
      "not awaited",
    ],
    ["a step within a step", async ({ step }) => {
      await step("outer", () => step("inner", () => 1));
    }, 'step "inner" was called within step "outer"'],
    ["steps side by side without all", async ({ step }) => {
      const chain = async (name: string) => {
        await step(`${name}1`, () => new Promise((end) => setTimeout(end, name === "a" ? 0 : 20)));
        await step(`${name}2`, () => 1);
      };
      await Promise.all([chain("a"), chain("b")]);
    }, 'step "a2" begins while step "b1" has not ended'],
    ["a result that JSON changes", async ({ step }) => {
      await step("date", (tx) => apply(tx, "rolled back").then(() => ({ at: [new Date(0)] })));
    }, 'The result of step "date" cannot be kept. Validation failed: at.0: JSON holds a Date'],
    ["a payload that does not fit", async ({ waitFor }) => {
      await waitFor("go", { schema: z.number() });
    }, 'The payload of the signal "go" does not fit its schema'],
    ["an option that does not exist", async ({ step }) => {
      // catching it does not help
      try {
        await step("x", { retries: 3 } as never, () => 1);
      } catch {
        await step("y", (tx) => apply(tx, "never"));
      }
    }, 'step "x" has no option retries: it has retry and undo'],
  ];
  for (const [name, body, message] of misuses) {
    await part(`a workflow stops at ${name}`, async () => {
      const wrong = flow(body);
      const id = await wrong.start(db, "in");
      await signalWorkflow(db, id, "go", "text");
      await world.run(wrong);
      const { state, error } = await read(id);
      assertEquals(state, "stopped", error);
      assertStringIncludes(error!, message);
      assertEquals(await world.applied(), []);
    });
  }

  await part("retryWorkflow() runs the step that a workflow failed with again", async () => {
    let isDown = 3;
    const shaky = flow(async ({ step }) => {
      await step("one", (tx) => apply(tx, "one"));
      return await step("two", { retry: { maxAttempts: 2, baseDelaySeconds: 1 } }, () => {
        if (isDown-- > 0) throw new Error("down");
        return "up";
      });
    });
    const id = await begin(world, shaky);
    await clock.advance(1000);
    await world.run(shaky);
    assertEquals((await read(id)).state, "failed");
    assertEquals(await retryWorkflow(db, id), true);
    await world.run(shaky);
    assertEquals((await read(id)).state, "running");
    await clock.advance(1000);
    await world.run(shaky);
    const { state, output } = await read(id);
    assertEquals({ state, output }, { state: "done", output: "up" });
    assertEquals(await world.applied(), ["one"]);
  });

  await part("a workflow is removed after its retention", async () => {
    const short = flow(({ step }) => step("a", () => 1), { retentionSeconds: 60 });
    const id = await begin(world, short);
    await clock.advance(59_000);
    await world.run(short);
    assertEquals((await read(id)).output, 1);
    await clock.advance(1000);
    await world.run(short);
    assertEquals(await getWorkflow(db, id), undefined);
    assertEquals(await executeRows(db, sql`select 1 from trellis_workflow_entries`), []);
  });

  await part("a workflow is removed in the end if its retention was raised meanwhile", async () => {
    const body: Parameters<typeof flow>[0] = ({ step }) => step("a", () => 1);
    const id = await begin(world, flow(body, { retentionSeconds: 60 }));
    const longer = flow(body, { retentionSeconds: 3600 });
    await clock.advance(60_000);
    await world.run(longer);
    assertEquals((await read(id)).output, 1);
    await clock.advance(3_540_000);
    await world.run(longer);
    assertEquals(await getWorkflow(db, id), undefined);
    assertEquals(await executeRows(db, sql`select 1 from trellis_workflow_entries`), []);
  });
});
