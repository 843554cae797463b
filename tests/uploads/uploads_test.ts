/** Uploads with the official clients of S3, against the local stand-in of `trellis dev`. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { SentMessage } from "../../cli/dev/aws/aws_sink.ts";
import { toDeliveredEvent } from "../../cli/dev/deliver.ts";
import { listenOnLoopback } from "../../cli/dev/http/http_server.ts";
import { openBucketStore } from "../../cli/dev/aws/bucket_store.ts";
import { createS3Target } from "../../cli/dev/aws/s3_target.ts";
import { ConfigurationError, ValidationError } from "../../errors/mod.ts";
import { createLambdaContext, createStorageEvent } from "../../testing/mod.ts";
import {
  defineUpload,
  defineUploadHandler,
  type UploadForm,
  type UploadHandlerParams,
} from "../../uploads/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

const PNG = new Uint8Array([...[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], ...Array(92)]);
const avatars = defineUpload({
  bucket: () => "files",
  prefix: "avatars",
  types: ["image/png", "text/plain"],
  maxBytes: 100,
});

const folder = await Deno.makeTempDir({ prefix: "trellis-uploads-" });
const store = openBucketStore(folder);
const sent: SentMessage[] = [];
const answer = createS3Target(store, (message) => sent.push(message));
const server = await listenOnLoopback(answer, 0);
Deno.env.set("AWS_ENDPOINT_URL_S3", `${server.url}/_trellis/s3`);
Deno.env.set("AWS_REGION", "eu-central-1");
Deno.env.set("AWS_ACCESS_KEY_ID", "local");
Deno.env.set("AWS_SECRET_ACCESS_KEY", "local");
Deno.test.afterAll(async () => {
  await server.stop();
  await Deno.remove(folder, { recursive: true });
});

interface Sending {
  readonly content?: Uint8Array;
  readonly fields?: Record<string, string>;
}

/** Sends a form as a page does; returns the status and S3's code. */
async function post(
  { url, fields }: UploadForm,
  { content = PNG, fields: changed = {} }: Sending = {},
): Promise<[status: number, code: string | undefined]> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, ...changed })) form.append(name, value);
  form.append("file", new Blob([content as Uint8Array<ArrayBuffer>]), "me.png");
  const headers = { Origin: "http://localhost:5173" };
  const response = await fetch(url, { method: "POST", body: form, headers });
  assertEquals(response.headers.get("Access-Control-Allow-Origin"), headers.Origin);
  return [response.status, /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]];
}

/** Delivers the last change to an upload handler; returns what its function got, and the log. */
async function deliver(event: unknown = toDeliveredEvent(sent.at(-1)!, STORAGE)) {
  const seen: UploadHandlerParams[] = [];
  const handler = defineUploadHandler({ upload: avatars })(function save(params) {
    seen.push(params);
  });
  const { lines } = await captureLogs(() => handler(event as never, createLambdaContext()));
  const rejected = lines.find(({ message }) => message === "uploaded file rejected");
  return { seen, reason: rejected?.reason };
}

const STORAGE = { kind: "storage", name: "Avatars", file: "/avatars.ts" } as const;

Deno.test("createForm() admits the file that was agreed on, and the handler gets its facts", async () => {
  const form = await avatars.createForm({ owner: "u1", contentType: "image/png" });
  assertEquals(/^avatars\/u1\/[0-9a-f-]{36}$/.test(form.key), true);
  assertEquals(await post(form), [204, undefined]);
  const { seen: [params], reason } = await deliver();
  const { bucket, key, owner, id, size, contentType, eTag } = params;
  assertEquals([bucket, key, owner, size, contentType, reason], [
    "files",
    form.key,
    "u1",
    100,
    "image/png",
    undefined,
  ]);
  assertEquals([id, eTag], [form.key.split("/")[2], store.get("files", form.key)!.eTag]);
});

