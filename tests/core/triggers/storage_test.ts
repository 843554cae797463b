import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  defineStorageHandler,
  type S3Event,
  type S3EventBridgeEvent,
  type StorageEvent,
  type StorageHandlerParams,
} from "../../../triggers/mod.ts";
import { ConfigurationError, UnexpectedError } from "../../../errors/mod.ts";
import {
  createFakeClock,
  createLambdaContext,
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });

async function getChanges(event: StorageEvent): Promise<StorageHandlerParams[]> {
  const seen: StorageHandlerParams[] = [];
  const handler = defineStorageHandler()((params) => seen.push(params));
  await captureLogs(() => handler(event, context));
  return seen;
}

function withKey(key: string): S3Event {
  const { Records: [record] } = createStorageEvent([{ key: "x" }]);
  return { Records: [{ ...record, s3: { ...record.s3, object: { ...record.s3.object, key } } }] };
}

const encoded: [inEvent: string, key: string][] = [
  ["plain.txt", "plain.txt"],
  ["summer+2026/b%C3%A4r.jpg", "summer 2026/bär.jpg"],
  ["a%2Bb+c%20d.txt", "a+b c d.txt"],
  ["100%25.txt", "100%.txt"],
  ["dt%3D2026-01-01/part%2F0", "dt=2026-01-01/part/0"],
  ["bad%ZZ+x", "bad%ZZ+x"],
];

for (const [inEvent, key] of encoded) {
  Deno.test(`defineStorageHandler() decodes the key ${inEvent}`, async () => {
    assertEquals((await getChanges(withKey(inEvent))).map((change) => change.key), [key]);
  });
}

Deno.test("defineStorageHandler() takes keys that come through EventBridge as they are", async () => {
  const [change] = await getChanges(createStorageEventBridgeEvent({ key: "a+b%20c d.txt" }));
  assertEquals(change.key, "a+b%20c d.txt");
});

Deno.test("defineStorageHandler() passes the same parameters for all sources of a change", async () => {
  const options = { bucket: "photos", key: "a b+c.jpg", requestId: "REQ1" };
  const direct = createStorageEvent([options]);
  const bridged = createStorageEventBridgeEvent(options);
  const common = {
    bucket: "photos",
    key: "a b+c.jpg",
    change: "created",
    size: 1024,
    eTag: "b1946ac92492d2347c6235b4d2611184",
    versionId: undefined,
    context,
  };
  const [[first], [second]] = [await getChanges(direct), await getChanges(bridged)];
  assertEquals({ ...first, metadata: first.metadata.correlationId }, {
    ...common,
    eventName: "ObjectCreated:Put",
    sequencer: "0055AED6DCD90281E5",
    record: direct.Records[0],
    metadata: "REQ1",
  });
  assertEquals({ ...second, metadata: second.metadata.correlationId }, {
    ...common,
    eventName: "Object Created",
    sequencer: "617f08299329d189",
    record: bridged,
    metadata: "REQ1",
  });
});

const names: [eventName: string, change: string][] = [
  ["ObjectCreated:Put", "created"],
  ["ObjectCreated:CompleteMultipartUpload", "created"],
  ["ObjectRemoved:Delete", "deleted"],
  ["ObjectRemoved:DeleteMarkerCreated", "deleted"],
  ["LifecycleExpiration:Delete", "deleted"],
  ["LifecycleTransition", "other"],
  ["ObjectTagging:Put", "other"],
  ["Object Created", "created"],
  ["Object Deleted", "deleted"],
  ["Object Restore Completed", "other"],
];

for (const [eventName, change] of names) {
  Deno.test(`defineStorageHandler() says of ${eventName} that it is ${change}`, async () => {
    const { Records: [record] } = createStorageEvent([{ key: "x" }]);
    const event = eventName.includes(" ")
      ? {
        ...createStorageEventBridgeEvent({ key: "x" }),
        "detail-type": eventName,
      } as S3EventBridgeEvent
      : { Records: [{ ...record, eventName }] };
    assertEquals((await getChanges(event)).map((seen) => [seen.eventName, seen.change]), [[
      eventName,
      change,
    ]]);
  });
}

Deno.test("defineStorageHandler() ignores the test event that S3 sends when notifications are set up", async () => {
  const handler = defineStorageHandler()(() => Promise.reject(new Error("must not run")));
  const { result, lines } = await captureLogs(() => handler(createStorageTestEvent(), context));
  assertEquals(result, undefined);
  assertEquals(lines[0].message, "test event of a bucket ignored");
});

Deno.test("defineStorageHandler() tries all changes and fails the invocation when any failed, with bucket and key", async () => {
  const records = ["a", "b c", "d"].map((key, i) => ({ key, requestId: `REQ${i}` }));
  const tried: string[] = [];
  const handler = defineStorageHandler()(({ key, metadata }) => {
    tried.push(key, metadata.correlationId);
    if (key === "b c") throw new Error("why");
  });
  const { lines } = await captureLogs(() =>
    assertRejects(
      () => handler(createStorageEvent(records), context),
      UnexpectedError,
      "1 of 3 records failed",
    )
  );
  assertEquals(tried, ["a", "REQ0", "b c", "REQ1", "d", "REQ2"]);
  const [failed] = lines.filter((line) => line.message === "record failed");
  assertEquals([failed.bucket, failed.object_key, failed.reason, failed.correlation_id], [
    "test-bucket",
    "b c",
    "why",
    "REQ1",
  ]);
});

Deno.test("defineStorageHandler() waits for what a handler returns, also for a thenable that is no promise", async () => {
  const failing = {
    then(_resolve: unknown, reject: (error: Error) => void): void {
      reject(new Error("the query failed"));
    },
  };
  const handler = defineStorageHandler()(() => failing);
  await captureLogs(async () => {
    await assertRejects(
      () => handler(createStorageEvent([{ key: "a" }]), context),
      Error,
      "the query failed",
    );
    await assertRejects(
      () => handler(createStorageEvent([{ key: "a" }, { key: "b" }]), context),
      UnexpectedError,
      "2 of 2",
    );
  });
});

Deno.test("defineStorageHandler() refuses events of other sources and options that it does not have", async () => {
  const handler = defineStorageHandler()(() => {});
  await captureLogs(async () => {
    for (
      const event of [{}, null, { Records: [{ body: "" }] }, { "detail-type": "x", detail: {} }]
    ) {
      await assertRejects(
        () => handler(event as never, context),
        UnexpectedError,
        "the trigger of this function must be a bucket",
      );
    }
  });
  assertThrows(
    () => defineStorageHandler({ bucket: "x" } as never),
    ConfigurationError,
    "no option bucket",
  );
});
