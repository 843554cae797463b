import { assert, assertEquals, assertRejects } from "@std/assert";
import { deadlineOf, raceDeadline } from "../../core/deadline.ts";
import { DeadlineExceededError } from "../../errors/mod.ts";
import { createLambdaContext } from "../../testing/mod.ts";

Deno.test("deadlineOf() keeps 250 ms back, a quarter where less than a second is left", () => {
  const at = (left: number): number | undefined =>
    deadlineOf({ ...createLambdaContext(), getRemainingTimeInMillis: () => left }, 1000);
  assertEquals([at(10_000), at(1000), at(400), at(0), at(-5), at(NaN)], [
    10_750,
    1750,
    1300,
    undefined,
    undefined,
    undefined,
  ]);
  assertEquals(deadlineOf(undefined, 1000), undefined);
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
      assertRejects(() => raceDeadline(never, start + ms, false, () => order.push(ms)), DeadlineExceededError)
    ),
  );
  clearTimeout(hold);
  assertEquals(order, [20, 40, 60]);
  assert(performance.now() >= start + 60);
});

Deno.test("raceDeadline() takes a deadline that lies further ahead than a timer reaches", async () => {
  assertEquals(await raceDeadline(Promise.resolve(1), performance.now() + 2 ** 40, false, () => {}), 1);
});
