import { assertEquals } from "@std/assert";
import { createFakeClock } from "../../testing/mod.ts";

Deno.test("createFakeClock() stays at its time until it is moved", async () => {
  assertEquals(createFakeClock().now(), Date.UTC(2026, 0, 1));
  const clock = createFakeClock({ nowMs: 100 });
  assertEquals(clock.now(), 100);
  await clock.advance(50);
  assertEquals(clock.now(), 150);
});

Deno.test("createFakeClock() wakes sleepers in order, each at its time", async () => {
  const clock = createFakeClock({ nowMs: 0 }), woken: [string, number][] = [];
  for (const [name, ms] of [["c", 30], ["a", 10], ["b", 20], ["d", 31]] as const) {
    clock.sleep(ms).then(() => woken.push([name, clock.now()]));
  }
  await clock.advance(30);
  assertEquals(woken, [["a", 10], ["b", 20], ["c", 30]]);
  await clock.advance(1);
  assertEquals(woken.at(-1), ["d", 31]);
  assertEquals(clock.sleeps, [30, 10, 20, 31]);
});

Deno.test("createFakeClock() wakes who goes to sleep again while it moves", async () => {
  const clock = createFakeClock({ nowMs: 0 }), woken: number[] = [];
  (async () => {
    for (let i = 0; i < 3; i++) {
      await clock.sleep(10);
      woken.push(clock.now());
    }
  })();
  await clock.advance(25);
  assertEquals(woken, [10, 20]);
  await clock.advance(5);
  assertEquals(woken, [10, 20, 30]);
});

Deno.test("createFakeClock() with autoAdvance moves without calls", async () => {
  const clock = createFakeClock({ nowMs: 0, autoAdvance: true });
  await clock.sleep(10);
  await clock.sleep(20);
  assertEquals([clock.now(), clock.sleeps], [30, [10, 20]]);
});
