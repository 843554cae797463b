import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { SingleFlight } from "../../../core/async/single_flight.ts";

Deno.test("SingleFlight.get() makes a value once for each key, also for callers at the same time", async () => {
  const flights = new SingleFlight<string, number>();
  let made = 0;
  const make = (): Promise<number> => Promise.resolve(++made);
  assertEquals(
    await Promise.all([flights.get("a", make), flights.get("a", make), flights.get("b", make)]),
    [1, 1, 2],
  );
  assertEquals(await flights.get("a", make), 1);
  assertEquals(flights.keys(), ["a", "b"]);
});

Deno.test("SingleFlight.get() passes a failure to all callers and caches none", async () => {
  const flights = new SingleFlight<string, number>();
  const failing = (): Promise<number> => Promise.reject(new TypeError("down"));
  const both = [flights.get("a", failing), flights.get("a", () => Promise.resolve(1))];
  for (const flight of both) await assertRejects(() => flight, TypeError, "down");
  assertEquals(flights.keys(), []);
  assertEquals(await flights.get("a", () => Promise.resolve(2)), 2);
});

Deno.test("SingleFlight.get() keeps a newer flight when an older one that was taken fails", async () => {
  const flights = new SingleFlight<string, number>();
  let fail = (_: Error): void => {};
  const older = flights.get("a", () => new Promise((_, reject) => fail = reject));
  assertStrictEquals(flights.evict("a"), older);
  const newer = flights.get("a", () => Promise.resolve(2));
  fail(new Error("late"));
  await assertRejects(() => older, Error, "late");
  assertStrictEquals(flights.get("a", () => Promise.resolve(3)), newer);
});

Deno.test("SingleFlight.evict() forgets a key", () => {
  const flights = new SingleFlight<string, number>();
  flights.get("a", () => Promise.resolve(1));
  flights.evict("a");
  assertEquals([flights.evict("a"), flights.keys()], [undefined, []]);
});
