import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { startGateway } from "../../cli/dev/gateway.ts";
import type { LocalRoute } from "../../testing/gateway/route_table.ts";
import type { ApiEvent, ProxyResult } from "../../core/http/lambda.ts";
import {
  getStreamingHandler,
  type ResponseSink,
  type ResponseWriter,
} from "../../core/http/streaming.ts";
import { ConfigurationError, NotFoundError } from "../../errors/mod.ts";
import {
  createFunctionUrlEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { defineRouter } from "../../router/mod.ts";
import { responseStreaming, streamEvents, streamResponse } from "../../streaming/mod.ts";
import * as z from "zod";
import { captureLogs } from "../support/capture_logs.ts";

const streaming = responseStreaming();
const quiet = { logging: { level: "SILENT" }, metrics: false } as const;

type Handler = LocalRoute["handler"];

/** Serves one handler on the loopback address. */
async function withServer<T>(handler: Handler, use: (url: string) => Promise<T>): Promise<T> {
  const route: LocalRoute = { method: "GET", path: "/stream", name: "Stream", handler };
  const gateway = await startGateway({ routes: [route] });
  try {
    return await use(`${gateway.url}/stream`);
  } finally {
    await gateway.stop();
  }
}

/** Keeps what is written. */
function createSink(): ResponseSink & { head?: ProxyResult; parts: string[]; ended: boolean } {
  const writer: ResponseWriter = {
    write: (chunk) => void sink.parts.push(String(chunk)),
    end: () => sink.ended = true,
    on() {},
  };
  const sink: ReturnType<typeof createSink> = {
    parts: [],
    ended: false,
    open(head): ResponseWriter {
      sink.head = head;
      return writer;
    },
  };
  return sink;
}

Deno.test("streamResponse() sends each part before the next one exists", async () => {
  let goOn!: () => void;
  const isRead = new Promise<void>((resolve) => goOn = resolve);
  const handler = defineApiHandler({ ...quiet, streaming, cors: "http://localhost:3000" })(() =>
    streamResponse(async function* () {
      yield "first,é\n";
      await isRead;
      yield new TextEncoder().encode("second\n");
    }, { statusCode: 201, headers: { "Content-Type": "text/csv" }, cookies: ["a=1", "b=2"] })
  );
  await withServer(handler, async (url) => {
    const response = await fetch(url, { headers: { "X-Correlation-Id": "c-1" } });
    assertEquals([response.status, response.headers.get("content-type")], [201, "text/csv"]);
    assertEquals(response.headers.get("x-correlation-id"), "c-1");
    assertEquals(response.headers.get("access-control-allow-origin"), "http://localhost:3000");
    assertEquals(response.headers.getSetCookie(), ["a=1", "b=2"]);
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    assertEquals(decoder.decode((await reader.read()).value), "first,é\n");
    goOn();
    assertEquals(decoder.decode((await reader.read()).value), "second\n");
    assertEquals((await reader.read()).done, true);
  });
});

Deno.test("a handler with streaming answers errors before the first byte as every other handler", async () => {
  const handler = defineApiHandler({
    ...quiet,
    streaming,
    querySchema: z.object({ limit: z.coerce.number() }),
  })(({ query }) => {
    if (query.limit === 0) throw new NotFoundError("No such export");
    return query.limit === 1
      ? { statusCode: 200, headers: {}, body: "cGxhaW4=", isBase64Encoded: true }
      : streamResponse(async function* () {
        yield "x";
      });
  });
  await withServer(handler, async (url) => {
    const invalid = await fetch(`${url}?limit=x`);
    assertEquals([invalid.status, (await invalid.json()).code], [400, "VALIDATION_FAILED"]);
    const missing = await fetch(`${url}?limit=0`);
    assertEquals([missing.status, (await missing.json()).message], [404, "No such export"]);
    assertEquals(await (await fetch(`${url}?limit=1`)).text(), "plain");
    assertEquals(await (await fetch(`${url}?limit=2`)).text(), "x");
  });
});

Deno.test("an error after the first byte cuts a streamed response off, and is logged and counted once", async () => {
  const handler = defineApiHandler({ streaming })(function exportNotes() {
    return streamResponse(async function* () {
      yield "first";
      throw new Error("the password is hunter2");
    });
  });
  const { lines } = await captureLogs(() =>
    withServer(handler, async (url) => {
      const response = await fetch(url);
      assertEquals(response.status, 200);
      await assertRejects(() => response.text());
    })
  );
  const errors = lines.filter(({ level }) => level === "ERROR");
  assertEquals([errors.length, errors[0].error.message], [1, "the password is hunter2"]);
  const metrics = lines.find((line) => "_aws" in line)!;
  assertEquals(metrics.Errors, 1);
});

Deno.test("an error after the first event ends an event stream with the body of the error response", async () => {
  const handler = defineApiHandler({ ...quiet, streaming })(() =>
    streamEvents(async function* () {
      yield { data: 1 };
      throw new Error("the password is hunter2");
    })
  );
  await withServer(handler, async (url) => {
    const response = await fetch(url, { headers: { "X-Correlation-Id": "c-2" } });
    assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assertEquals(response.headers.get("cache-control"), "no-store");
    const [first, last] = (await response.text()).split("\n\n");
    assertEquals(first, "data: 1");
    const [type, data] = last.split("\n");
    assertEquals(type, "event: error");
    const { requestId, ...body } = JSON.parse(data.slice("data: ".length));
    assertEquals(body, {
      message: "Internal Server Error",
      code: "UNEXPECTED",
      correlationId: "c-2",
    });
    assert(requestId.length > 0);
  });
});

Deno.test("a client that leaves aborts the signal and ends the source, without an error", async () => {
  let isStopped!: (state: boolean) => void;
  const stopped = new Promise<boolean>((resolve) => isStopped = resolve);
  const handler = defineApiHandler({ streaming })(function watch() {
    return streamResponse(async function* (signal) {
      try {
        yield "first";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield "never sent";
      } finally {
        isStopped(signal.aborted);
      }
    });
  });
  const { lines } = await captureLogs(() =>
    withServer(handler, async (url) => {
      const controller = new AbortController();
      const response = await fetch(url, { signal: controller.signal });
      await response.body!.getReader().read();
      controller.abort();
      assertEquals(await stopped, true);
    })
  );
  assertEquals(lines.filter(({ level }) => level === "ERROR"), []);
  assertStringIncludes(JSON.stringify(lines), "the client left before the response was complete");
});

for (
  const [what, createResponse, isCut] of [
    ["a raw stream", () => streamResponse(endless), true],
    ["an event stream", () => streamEvents(endlessEvents), false],
  ] as const
) {
  Deno.test(`the deadline ends ${what} in its defined way`, async () => {
    const handler = defineApiHandler({ ...quiet, streaming })(createResponse);
    const sink = createSink();
    const context = createLambdaContext({ timeoutMs: 300 });
    // the timer of the deadline does not keep the process running
    const timer = setInterval(() => {}, 1000);
    const streamed = getStreamingHandler(handler)!(createRestApiEvent(), sink, context);
    if (isCut) await assertRejects(() => streamed, Error, "cut off");
    else assertEquals((await streamed).statusCode, 504);
    assertEquals(sink.ended, !isCut);
    assertEquals(sink.head?.statusCode, 200);
    const last = sink.parts.at(-1)!;
    assertEquals(last.startsWith("event: error\n"), !isCut);
    if (!isCut) assertStringIncludes(last, "DEADLINE_EXCEEDED");
    assertEquals(lastSignal?.aborted, true);
    clearInterval(timer);
  });
}

let lastSignal: AbortSignal | undefined;

async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  lastSignal = signal;
  yield "first";
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

async function* endlessEvents(signal: AbortSignal): AsyncGenerator<{ data: string }> {
  for await (const data of endless(signal)) yield { data };
}

Deno.test("streamResponse() waits while the client reads slower than the source produces", async () => {
  let produced = 0;
  const handler = defineApiHandler({ ...quiet, streaming })(() =>
    streamResponse(async function* () {
      while (produced < 3) yield String(++produced);
    })
  );
  let drain!: () => void;
  const parts: string[] = [];
  const streamed = getStreamingHandler(handler)!(createRestApiEvent(), {
    open: () => ({
      write: (chunk) => parts.push(String(chunk)) === 0,
      end() {},
      on: (event, listener) => event === "drain" && (drain = listener as () => void),
    }),
  }, createLambdaContext());
  for (const expected of [1, 2, 3]) {
    await new Promise((resolve) => setTimeout(resolve));
    assertEquals([produced, parts.length], [expected, expected]);
    drain();
  }
  await streamed;
});

interface FakeRuntime {
  readonly marked: Set<unknown>;
  readonly metadata: Record<string, unknown>[];
}

/** Stands in for the global object of Lambda's Node.js runtime. */
async function withRuntime(use: (runtime: FakeRuntime) => Promise<void>): Promise<void> {
  const runtime: FakeRuntime = { marked: new Set(), metadata: [] };
  Object.assign(globalThis, {
    awslambda: {
      streamifyResponse(handler: unknown) {
        runtime.marked.add(handler);
        return handler;
      },
      HttpResponseStream: {
        from(stream: ResponseWriter, metadata: Record<string, unknown>) {
          runtime.metadata.push(metadata);
          return stream;
        },
      },
    },
  });
  try {
    await use(runtime);
  } finally {
    delete (globalThis as { awslambda?: unknown }).awslambda;
  }
}

type OnLambda = (event: ApiEvent, stream: ResponseWriter, context: unknown) => Promise<unknown>;

Deno.test("a handler with streaming sends metadata and body through the stream of Lambda's runtime", async () => {
  await withRuntime(async ({ marked, metadata }) => {
    const handler = defineApiHandler({ ...quiet, streaming })(({ event }) =>
      event.path === "/plain" ? { statusCode: 204, body: "" } : streamResponse(async function* () {
        yield "a";
        yield "b";
      }, { cookies: ["x=1", "y=2"] })
    );
    assertEquals(marked.has(handler), true);
    const run = handler as unknown as OnLambda;
    const context = createLambdaContext();
    const { parts, ...sink } = createSink();
    const writer = sink.open({ statusCode: 0, body: "" });
    await run(createRestApiEvent({ headers: { "X-Correlation-Id": "c" } }), writer, context);
    assertEquals(parts.join(""), "ab");
    await run(createFunctionUrlEvent({ headers: { "X-Correlation-Id": "c" } }), writer, context);
    await run(createRestApiEvent({ path: "/plain" }), writer, context);
    const headers = { "Content-Type": "application/octet-stream", "X-Correlation-Id": "c" };
    const pick = ({ headers: _, ...others }: Record<string, unknown>) => others;
    assertEquals(metadata.map(pick), [
      { statusCode: 200, multiValueHeaders: { "Set-Cookie": ["x=1", "y=2"] } },
      { statusCode: 200, cookies: ["x=1", "y=2"] },
      { statusCode: 204 },
    ]);
    for (const [name, value] of Object.entries(headers)) {
      assertEquals((metadata[0].headers as Record<string, string>)[name], value);
    }
    // the runtime calls it without a stream where the function is invoked in another way
    const buffered = await handler(createRestApiEvent(), context);
    assertEquals([buffered.body, buffered.isBase64Encoded ?? false], ["ab", false]);
  });
});

Deno.test("a handler with streaming called without a stream collects the body", async () => {
  const handler = defineApiHandler({ ...quiet, streaming })(() =>
    streamResponse(
      new ReadableStream({
        start(controller) {
          controller.enqueue("a");
          controller.enqueue(new Uint8Array([0xff, 0]));
          controller.close();
        },
      }),
    )
  );
  const { body, isBase64Encoded } = await handler(createRestApiEvent(), createLambdaContext());
  assertEquals([body, isBase64Encoded], ["Yf8A", true]);
});

Deno.test("a response to HEAD, or with a status without body, sends nothing of its stream", async () => {
  for (const [method, statusCode] of [["HEAD", 200], ["GET", 204], ["GET", 304]] as const) {
    const handler = defineApiHandler({ ...quiet, streaming })(() =>
      streamResponse(
        () => {
          throw new Error("opened");
        },
        { statusCode },
      )
    );
    const event = createRestApiEvent({ method });
    const buffered = await handler(event, createLambdaContext());
    assertEquals([buffered.statusCode, buffered.body], [statusCode, ""]);
    const sink = createSink();
    await getStreamingHandler(handler)!(event, sink, createLambdaContext());
    assertEquals([sink.head?.statusCode, sink.parts, sink.ended], [statusCode, [], true]);
  }
});

Deno.test("a handler without streaming refuses a streamed response, and says what to add", async () => {
  const handler = defineApiHandler({ metrics: false })(() => ({
    ...streamResponse(async function* () {
      yield "x";
    }),
  }));
  const { result, lines } = await captureLogs(async () =>
    await handler(createRestApiEvent(), createLambdaContext())
  );
  assertEquals(result.statusCode, 500);
  assertStringIncludes(JSON.stringify(lines), "add streaming: responseStreaming() to its options");
});

Deno.test("streaming refuses options that need the whole body, and routers", async () => {
  const schema = z.object({});
  for (const options of [{ responseSchema: schema }, { responses: { 200: schema } }]) {
    await assertRejects(
      async () => void await defineApiHandler({ streaming, ...options } as object),
      ConfigurationError,
      "does not go with streaming",
    );
  }
  await assertRejects(
    async () => void await defineApiHandler({ streaming: true } as object),
    ConfigurationError,
    "streaming is true: it must be the result of responseStreaming()",
  );
  const handler = defineApiHandler({ streaming })(() => ({ statusCode: 200, body: "" }));
  await assertRejects(
    async () => void await defineRouter({ "GET /": handler }),
    ConfigurationError,
    "The handler of GET / streams its response",
  );
});
