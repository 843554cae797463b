import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import * as fc from "fast-check";
import * as z from "zod";
import {
  defineTableStreamHandler,
  type TableStreamEvent,
  type TableStreamHandlerFunction,
  type TableStreamHandlerOptions,
} from "../../../triggers/mod.ts";
import { readAttributes } from "../../../core/triggers/table_stream.ts";
import { UnexpectedError } from "../../../errors/mod.ts";
import {
  createFakeClock,
  createLambdaContext,
  createTableStreamEvent,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { testSeed } from "../../support/seed.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Product = z.object({ id: z.string(), stock: z.number() });

function run<T = never>(
  event: TableStreamEvent,
  handler: TableStreamHandlerFunction<T>,
  options: TableStreamHandlerOptions<T> = {},
) {
  return captureLogs(() => defineTableStreamHandler<T>(options)(handler)(event, context));
}

Deno.test("defineTableStreamHandler() tells created, updated and removed items apart", async () => {
  const event = createTableStreamEvent([
    { keys: { id: "p1" }, after: { id: "p1", stock: 3 } },
    { keys: { id: "p1" }, before: { id: "p1", stock: 3 }, after: { id: "p1", stock: 2 } },
    { keys: { id: "p1" }, before: { id: "p1", stock: 2 } },
  ]);
  const seen: unknown[] = [];
  const { result } = await run(event, (params) => {
    const { change, keys, before } = params;
    seen.push([change, keys, before, params.change === "removed" ? undefined : params.item]);
  }, { schema: Product });
  assertEquals(result, { batchItemFailures: [] });
  assertEquals(seen, [
    ["created", { id: "p1" }, undefined, { id: "p1", stock: 3 }],
    ["updated", { id: "p1" }, { id: "p1", stock: 3 }, { id: "p1", stock: 2 }],
    ["removed", { id: "p1" }, { id: "p1", stock: 2 }, undefined],
  ]);
});

Deno.test("defineTableStreamHandler() stops at the first change that fails", async () => {
  const event = createTableStreamEvent([
    { keys: { id: "p1" }, after: { id: "p1", stock: 3 }, sequenceNumber: "11" },
    { keys: { id: "p2" }, after: { id: "p2", stock: "many" }, sequenceNumber: "12" },
    { keys: { id: "p3" }, after: { id: "p3", stock: 1 }, sequenceNumber: "13" },
  ]);
  const seen: unknown[] = [];
  const { result, lines } = await run(event, ({ keys, metadata }) => {
    seen.push([keys.id, metadata.correlationId]);
  }, { schema: Product });
  assertEquals(seen, [["p1", event.Records[0].eventID]]);
  assertEquals(result, { batchItemFailures: [{ itemIdentifier: "12" }] });
  const [failure] = lines.filter(({ message }) => message === "record failed");
  assertEquals([failure.sequence_number, failure.reason], ["12", "Validation failed: stock"]);
});

Deno.test("defineTableStreamHandler() fails a change without the image that the schema parses", async () => {
  const event = createTableStreamEvent([{
    keys: { id: "p1" },
    after: { id: "p1", stock: 3 },
    view: "KEYS_ONLY",
    sequenceNumber: "5",
  }]);
  const { result, lines } = await run(event, () => {}, { schema: Product });
  assertEquals(result, { batchItemFailures: [{ itemIdentifier: "5" }] });
  const [failure] = lines.filter(({ message }) => message === "record failed");
  assertStringIncludes(String(failure.reason), "its view is KEYS_ONLY");
  const { result: without } = await run(event, () => {});
  assertEquals(without, { batchItemFailures: [] });
});

Deno.test("defineTableStreamHandler() refuses an event that is none of a table", async () => {
  const handler = defineTableStreamHandler({ logging: { level: "SILENT" }, metrics: false })(
    () => {},
  );
  for (const event of [null, {}, { Records: [{ kinesis: {} }] }]) {
    await assertRejects(() => handler(event as never, context), UnexpectedError, "DynamoDB table");
  }
});

Deno.test("readAttributes() keeps as text the numbers that JavaScript cannot hold", () => {
  const cases: [string, number | string][] = [
    ["0", 0],
    ["-12.5", -12.5],
    ["1E+3", 1000],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    ["9007199254740990.5", "9007199254740990.5"],
    ["0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"],
    ["123456789012345.6", "123456789012345.6"],
    ["1.5E-130", 1.5e-130],
  ];
  for (const [N, expected] of cases) assertEquals(readAttributes({ n: { N } }), { n: expected }, N);
});

Deno.test("readAttributes() returns what the SDK returns, for generated items", () => {
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e100, max: 1e100 }).map((n) =>
        Number(n.toPrecision(12))
      ).filter((n) => Math.abs(n) < 1e15),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.string({ minLength: 1 }), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value;
  const item = fc.dictionary(fc.string({ minLength: 1 }), value, { noNullPrototype: true })
    .filter((it) => !Object.hasOwn(it, "__proto__"));
  const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
  fc.assert(
    fc.property(item, (given) => {
      const attributes = marshall(given, { convertClassInstanceToMap: true });
      assertEquals(readAttributes(attributes as never), unmarshall(attributes));
    }),
    { seed: testSeed, numRuns: isFull ? 20_000 : 200 },
  );
});

Deno.test("readAttributes() decodes bytes and sets", () => {
  const binary = btoa("\x00\xff");
  assertEquals(
    readAttributes({
      bytes: { B: binary },
      many: { BS: [binary] },
      names: { SS: ["a", "b"] },
      numbers: { NS: ["1", "2.5"] },
    }),
    {
      bytes: new Uint8Array([0, 255]),
      many: [new Uint8Array([0, 255])],
      names: ["a", "b"],
      numbers: [1, 2.5],
    },
  );
});
