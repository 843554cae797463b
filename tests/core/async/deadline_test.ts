import { assert, assertEquals, assertRejects } from "@std/assert";
import { getDeadline, raceDeadline } from "../../../core/async/deadline.ts";
import { systemClock } from "../../../core/async/clock.ts";
import { getRequestContext, retry, withObservability } from "../../../core/mod.ts";
import { remainingMs } from "../../../core/request_context.ts";
import { DeadlineExceededError } from "../../../errors/mod.ts";
import { logInfo } from "../../../observability/mod.ts";
import { createLambdaContext } from "../../../testing/mod.ts";
import { createRandom } from "../../support/random.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { testSeed } from "../../support/seed.ts";
import { withSteppedClock } from "../../support/step_clock.ts";

Deno.test("getDeadline() keeps 250 ms back, a quarter where less than a second is left", () => {
  const at = (left: number): number | undefined =>
    getDeadline({ ...createLambdaContext(), getRemainingTimeInMillis: () => left }, 1000);
  assertEquals([at(10_000), at(1000), at(400), at(0), at(-5), at(NaN)], [
    10_750,
    1750,
    1300,
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(getDeadline(undefined, 1000), undefined);
});

for (const keepTimer of [false, true]) {
  Deno.test(`raceDeadline() gives what the work gives when it is in time, keepTimer ${keepTimer}`, async () => {
    const due = performance.now() + 60_000;
    let expired = 0;
    assertEquals(await raceDeadline(Promise.resolve(1), due, keepTimer, () => expired++), 1);
    await assertRejects(
      () => raceDeadline(Promise.reject(new TypeError("why")), due, keepTimer, () => expired++),
      TypeError,
    );
    assertEquals(expired, 0);
  });

  Deno.test(`raceDeadline() rejects when the deadline passes first, keepTimer ${keepTimer}`, async () => {
    let expired = 0;
    let fail = (_: Error): void => {};
    const work = new Promise<never>((_, reject) => fail = reject);
    const race = raceDeadline(work, performance.now() + 20, keepTimer, () => expired++);
    const hold = setTimeout(() => {}, 10_000); // the deadline's own timer keeps no process alive
    const error = await assertRejects(() => race, DeadlineExceededError);
    clearTimeout(hold);
    assertEquals([error.statusCode, expired], [504, 1]);
    fail(new Error("late")); // must not become an unhandled rejection
    await new Promise((resolve) => setTimeout(resolve, 0));
  });
}

Deno.test("raceDeadline() rejects each of several at its own deadline, with one timer", async () => {
  const never = new Promise<never>(() => {});
  const order: number[] = [];
  const hold = setTimeout(() => {}, 10_000);
  const start = performance.now();
  await Promise.all(
    [60, 20, 40].map((ms) =>
      assertRejects(
        () => raceDeadline(never, start + ms, false, () => order.push(ms)),
        DeadlineExceededError,
      )
    ),
  );
  clearTimeout(hold);
  assertEquals(order, [20, 40, 60]);
  assert(performance.now() >= start + 60);
});

Deno.test("raceDeadline() rejects exactly the calls that remain, whatever the order in which others end", async () => {
  const { below } = createRandom(testSeed);
  const dueMs = performance.now() + 100;
  const expired: number[] = [];
  const running = new Map<number, () => void>();
  const races: Promise<void>[] = [];
  // only microtasks run in between, so that the deadline cannot pass before the last call has begun
  for (let id = 0; id < 200; id++) {
    const work = new Promise<void>((resolve) => running.set(id, resolve));
    races.push(raceDeadline(work, dueMs, false, () => expired.push(id)).catch(() => {}));
    while (running.size > 0 && below(100) < 45) {
      const [ended, resolve] = [...running][below(running.size)];
      running.delete(ended);
      resolve();
      await Promise.resolve();
    }
  }
  const limit = Promise.withResolvers<void>();
  const hold = setTimeout(limit.resolve, 10_000);
  await Promise.race([Promise.all(races), limit.promise]);
  clearTimeout(hold);
  assertEquals(expired.sort((a, b) => a - b), [...running.keys()]);
});

Deno.test("raceDeadline() watches 130,000 deadlines at once", async () => {
  const hold = setTimeout(() => {}, 10_000);
  const dueMs = performance.now() + 100;
  const ends = Array.from(
    { length: 130_000 },
    () =>
      raceDeadline(new Promise<void>(() => {}), dueMs, false, () => {}).catch(({ code }) => code),
  );
  assertEquals(new Set(await Promise.all(ends)), new Set(["DEADLINE_EXCEEDED"]));
  clearTimeout(hold);
});

Deno.test("raceDeadline() takes a deadline that lies further ahead than a timer reaches", async () => {
  assertEquals(
    await raceDeadline(Promise.resolve(1), performance.now() + 2 ** 40, false, () => {}),
    1,
  );
});

Deno.test("listeners of the signal log as part of the request that timed out, whichever armed the shared timer", async () => {
  const listening = (id: string, timeoutMs: number): Promise<unknown> => {
    const handler = withObservability(function wait(): Promise<never> {
      getRequestContext()!.signal.addEventListener("abort", () => logInfo("aborted", { id }));
      return new Promise(() => {});
    }, { respondToError: (error) => (error as { code: string }).code });
    return handler({ headers: { "X-Correlation-Id": id } }, createLambdaContext({ timeoutMs }));
  };
  const hold = setTimeout(() => {}, 10_000);
  const { lines, result } = await captureLogs(() =>
    Promise.all([listening("a", 400), listening("b", 100), listening("c", 400)])
  );
  clearTimeout(hold);
  assertEquals(result, Array(3).fill("DEADLINE_EXCEEDED"));
  const aborted = lines.filter((line) => line.message === "aborted");
  assertEquals(aborted.map((line) => [line.id, line.correlation_id]), [["b", "b"], ["a", "a"], [
    "c",
    "c",
  ]]);
});

Deno.test("a deadline is met although the clock that Lambda's context reads is set back at once", async () => {
  const hold = setTimeout(() => {}, 10_000);
  const startedMs = performance.now();
  await withSteppedClock(async (setMs) => {
    const endsAtMs = Date.now() + 200;
    const context = {
      ...createLambdaContext(),
      getRemainingTimeInMillis: () => endsAtMs - Date.now(),
    };
    const handler = withObservability(async function wait() {
      setMs(-3_600_000);
      return await new Promise<string>(() => {});
    }, { respondToError: (error) => (error as { code: string }).code });
    assertEquals((await captureLogs(() => handler({}, context))).result, "DEADLINE_EXCEEDED");
  });
  clearTimeout(hold);
  assert(performance.now() - startedMs < 2_000);
});

Deno.test("a deadline is met although the clock is set back and forth", async () => {
  const startedMs = performance.now();
  const hold = setTimeout(() => {}, 10_000);
  await withSteppedClock(async (setMs) => {
    const handler = withObservability(async function wait() {
      setMs(-3_600_000);
      setTimeout(() => setMs(0), 30);
      return await new Promise<string>(() => {});
    }, { respondToError: (error) => (error as { code: string }).code });
    const { result } = await captureLogs(() =>
      handler({}, createLambdaContext({ timeoutMs: 100 }))
    );
    assertEquals(result, "DEADLINE_EXCEEDED");
  });
  clearTimeout(hold);
  const tookMs = performance.now() - startedMs;
  assert(tookMs >= 70 && tookMs < 1_000, `${tookMs}`);
});

for (const stepMs of [-3_600_000, 3_600_000]) {
  Deno.test(`remainingMs() stays what it is when the clock steps by ${stepMs / 60_000} minutes`, async () => {
    await withSteppedClock(async (setMs) => {
      const handler = withObservability(() => {
        const beforeMs = remainingMs();
        setMs(stepMs);
        return [beforeMs - remainingMs(), beforeMs - remainingMs(systemClock)];
      });
      const { result } = await captureLogs(() =>
        handler({}, createLambdaContext({ timeoutMs: 10_000 }))
      );
      assert(result.every((difference) => difference >= 0 && difference < 1_000), String(result));
    });
  });

  Deno.test(`createLambdaContext() and retry() keep the time when the clock steps by ${stepMs / 60_000} minutes`, async () => {
    await withSteppedClock(async (setMs) => {
      const context = createLambdaContext({ timeoutMs: 10_000 });
      let calls = 0;
      const handler = withObservability(() =>
        retry(() => {
          setMs(stepMs);
          if (++calls < 3) throw new Error("busy");
          return context.getRemainingTimeInMillis();
        }, { isRetryable: () => true, baseDelayMs: 2, random: () => 1 })
      );
      const { result } = await captureLogs(() => handler({}, context));
      assert(result > 9_000 && result <= 10_000, String(result));
      assertEquals(calls, 3);
    });
  });
}

Deno.test("raceDeadline() expires each deadline in its own turn after the process was busy past several", async () => {
  const never = new Promise<never>(() => {});
  const told: string[] = [];
  const start = performance.now();
  const races = [20, 5].map((ms) =>
    raceDeadline(never, start + ms, false, () => told.push(`expired ${ms}`)).catch(() =>
      told.push(`rejected ${ms}`)
    )
  );
  while (performance.now() < start + 30);
  const hold = setTimeout(() => {}, 10_000);
  await Promise.all(races);
  clearTimeout(hold);
  assertEquals(told, ["expired 5", "rejected 5", "expired 20", "rejected 20"]);
});

Deno.test("raceDeadline() settles with its steps, which are not called for work after the deadline", async () => {
  const calls: string[] = [];
  const read = (value: string): number => (calls.push(`read ${value}`), value.length);
  const recover = (error: unknown): number => (calls.push(`recover ${(error as Error).name}`), -1);
  function race(work: Promise<string>, ms: number): Promise<number> {
    const dueMs = performance.now() + ms;
    return raceDeadline(work, dueMs, false, () => calls.push("expired"), read, recover);
  }
  assertEquals(await race(Promise.resolve("done"), 10_000), 4);
  assertEquals(await race(Promise.reject(new TypeError("why")), 10_000), -1);
  let end = (_value: string): void => {};
  const late = new Promise<string>((resolve) => end = resolve);
  const hold = setTimeout(() => {}, 10_000);
  assertEquals(await race(late, 5), -1);
  clearTimeout(hold);
  end("late");
  await late;
  assertEquals(calls, [
    "read done",
    "recover TypeError",
    "expired",
    "recover DeadlineExceededError",
  ]);
  const failing = (): never => {
    throw new RangeError("a step");
  };
  const far = performance.now() + 10_000;
  const failed = raceDeadline(Promise.resolve("x"), far, false, () => {}, failing);
  await assertRejects(() => failed, RangeError, "a step");
});
