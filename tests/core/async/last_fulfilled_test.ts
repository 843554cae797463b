import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { LastFulfilled } from "../../../core/async/last_fulfilled.ts";

/** Returns whether `next` is called before `use` returns, and the result. */
async function use<T>(last: LastFulfilled<T>, given: T | Promise<T>): Promise<[boolean, T]> {
  let isCalled = false;
  const result = last.use(given, (value) => (isCalled = true, Promise.resolve(value)));
  const wasCalled = isCalled;
  assertInstanceOf(result, Promise);
  return [wasCalled, await result];
}

Deno.test("LastFulfilled.use() waits for a promise once, and for each other one", async () => {
  const last = new LastFulfilled<number>();
  const [one, two] = [Promise.resolve(1), Promise.resolve(2)];
  assertEquals(await use(last, one), [false, 1]);
  assertEquals(await use(last, one), [true, 1]);
  assertEquals(await use(last, two), [false, 2]);
  assertEquals(await use(last, two), [true, 2]);
  assertEquals(await use(last, 3), [true, 3]);
});

Deno.test("LastFulfilled.use() does not wait for the value of a promise that was slower", async () => {
  const last = new LastFulfilled<string>();
  let open = (_value: string): void => {};
  const slow = new Promise<string>((resolve) => open = resolve);
  const waiting = use(last, slow);
  assertEquals(await use(last, Promise.resolve("fast")), [false, "fast"]);
  open("slow");
  assertEquals(await waiting, [false, "slow"]);
  assertEquals(await use(last, slow), [true, "slow"]);
});

Deno.test("LastFulfilled.use() keeps no rejected promise", async () => {
  const last = new LastFulfilled<number>();
  const failed = Promise.reject(new RangeError("away"));
  for (let i = 0; i < 2; i++) await assertRejects(() => use(last, failed), RangeError, "away");
});
