import { assertEquals } from "@std/assert";
import * as z from "zod";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import type { AnyOptions } from "../../../validation/check_options.ts";
import { defineApiHandler, reply } from "../../../validation/mod.ts";

const quiet = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;
const Note = z.object({ text: z.string() });

type Answer = { status: number; etag: unknown; body: string; headers: Record<string, unknown> };

/** Sends requests to a handler that counts its calls. */
function serve(options: AnyOptions, text = "milk") {
  const calls: string[] = [];
  const handler = defineApiHandler({ ...quiet, responses: { 200: Note }, ...options })(
    ({ event }) => {
      calls.push(event.path);
      return reply(200, { text }, { headers: { "Cache-Control": "private, no-cache" } }) as never;
    },
  );
  async function send(method: string, headers: Record<string, string> = {}): Promise<Answer> {
    const event = createHttpApiEvent({ method, path: "/notes/n1", headers });
    const { statusCode, headers: sent = {}, body } = await handler(event, createLambdaContext());
    return { status: statusCode, etag: sent.ETag, body, headers: sent };
  }
  return { send, calls };
}

Deno.test("etag: true answers GET and HEAD with 304 when the client has the body", async () => {
  const { send } = serve({ etag: true });
  const { status, etag } = await send("GET");
  assertEquals([status, typeof etag], [200, "string"]);
  assertEquals((await send("GET")).etag, etag);
  assertEquals(etag !== (await serve({ etag: true }, "bread").send("GET")).etag, true);
  for (const known of [`${etag}`, `"x", W/${etag}`, "*"]) {
    const again = await send("GET", { "If-None-Match": known });
    assertEquals([again.status, again.body, again.etag], [304, "", etag]);
    assertEquals(again.headers["Cache-Control"], "private, no-cache");
    assertEquals("Content-Type" in again.headers, false);
  }
  assertEquals((await send("HEAD", { "If-None-Match": `${etag}` })).status, 304);
  assertEquals((await send("GET", { "If-None-Match": '"other"' })).status, 200);
  assertEquals((await send("GET", { "If-Match": '"other"' })).status, 412);
});

Deno.test("a 304 has the tag and the Vary of the response that the client has", async () => {
  // a cache takes it for the response with the same tag only (RFC 9111, section 4.3.4)
  for (const etag of [true, () => 1] as const) {
    const { send } = serve({ etag, compress: true }, "milk".repeat(1000));
    const first = await send("GET", { "Accept-Encoding": "gzip" });
    assertEquals(String(first.etag).endsWith('+gzip"'), true);
    for (const known of [`${first.etag}`, `"x", W/${first.etag}`]) {
      const again = await send("GET", { "Accept-Encoding": "gzip", "If-None-Match": known });
      assertEquals([again.status, again.etag], [304, first.etag]);
      assertEquals(again.headers.Vary, first.headers.Vary);
    }
  }
});

Deno.test("etag: true refuses conditions of other methods instead of ignoring them", async () => {
  const { send, calls } = serve({ etag: true });
  const { status, etag } = await send("PUT");
  assertEquals([status, etag], [200, undefined]);
  assertEquals((await send("PUT", { "If-Match": '"v1"' })).status, 500);
  assertEquals(calls.length, 1);
});

Deno.test("etag refuses versions that would be the same for every change", async () => {
  for (const version of [null, NaN, Infinity, new Date("yesterday"), {}, true]) {
    const { send, calls } = serve({ etag: () => version as never });
    assertEquals([(await send("GET")).status, calls.length], [500, 0], String(version));
  }
});

Deno.test("etag with a version decides before the handler runs", async () => {
  let version: string | Date | undefined = "v 1";
  const { send, calls } = serve({ etag: () => Promise.resolve(version) });
  const { etag } = await send("GET");
  assertEquals(etag, '"v%201"');
  assertEquals(calls.length, 1);
  const status = async (method: string, headers: Record<string, string>) =>
    (await send(method, headers)).status;
  assertEquals(await status("GET", { "If-None-Match": `W/${etag}` }), 304);
  assertEquals(await status("PUT", { "If-Match": '"v0"' }), 412);
  assertEquals(await status("PUT", { "If-Match": `W/${etag}` }), 412);
  assertEquals(await status("PUT", { "If-None-Match": "*" }), 412);
  assertEquals(calls.length, 1);
  assertEquals(await status("PUT", { "If-Match": `"v0", ${etag}` }), 200);
  assertEquals(await status("PUT", { "If-Match": "*" }), 200);
  // each encoding of a body has a tag of its own
  assertEquals(await status("PUT", { "If-Match": '"v%201+br"' }), 200);
  assertEquals((await send("PUT")).etag, undefined);
  version = undefined;
  assertEquals(await status("PUT", { "If-Match": "*" }), 412);
  assertEquals(await status("PUT", { "If-None-Match": "*" }), 200);
  version = new Date(5);
  assertEquals((await send("GET")).etag, '"5"');
});