Deno.test("createForm() makes forms that S3 refuses with another size, type, owner, key or signature", async () => {
  const form = await avatars.createForm({ owner: "u1", contentType: "image/png" });
  const cases: [Sending, number, string][] = [
    [{ content: new Uint8Array(101) }, 400, "EntityTooLarge"],
    [{ content: new Uint8Array() }, 400, "EntityTooSmall"],
    [{ fields: { "Content-Type": "text/html" } }, 403, "AccessDenied"],
    [{ fields: { "x-amz-meta-owner": "u2" } }, 403, "AccessDenied"],
    [{ fields: { key: form.key.replace("u1", "u2") } }, 403, "AccessDenied"],
    [{ fields: { acl: "public-read" } }, 403, "AccessDenied"],
    [
      { fields: { Policy: btoa('{"expiration":"2999-01-01","conditions":[]}') } },
      403,
      "SignatureDoesNotMatch",
    ],
  ];
  const before = sent.length;
  for (const [sending, status, code] of cases) {
    assertEquals(await post(form, sending), [status, code], JSON.stringify(sending.fields));
  }
  const expired = defineUpload({ ...avatars.options, expiresInSeconds: 1 });
  const old = await expired.createForm({ owner: "u1", contentType: "image/png" });
  const policy = JSON.parse(atob(old.fields.Policy));
  assertEquals(Date.parse(policy.expiration) <= Date.now() + 1000, true);
  assertEquals(sent.length, before);
});

Deno.test("createUrl() admits only a file of the signed size, type and owner, once", async () => {
  const request = { owner: "u1", contentType: "image/png", size: PNG.length };
  const { url, method, headers, key } = await avatars.createUrl(request);
  const send = async (body: Uint8Array, more: Record<string, string> = {}) => {
    const init = {
      method,
      headers: { ...headers, ...more },
      body: body as Uint8Array<ArrayBuffer>,
    };
    const response = await fetch(url, init);
    return [response.status, /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]];
  };
  const mismatch = [403, "SignatureDoesNotMatch"];
  assertEquals(await send(PNG.subarray(1)), mismatch);
  assertEquals(await send(PNG, { "Content-Type": "text/html" }), mismatch);
  assertEquals(await send(PNG, { "x-amz-meta-owner": "u2" }), mismatch);
  assertEquals(await send(PNG), [200, undefined]);
  assertEquals(await send(PNG), [412, "PreconditionFailed"]);
  const { seen: [params] } = await deliver();
  assertEquals([params.key, params.owner, params.size], [key, "u1", 100]);
  const late = url.replace(/X-Amz-Date=\d+/, "X-Amz-Date=20200101");
  const response = await fetch(late, { method, headers, body: PNG });
  assertStringIncludes(await response.text(), "Request has expired");
});

Deno.test("createDownloadUrl() admits readers of one file, and refuses keys of others", async () => {
  const form = await avatars.createForm({ owner: "u1", contentType: "image/png" });
  await post(form);
  const url = await avatars.createDownloadUrl({ key: form.key, attachment: true });
  const response = await fetch(url);
  assertEquals(new Uint8Array(await response.arrayBuffer()), PNG);
  assertEquals(response.headers.get("Content-Disposition"), "attachment");
  const other = await fetch(url.replace("u1", "u2"));
  assertStringIncludes(await other.text(), "SignatureDoesNotMatch");
  for (const key of ["other/u1/x", "avatars/u1/../x", "avatars/u1"]) {
    await assertRejects(() => avatars.createDownloadUrl({ key }), ConfigurationError, "key is");
  }
});

Deno.test("createForm() and createUrl() refuse types and sizes that are not accepted", async () => {
  const html = { owner: "u1", contentType: "text/html" };
  await assertRejects(() => avatars.createForm(html), ValidationError);
  const large = { owner: "u1", contentType: "image/png", size: 101 };
  const error = await assertRejects(() => avatars.createUrl(large), ValidationError);
  assertEquals((error as ValidationError).errors, {
    size: ["The size must be from 1 to 100 bytes"],
  });
  for (const owner of ["", "a/b", "..", "é"]) {
    await assertRejects(
      () => avatars.createForm({ owner, contentType: "image/png" }),
      ConfigurationError,
      "owner is",
    );
  }
});

