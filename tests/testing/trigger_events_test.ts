import { assertEquals } from "@std/assert";
import {
  createEventBridgeEvent,
  createHttpAuthorizerEvent,
  createQueueEvent,
  createRequestAuthorizerEvent,
  createScheduleEvent,
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
  createTokenAuthorizerEvent,
  createTopicEvent,
  createTopicNotification,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../testing/mod.ts";

Deno.test("createQueueEvent() creates messages of a standard queue, without a group by default", () => {
  const { Records: [first, second] } = createQueueEvent([
    { body: { n: 1 }, messageId: "m1", correlationId: "c-1", receiveCount: 3 },
    { body: "text", groupId: "tenant" },
  ]);
  assertEquals([first.messageId, first.body, first.eventSource], ["m1", '{"n":1}', "aws:sqs"]);
  assertEquals(first.eventSourceARN, "arn:aws:sqs:eu-west-1:123456789012:test-queue");
  assertEquals([first.attributes.ApproximateReceiveCount, first.attributes.MessageGroupId], [
    "3",
    undefined,
  ]);
  assertEquals(first.messageAttributes.correlationId?.stringValue, "c-1");
  assertEquals([second.body, second.attributes.MessageGroupId, second.messageAttributes], [
    "text",
    "tenant",
    {},
  ]);
  assertEquals([second.attributes.SequenceNumber, second.messageId.length], [undefined, 36]);
});

Deno.test("createQueueEvent() makes messages of a FIFO queue, in a group and in order", () => {
  const { Records } = createQueueEvent([{ groupId: "a" }, {}], "notes.fifo");
  assertEquals(Records.map(({ attributes }) => attributes.MessageGroupId), ["a", "group"]);
  const numbers = Records.map(({ attributes }) => attributes.SequenceNumber!);
  assertEquals([numbers, numbers[0].length], [numbers.toSorted(), 20]);
  assertEquals(
    Records.every((record) => record.attributes.MessageDeduplicationId === record.messageId),
    true,
  );
});

Deno.test("createTopicEvent() wraps what createTopicNotification() makes", () => {
  const options = { message: { n: 1 }, messageId: "m1", correlationId: "c-1", subject: "s" };
  const { Records: [record] } = createTopicEvent([options]);
  assertEquals([record.EventSource, record.Sns], ["aws:sns", createTopicNotification(options)]);
  const { Type, Message, MessageAttributes, Subject } = record.Sns;
  assertEquals([Type, Message, Subject], ["Notification", '{"n":1}', "s"]);
  assertEquals(MessageAttributes, { correlationId: { Type: "String", Value: "c-1" } });
  assertEquals(createTopicNotification({ message: "text" }).Message, "text");
});

Deno.test("createEventBridgeEvent() makes an event of a bus", () => {
  const event = createEventBridgeEvent({
    detailType: "note.created",
    detail: { n: 1 },
    source: "notes",
    id: "e-1",
  });
  assertEquals(event, {
    version: "0",
    id: "e-1",
    "detail-type": "note.created",
    source: "notes",
    account: "123456789012",
    time: "2026-01-01T00:00:00Z",
    region: "eu-west-1",
    resources: [],
    detail: { n: 1 },
  });
});

Deno.test("createScheduleEvent() makes the payload of each that schedules", () => {
  const shapes = (["module", "scheduler", "rule"] as const).map((from) => {
    const event = createScheduleEvent({ from, time: "2026-01-31T03:00:00Z" });
    return [
      event["detail-type"],
      event.source,
      event.time,
      event.detail,
      event.resources[0].split(":")[2],
    ];
  });
  const common = ["Scheduled Event", "aws.scheduler", "2026-01-31T03:00:00Z"];
  assertEquals(shapes, [
    [...common, {}, "scheduler"],
    [...common, "{}", "scheduler"],
    ["Scheduled Event", "aws.events", "2026-01-31T03:00:00Z", {}, "events"],
  ]);
});

Deno.test("createStorageEvent() encodes keys as S3 does, createStorageEventBridgeEvent() does not", () => {
  const options = { bucket: "photos", key: "summer 2026/a+b=ä.jpg", requestId: "REQ1" };
  const { Records: [{ s3, eventName, responseElements }] } = createStorageEvent([options]);
  assertEquals([s3.bucket.name, s3.object.key], ["photos", "summer+2026/a%2Bb%3D%C3%A4.jpg"]);
  assertEquals([eventName, responseElements?.["x-amz-request-id"], s3.object.size], [
    "ObjectCreated:Put",
    "REQ1",
    1024,
  ]);
  const bridged = createStorageEventBridgeEvent(options);
  assertEquals([bridged.source, bridged["detail-type"]], ["aws.s3", "Object Created"]);
  assertEquals([bridged.detail.object.key, bridged.detail["request-id"]], [options.key, "REQ1"]);
});

Deno.test("createStorageEvent() and createStorageEventBridgeEvent() omit the size of a deleted object", () => {
  const options = { key: "x", change: "deleted" } as const;
  const { Records: [{ s3, eventName }] } = createStorageEvent([options]);
  assertEquals([eventName, s3.object.size, s3.object.eTag], [
    "ObjectRemoved:Delete",
    undefined,
    undefined,
  ]);
  const bridged = createStorageEventBridgeEvent(options);
  assertEquals([bridged["detail-type"], bridged.detail.object.size], ["Object Deleted", undefined]);
  assertEquals(createStorageTestEvent("photos").Bucket, "photos");
});

Deno.test("createWebSocket…Event() make what the gateway sends over the life of a connection", () => {
  const options = { connectionId: "c1", authorizer: { userId: "u1" } };
  const connect = createWebSocketConnectEvent({
    ...options,
    headers: { Origin: "x" },
    query: { token: "t" },
  });
  const message = createWebSocketMessageEvent({ ...options, body: { n: 1 }, routeKey: "say" });
  const disconnect = createWebSocketDisconnectEvent(options);
  const routes = [connect, message, disconnect].map((
    { requestContext: { routeKey, eventType, connectionId, authorizer } },
  ) => [routeKey, eventType, connectionId, authorizer?.userId]);
  assertEquals(routes, [
    ["$connect", "CONNECT", "c1", "u1"],
    ["say", "MESSAGE", "c1", "u1"],
    ["$disconnect", "DISCONNECT", "c1", "u1"],
  ]);
  assertEquals([connect.multiValueHeaders, connect.queryStringParameters], [{ Origin: ["x"] }, {
    token: "t",
  }]);
  assertEquals([message.body, "headers" in message, disconnect.body], [
    '{"n":1}',
    false,
    undefined,
  ]);
  assertEquals(disconnect.requestContext.disconnectStatusCode, 1001);
});

Deno.test("create…AuthorizerEvent() make what each kind of gateway asks about a request", () => {
  const request = {
    method: "POST",
    path: "/notes",
    headers: { Authorization: "Bearer t" },
    query: { a: "1" },
  };
  const arn = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/test/POST/notes";
  assertEquals(createTokenAuthorizerEvent("Bearer t", request), {
    type: "TOKEN",
    methodArn: arn,
    authorizationToken: "Bearer t",
  });
  const rest = createRequestAuthorizerEvent(request);
  assertEquals([rest.type, rest.methodArn, rest.headers.Authorization, rest.httpMethod], [
    "REQUEST",
    arn,
    "Bearer t",
    "POST",
  ]);
  assertEquals(["body" in rest, rest.queryStringParameters], [false, { a: "1" }]);
  const http = createHttpAuthorizerEvent(request);
  assertEquals([http.version, http.routeArn, http.rawQueryString, http.identitySource], [
    "2.0",
    arn,
    "a=1",
    [
      "Bearer t",
    ],
  ]);
  assertEquals(["body" in http, createHttpAuthorizerEvent().identitySource], [false, null]);
});
