import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiEvent, ProxyResult } from "../../core/mod.ts";
import { getStreamingHandler } from "../../core/http/streaming.ts";
import { responseStreaming, streamResponse } from "../../streaming/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

const route = { resource: "/notes/{id}", path: "/notes/n1" };
const GATEWAYS: readonly [event: ApiEvent, limit: number, name: string][] = [
  [createRestApiEvent(route), 6_291_556, "GET /notes/{id}"],
  [createHttpApiEvent(route), 6_291_556, "GET /notes/{id}"],
  [createFunctionUrlEvent(route), 6_291_556, "GET /notes/n1"],
  [createAlbEvent(route), 1_048_576, "GET /notes/n1"],
  [createAlbEvent({ ...route, multiValue: true }), 1_048_576, "GET /notes/n1"],
];
const options = { metrics: false } as const;
const bytesOf = (result: ProxyResult) => new TextEncoder().encode(JSON.stringify(result)).length;

for (const [event, limit, name] of GATEWAYS) {
  for (
    const [unit, isBase64Encoded] of [["a"], ["\u0001"], ["é"], ['"x'], ["AAAA", true]] as const
  ) {
    const form = `${name} of at most ${limit} bytes, with ${JSON.stringify(unit)}`;
    Deno.test(`a response to ${form} is sent, and one with a byte more is a 500 whose log line says why`, async () => {
      let body = "";
      const handler = defineApiHandler(options)(() => ({ statusCode: 200, body, isBase64Encoded }));
      const context = createLambdaContext();
      const send = () => captureLogs(() => handler(event, context));
      const empty = bytesOf((await send()).result) + (isBase64Encoded ? 23 : 0);
      const size = bytesOf({ statusCode: 200, body: unit }) -
        bytesOf({ statusCode: 200, body: "" });
      body = unit.repeat(Math.floor((limit - empty) / size));
      const fits = await send();
      assertEquals(fits.result.statusCode, 200);
      assertEquals(limit - bytesOf(fits.result) < size, true);
      body += unit;
      const { result, lines } = await send();
      assertEquals(result.statusCode, 500);
      assertEquals(JSON.parse(result.body).message, "Internal Server Error");
      assertEquals([lines.length, lines[0].level, lines[0].status], [1, "ERROR", 500]);
      const { message } = lines[0].error;
      assertStringIncludes(
        message,
        `The response to ${name} has ${bytesOf(fits.result) + size} bytes`,
      );
      assertStringIncludes(message, `at most ${limit}: return fewer rows`);
    });
  }
}

Deno.test("a response that is sent in parts has no limit, and one that is collected has", async () => {
  const body = "a".repeat(7_000_000);
  const [whole, streamed] = [
    () => ({ statusCode: 200, body }),
    () =>
      streamResponse(async function* () {
        yield body;
      }),
  ].map((run) =>
    defineApiHandler({ ...options, logging: { level: "SILENT" }, streaming: responseStreaming() })(
      run,
    )
  );
  for (const handler of [whole, streamed]) {
    const event = createRestApiEvent();
    assertEquals((await handler(event, createLambdaContext())).statusCode, 500);
    let length = 0;
    const sink = {
      open: () => ({
        write: (part: string | Uint8Array) => void (length += part.length),
        end() {},
        on() {},
      }),
    };
    const { statusCode } = await getStreamingHandler(handler)!(event, sink, createLambdaContext());
    assertEquals([statusCode, length], [200, body.length]);
  }
});
