import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { getDeadline, withinDeadline } from "../../../core/async/deadline.ts";
import { systemClock } from "../../../core/async/clock.ts";
import { getRequestContext, retry, withObservability } from "../../../core/mod.ts";
import { remainingMs } from "../../../core/request_context.ts";
import { DeadlineExceededError } from "../../../errors/mod.ts";
import type { Invocation } from "../../../observability/invocation.ts";
import { endSpan, logInfo, startSpan, withSpan } from "../../../observability/mod.ts";
import { createLambdaContext } from "../../../testing/mod.ts";
import { createRandom } from "../../support/random.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { testSeed } from "../../support/seed.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import { createInvocation } from "../../support/invocation.ts";

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

/** An invocation that must end so many milliseconds from now. */
function invocationOf(leftMs: number): Invocation {
  const invocation = createInvocation();
  invocation.deadlineMs = performance.now() + leftMs;
  return invocation;
}

/** Keeps the process alive, which the timers of deadlines do not. */
function holdProcess(): Disposable {
  const hold = setTimeout(() => {}, 60_000);
  return { [Symbol.dispose]: () => clearTimeout(hold) };
}

Deno.test("withinDeadline() gives what the work gives when it is in time", async () => {
  const invocation = invocationOf(60_000);
  let expired = 0;
  invocation.onDeadline(() => expired++);
  assertEquals(await withinDeadline(invocation, Promise.resolve(1)), 1);
  await assertRejects(
    () => withinDeadline(invocation, Promise.reject(new TypeError("why"))),
    TypeError,
    "why",
  );
  assertEquals(expired, 0);
});

Deno.test("withinDeadline() waits without a limit for an invocation without a deadline", async () => {
  const invocation = invocationOf(0);
  invocation.deadlineMs = undefined;
  const work = new Promise<number>((resolve) => setTimeout(() => resolve(1), 5));
  assertEquals(await withinDeadline(invocation, work), 1);
});

