import { assertEquals, assertFalse, assertRejects, assertThrows } from "@std/assert";
import * as z from "zod";
import { defineEventHandler, type EventBridgeEvent } from "../../../triggers/mod.ts";
import {
  ConfigurationError,
  ConflictError,
  UnexpectedError,
  type ValidationError,
} from "../../../errors/mod.ts";
import {
  createEventBridgeEvent,
  createFakeClock,
  createLambdaContext,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Note = z.object({ noteId: z.string() });

Deno.test("defineEventHandler() gives the handler event and parsed detail, and the platform what it returns", async () => {
  const event = createEventBridgeEvent({
    detail: { noteId: "n1", more: 1, correlationId: "c-1" },
    id: "e-1",
  });
  const handler = defineEventHandler({ schema: Note })(function indexNote(params) {
    return { ...params, metadata: params.metadata.correlationId };
  });
  const { result, lines } = await captureLogs(() => handler(event, context));
  assertEquals(result, { event, context, metadata: "c-1", detail: { noteId: "n1" } });
  const { operation, correlation_id, event_id, detail_type } = lines[0];
  assertEquals([operation, correlation_id, event_id, detail_type], [
    "indexNote",
    "c-1",
    "e-1",
    "test.happened",
  ]);
});

const ids: [name: string, event: EventBridgeEvent, expected: string][] = [
  ["its detail", createEventBridgeEvent({ detail: { correlationId: "c-1" }, id: "e-1" }), "c-1"],
  ["its id", createEventBridgeEvent({ id: "e-1" }), "e-1"],
  [
    "its id when the detail's is none",
    createEventBridgeEvent({ detail: { correlationId: { x: 1 } }, id: "e-1" }),
    "e-1",
  ],
  ["its id when there is no detail", createEventBridgeEvent({ detail: null, id: "e-1" }), "e-1"],
];

for (const [name, event, expected] of ids) {
  Deno.test(`defineEventHandler() takes the correlation id of an event from ${name}`, async () => {
    const handler = defineEventHandler()(({ metadata }) => metadata.correlationId);
    const { result } = await captureLogs(() => handler(event, context));
    assertEquals(result, expected);
  });
}

Deno.test("defineEventHandler() infers the types of its options", async () => {
  const handler = defineEventHandler({ schema: z.object({ n: z.coerce.number() }) })(({ detail }) =>
    detail.n + 1
  );
  // @ts-expect-error: there is no detail without a schema
  defineEventHandler()(({ detail }) => detail);
  const { result } = await captureLogs(async () => {
    const sum: number = await handler(createEventBridgeEvent({ detail: { n: "1" } }), context);
    return sum;
  });
  assertEquals(result, 2);
});

Deno.test("defineEventHandler() throws over a detail that does not fit, names the fields and not the values", async () => {
  const handler = defineEventHandler({ schema: Note })(() => {});
  const event = createEventBridgeEvent({ detail: { noteId: 4711 } });
  const { lines, writes } = await captureLogs(async () => {
    const error = await assertRejects(
      () => handler(event, context),
      UnexpectedError,
      "Validation failed: noteId",
    );
    assertEquals((error.cause as ValidationError).code, "VALIDATION_FAILED");
  });
  assertEquals(lines.filter((line) => line.level === "ERROR").length, 1);
  assertEquals(lines.find((line) => "_aws" in line)?.Errors, 1);
  assertFalse(writes.join("").includes("4711"));
});

Deno.test("defineEventHandler() takes an error below 500 for a failure: there is no client whose fault it could be", async () => {
  const handler = defineEventHandler()(() => Promise.reject(new ConflictError("taken")));
  const { lines } = await captureLogs(() =>
    assertRejects(() => handler(createEventBridgeEvent(), context), UnexpectedError, "taken")
  );
  assertEquals(lines.map((line) => line.level).filter(Boolean), ["ERROR"]);
  assertEquals(lines[0].error.cause.code, "CONFLICT");
});

Deno.test("defineEventHandler() refuses events of other sources and options that it does not have", async () => {
  const handler = defineEventHandler()(() => {});
  await captureLogs(async () => {
    for (const event of [{}, null, { Records: [] }]) {
      await assertRejects(
        () => handler(event as never, context),
        UnexpectedError,
        "the trigger of this function must be a rule",
      );
    }
  });
  assertThrows(
    () => defineEventHandler({ detailSchema: Note } as never),
    ConfigurationError,
    "no option detailSchema",
  );
});
