import { assertEquals, assertRejects } from "@std/assert";
import {
  defineEventHandler,
  defineKafkaHandler,
  defineQueueHandler,
  defineStreamHandler,
  defineTableStreamHandler,
} from "../../triggers/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  createEventBridgeEvent,
  createFakeClock,
  createKafkaEvent,
  createLambdaContext,
  createQueueEvent,
  createStreamEvent,
  createTableStreamEvent,
} from "../../testing/mod.ts";
import * as z from "zod";
import { testStores } from "./stores.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;
const context = createLambdaContext({ functionName: "fn", clock: createFakeClock() });

testStores("defineQueueHandler() skips a message that was processed", async ({ store }) => {
  const seen: string[] = [];
  const handler = defineQueueHandler({ ...QUIET, idempotency: { store } })(
    ({ record }) => void seen.push(record.messageId),
  );
  const event = createQueueEvent([{ body: 1, messageId: "m1" }, { body: 2, messageId: "m2" }]);
  assertEquals(await handler(event, context), { batchItemFailures: [] });
  assertEquals(await handler(event, context), { batchItemFailures: [] });
  assertEquals(seen, ["m1", "m2"]);
});

testStores(
  "defineQueueHandler() processes a message once although JSON cannot hold what the handler returns",
  async ({ store }) => {
    let calls = 0;
    const handler = defineQueueHandler({ ...QUIET, idempotency: { store } })(() => {
      calls++;
      return [{ id: 1n }];
    });
    const event = createQueueEvent([{ body: 1, messageId: "m1" }]);
    assertEquals(await handler(event, context), { batchItemFailures: [] });
    assertEquals(await handler(event, context), { batchItemFailures: [] });
    assertEquals(calls, 1);
  },
);

testStores(
  "defineQueueHandler() frees a message that failed, also with a 4xx",
  async ({ store }) => {
    let calls = 0;
    const handler = defineQueueHandler({ ...QUIET, idempotency: { store } })(() => {
      if (++calls < 3) throw calls === 1 ? new TypeError("broken") : new AppError("NOT_FOUND");
    });
    const event = createQueueEvent([{ body: 1, messageId: "m1" }]);
    const failed = { batchItemFailures: [{ itemIdentifier: "m1" }] };
    assertEquals(await handler(event, context), failed);
    assertEquals(await handler(event, context), failed);
    assertEquals(await handler(event, context), { batchItemFailures: [] });
    assertEquals(await handler(event, context), { batchItemFailures: [] });
    assertEquals(calls, 3);
  },
);

testStores("defineQueueHandler() fails a message that another consumer processes", async (lab) => {
  if (lab.name === "transaction") return; // an embedded database has one connection
  const started = Promise.withResolvers<void>();
  const ends = Promise.withResolvers<void>();
  let calls = 0;
  const handler = defineQueueHandler({ ...QUIET, idempotency: { store: lab.store } })(async () => {
    calls++;
    started.resolve();
    await ends.promise;
  });
  const event = createQueueEvent([{ body: 1, messageId: "m1" }]);
  const first = handler(event, context);
  await started.promise;
  const second = await handler(event, context);
  assertEquals(second, { batchItemFailures: [{ itemIdentifier: "m1" }] });
  ends.resolve();
  assertEquals(await first, { batchItemFailures: [] });
  assertEquals(await handler(event, context), { batchItemFailures: [] });
  assertEquals(calls, 1);
});

testStores("defineQueueHandler() takes the key from the message", async ({ store }) => {
  const seen: string[] = [];
  const handler = defineQueueHandler({
    ...QUIET,
    schema: z.object({ orderId: z.string() }),
    idempotency: { store, key: ({ body }) => body.orderId },
  })(({ body, record }) => void seen.push(`${record.messageId} ${body.orderId}`));
  const event = createQueueEvent([
    { body: { orderId: "o1" }, messageId: "m1" },
    { body: { orderId: "o1" }, messageId: "m2" },
    { body: { orderId: "o2" }, messageId: "m3" },
    { body: { orderId: "" }, messageId: "m4" },
  ]);
  const { batchItemFailures } = await handler(event, context);
  assertEquals(batchItemFailures, [{ itemIdentifier: "m4" }]);
  assertEquals(seen, ["m1 o1", "m3 o2"]);
});

testStores("defineEventHandler() returns the stored result of an event", async ({ store }) => {
  let calls = 0;
  const handler = defineEventHandler({ ...QUIET, idempotency: { store } })(({ event }) => ({
    id: event.id,
    call: ++calls,
  }));
  const event = createEventBridgeEvent({ detailType: "note.created", detail: {} });
  const first = await handler(event, context);
  assertEquals(await handler(event, context), first);
  assertEquals(first.call, 1);
  // another target of the same event
  const other = createLambdaContext({ functionName: "other" });
  assertEquals((await handler(event, other)).call, 2);
});

testStores("defineEventHandler() throws the handler's error and frees the event", async (lab) => {
  const handler = defineEventHandler({ ...QUIET, idempotency: { store: lab.store } })(() => {
    throw new TypeError("broken");
  });
  const event = createEventBridgeEvent({ detailType: "note.created", detail: {} });
  await assertRejects(() => handler(event, context), TypeError, "broken");
  assertEquals(await lab.count(), 0);
});

testStores(
  "handlers of streams skip records that were processed before a failure",
  async ({ store }) => {
    const options = { ...QUIET, idempotency: { store } };
    let isBroken = true;
    const seen: string[] = [];
    const take = (id: string) => {
      if (id.endsWith("2") && isBroken) throw new TypeError("broken");
      seen.push(id);
    };
    const kinesis = createStreamEvent([1, 2].map((n) => ({ data: n, sequenceNumber: `${n}` })));
    const table = createTableStreamEvent(
      [1, 2].map((n) => ({ keys: { id: n }, sequenceNumber: `${n}` })),
    );
    const kafka = createKafkaEvent([1, 2].map((n) => ({ value: n, offset: n })), "orders");
    const takeRecord = defineStreamHandler(options)(({ record }) =>
      take(`k${record.kinesis.sequenceNumber}`)
    );
    const takeChange = defineTableStreamHandler(options)(({ keys }) => take(`t${keys.id}`));
    const takeKafka = defineKafkaHandler({ ...options, partialFailures: true })(({ record }) =>
      take(`o${record.offset}`)
    );
    for (let delivery = 0; delivery < 3; delivery++) {
      const results = [
        await takeRecord(kinesis, createLambdaContext({ functionName: "records" })),
        await takeChange(table, createLambdaContext({ functionName: "changes" })),
        await takeKafka(kafka, createLambdaContext({ functionName: "kafka" })),
      ];
      const failures = results.map(({ batchItemFailures }) => batchItemFailures.length);
      assertEquals(failures, Array(3).fill(isBroken ? 1 : 0));
      isBroken = false;
    }
    assertEquals(seen, ["k1", "t1", "o1", "k2", "t2", "o2"]);
  },
);