Deno.test("withinDeadline() rejects when the deadline passes first, also one that has passed", async () => {
  using _hold = holdProcess();
  for (const leftMs of [20, -5]) {
    const invocation = invocationOf(leftMs);
    let expired = 0;
    invocation.onDeadline(() => expired++);
    let fail = (_: Error): void => {};
    const work = new Promise<never>((_, reject) => fail = reject);
    const error = await assertRejects(
      () => withinDeadline(invocation, work),
      DeadlineExceededError,
    );
    assert(performance.now() >= invocation.deadlineMs!);
    assertEquals([error.statusCode, expired], [504, 1]);
    fail(new Error("late")); // must not become an unhandled rejection
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
});

Deno.test("a handler that reaches its deadline names in its log what was running", async () => {
  using _hold = holdProcess();
  const getNote = withObservability(async function getNote() {
    endSpan(startSpan("findUser", { active: false }));
    await withSpan("load", async () => {
      startSpan("listNotes", { active: false });
      await new Promise(() => {});
    });
  }, { operationName: "getNote", respondToError: () => "late" });
  const { lines } = await captureLogs(() => getNote({}, createLambdaContext({ timeoutMs: 40 })));
  assertMatch(
    lines[0].error.message,
    /^The deadline of this invocation was reached, while running: listNotes \(\d+ ms\)$/,
  );

  const wait = withObservability(() => new Promise(() => {}), { respondToError: () => "late" });
  const idle = await captureLogs(() => wait({}, createLambdaContext({ timeoutMs: 40 })));
  assertEquals(idle.lines[0].error.message, "The deadline of this invocation was reached");
});

Deno.test("withinDeadline() rejects each of several at its own deadline", async () => {
  const never = new Promise<never>(() => {});
  const order: number[] = [];
  using _hold = holdProcess();
  await Promise.all([60, 20, 40].map(async (ms) => {
    const invocation = invocationOf(ms);
    await assertRejects(() => withinDeadline(invocation, never), DeadlineExceededError);
    assert(performance.now() >= invocation.deadlineMs!);
    order.push(ms);
  }));
  assertEquals(order, [20, 40, 60]);
});

Deno.test("withinDeadline() rejects exactly the calls that remain, whatever the order in which others end", async () => {
  const { below } = createRandom(testSeed);
  const expired: number[] = [];
  const running = new Map<number, () => void>();
  const races: Promise<void>[] = [];
  // only microtasks run in between, so that the deadline cannot pass before the last call has begun
  for (let id = 0; id < 200; id++) {
    const work = new Promise<void>((resolve) => running.set(id, resolve));
    const invocation = invocationOf(100);
    invocation.onDeadline(() => expired.push(id));
    races.push(withinDeadline(invocation, work).catch(() => {}));
    while (running.size > 0 && below(100) < 45) {
      const [ended, resolve] = [...running][below(running.size)];
      running.delete(ended);
      resolve();
      await Promise.resolve();
    }
  }
  using _hold = holdProcess();
  await Promise.all(races);
  assertEquals(expired.sort((a, b) => a - b), [...running.keys()]);
});

Deno.test("withinDeadline() watches 20,000 deadlines at once", async () => {
  using _hold = holdProcess();
  const ends = Array.from(
    { length: 20_000 },
    () => withinDeadline(invocationOf(100), new Promise<void>(() => {})).catch(({ code }) => code),
  );
  assertEquals(new Set(await Promise.all(ends)), new Set(["DEADLINE_EXCEEDED"]));
});

Deno.test("withinDeadline() takes a deadline that lies further ahead than a timer reaches", async () => {
  assertEquals(await withinDeadline(invocationOf(2 ** 40), Promise.resolve(1)), 1);
});

Deno.test("listeners of the signal log as part of the request that timed out", async () => {
  const listening = (id: string, timeoutMs: number): Promise<unknown> => {
    const handler = withObservability(function wait(): Promise<never> {
      getRequestContext()!.signal.addEventListener("abort", () => logInfo("aborted", { id }));
      return new Promise(() => {});
    }, { respondToError: (error) => (error as { code: string }).code });
    return handler({ headers: { "X-Correlation-Id": id } }, createLambdaContext({ timeoutMs }));
  };
  using _hold = holdProcess();
  const { lines, result } = await captureLogs(() =>
    Promise.all([listening("a", 400), listening("b", 100), listening("c", 700)])
  );
  assertEquals(result, Array(3).fill("DEADLINE_EXCEEDED"));
  const aborted = lines.filter((line) => line.message === "aborted");
  assertEquals(aborted.map((line) => [line.id, line.correlation_id]), [["b", "b"], ["a", "a"], [
    "c",
    "c",
  ]]);
});

Deno.test("a deadline is met although the clock that Lambda's context reads is set back at once", async () => {
  using _hold = holdProcess();
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
});

Deno.test("a deadline is met although the clock is set back and forth", async () => {
  const startedMs = performance.now();
  using _hold = holdProcess();
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
  assert(performance.now() - startedMs >= 70);
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
        handler({}, createLambdaContext({ timeoutMs: 900_000 }))
      );
      assert(result.every((difference) => difference >= 0 && difference < 300_000), String(result));
    });
  });

  Deno.test(`createLambdaContext() and retry() keep the time when the clock steps by ${stepMs / 60_000} minutes`, async () => {
    await withSteppedClock(async (setMs) => {
      const context = createLambdaContext({ timeoutMs: 900_000 });
      let calls = 0;
      const handler = withObservability(() =>
        retry(() => {
          setMs(stepMs);
          if (++calls < 3) throw new Error("busy");
          return context.getRemainingTimeInMillis();
        }, { isRetryable: () => true, baseDelayMs: 2, random: () => 1 })
      );
      const { result } = await captureLogs(() => handler({}, context));
      assert(result > 600_000 && result <= 900_000, String(result));
      assertEquals(calls, 3);
    });
  });
}

Deno.test("withinDeadline() expires each deadline in its own turn after the process was busy past several", async () => {
  const never = new Promise<never>(() => {});
  const told: string[] = [];
  const start = performance.now();
  const races = [20, 5].map((ms) => {
    const invocation = invocationOf(ms);
    invocation.onDeadline(() => told.push(`expired ${ms}`));
    return withinDeadline(invocation, never).catch(() => told.push(`rejected ${ms}`));
  });
  while (performance.now() < start + 30);
  using _hold = holdProcess();
  await Promise.all(races);
  assertEquals(told, ["expired 5", "rejected 5", "expired 20", "rejected 20"]);
});
