import { assertEquals } from "@std/assert";
import type { SentMessage } from "../../../cli/dev/aws/aws_sink.ts";
import { findReceivers, matchesPattern, toDeliveredEvent } from "../../../cli/dev/deliver.ts";
import type { FunctionFile } from "../../../cli/discovery/function_files.ts";
import type { FunctionKind } from "../../../cli/discovery/function_kinds.ts";

const fn = (kind: FunctionKind, name: string): FunctionFile => ({
  kind,
  name,
  file: `/${name}.ts`,
});
const FUNCTIONS = [
  fn("queue", "SendMail"),
  fn("queue", "Mail"),
  fn("queue", "Index"),
  fn("topic", "NoteShared"),
  fn("event", "NoteCreated"),
  fn("event", "Audit"),
  fn("event", "Log"),
  fn("schedule", "Nightly"),
  fn("storage", "Scale"),
  fn("storage", "Sweep"),
];

function message(change: Partial<SentMessage>): SentMessage {
  return {
    id: "m1",
    service: "sqs",
    target: "",
    at: "2026-01-01T00:00:00.000Z",
    body: "{}",
    attributes: {},
    ...change,
  };
}

function change(key: string, what = "created"): string {
  return JSON.stringify({ key, change: what, size: 7, eTag: "e" });
}

Deno.test("toDeliveredEvent() makes the event of a bucket", () => {
  const sent = message({ service: "s3", target: "files", body: change("a b.png") });
  // deno-lint-ignore no-explicit-any
  const { Records: [{ s3 }] } = toDeliveredEvent(sent, fn("storage", "Scale")) as any;
  assertEquals([s3.bucket.name, s3.object.key, s3.object.size, s3.object.eTag], [
    "files",
    "a+b.png",
    7,
    "e",
  ]);
});

Deno.test("findReceivers() finds functions by the infrastructure's wiring, else by name", () => {
  const wiring = {
    Index: { queue: "search", filters: [{ body: { kind: ["note"] } }, { body: ["all"] }] },
    Scale: { bucket: "files", prefix: "avatars/", suffix: ".png" },
    Sweep: { events: ["s3:ObjectRemoved:*"] },
    NoteShared: { filterPolicy: { kind: ["public"], size: [4, { exists: false }] } },
    Log: { bus: "default", pattern: { source: ["notes"] } },
    Audit: { pattern: { source: ["notes"], detail: { size: [{ exists: true }] } } },
  };
  const kind = { kind: { type: "String", value: "public" } };
  const cases: [what: Partial<SentMessage>, names: string[]][] = [
    [{ target: "send-mail" }, ["SendMail"]],
    [{ target: "notes-dev-send-mail.fifo" }, ["SendMail"]],
    [{ target: "notes-dev-search", body: '{"kind":"note"}' }, ["Index"]],
    [{ target: "notes-dev-search", body: "all" }, ["Index"]],
    [{ target: "notes-dev-search", body: '{"kind":"other"}' }, []],
    [{ target: "index" }, []],
    // the end of a longer name is not the name
    [{ target: "mail" }, ["Mail"]],
    [{ target: "notes-dev-mail" }, ["Mail"]],
    [{ target: "nightly" }, []],
    [{ service: "s3", target: "files", body: change("avatars/u1/a.png") }, ["Scale"]],
    [{ service: "s3", target: "files", body: change("avatars/u1/a.png", "deleted") }, []],
    [{ service: "s3", target: "files", body: change("other/a.png") }, []],
    [{ service: "s3", target: "files", body: change("avatars/u1/a.txt") }, []],
    [{ service: "s3", target: "sweep", body: change("x", "deleted") }, ["Sweep"]],
    [{ service: "sns", target: "note-shared", attributes: kind }, ["NoteShared"]],
    [{ service: "sns", target: "note-shared" }, []],
    [{
      service: "sns",
      target: "note-shared",
      attributes: { ...kind, size: { type: "Number", value: "4" } },
    }, ["NoteShared"]],
    [{ service: "sns", target: "send-mail" }, []],
    // events of another bus do not arrive in deployed functions either
    [{ service: "eventbridge", target: "default", source: "notes", body: '{"size":3}' }, ["Log"]],
    [{ service: "eventbridge", target: "notes-dev-events", source: "notes", body: '{"size":3}' }, [
      "Audit",
    ]],
    [{ service: "eventbridge", target: "events", detailType: "note.created", source: "x" }, [
      "NoteCreated",
    ]],
    [{
      service: "eventbridge",
      target: "events",
      detailType: "a",
      source: "notes",
      body: '{"size":1}',
    }, ["Audit"]],
    [{ service: "eventbridge", target: "events", detailType: "a", source: "notes" }, []],
    [{ service: "eventbridge", target: "events", source: "other" }, []],
  ];
  for (const [what, names] of cases) {
    assertEquals(
      findReceivers(message(what), FUNCTIONS, wiring).map(({ name }) => name),
      names,
      JSON.stringify(what),
    );
  }
});

Deno.test("matchesPattern() knows EventBridge's common rules, and refuses those that it does not know", () => {
  const event = {
    source: "notes",
    detail: { name: "a.png", tags: ["x", "y"], size: 3, none: null },
  };
  const cases: [pattern: Record<string, unknown>, fits: boolean][] = [
    [{}, true],
    [{ source: ["notes"] }, true],
    [{ source: ["other", "notes"] }, true],
    [{ source: ["other"] }, false],
    [{ gone: ["x"] }, false],
    [{ detail: { size: [3] } }, true],
    [{ detail: { size: ["3"] } }, false],
    [{ detail: { none: [null] } }, true],
    [{ detail: { tags: ["y"] } }, true],
    [{ detail: { name: [{ prefix: "a" }] } }, true],
    [{ detail: { name: [{ suffix: ".jpg" }] } }, false],
    [{ detail: { name: [{ "equals-ignore-case": "A.PNG" }] } }, true],
    [{ detail: { name: [{ "anything-but": ["b.png"] }] } }, true],
    [{ detail: { name: [{ "anything-but": { prefix: "a" } }] } }, false],
    [{ detail: { gone: [{ exists: false }] } }, true],
    [{ detail: { size: [{ exists: false }] } }, false],
    [{ detail: { size: [{ numeric: [">", 0] }] } }, false],
    [{ source: "notes" }, false],
  ];
  for (const [pattern, fits] of cases) {
    assertEquals(matchesPattern(pattern, event), fits, JSON.stringify(pattern));
  }
});

Deno.test("toDeliveredEvent() keeps id, attributes and group", () => {
  const attributes = {
    correlationId: { type: "String", value: "c1" },
    raw: { type: "Binary", value: "AA==" },
  };
  const sent = message({ target: "orders.fifo", body: "hello", groupId: "g1", attributes });
  // deno-lint-ignore no-explicit-any
  const { Records: [record] } = toDeliveredEvent(sent, FUNCTIONS[0]) as any;
  assertEquals([record.messageId, record.body, record.attributes.MessageGroupId], [
    "m1",
    "hello",
    "g1",
  ]);
  assertEquals(record.messageAttributes, {
    correlationId: { dataType: "String", stringValue: "c1" },
    raw: { dataType: "Binary", binaryValue: "AA==" },
  });
});
