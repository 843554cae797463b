import { assertEquals } from "@std/assert";
import { ExpressReceiver } from "@slack/bolt";
import fc from "fast-check";
import type { AddressInfo } from "node:net";
import { undeclared } from "../../../core/mod.ts";
import type { ByteRange } from "../../../core/http/byte_ranges.ts";
import { responseStreaming, streamResponse } from "../../../streaming/mod.ts";
import {
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import type { AnyOptions } from "../../../validation/check_options.ts";
import { buildOpenApiDocument, defineApiHandler } from "../../../validation/mod.ts";
import { testSeed } from "../../support/seed.ts";

const quiet = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;
const MODIFIED = "Sat, 28 Nov 2026 10:00:00 GMT";
/** Bytes that are no text in UTF-8. */
const FILE = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7 + 128) % 256);

/** A handler that sends a file from memory. */
function serveFile(file = FILE, headers: Record<string, string> = {}, options: AnyOptions = {}) {
  return defineApiHandler({ ...quiet, ranges: true, ...options })(() =>
    undeclared({
      statusCode: 200,
      headers: { "Content-Type": "image/png", ETag: '"v1"', "Last-Modified": MODIFIED, ...headers },
      body: file.toBase64(),
      isBase64Encoded: true,
    })
  );
}

/** A handler that streams the same file. */
function serveStream(
  open = (_: AbortSignal, { first, last }: ByteRange): AsyncIterable<Uint8Array> =>
    readParts(first, last),
) {
  return defineApiHandler({ ...quiet, ranges: true, streaming: responseStreaming() })(() =>
    streamResponse(open, {
      sizeBytes: FILE.length,
      headers: { "Content-Type": "image/png", ETag: '"v1"', "Last-Modified": MODIFIED },
    })
  );
}

async function* readParts(first: number, last: number): AsyncGenerator<Uint8Array> {
  for (let at = first; at <= last; at += 64) yield FILE.subarray(at, Math.min(at + 64, last + 1));
}

interface Received {
  readonly status: number;
  readonly range: unknown;
  readonly bytes: Uint8Array;
  readonly headers: Record<string, unknown>;
}

async function get(
  handler: ReturnType<typeof serveFile>,
  headers: Record<string, string> = {},
  method = "GET",
  create: typeof createHttpApiEvent | typeof createRestApiEvent = createHttpApiEvent,
): Promise<Received> {
  const event = create({ method, path: "/photo", headers });
  const { statusCode, headers: sent = {}, body, isBase64Encoded } = await handler(
    event,
    createLambdaContext(),
  );
  const bytes = isBase64Encoded ? Uint8Array.fromBase64(body) : new TextEncoder().encode(body);
  return { status: statusCode, range: sent["Content-Range"], bytes, headers: sent };
}

Deno.test("ranges: true sends the bytes that RFC 9110 names", async () => {
  const cases: [
    range: string,
    status: number,
    contentRange?: string,
    first?: number,
    last?: number,
  ][] = [
    ["bytes=0-0", 206, "bytes 0-0/1000", 0, 0],
    ["bytes=0-499", 206, "bytes 0-499/1000", 0, 499],
    ["bytes=500-", 206, "bytes 500-999/1000", 500, 999],
    ["bytes=-500", 206, "bytes 500-999/1000", 500, 999],
    ["bytes=-5000", 206, "bytes 0-999/1000", 0, 999],
    ["bytes=990-99999999999999999999999", 206, "bytes 990-999/1000", 990, 999],
    ["BYTES= 1-2 ", 206, "bytes 1-2/1000", 1, 2],
    ["bytes=1000-", 416, "bytes */1000"],
    ["bytes=-0", 416, "bytes */1000"],
    // ignored: several ranges, invalid ones and other units
    ["bytes=0-1,4-5", 200],
    ["bytes=5-2", 200],
    ["bytes=", 200],
    ["bytes=-", 200],
    ["bytes=a-b", 200],
    ["items=0-1", 200],
  ];
  for (const handler of [serveFile(), serveStream()]) {
    for (const [range, status, contentRange, first = 0, last = 999] of cases) {
      const received = await get(handler, { Range: range });
      assertEquals([received.status, received.range], [status, contentRange], range);
      assertEquals(received.headers["Accept-Ranges"], "bytes", range);
      const expected = status === 416 ? new Uint8Array() : FILE.slice(first, last + 1);
      assertEquals(received.bytes, expected, range);
      if (status === 206) assertEquals(received.headers["Content-Type"], "image/png");
    }
  }
});

Deno.test("If-Range gets the whole body unless the version is the same", async () => {
  const cases: [condition: string, status: number][] = [
    ['"v1"', 206],
    ['"v2"', 200],
    ['W/"v1"', 200],
    [MODIFIED, 206],
    ["Sat, 28 Nov 2026 10:00:01 GMT", 200],
    ["yesterday", 200],
  ];
  for (const [condition, status] of cases) {
    const received = await get(serveFile(), { Range: "bytes=0-9", "If-Range": condition });
    assertEquals(received.status, status, condition);
  }
  const weak = serveFile(FILE, { ETag: 'W/"v1"' });
  assertEquals((await get(weak, { Range: "bytes=0-9", "If-Range": 'W/"v1"' })).status, 200);
});

