import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type Clock, getRequestContext, withObservability } from "../../../core/mod.ts";
import { type DistSqlRetryOptions, withDistSqlRetry } from "../../../database/mod.ts";
import { CommitOutcomeUnknownError } from "../../../errors/mod.ts";
import { countAttempts, type RetryCount, runWithRetry } from "../../../database/session/retry.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createLambdaContext } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

function conflict(code = "40001"): Error {
  return new Error("Failed query", { cause: Object.assign(new Error("conflict"), { code }) });
}

/** Time that passes only by sleeping. */
function fakeClock(now = 1_000_000): Clock & { slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    sleep(ms): Promise<void> {
      slept.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}

function failing(
  times: number,
  error: () => unknown = conflict,
): { calls: number; run: () => Promise<string> } {
  const state = {
    calls: 0,
    run(): Promise<string> {
      return ++state.calls <= times ? Promise.reject(error()) : Promise.resolve("done");
    },
  };
  return state;
}

for (const code of ["40001", "OC000", "OC001"]) {
  Deno.test(`withDistSqlRetry() runs again after ${code} with doubling bounds and full jitter`, async () => {
    const clock = fakeClock();
    const work = failing(3, () => conflict(code));
    assertEquals(await withDistSqlRetry(work.run, { clock, random: () => 0.5 }), "done");
    assertEquals(work.calls, 4);
    assertEquals(clock.slept, [50, 100, 200]);
  });
}

Deno.test("withDistSqlRetry() gives up after maxRetries with the last error", async () => {
  const errors: Error[] = [];
  const work = failing(9, () => {
    errors.push(conflict());
    return errors.at(-1);
  });
  const thrown = await assertRejects(() => withDistSqlRetry(work.run, { clock: fakeClock() }));
  assertEquals(work.calls, 4);
  assertStrictEquals(thrown, errors[3]);
});

Deno.test("withDistSqlRetry() keeps every delay below maxDelayMs", async () => {
  const clock = fakeClock();
  const options = { clock, maxRetries: 9, random: () => 0.999999 };
  await withDistSqlRetry(failing(9).run, options);
  assertEquals(Math.max(...clock.slept) <= 5000, true);
  assertEquals(Math.round(clock.slept[8]), 5000);
});

Deno.test("withDistSqlRetry() throws every other error at once", async () => {
  for (const code of ["23505", "40P01", "25P02", "0A000", "54000", "08006", "CONNECTION_CLOSED"]) {
    const work = failing(1, () => conflict(code));
    await assertRejects(() => withDistSqlRetry(work.run, { clock: fakeClock() }));
    assertEquals(work.calls, 1, code);
  }
});

Deno.test("withDistSqlRetry() passes the error and the retry to onRetry's number", async () => {
  const told: [unknown, number][] = [];
  const error = conflict();
  await withDistSqlRetry(failing(2, () => error).run, {
    clock: fakeClock(),
    onRetry: (...args) => void told.push(args),
  });
  assertEquals(told, [[error, 1], [error, 2]]);
});

Deno.test("withDistSqlRetry() does not multiply when one is inside another", async () => {
  for (
    const [inner, outer, calls] of [[3, 3, 4], [2, 5, 3], [1, 0, 2], [1, 3, 2], [0, 3, 4]] as [
      number,
      number,
      number,
    ][]
  ) {
    const work = failing(99);
    const options = (maxRetries: number): DistSqlRetryOptions => ({
      maxRetries,
      clock: fakeClock(),
    });
    await assertRejects(() =>
      withDistSqlRetry(async () => {
        try {
          return await withDistSqlRetry(work.run, options(inner));
        } catch (error) {
          throw new Error("wrapped", { cause: error });
        }
      }, options(outer))
    );
    assertEquals(work.calls, calls, `${inner} inside ${outer}`);
  }
});

Deno.test("withDistSqlRetry() runs again although the same error object was given up on before", async () => {
  const error = conflict();
  for (let round = 0; round < 2; round++) {
    const work = failing(99, () => error);
    await assertRejects(() => withDistSqlRetry(work.run, { clock: fakeClock() }));
    assertEquals(work.calls, 4);
  }
});

Deno.test("withDistSqlRetry() retries the outer work for its own conflict after an inner success", async () => {
  const inner = failing(1);
  let outerCalls = 0;
  const result = await withDistSqlRetry(async () => {
    outerCalls++;
    await withDistSqlRetry(inner.run, { clock: fakeClock() });
    if (outerCalls === 1) throw conflict();
    return "committed";
  }, { clock: fakeClock() });
  assertEquals([result, outerCalls, inner.calls], ["committed", 2, 3]);
});

Deno.test("withDistSqlRetry() leaves a COMMIT without answer alone unless the work is idempotent", async () => {
  const lost = (): unknown => new CommitOutcomeUnknownError(undefined, { cause: conflict() });
  const once = failing(1, lost);
  await assertRejects(
    () => withDistSqlRetry(once.run, { clock: fakeClock() }),
    CommitOutcomeUnknownError,
  );
  assertEquals(once.calls, 1);
  const again = failing(1, lost);
  assertEquals(await withDistSqlRetry(again.run, { clock: fakeClock(), idempotent: true }), "done");
  assertEquals(again.calls, 2);
});

/** Runs work in a handler, with a clock by which that handler has so much time left. */
async function within(
  leftMs: number,
  run: (clock: ReturnType<typeof fakeClock>) => Promise<unknown>,
): Promise<void> {
  const handler = withObservability(() =>
    run(fakeClock(getRequestContext()!.deadlineMs! - leftMs))
  );
  await captureLogs(() => handler({}, createLambdaContext()));
}

Deno.test("withDistSqlRetry() never waits past the invocation's deadline, nor up to it", async () => {
  for (
    const [leftMs, random, slept] of [[260, 0.99999, [100]], [300, 1, [100]], [301, 1, [
      100,
      200,
    ]]] as const
  ) {
    const work = failing(99);
    await within(leftMs, async (clock) => {
      const options = { clock, maxRetries: 9, random: () => random };
      await assertRejects(() => withDistSqlRetry(work.run, options));
      assertEquals(clock.slept.map(Math.round), [...slept], `${leftMs} ms left`);
    });
    assertEquals(work.calls, slept.length + 1);
  }
});

Deno.test("withDistSqlRetry() gives onRetry an error also for what is none, and survives texts in the chain", async () => {
  const told: Error[] = [];
  const thrown = { code: "40001", cause: "the server said so" };
  const work = failing(99, () => thrown);
  const error = await assertRejects(() =>
    withDistSqlRetry(work.run, {
      clock: fakeClock(),
      maxRetries: 1,
      onRetry: (each) => void told.push(each),
    })
      .catch((each) => {
        throw new Error("as it was thrown", { cause: each });
      })
  );
  assertStrictEquals((error as Error).cause, thrown);
  assertEquals(told.map(({ message, cause }) => [message, cause === thrown]), [["conflict", true]]);
});

Deno.test("withDistSqlRetry() waits by the system's clock unless told", async () => {
  const work = failing(2);
  assertEquals(await withDistSqlRetry(work.run, { baseDelayMs: 0 }), "done");
});

Deno.test("runWithRetry() counts the retries", async () => {
  for (const times of [0, 1, 3]) {
    const count: RetryCount = { retries: 0 };
    await runWithRetry(failing(times).run, { clock: fakeClock() }, count);
    assertEquals(count.retries, times);
  }
});

Deno.test("countAttempts() counts the tries of the retry that gave up with an error, also behind another one", async () => {
  assertEquals(countAttempts(new Error("nobody tried")), 0);
  for (const maxRetries of [1, 3]) {
    const error = await assertRejects(() =>
      withDistSqlRetry(failing(99).run, { clock: fakeClock(), maxRetries })
    );
    assertEquals(countAttempts(error), maxRetries + 1);
    assertEquals(countAttempts(new Error("outer", { cause: error })), maxRetries + 1);
  }
});

Deno.test("withDistSqlRetry() refuses options that are no numbers from 0", async () => {
  for (const options of [{ maxRetries: -1 }, { baseDelayMs: NaN }, { maxDelayMs: -5 }]) {
    const error = await assertRejects(
      () => withDistSqlRetry(() => Promise.resolve(), options),
      ConfigurationError,
    );
    assertEquals(error.message.includes(String(Object.values(options)[0])), true);
  }
});
