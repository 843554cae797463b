import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { getRequestContext } from "../../../core/mod.ts";
import {
  defineStreamHandler,
  type KinesisEvent,
  type StreamHandlerFunction,
  type StreamHandlerOptions,
} from "../../../triggers/mod.ts";
import { ConfigurationError, NotFoundError, UnexpectedError } from "../../../errors/mod.ts";
import { logInfo } from "../../../observability/mod.ts";
import { createFakeClock, createLambdaContext, createStreamEvent } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Order = z.object({ orderId: z.string() });

function run<T = never>(
  event: KinesisEvent,
  handler: StreamHandlerFunction<T>,
  options: StreamHandlerOptions<T> = {},
) {
  return captureLogs(() => defineStreamHandler<T>(options)(handler)(event, context));
}

Deno.test("defineStreamHandler() gives the handler record, parsed data and the record's correlation id", async () => {
  const event = createStreamEvent([
    { data: { orderId: "o1", correlationId: "c-1" }, partitionKey: "p" },
    { data: { orderId: "o2" }, sequenceNumber: "7" },
  ]);
  const seen: unknown[] = [];
  const { result, lines } = await run(
    event,
    ({ record, data, partitionKey, metadata, ...rest }) => {
      seen.push([record, data, partitionKey, metadata.correlationId, Object.keys(rest)]);
      logInfo("in the record", { own: getRequestContext()?.correlationId });
    },
    { schema: Order },
  );
  assertEquals(result, { batchItemFailures: [] });
  assertEquals(seen, [
    [event.Records[0], { orderId: "o1" }, "p", "c-1", ["context"]],
    [event.Records[1], { orderId: "o2" }, "test", "shardId-000000000000:7", ["context"]],
  ]);
  const own = lines.filter(({ message }) => message === "in the record");
  assertEquals(own.map((line) => [line.own, line.correlation_id, line.sequence_number]), [
    ["c-1", "c-1", event.Records[0].kinesis.sequenceNumber],
    ["shardId-000000000000:7", "shardId-000000000000:7", "7"],
  ]);
});

Deno.test("defineStreamHandler() stops at the first record that fails, and reports only that one", async () => {
  const event = createStreamEvent(
    ["1", "2", "3", "4"].map((sequenceNumber) => ({ data: sequenceNumber, sequenceNumber })),
  );
  const seen: string[] = [];
  const { result, lines } = await run(event, ({ record }) => {
    seen.push(record.kinesis.sequenceNumber);
    if (record.kinesis.sequenceNumber === "2") throw new NotFoundError("no such order");
  });
  assertEquals(seen, ["1", "2"]);
  assertEquals(result, { batchItemFailures: [{ itemIdentifier: "2" }] });
  assertEquals(
    lines.filter(({ level }) => level === "ERROR" || level === "WARN").map((line) => [
      line.message,
      line.sequence_number,
      line.reason ?? line.waiting,
    ]),
    [
      ["record failed", "2", "no such order"],
      ["records are left for the next delivery, to keep their order", undefined, 2],
    ],
  );
});

for (
  const [problem, data] of [
    ["no JSON", "?"],
    ["no UTF-8", new Uint8Array([0xff, 0xfe])],
    ["JSON that does not match", { orderId: 1 }],
    ["a key that reaches the prototype", '{"__proto__":{}}'],
  ] as const
) {
  Deno.test(`defineStreamHandler() fails a record with ${problem}, without its content in the log`, async () => {
    const event = createStreamEvent([{ data, sequenceNumber: "9" }]);
    const { result, lines } = await run(event, () => {
      throw new Error("not reached");
    }, { schema: Order });
    assertEquals(result, { batchItemFailures: [{ itemIdentifier: "9" }] });
    const [failure] = lines.filter(({ message }) => message === "record failed");
    assertStringIncludes(String(failure.reason), "Validation failed");
  });
}

Deno.test("defineStreamHandler() counts the records and the failed one", async () => {
  const event = createStreamEvent([{ data: "a" }, { data: "b" }, { data: "c" }]);
  const { lines } = await run(event, ({ record }) => {
    if (atob(record.kinesis.data) === "b") throw new Error("why");
  });
  const metrics = lines.find((line) => "FailedRecords" in line);
  assertEquals([metrics?.Records, metrics?.FailedRecords], [3, 1]);
});

Deno.test("logging.logEvent redacts secrets inside the content of stream records", async () => {
  const event = createStreamEvent([{ data: { password: "hunter22" } }, { data: "plain text" }]);
  const { lines } = await run(event, () => {}, { logging: { level: "DEBUG", logEvent: true } });
  const text = JSON.stringify(lines);
  assertEquals(text.includes("hunter22") || text.includes(btoa("plain text")), false);
  assertEquals(text.includes(event.Records[0].kinesis.data), false);
  assertStringIncludes(text, "characters in base64");
});

for (const event of [{}, null, { Records: [{ messageId: "m" }] }, { Records: "x" }]) {
  Deno.test(`defineStreamHandler() refuses an event that is none of Kinesis: ${JSON.stringify(event)}`, async () => {
    const handler = defineStreamHandler({ logging: { level: "SILENT" }, metrics: false })(() => {});
    await assertRejects(() => handler(event as never, context), UnexpectedError, "data stream");
  });
}

Deno.test("defineStreamHandler() refuses unknown options and a handler that is none", () => {
  assertThrows(
    () => defineStreamHandler({ retryAttempts: 1 } as never),
    ConfigurationError,
    "defineStreamHandler has no option retryAttempts",
  );
  assertThrows(
    () => defineStreamHandler()("x" as never),
    ConfigurationError,
    "it must be a function",
  );
});

Deno.test("defineStreamHandler() with a schema refuses records of the Kinesis Producer Library, and says what to do", async () => {
  const aggregated = [0xf3, 0x89, 0x9a, 0xc2, 0x0a, 0x01, 0x61, ...Array(16).fill(7)];
  const data = btoa(String.fromCharCode(...aggregated));
  const [record] = createStreamEvent([{ data: 1, sequenceNumber: "5" }]).Records;
  const event = { Records: [{ ...record, kinesis: { ...record.kinesis, data } }] };
  const { result, lines } = await captureLogs(() =>
    defineStreamHandler({ schema: z.unknown() })(() => {})(event, createLambdaContext())
  );
  assertEquals(result, { batchItemFailures: [{ itemIdentifier: "5" }] });
  assertStringIncludes(JSON.stringify(lines), "set AggregationEnabled to false in the producer");
  const raw = defineStreamHandler({ logging: { level: "SILENT" }, metrics: false })(
    ({ record }) => assertEquals(record.kinesis.data, data),
  );
  assertEquals(await raw(event, createLambdaContext()), { batchItemFailures: [] });
});
