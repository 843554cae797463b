import { assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { cacheControl } from "../../../core/mod.ts";
import type { ApiEvent, ProxyResult } from "../../../core/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";

const TEXT = JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, title: "é" })));

async function send(
  accepted: string | undefined,
  result: Partial<ProxyResult> = {},
  create: (options: { headers: Record<string, string> }) => ApiEvent = createHttpApiEvent,
): Promise<ProxyResult> {
  const handler = defineApiHandler({
    compress: true,
    logging: { level: "SILENT" },
    metrics: false,
  })(() => ({
    statusCode: 200,
    headers: { "content-type": "application/json", ETag: '"v1"' },
    body: TEXT,
    ...result,
  }));
  const headers: Record<string, string> = accepted === undefined
    ? {}
    : { "Accept-Encoding": accepted };
  return await handler(create({ headers }), createLambdaContext());
}

const read = ({ headers, isBase64Encoded }: ProxyResult) =>
  [isBase64Encoded ?? false, headers?.["Content-Encoding"], headers?.ETag] as const;

Deno.test("compress sends the encoding that the client prefers, with its own tag", async () => {
  const ENCODINGS = [
    ["gzip, deflate, br", "br"],
    ["gzip;q=1, br;q=0.5", "gzip"],
    ["br;q=0, *", "gzip"],
    ["*", "br"],
  ] as const;
  for (const create of [createHttpApiEvent, createAlbEvent]) {
    for (const [accepted, encoding] of ENCODINGS) {
      const answer = await send(accepted, {}, create as typeof createHttpApiEvent);
      assertEquals(read(answer), [true, encoding, `"v1+${encoding}"`]);
      const bytes = Buffer.from(answer.body, "base64");
      const text = encoding === "br" ? brotliDecompressSync(bytes) : gunzipSync(bytes);
      assertEquals(text.toString(), TEXT);
      assertEquals(answer.headers?.Vary, "Accept-Encoding");
    }
  }
});

Deno.test("compress leaves responses alone that must not be compressed", async () => {
  const plain = [false, undefined, '"v1"'] as const;
  assertEquals(read(await send(undefined)), plain);
  assertEquals(read(await send("identity")), plain);
  assertEquals(read(await send("gzip;q=0, br;q=0, *")), plain);
  assertEquals(read(await send("br", { body: "{}" })), plain);
  assertEquals(read(await send("br", {}, createRestApiEvent)), plain);
  const json = { "Content-Type": "application/json", ETag: '"v1"' };
  const headers = { ...json, "Cache-Control": "public, no-transform" };
  assertEquals(read(await send("br", { headers })), plain);
  assertEquals(
    read(await send("br", { headers: { ...json, "Content-Type": "image/png" } })),
    plain,
  );
  assertEquals(read(await send("br", { isBase64Encoded: true })), [true, undefined, '"v1"']);
  // caches must know that other clients get another body
  assertEquals((await send("identity")).headers?.Vary, "Accept-Encoding");
});

Deno.test("cacheControl() writes directives and refuses what contradicts itself", () => {
  const all = cacheControl({
    scope: "public",
    maxAgeSeconds: 0,
    sharedMaxAgeSeconds: 60,
    staleWhileRevalidateSeconds: 30,
    staleIfErrorSeconds: 600,
    revalidate: true,
    immutable: true,
  });
  assertEquals(
    all,
    "public, no-cache, max-age=0, s-maxage=60, stale-while-revalidate=30, stale-if-error=600, immutable",
  );
  assertThrows(() => cacheControl({ maxAgeSeconds: 1.5 }), RangeError, "max-age");
  assertThrows(() => cacheControl({ scope: "none", maxAgeSeconds: 1 }), RangeError, "none");
});
