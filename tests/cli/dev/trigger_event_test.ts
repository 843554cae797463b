import { assertEquals, assertThrows } from "@std/assert";
import { toTriggerEvent } from "../../../cli/dev/trigger_event.ts";
import type { FunctionFile } from "../../../cli/discovery/function_files.ts";
import type { FunctionKind } from "../../../cli/discovery/function_kinds.ts";
import { ValidationError } from "../../../errors/mod.ts";

// deno-lint-ignore no-explicit-any
function make(kind: FunctionKind, body: string, query = "", more: Partial<FunctionFile> = {}): any {
  return toTriggerEvent({ kind, name: "SendMail", file: "/x.ts", ...more }, {
    body,
    params: new URLSearchParams(query),
  });
}

Deno.test("toTriggerEvent() makes the event of each kind", () => {
  const queue = make("queue", '{"to":"ada"}', "correlationId=c1&queue=mail.fifo&groupId=g");
  assertEquals(queue.Records.map((each: { body: string }) => each.body), ['{"to":"ada"}']);
  assertEquals(queue.Records[0].messageAttributes.correlationId.stringValue, "c1");
  assertEquals(queue.Records[0].attributes.MessageGroupId, "g");
  assertEquals(make("queue", '[{"body":1},{"messageId":"m2"}]', "as=records").Records.length, 2);
  const attributes = "attributes=" + encodeURIComponent('{"tenant":"t1"}');
  assertEquals(
    make("queue", "x", attributes).Records[0].messageAttributes.tenant.stringValue,
    "t1",
  );
  assertEquals(make("topic", "x", attributes).Records[0].Sns.MessageAttributes.tenant, {
    Type: "String",
    Value: "t1",
  });
  const { kinesis } = make("stream", '{"id":1}', "partitionKey=p").Records[0];
  assertEquals([atob(kinesis.data), kinesis.partitionKey], ['{"id":1}', "p"]);
  const change = make("table-stream", '[{"keys":{"id":"1"},"before":{"id":"1"}}]').Records[0];
  assertEquals([change.eventName, change.dynamodb.Keys], ["REMOVE", { id: { S: "1" } }]);
  const kafka = make("kafka", "v", "topic=orders&partition=2&key=k");
  assertEquals([atob(kafka.records["orders-2"][0].value), atob(kafka.records["orders-2"][0].key)], [
    "v",
    "k",
  ]);
  assertEquals(make("queue", "plain text").Records[0].body, "plain text");
  const { Sns } = make("topic", "hi", "subject=s").Records[0];
  assertEquals([Sns.Message, Sns.Subject], ["hi", "s"]);
  const event = make("event", '{"id":1}', "detailType=note.created&source=notes");
  assertEquals([event["detail-type"], event.source, event.detail], ["note.created", "notes", {
    id: 1,
  }]);
  assertEquals(make("event", "").detail, {});
  assertEquals(make("schedule", "", "time=2026-01-31T03:00:00Z").time, "2026-01-31T03:00:00Z");
  const storage = make("storage", "", "bucket=b&key=a%20b.jpg&change=deleted");
  assertEquals([storage.detail.bucket.name, storage.detail.object.key, storage["detail-type"]], [
    "b",
    "a b.jpg",
    "Object Deleted",
  ]);
  const connect = make("websocket", "", "connectionId=c", { routeKey: "$connect" });
  assertEquals([connect.requestContext.eventType, connect.requestContext.connectionId], [
    "CONNECT",
    "c",
  ]);
  assertEquals(
    make("websocket", "", "", { routeKey: "$disconnect" }).requestContext.eventType,
    "DISCONNECT",
  );
  const said = make("websocket", "hey", "", { routeKey: "say" });
  assertEquals([said.requestContext.routeKey, said.body], ["say", "hey"]);
  assertEquals(make("authorizer", "", "token=t&path=/notes").headers, {
    Authorization: "Bearer t",
  });
  assertEquals(make("standalone", '{"any":1}'), { any: 1 });
  assertEquals(make("queue", '{"Records":[]}', "as=event"), { Records: [] });
});

Deno.test("toTriggerEvent() refuses what does not fit, with the way out", () => {
  const cases: [kind: FunctionKind, body: string, query: string, message: string][] = [
    [
      "api",
      "{}",
      "",
      "SendMail serves POST /mail: call that route, or send a complete event with as=event",
    ],
    [
      "queue",
      "{}",
      "as=records",
      'With as=records the body must be a list: [{ "body": { … } }, …]',
    ],
    [
      "queue",
      "{}",
      'attributes={"a":1}',
      'attributes must be an object of strings: { "tenant": "t1" }',
    ],
    [
      "table-stream",
      "[1]",
      "",
      'The body must be a list of changes: [{ "keys": { … }, "before": { … }, "after": { … } }]',
    ],
    ["storage", "", "change=moved", 'change must be created or deleted, got "moved"'],
  ];
  for (const [kind, body, query, message] of cases) {
    const error = assertThrows(
      () => make(kind, body, query, { method: "POST", path: "/mail" }),
      ValidationError,
    );
    assertEquals(error.message, message);
  }
  for (const kind of ["event", "standalone"] as const) {
    assertThrows(() => make(kind, "{no"), ValidationError, "as JSON");
  }
});
