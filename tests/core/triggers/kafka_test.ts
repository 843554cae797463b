import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { getRequestContext } from "../../../core/mod.ts";
import {
  defineKafkaHandler,
  type KafkaEvent,
  type KafkaHandlerFunction,
  type KafkaHandlerOptions,
} from "../../../triggers/mod.ts";
import { ConfigurationError, UnexpectedError } from "../../../errors/mod.ts";
import { createFakeClock, createKafkaEvent, createLambdaContext } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Order = z.object({ orderId: z.string() });
const order = (orderId: string) => ({ orderId });

function run<T = never>(
  event: KafkaEvent,
  handler: KafkaHandlerFunction<T>,
  options: KafkaHandlerOptions<T> = {},
) {
  return captureLogs(async () => {
    try {
      return await defineKafkaHandler<T>(options)(handler)(event, context);
    } catch (error) {
      return error as Error;
    }
  });
}

/** Two partitions; the second record of `orders-0` fails. */
const event = createKafkaEvent([
  { value: order("a"), key: "k1", correlationId: "c-1", offset: 40 },
  { value: order("bad") },
  { value: order("c") },
  { value: order("d"), partition: 1, offset: 7 },
], "orders");

function failBad(seen: unknown[]): KafkaHandlerFunction<{ orderId: string }> {
  return function ship({ value, key, metadata }) {
    seen.push([value.orderId, key, metadata.correlationId]);
    if (value.orderId === "bad") throw new Error("why");
  };
}

const SEEN = [
  ["a", "k1", "c-1"],
  ["bad", undefined, "orders:0:41"],
  ["d", undefined, "orders:1:7"],
];

Deno.test("defineKafkaHandler() with partialFailures reports the first failed record of each partition", async () => {
  const seen: unknown[] = [];
  const { result, lines } = await run(event, failBad(seen), {
    schema: Order,
    partialFailures: true,
  });
  assertEquals(seen, SEEN);
  assertEquals(result, {
    batchItemFailures: [{ itemIdentifier: { partition: "orders-0", offset: 41 } }],
  });
  const [failure] = lines.filter(({ message }) => message === "record failed");
  assertEquals([failure.topic, failure.partition, failure.offset], ["orders", 0, 41]);
});

Deno.test("defineKafkaHandler() without partialFailures fails the invocation after all partitions", async () => {
  const seen: unknown[] = [];
  const { result } = await run(event, failBad(seen), { schema: Order });
  assertEquals(seen, SEEN);
  assertEquals(result instanceof UnexpectedError, true);
  assertStringIncludes((result as Error).message, "1 partition has failed records");
});

Deno.test("defineKafkaHandler() processes partitions at once, each in order, with concurrency", async () => {
  const many = createKafkaEvent(
    [0, 1, 2].flatMap((partition) =>
      ["a", "b"].map((value) => ({ partition, value: order(value) }))
    ),
    "orders",
  );
  let running = 0;
  let most = 0;
  const seen: Record<number, unknown[]> = {};
  await run(many, async ({ record, value }) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    (seen[record.partition] ??= []).push([value.orderId, getRequestContext()?.correlationId]);
    running--;
  }, { schema: Order, concurrency: 2 });
  assertEquals(most, 2);
  for (const partition of [0, 1, 2]) {
    assertEquals(seen[partition], [
      ["a", `orders:${partition}:0`],
      ["b", `orders:${partition}:1`],
    ]);
  }
});

Deno.test("defineKafkaHandler() gives the schema null for a tombstone", async () => {
  const seen: unknown[] = [];
  const tombstone = createKafkaEvent([{ key: "k", value: null }]);
  await run(tombstone, ({ key, value }) => seen.push([key, value]), { schema: Order.nullable() });
  assertEquals(seen, [["k", null]]);
  const { result } = await run(tombstone, () => {}, { schema: Order });
  assertEquals(result instanceof UnexpectedError, true);
});

Deno.test("logging.logEvent redacts secrets inside the values of Kafka records", async () => {
  const secret = createKafkaEvent([{ value: { password: "hunter22" } }]);
  const { lines } = await run(secret, () => {}, { logging: { level: "DEBUG", logEvent: true } });
  const text = JSON.stringify(lines);
  assertEquals(text.includes("hunter22"), false);
  assertEquals(text.includes(secret.records["test-topic-0"][0].value!), false);
});

Deno.test("defineKafkaHandler() refuses an event that is none of Kafka, and unknown options", async () => {
  const handler = defineKafkaHandler({ logging: { level: "SILENT" }, metrics: false })(() => {});
  for (const foreign of [null, {}, { records: {} }, { records: { "orders-0": [{}] } }]) {
    await assertRejects(() => handler(foreign as never, context), UnexpectedError, "Kafka");
  }
  assertThrows(
    () => defineKafkaHandler({ partialFailures: "yes" } as never),
    ConfigurationError,
    'partialFailures is "yes"',
  );
});
