import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { defineScheduleHandler, type ScheduleEvent } from "../../../triggers/mod.ts";
import { ConfigurationError, UnexpectedError } from "../../../errors/mod.ts";
import { createFakeClock, createLambdaContext, createScheduleEvent } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });

/** Without account and region, as a schedule with an input of its own may send it. */
const short: ScheduleEvent = {
  version: "0",
  id: "e-1",
  "detail-type": "Scheduled Event",
  source: "aws.scheduler",
  time: "2026-01-31T03:00:00Z",
  resources: ["arn:aws:scheduler:eu-west-1:123456789012:schedule/default/test"],
  detail: {},
};
const options = { id: "e-1", time: "2026-01-31T03:00:00Z" };
const events: [name: string, event: ScheduleEvent][] = [
  ["the function module", createScheduleEvent(options)],
  ["EventBridge Scheduler's default", createScheduleEvent({ ...options, from: "scheduler" })],
  ["a rule", createScheduleEvent({ ...options, from: "rule" })],
  ["a schedule with an input of its own", short],
];

for (const [name, event] of events) {
  Deno.test(`defineScheduleHandler() takes the event of ${name}`, async () => {
    const handler = defineScheduleHandler()(({ metadata, ...params }) => ({
      ...params,
      id: metadata.correlationId,
    }));
    const { result } = await captureLogs(() => handler(event, context));
    assertEquals(result, {
      event,
      scheduledTime: new Date("2026-01-31T03:00:00Z"),
      context,
      id: "e-1",
    });
  });
}

for (const time of [undefined, "<aws.scheduler.scheduled-time>", "", null]) {
  Deno.test(`defineScheduleHandler() refuses an event with the time ${time}`, async () => {
    const handler = defineScheduleHandler()(() => {});
    const { lines } = await captureLogs(() =>
      assertRejects(
        () => handler({ ...short, time } as never, context),
        UnexpectedError,
        "The event has no time",
      )
    );
    assertEquals(lines[0].level, "ERROR");
  });
}

Deno.test("defineScheduleHandler() throws what the handler throws, so that Lambda tries again", async () => {
  const handler = defineScheduleHandler()(() => Promise.reject(new TypeError("why")));
  const { lines } = await captureLogs(() =>
    assertRejects(() => handler(short, context), TypeError, "why")
  );
  assertEquals([lines[0].message, lines[0].correlation_id], ["request failed", "e-1"]);
});

Deno.test("defineScheduleHandler() checks its options and keeps the user's own function", () => {
  assertThrows(() => defineScheduleHandler({ timeout: 901 }), ConfigurationError, "timeout is 901");
  assertThrows(
    () => defineScheduleHandler({ schema: {} } as never),
    ConfigurationError,
    "no option schema",
  );
  const handler = () => 1;
  assertEquals(defineScheduleHandler({ timeout: 900 })(handler).handler, handler);
});

Deno.test("defineScheduleHandler() rejects an event of EventBridge that no schedule sent", async () => {
  const handler = defineScheduleHandler({ logging: { level: "SILENT" }, metrics: false })(() => {});
  const event = { ...createScheduleEvent(), "detail-type": "order.created" };
  await assertRejects(() => handler(event, createLambdaContext()), Error, "no schedule sent");
});
