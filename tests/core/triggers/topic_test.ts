import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { getRequestContext } from "../../../core/mod.ts";
import {
  defineTopicHandler,
  type SnsEvent,
  type TopicHandlerFunction,
  type TopicHandlerOptions,
} from "../../../triggers/mod.ts";
import { ConfigurationError, NotFoundError, UnexpectedError } from "../../../errors/mod.ts";
import { logInfo } from "../../../observability/mod.ts";
import { createFakeClock, createLambdaContext, createTopicEvent } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Note = z.object({ noteId: z.string() });

function run<T = never>(
  event: SnsEvent,
  handler: TopicHandlerFunction<T>,
  options: TopicHandlerOptions<T> = {},
) {
  return captureLogs(async () => {
    try {
      return await defineTopicHandler<T>(options)(handler)(event, context);
    } catch (error) {
      return error as Error;
    }
  });
}

Deno.test("defineTopicHandler() gives the handler record, parsed message and the message's correlation id", async () => {
  const event = createTopicEvent([{
    message: { noteId: "n1", more: 1 },
    correlationId: "c-1",
    messageId: "sns-1",
  }]);
  const seen: unknown[] = [];
  const { result, lines } = await run(event, ({ record, message, metadata, ...others }) => {
    seen.push(
      record,
      message,
      metadata.correlationId,
      getRequestContext()?.correlationId,
      Object.keys(others),
    );
    logInfo("in the record");
  }, { schema: Note });
  assertEquals(result, undefined);
  assertEquals(seen, [event.Records[0], { noteId: "n1" }, "c-1", "c-1", ["context"]]);
  // the one record's ids stand in all lines of the invocation
  assertEquals(
    lines.filter((line) => "level" in line).map((
      line,
    ) => [line.message, line.correlation_id, line.message_id]),
    [
      ["in the record", "c-1", "sns-1"],
      ["request completed", "c-1", "sns-1"],
    ],
  );
});

Deno.test("defineTopicHandler() takes the message's id when it has no correlation id", async () => {
  const ids: string[] = [];
  await run(
    createTopicEvent([{ messageId: "sns-1" }]),
    ({ metadata }) => ids.push(metadata.correlationId),
  );
  assertEquals(ids, ["sns-1"]);
});

Deno.test("defineTopicHandler() leaves the message out without a schema, from object and type", async () => {
  const seen: string[][] = [];
  // @ts-expect-error: there is no message without a schema
  defineTopicHandler()(({ message }) => message);
  await run(
    createTopicEvent([{ message: "plain text" }]),
    (params) => seen.push(Object.keys(params).toSorted()),
  );
  assertEquals(seen, [["context", "metadata", "record"]]);
});

Deno.test("defineTopicHandler() tries all records and fails the invocation when any failed", async () => {
  const records = ["1", "?", "3"].map((noteId, i) => ({
    message: i === 1 ? "?" : { noteId },
    messageId: `m${i}`,
  }));
  const tried: string[] = [];
  const { result, lines } = await run(createTopicEvent(records), ({ message, metadata }) => {
    tried.push(message.noteId, metadata.correlationId);
    if (message.noteId === "1") throw new NotFoundError("gone");
  }, { schema: Note });
  assertEquals(tried, ["1", "m0", "3", "m2"]);
  assertEquals([(result as Error).name, (result as Error).message], [
    "UnexpectedError",
    "2 of 3 records failed: each has a line of its own in the log",
  ]);
  const failed = lines.filter((line) => line.message === "record failed");
  assertEquals(failed.map((line) => [line.message_id, line.correlation_id, line.reason]), [
    ["m0", "m0", "gone"],
    ["m1", "m1", "Validation failed: It is not valid JSON"],
  ]);
});

Deno.test("defineTopicHandler() counts records that are not finished in time as failed", async () => {
  const handler = defineTopicHandler()(({ record }) =>
    record.Sns.MessageId === "m0" ? undefined : new Promise(() => {})
  );
  const event = createTopicEvent([{ messageId: "m0" }, { messageId: "m1" }]);
  // timers of deadlines keep no process alive: something else must, until they fire
  const hold = setTimeout(() => {}, 10_000);
  const { lines } = await captureLogs(() =>
    assertRejects(
      () => handler(event, createLambdaContext({ timeoutMs: 60 })),
      UnexpectedError,
      "1 of 2 records failed",
    )
  );
  clearTimeout(hold);
  assertEquals(
    lines.find((line) => line.message === "record failed")?.error.code,
    "DEADLINE_EXCEEDED",
  );
});

const failures: [
  name: string,
  message: unknown,
  thrown: unknown,
  expected: [name: string, message: string],
][] = [
  ["of a message that does not fit", { noteId: 1 }, undefined, [
    "UnexpectedError",
    "Validation failed: noteId",
  ]],
  ["of a message that is no JSON", "?", undefined, [
    "UnexpectedError",
    "Validation failed: It is not valid JSON",
  ]],
  ["that would be a client's", { noteId: "1" }, new NotFoundError("gone"), [
    "UnexpectedError",
    "gone",
  ]],
  ["of any other kind", { noteId: "1" }, new TypeError("why"), ["TypeError", "why"]],
];

for (const [name, message, thrown, expected] of failures) {
  Deno.test(`defineTopicHandler() throws and logs a failure ${name}, as one of the service`, async () => {
    const { result, lines } = await run(
      createTopicEvent([{ message }]),
      () => Promise.reject(thrown),
      {
        schema: Note,
      },
    );
    assertEquals([(result as Error).name, (result as Error).message], expected);
    const logged = lines.filter((line) => line.level === "ERROR");
    assertEquals(logged.map((line) => [line.message, line.error.name]), [[
      "request failed",
      expected[0],
    ]]);
    assertEquals(lines.find((line) => "_aws" in line)?.Errors, 1);
  });
}

for (
  const event of [{}, null, { Records: [{ messageId: "m1", body: "" }] }] as unknown as SnsEvent[]
) {
  Deno.test(`defineTopicHandler() refuses an event that is none of a topic: ${JSON.stringify(event)}`, async () => {
    const { result } = await run(event, () => {});
    assertStringIncludes((result as Error).message, "the trigger of this function must be a topic");
  });
}

Deno.test("defineTopicHandler() checks its options and keeps the user's own function", () => {
  assertThrows(
    () => defineTopicHandler({ retryAttempts: 3 }),
    ConfigurationError,
    "retryAttempts is 3",
  );
  assertThrows(
    () => defineTopicHandler({ concurrency: 2 } as never),
    ConfigurationError,
    "no option concurrency",
  );
  const handler = () => {};
  assertEquals(
    defineTopicHandler({ retryAttempts: 2, deadLetterQueue: true })(handler).handler,
    handler,
  );
});
