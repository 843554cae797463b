import { assertEquals } from "@std/assert";
import { describeEvent } from "../../core/event_span.ts";
import {
  createAlbEvent,
  createEventBridgeEvent,
  createKafkaEvent,
  createQueueEvent,
  createRestApiEvent,
  createScheduleEvent,
  createStorageEvent,
  createStreamEvent,
  createTableStreamEvent,
  createTopicEvent,
  createWebSocketMessageEvent,
} from "../../testing/mod.ts";

const process = { "messaging.operation.name": "process", "messaging.operation.type": "process" };

Deno.test("describeEvent() names the route of a request, and leaves its query and secrets out", () => {
  const event = createRestApiEvent({
    method: "POST",
    path: "/notes/n1",
    resource: "/notes/{id}",
    query: { token: "hunter2" },
    headers: { "X-Forwarded-Proto": "http" },
  });
  assertEquals(describeEvent(event), {
    name: "POST /notes/{id}",
    kind: "server",
    attributes: {
      "faas.trigger": "http",
      "http.request.method": "POST",
      "http.route": "/notes/{id}",
      "url.path": "/notes/n1",
      "url.scheme": "http",
    },
  });
  const invitation = createRestApiEvent({
    path: "/invitations/hunter2",
    resource: "/invitations/{token}",
    pathParameters: { token: "hunter2" },
  });
  assertEquals(describeEvent(invitation).attributes["url.path"], "/invitations/{token}");
  const { name, attributes } = describeEvent(createAlbEvent({ path: "/x" }));
  assertEquals([name, attributes["url.path"], attributes["http.route"]], [
    undefined,
    "/x",
    undefined,
  ]);
});

Deno.test("describeEvent() knows the kind of each trigger", () => {
  const events: unknown[] = [
    createQueueEvent([{}]),
    createTopicEvent([{}]),
    createStreamEvent([{}]),
    createKafkaEvent([{ key: "a" }]),
    createTableStreamEvent([{ keys: { id: "1" } }]),
    createStorageEvent([{ key: "a" }]),
    createEventBridgeEvent(),
    createScheduleEvent(),
    createWebSocketMessageEvent(),
  ];
  const kinds = events.map((event): unknown[] => {
    const { kind, attributes } = describeEvent(event);
    return [kind, attributes["faas.trigger"], attributes["messaging.system"]];
  });
  assertEquals(kinds, [
    ["consumer", "pubsub", "aws_sqs"],
    ["consumer", "pubsub", "aws.sns"],
    ["consumer", "pubsub", "aws_kinesis"],
    ["consumer", "pubsub", "kafka"],
    ["server", "datasource", undefined],
    ["server", "datasource", undefined],
    ["consumer", "pubsub", undefined],
    ["server", "timer", undefined],
    ["server", "other", undefined],
  ]);
});

Deno.test("describeEvent() names the queue and counts a batch", () => {
  assertEquals(describeEvent(createQueueEvent([{}, {}])).attributes, {
    "faas.trigger": "pubsub",
    "messaging.system": "aws_sqs",
    ...process,
    "messaging.destination.name": "test-queue",
    "messaging.batch.message_count": 2,
  });
});

Deno.test("describeEvent() describes what is no event", () => {
  for (const event of [undefined, null, 1, "a", [], {}, { Records: 1 }, { path: 0, body: 1 }]) {
    assertEquals(describeEvent(event).kind, "server");
  }
});
