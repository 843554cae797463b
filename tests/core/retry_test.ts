import { assertEquals, assertRejects } from "@std/assert";
import { getRequestContext, retry, type RetryOptions, withObservability } from "../../core/mod.ts";
import { fullJitterDelay } from "../../core/retry.ts";
import { createFakeClock, createLambdaContext, type FakeClock } from "../../testing/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

function failing(times: number): { calls: number[]; fn: (retries: number) => string } {
  const calls: number[] = [];
  return {
    calls,
    fn(retries: number): string {
      calls.push(retries);
      if (calls.length <= times) throw new TypeError(`failure ${calls.length}`);
      return "done";
    },
  };
}

function options(clock: FakeClock, more: Partial<RetryOptions> = {}): RetryOptions {
  return { isRetryable: () => true, clock, random: () => 0.5, ...more };
}

Deno.test("retry() runs work again until it succeeds, with growing delays", async () => {
  const clock = createFakeClock({ autoAdvance: true }), work = failing(3);
  const retries: unknown[] = [];
  const onRetry = (error: unknown, attempt: number): void =>
    void retries.push([(error as Error).message, attempt]);
  assertEquals(await retry(work.fn, options(clock, { onRetry })), "done");
  assertEquals(work.calls, [0, 1, 2, 3]);
  assertEquals(clock.sleeps, [50, 100, 200]);
  assertEquals(retries, [["failure 1", 1], ["failure 2", 2], ["failure 3", 3]]);
});

Deno.test("retry() throws the last failure after maxAttempts", async () => {
  for (const [maxAttempts, calls] of [[undefined, 4], [1, 1], [2, 2]] as const) {
    const clock = createFakeClock({ autoAdvance: true }), work = failing(99);
    await assertRejects(
      () => retry(work.fn, options(clock, { maxAttempts })),
      TypeError,
      `failure ${calls}`,
    );
    assertEquals([work.calls.length, clock.sleeps.length], [calls, calls - 1]);
  }
});

Deno.test("retry() throws at once what is not retryable", async () => {
  const clock = createFakeClock({ autoAdvance: true }), work = failing(99);
  const isRetryable = (error: unknown): boolean => (error as Error).message === "failure 1";
  await assertRejects(
    () => retry(work.fn, options(clock, { isRetryable })),
    TypeError,
    "failure 2",
  );
  assertEquals(work.calls.length, 2);
});

Deno.test("retry() bounds a delay by maxDelayMs", async () => {
  const clock = createFakeClock({ autoAdvance: true });
  const limits = { maxAttempts: 6, baseDelayMs: 100, maxDelayMs: 300, random: () => 1 };
  await retry(failing(5).fn, options(clock, limits));
  assertEquals(clock.sleeps, [100, 200, 300, 300, 300]);
  const usual = createFakeClock({ autoAdvance: true });
  await retry(failing(7).fn, options(usual, { maxAttempts: 8, random: () => 1 }));
  assertEquals(usual.sleeps, [100, 200, 400, 800, 1600, 3200, 5000]);
});

Deno.test("retry() never waits past the deadline of its invocation", async () => {
  const clock = createFakeClock({ nowMs: Date.now(), autoAdvance: true }), work = failing(99);
  // 10 seconds are left, less the margin: the delays of 1, 2 and 4 s fit, one of 8 s does not
  const handler = withObservability(() =>
    retry(work.fn, options(clock, { maxAttempts: 10, baseDelayMs: 2000, maxDelayMs: 60_000 }))
  );
  await captureLogs(() =>
    assertRejects(
      () => handler({}, createLambdaContext({ timeoutMs: 10_000 })),
      TypeError,
      "failure 4",
    )
  );
  assertEquals(clock.sleeps, [1000, 2000, 4000]);
});

Deno.test("retry() does not wait up to the very deadline", async () => {
  for (const [leftMs, calls] of [[100, 1], [101, 2]]) {
    const work = failing(99);
    const handler = withObservability(async () => {
      const clock = createFakeClock({
        nowMs: getRequestContext()!.deadlineMs! - leftMs,
        autoAdvance: true,
      });
      await assertRejects(() => retry(work.fn, options(clock, { random: () => 1 })));
    });
    await captureLogs(() => handler({}, createLambdaContext()));
    assertEquals(work.calls.length, calls);
  }
});

Deno.test("retry() refuses options that are too small or no numbers and names them", async () => {
  for (
    const [name, least] of [["maxAttempts", 1], ["baseDelayMs", 0], ["maxDelayMs", 0]] as const
  ) {
    for (const value of [least - 1, NaN]) {
      const work = failing(0);
      await assertRejects(
        () => retry(work.fn, options(createFakeClock(), { [name]: value })),
        RangeError,
        `${name} must be a number from ${least}, got ${value}`,
      );
      assertEquals(work.calls, []);
    }
  }
});

Deno.test("retry() waits by the system's clock and its own randomness unless told", async () => {
  assertEquals(await retry(failing(1).fn, { isRetryable: () => true, baseDelayMs: 1 }), "done");
});

Deno.test("fullJitterDelay() doubles its bound from attempt to attempt, up to the limit", () => {
  const bounds = [1, 2, 3, 4, 5, 6, 7, 1000].map((attempt) =>
    fullJitterDelay(attempt, { baseDelayMs: 100, maxDelayMs: 3000, random: () => 1 })
  );
  assertEquals(bounds, [100, 200, 400, 800, 1600, 3000, 3000, 3000]);
});

Deno.test("fullJitterDelay() spreads over the whole range from 0", () => {
  for (const random of [0, 0.25, 0.999]) {
    assertEquals(
      fullJitterDelay(3, { baseDelayMs: 100, maxDelayMs: 5000, random: () => random }),
      random * 400,
    );
  }
  const delays = Array.from(
    { length: 100 },
    () => fullJitterDelay(1, { baseDelayMs: 100, maxDelayMs: 5000 }),
  );
  assertEquals(delays.every((delay) => delay >= 0 && delay < 100), true);
  assertEquals(new Set(delays).size > 50, true);
});