Deno.test("the tag of etag: true is the one of If-Range, and a known body is 304", async () => {
  const handler = defineApiHandler({ ...quiet, ranges: true, etag: true })(() =>
    undeclared({ statusCode: 200, body: FILE.toBase64(), isBase64Encoded: true })
  );
  const tag = String((await get(handler)).headers.ETag);
  assertEquals((await get(handler, { Range: "bytes=1-2", "If-Range": tag })).status, 206);
  assertEquals((await get(handler, { Range: "bytes=1-2", "If-Range": '"x"' })).status, 200);
  assertEquals((await get(handler, { Range: "bytes=1-2", "If-None-Match": tag })).status, 304);
});

Deno.test("only GET with status 200 and bytes has ranges", async () => {
  const Range = "bytes=0-1";
  assertEquals((await get(serveFile(), { Range }, "HEAD")).status, 200);
  assertEquals((await get(serveFile(), { Range }, "POST")).headers["Accept-Ranges"], undefined);
  assertEquals((await get(serveFile(new Uint8Array()), { Range })).status, 200);
  const text = defineApiHandler({ ...quiet, ranges: true })(() => ({
    statusCode: 200,
    body: "ä€",
  }));
  assertEquals((await get(text, { Range })).bytes, new TextEncoder().encode("ä€"));
  const without = serveFile(FILE, { "Content-Length": "1000" }, { ranges: false });
  assertEquals((await get(without, { Range })).headers["Accept-Ranges"], undefined);
  const part = await get(serveFile(FILE, { "content-length": "1000" }), { Range });
  assertEquals([part.status, part.headers["content-length"]], [206, undefined]);
  assertEquals((await get(serveFile(), { Range }, "GET", createRestApiEvent)).status, 206);
});

Deno.test("a stream with ranges refuses what it cannot prove", async () => {
  const all = serveStream(() => readParts(0, 999));
  assertEquals((await get(all)).bytes, FILE);
  // the whole stream, although two bytes are asked for
  assertEquals((await get(all, { Range: "bytes=0-1" })).status, 500);
  const less = serveStream(() => readParts(0, 0));
  assertEquals((await get(less, { Range: "bytes=0-1" })).status, 500);
  const unknown = defineApiHandler({ ...quiet, ranges: true, streaming: responseStreaming() })(() =>
    streamResponse(() => readParts(0, 999))
  );
  assertEquals((await get(unknown)).status, 500);
});

Deno.test("generated ranges are answered like Express answers them", async () => {
  const file = await Deno.makeTempFile({ suffix: ".png" });
  await Deno.writeFile(file, FILE);
  const { app } = new ExpressReceiver({ signingSecret: "unused" });
  // Express prints errors in all other environments
  app.set("env", "test");
  app.get("/photo", (_, response) => response.sendFile(file, { etag: false, lastModified: false }));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/photo`;
  const position = fc.oneof(fc.nat(1100), fc.constantFrom(0, 1, 998, 999, 1000, 1001));
  const range = fc.oneof(
    fc.tuple(position, position).filter(([a, b]) => a <= b).map(([a, b]) => `${a}-${b}`),
    position.map((a) => `${a}-`),
    // a longer suffix is the whole body (RFC 9110, section 14.1.2), and 416 in Express
    fc.nat(1000).map((a) => `-${a}`),
  );
  try {
    for (const spec of fc.sample(range, { numRuns: 60, seed: testSeed })) {
      const headers = { Range: `bytes=${spec}` };
      const expected = await fetch(url, { headers });
      const received = await get(serveFile(), headers);
      assertEquals(
        [received.status, received.range ?? null],
        [expected.status, expected.headers.get("content-range")],
        spec,
      );
      const bytes = new Uint8Array(await expected.arrayBuffer());
      if (expected.status === 206) assertEquals(received.bytes, bytes, spec);
    }
  } finally {
    await new Promise((resolve) => server.close(resolve));
    await Deno.remove(file);
  }
});

Deno.test("the document describes ranges", () => {
  const { operation } = serveFile();
  const { paths } = buildOpenApiDocument({ title: "t", version: "1" }, [
    { method: "GET", path: "/photo", operation },
  ]);
  // deno-lint-ignore no-explicit-any
  const { parameters, responses } = (paths as any)["/photo"].get;
  assertEquals(parameters.map(({ name }: { name: string }) => name), ["Range", "If-Range"]);
  assertEquals(Object.keys(responses), ["200", "206", "416", "500", "503", "504"]);
  assertEquals(responses[206].content, responses[200].content);
  assertEquals(responses[206].headers["Content-Range"].required, true);
});
