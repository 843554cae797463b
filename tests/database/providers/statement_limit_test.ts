import { assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import {
  getLimit,
  silent,
  StatementWatch,
  withinLimit,
} from "../../../database/providers/statement_limit.ts";
import { isSilent } from "../../../sql/sqlstate.ts";

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

Deno.test("getLimit() is 60 seconds unless the configuration says otherwise", () => {
  assertEquals([getLimit({}).ms, getLimit({ statementTimeoutSeconds: 0.5 }).ms], [60_000, 500]);
});

Deno.test("withinLimit() rejects a statement that is not answered, and says how to change the time", async () => {
  const startedAt = performance.now();
  const error = await assertRejects(() => withinLimit(new Promise(() => {}), { ms: 60 }));
  assertGreater(performance.now() - startedAt, 55);
  assertEquals(
    (error as Error).message,
    "The database did not answer within 0.06 s; it may have run the statement. DatabaseConfig.statementTimeoutSeconds sets this limit",
  );
  assertEquals([isSilent(error), isSilent(silent({ ms: 1 })), isSilent(new Error("x"))], [
    true,
    true,
    false,
  ]);
});

Deno.test("withinLimit() gives what a statement gives, and leaves no timer behind", async () => {
  assertEquals(await withinLimit(Promise.resolve(1), { ms: 1e6 }), 1);
  const failure = new Error("x");
  assertEquals(
    await assertRejects(() => withinLimit(Promise.reject(failure), { ms: 1e6 })),
    failure,
  );
});

Deno.test("withinLimit() counts from the last answer to a statement before it", async () => {
  let answeredMs = 0;
  const timer = setInterval(() => answeredMs = performance.now(), 20);
  setTimeout(() => clearInterval(timer), 300);
  const startedAt = performance.now();
  await assertRejects(() => withinLimit(new Promise(() => {}), { ms: 80 }, () => answeredMs));
  assertGreater(performance.now() - startedAt, 340);
});

Deno.test("withinLimit() takes what was answered while the process was busy", async () => {
  const answer = wait(30).then(() => "answered");
  const limited = withinLimit(answer, { ms: 100 });
  // the event loop stands still, as in a process that computes or is suspended
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  assertEquals(await limited, "answered");
});

Deno.test("StatementWatch watches while statements are under way, and not between them", async () => {
  const seen: number[] = [];
  const watch = new StatementWatch({ ms: 80 }, () => seen.push(performance.now()));
  watch.sent();
  watch.ended();
  await wait(200);
  assertEquals(seen, []);
  // three on one connection: each has the whole time from the answer to the one before it
  watch.sent();
  watch.sent();
  watch.sent();
  for (let i = 0; i < 3; i++) {
    await wait(60);
    watch.ended();
  }
  await wait(200);
  assertEquals(seen, []);
  const startedAt = performance.now();
  watch.sent();
  await wait(250);
  assertEquals(seen.length, 1);
  assertLess(seen[0] - startedAt, 240);
  // it has said so once
  watch.ended();
  watch.sent();
  await wait(200);
  assertEquals(seen.length, 1);
});

Deno.test("StatementWatch says nothing after it was closed", async () => {
  let isSilent = false;
  const watch = new StatementWatch({ ms: 20 }, () => isSilent = true);
  watch.sent();
  watch.close();
  watch.sent();
  await wait(150);
  assertEquals(isSilent, false);
});
