import { assertEquals, assertFalse, assertThrows } from "@std/assert";
import * as z from "zod";
import { buildValidatedResponse } from "../../../core/mod.ts";
import {
  defineWebSocketHandler,
  type WebSocketEvent,
  type WebSocketHandlerFunction,
  type WebSocketHandlerOptions,
  type WebSocketResult,
} from "../../../triggers/mod.ts";
import {
  ConfigurationError,
  DatabaseError,
  ForbiddenError,
  NotFoundError,
} from "../../../errors/mod.ts";
import {
  createLambdaContext,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1" });
const Say = z.object({ text: z.string().max(5) });

function run<T = never>(
  event: WebSocketEvent,
  handler: WebSocketHandlerFunction<T>,
  options: WebSocketHandlerOptions<T> = {},
) {
  return captureLogs(() => defineWebSocketHandler<T>(options)(handler)(event, context));
}

const events = [
  createWebSocketConnectEvent({ headers: { Host: "x" }, query: { room: "1" } }),
  createWebSocketMessageEvent({ body: { text: "hi", more: 1 }, routeKey: "say" }),
  createWebSocketDisconnectEvent(),
];
const expected = [
  { eventType: "CONNECT", routeKey: "$connect" },
  { eventType: "MESSAGE", routeKey: "say", body: { text: "hi" } },
  { eventType: "DISCONNECT", routeKey: "$disconnect" },
];

for (const [i, event] of events.entries()) {
  Deno.test(`defineWebSocketHandler() gives the handler a ${expected[i].eventType} and answers 200`, async () => {
    const seen: object[] = [];
    const { result, lines } = await run(event, (params) => {
      seen.push({ ...params, metadata: params.metadata.correlationId });
    }, { schema: Say });
    assertEquals(seen, [{
      event,
      context,
      connectionId: "conn-1=",
      metadata: "gateway-request-id",
      ...expected[i],
    }]);
    assertEquals(result, { statusCode: 200 });
    assertEquals([lines[0].connection_id, lines[0].route_key], ["conn-1=", expected[i].routeKey]);
  });
}

Deno.test("defineWebSocketHandler() types the body by event type and schema", async () => {
  const handler = defineWebSocketHandler({ schema: Say })((params) => {
    // @ts-expect-error: only messages have a body
    params.body;
    return params.eventType === "MESSAGE" ? { statusCode: 200, body: params.body.text } : undefined;
  });
  const { result } = await captureLogs(() =>
    handler(createWebSocketMessageEvent({ body: { text: "hi" } }), context)
  );
  assertEquals(result.body, "hi");
});

Deno.test("defineWebSocketHandler() leaves the body out without a schema", async () => {
  const seen: boolean[] = [];
  await run(
    createWebSocketMessageEvent({ body: "free text" }),
    (params) => void seen.push("body" in params),
  );
  assertEquals(seen, [false]);
});

Deno.test("defineWebSocketHandler() answers with what the handler returns", async () => {
  const results: [given: WebSocketResult, answered: WebSocketResult][] = [
    [{ statusCode: 403 }, { statusCode: 403 }],
    [{ statusCode: 200, body: "hi" }, { statusCode: 200, body: "hi" }],
    [
      { statusCode: 200, headers: { "Sec-WebSocket-Protocol": "v1\r\nSet-Cookie: x" } },
      { statusCode: 200, headers: { "Sec-WebSocket-Protocol": "v1 Set-Cookie: x" } },
    ],
    [buildValidatedResponse(undefined, 200, { ok: true }), {
      statusCode: 200,
      headers: { "Content-Type": "application/json" },
      body: '{"ok":true}',
    }],
  ];
  for (const [given, answered] of results) {
    assertEquals((await run(createWebSocketConnectEvent(), () => given)).result, answered);
  }
});

const faults: [name: string, body: unknown, errors: Record<string, string[]>][] = [
  ["is no JSON", "{", { _form: ["It is not valid JSON"] }],
  ["is empty", "", { _form: ["It is empty, JSON is expected"] }],
  ["does not fit", { text: "too long" }, {
    text: ["Too big: expected string to have <=5 characters"],
  }],
];

for (const [name, body, errors] of faults) {
  Deno.test(`defineWebSocketHandler() answers 400 with the documented body to a message that ${name}`, async () => {
    const { result, lines } = await run(createWebSocketMessageEvent({ body }), () => {}, {
      schema: Say,
    });
    assertEquals(result.statusCode, 400);
    assertEquals(JSON.parse(result.body!), {
      message: "Validation failed",
      code: "VALIDATION_FAILED",
      requestId: "r-1",
      correlationId: "gateway-request-id",
      errors,
    });
    assertEquals([lines[0].level, lines[0].error_code], ["INFO", "VALIDATION_FAILED"]);
  });
}

const thrown: [error: unknown, status: number, code: string, level: string][] = [
  [new ForbiddenError("not yours"), 403, "FORBIDDEN", "INFO"],
  [DatabaseError.from(new Error("select secret")), 500, "DATABASE", "ERROR"],
  [new Error("secret"), 500, "UNEXPECTED", "ERROR"],
  [undefined, 500, "UNEXPECTED", "ERROR"],
];

for (const [error, status, code, level] of thrown) {
  Deno.test(`defineWebSocketHandler() maps errors as API handlers do: ${code} of ${error}`, async () => {
    for (
      const event of [createWebSocketConnectEvent(), createWebSocketMessageEvent({ body: "x" })]
    ) {
      const { result, lines } = await run(event, () => Promise.reject(error));
      assertEquals([result.statusCode, JSON.parse(result.body!).code, lines[0].level], [
        status,
        code,
        level,
      ]);
      assertFalse(result.body!.includes("secret"));
    }
  });
}

Deno.test("defineWebSocketHandler() takes any failure of a disconnect for one of the service", async () => {
  const { result, lines } = await run(
    createWebSocketDisconnectEvent(),
    () => Promise.reject(new NotFoundError("no row")),
  );
  assertEquals([result.statusCode, lines[0].level, lines[0].error.cause.code], [
    500,
    "ERROR",
    "NOT_FOUND",
  ]);
  assertEquals(lines.find((line) => "_aws" in line)?.Errors, 1);
});

Deno.test("defineWebSocketHandler() answers 500 to a result that is none, and to events of other sources", async () => {
  const { result } = await run(createWebSocketConnectEvent(), () => ({ ok: true }) as never);
  assertEquals(result.statusCode, 500);
  for (const event of [{}, null, { requestContext: { http: {} } }]) {
    const { result, lines } = await run(event as never, () => {});
    assertEquals(result.statusCode, 500);
    assertEquals(
      lines[0].error.message,
      "The event is none of a WebSocket API: the trigger of this function must be one",
    );
  }
});

Deno.test("defineWebSocketHandler() checks its options and keeps the user's own function", () => {
  assertThrows(
    () => defineWebSocketHandler({ retryAttempts: 1 } as never),
    ConfigurationError,
    "no option retryAttempts",
  );
  const handler = () => {};
  assertEquals(defineWebSocketHandler()(handler).handler, handler);
});