for (
  const [what, reason, file] of [
    ["is too large", "its size is 101", { bytes: new Uint8Array(101) }],
    ["has another type", "its type is not accepted", { contentType: "text/html" }],
    ["has another owner", "its owner is not that of its key", { metadata: { owner: "u2" } }],
    ["has no owner", "its owner is not that of its key", { metadata: {} }],
    ["is not what its type says", "its content is not image/png", { bytes: new Uint8Array(9) }],
    ["is empty", "its size is 0", { bytes: new Uint8Array() }],
  ] as const
) {
  Deno.test(`defineUploadHandler() deletes a file that ${what}, and logs why`, async () => {
    const key = `avatars/u1/${crypto.randomUUID()}`;
    const { bytes, ...facts } = {
      bytes: PNG as Uint8Array,
      contentType: "image/png",
      metadata: { owner: "u1" },
      ...file,
    };
    const { Buffer } = await import("node:buffer");
    const { eTag } = store.put("files", key, { ...facts, bytes: Buffer.from(bytes) });
    const result = await deliver(createStorageEvent([{ bucket: "files", key, eTag }]));
    assertEquals(result.seen, []);
    assertStringIncludes(String(result.reason), reason);
    assertEquals(store.get("files", key), undefined);
    assertEquals(JSON.parse(sent.at(-1)!.body), { key, change: "deleted" });
  });
}

Deno.test("defineUploadHandler() leaves out a file that was replaced since the event, and deletions", async () => {
  const form = await avatars.createForm({ owner: "u1", contentType: "text/plain" });
  await post(form);
  const event = (eTag: string, change: "created" | "deleted" = "created") =>
    createStorageEvent([{ bucket: "files", key: form.key, eTag, change }]);
  assertEquals(await deliver(event("0".repeat(32))), { seen: [], reason: undefined });
  assertEquals(await deliver(event("", "deleted")), { seen: [], reason: undefined });
  store.delete("files", form.key);
  assertEquals(await deliver(event("0".repeat(32))), { seen: [], reason: undefined });
});

Deno.test("defineUploadHandler() fails for a key of another prefix, and deletes nothing", async () => {
  const handler = defineUploadHandler({
    upload: avatars,
    logging: { level: "SILENT" },
    metrics: false,
  })(() => {});
  for (const key of ["other/u1/x", "avatars/u1/x", "avatars/a/b/c", "avatars"]) {
    await assertRejects(
      () => handler(createStorageEvent([{ bucket: "files", key }]), createLambdaContext()),
      ConfigurationError,
      "set prefix of this function's trigger to avatars/",
    );
  }
});

Deno.test("defineUpload() and defineUploadHandler() refuse invalid options", () => {
  const good = { bucket: "b", prefix: "p", types: ["image/png"], maxBytes: 1 };
  const bad: [object, string][] = [
    [{ ...good, prefix: "p/" }, "prefix is"],
    [{ ...good, types: [] }, "types is []"],
    [{ ...good, types: ["IMAGE/PNG"] }, "types is"],
    [{ ...good, maxBytes: 0 }, "maxBytes is 0"],
    [{ ...good, maxBytes: undefined }, "maxBytes is undefined"],
    [{ ...good, size: 1 }, "has no option size"],
  ];
  for (const [options, message] of bad) {
    assertThrows(() => defineUpload(options as never), ConfigurationError, message);
  }
  assertThrows(() => defineUploadHandler({} as never), ConfigurationError, "needs upload");
  assertThrows(
    () => defineUploadHandler({ upload: avatars, onRejected: "move" } as never),
    ConfigurationError,
    'onRejected is "move"',
  );
});

Deno.test("the local stand-in for S3 refuses requests that are not signed", async () => {
  const url = `${server.url}/_trellis/s3/files/avatars/u1/x`;
  for (const method of ["GET", "PUT", "DELETE"]) {
    const response = await fetch(url, { method });
    assertEquals([method, response.status], [method, 403]);
    await response.body?.cancel();
  }
});
