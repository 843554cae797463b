import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import { Lease } from "../../../database/session/lease.ts";
import { DatabaseError, TransactionMisuseError } from "../../../errors/mod.ts";
import { enterInvocation } from "../../../observability/invocation_context.ts";
import { createInvocation } from "../../support/invocation.ts";

const PATIENCE = { patienceMs: 150, lookMs: 15 };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const name = (): string => "the query";

/** A transaction whose work lasts until it is told to end. */
function begin(
  slots: ConnectionSlots,
): { end: () => void; done: Promise<void>; busy: (work: Promise<void>) => void } {
  const ended = Promise.withResolvers<void>();
  let busy = (_work: Promise<void>): void => {};
  const done = slots.hold((scope) => {
    busy = (work) => void scope.lease.run(name, () => work);
    return scope.run(() => ended.promise);
  });
  return { end: ended.resolve, done, busy: (work) => busy(work) };
}

Deno.test("admit() lets a query pass while a connection is free, and queries wait in their order", async () => {
  const slots = new ConnectionSlots(2);
  assertEquals(slots.admit(name), undefined);
  const first = begin(slots);
  assertEquals(slots.admit(name), undefined);
  const second = begin(slots);
  const order: number[] = [];
  const waiting = [1, 2, 3].map((number) => slots.admit(name)!.then(() => order.push(number)));
  const third = begin(slots);
  const last = slots.admit(name)!.then(() => order.push(4));
  first.end();
  await Promise.all([first.done, ...waiting]);
  // the third transaction has taken the connection
  assertEquals(order, [1, 2, 3]);
  second.end();
  await last;
  third.end();
  await Promise.all([second.done, third.done]);
  assertEquals(slots.admit(name), undefined);
});

Deno.test("admit() refuses a query after transactions sent nothing for a while, one at a time", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  const holder = begin(slots);
  await sleep(5);
  const startedAt = performance.now();
  const refused: number[] = [];
  const waits = [0, 1].map((at) =>
    slots.admit(() => `query ${at}`)!.catch((error) => {
      assertInstanceOf(error, TransactionMisuseError);
      assertStringIncludes(error.message, `Query ${at} waited`);
      refused.push(performance.now() - startedAt);
    })
  );
  await Promise.all(waits);
  assert(refused[0] >= 140 && refused[1] > refused[0], refused.join());
  holder.end();
  await holder.done;
});

Deno.test("admit() waits for a transaction that is busy, for as long as it is", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  const holder = begin(slots);
  holder.busy(sleep(500));
  const waiting = slots.admit(name)!;
  await sleep(450);
  holder.end();
  await Promise.all([holder.done, waiting]);
});

Deno.test("admit() waits for a transaction that sends something from time to time", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  const holder = begin(slots);
  const waiting = slots.admit(name)!;
  for (let round = 0; round < 10; round++) {
    holder.busy(sleep(2));
    await sleep(60);
  }
  holder.end();
  await Promise.all([holder.done, waiting]);
});

Deno.test("admit() does not refuse a query that was there before the transaction's work", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  const holder = slots.hold((scope) => sleep(20).then(() => scope.run(() => sleep(400))));
  const waiting = slots.admit(name)!;
  await Promise.all([holder, waiting]);
});

Deno.test("admit() does not refuse a query of another request", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  const first = enterInvocation(
    createInvocation(),
    () => slots.hold((scope) => scope.run(() => sleep(400))),
  );
  await sleep(5);
  const second = enterInvocation(createInvocation(), () => slots.admit(name)!);
  await Promise.all([first, second]);
});

Deno.test("admit() refuses a query of a transaction's own request whose context is lost", async () => {
  const slots = new ConnectionSlots(1, PATIENCE);
  await enterInvocation(createInvocation(), async () => {
    const ended = Promise.withResolvers<void>();
    const holder = slots.hold((scope) => scope.run(() => ended.promise));
    await sleep(5);
    await assertRejects(() => slots.admit(name)!, TransactionMisuseError);
    ended.resolve();
    await holder;
  });
});

Deno.test("admit() explains a query that is given up at the deadline, and frees the connection", async () => {
  const slots = new ConnectionSlots(1, { patienceMs: 60_000, lookMs: 50 });
  const request = createInvocation();
  request.deadlineMs = performance.now() + 60_000;
  const hanging = enterInvocation(request, async () => {
    void slots.hold((scope) => scope.run(() => new Promise(() => {})));
    await sleep(5);
    return await assertRejects(() => slots.admit(name)!, DatabaseError);
  });
  await sleep(60);
  request.expire();
  assertInstanceOf(await hanging, TransactionMisuseError);
  assertEquals(slots.admit(name), undefined);
});

Deno.test("Lease.use() waits for what was sent, and refuses what comes later", async () => {
  const lease = new Lease();
  const seen: string[] = [];
  await lease.use(() => {
    void lease.run(name, async () => {
      await sleep(20);
      seen.push("sent");
    });
    return Promise.resolve();
  });
  assertEquals(seen, ["sent"]);
  await assertRejects(
    () => lease.run(name, () => Promise.resolve(seen.push("late"))),
    TransactionMisuseError,
  );
  assertEquals(seen, ["sent"]);
});

Deno.test("Lease.use() ends an inner transaction that is not awaited", async () => {
  const lease = new Lease();
  const inner = Promise.withResolvers<unknown>();
  const error = await assertRejects(() =>
    lease.use(() => {
      lease.runInner((own) => own.use(() => new Promise(() => {}))).catch(inner.resolve);
      return Promise.resolve();
    })
  );
  assertInstanceOf(error, TransactionMisuseError);
  assertEquals(await inner.promise, error);
});
