import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { then } from "../../../core/async/then.ts";

Deno.test("then() calls the next step at once when the value is no promise", () => {
  assertStrictEquals(then(2, (value) => value * 2), 4);
  assertStrictEquals(then(undefined, (value) => value), undefined);
});

Deno.test("then() waits for a promise, and for a thenable that is no promise", async () => {
  const query = { then: (resolve: (value: number) => void) => resolve(3) } as PromiseLike<number>;
  for (const value of [Promise.resolve(3), query]) {
    const result = then(value, (known) => known + 1);
    assertEquals([result instanceof Promise, await result], [true, 4]);
  }
});

Deno.test("then() does not call the next step when the promise is rejected", async () => {
  let calls = 0;
  await assertRejects(
    async () => await then(Promise.reject(new Error("no")), () => calls++),
    Error,
    "no",
  );
  assertEquals(calls, 0);
});
