import { assertEquals } from "@std/assert";
import { fullJitterDelay } from "../../../core/async/backoff.ts";

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
