import { assertEquals, assertFalse, assertMatch, assertRejects, assertThrows } from "@std/assert";
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
  UnexpectedError,
} from "../../../errors/mod.ts";
import {
  createFakeClock,
  createLambdaContext,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../../testing/mod.ts";
import { getQuery } from "../../../core/http/api_event.ts";
import type { ApiEvent } from "../../../core/http/lambda.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "r-1", clock: createFakeClock() });
const Say = z.object({ text: z.string().max(5) });

function run<T = never>(
  event: WebSocketEvent,
  handler: WebSocketHandlerFunction<T>,
  options: WebSocketHandlerOptions<T> = {},
) {
  return captureLogs(() =>
    defineWebSocketHandler<T>({ auth: "none", ...options })(handler)(event, context)
  );
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

Deno.test("defineWebSocketHandler() answers 500 to a result that is none, and rejects events of other sources", async () => {
  const { result } = await run(createWebSocketConnectEvent(), () => ({ ok: true }) as never);
  assertEquals(result.statusCode, 500);
  for (const event of [{}, null, { requestContext: { http: {} } }]) {
    await assertRejects(
      () => run(event as never, () => {}),
      UnexpectedError,
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

/** Connects to a handler, and returns the status, the error's code and what the handler received. */
async function connect(
  options: WebSocketHandlerOptions,
  handshake: Parameters<typeof createWebSocketConnectEvent>[0] = {},
) {
  const seen: unknown[] = [];
  const handler = defineWebSocketHandler(options)((params) => void seen.push(params));
  const event = createWebSocketConnectEvent(handshake);
  const { result, lines } = await captureLogs(() => handler(event, context));
  return { status: result.statusCode, message: lines[0].error?.message, seen };
}

Deno.test("defineWebSocketHandler() refuses to connect without the option auth", async () => {
  const { status, message, seen } = await connect({});
  assertEquals([status, seen], [500, []]);
  assertMatch(message, /no option auth, so that nobody can connect\. Set it to session/);
  // messages and disconnects come from clients that were admitted
  const { result } = await captureLogs(() =>
    defineWebSocketHandler()(() => {})(createWebSocketMessageEvent({ body: "x" }), context)
  );
  assertEquals(result.statusCode, 200);
});

const AUTHORIZERS: [authorizer: Record<string, unknown> | undefined, status: number][] = [
  [{ userStatus: "Authenticated", userId: "u1" }, 200],
  [{ userStatus: "Authenticated", userId: "" }, 401],
  [{ userStatus: "Authenticated" }, 401],
  [{ userStatus: "Anonymous" }, 401],
  [{ userStatus: "Unauthenticated", userId: "u1" }, 401],
  [{ userId: "u1" }, 401],
  [undefined, 401],
];

for (const [authorizer, expected] of AUTHORIZERS) {
  Deno.test(`defineWebSocketHandler() answers ${expected} to the authorizer's ${JSON.stringify(authorizer)}`, async () => {
    const { status, seen } = await connect({ auth: "authorizer" }, {
      authorizer: authorizer as never,
    });
    assertEquals(status, expected);
    const [params] = seen as { userId: string; authorizer: object }[];
    if (expected === 200) assertEquals([params.userId, params.authorizer], ["u1", authorizer]);
    else assertEquals(seen, []);
  });
}

const APP = "https://app.example.com";
const EVIL = "https://evil.example";
const authorizer = { userStatus: "Authenticated", userId: "u1" };
const ORIGINS: [
  options: WebSocketHandlerOptions,
  headers: Record<string, string>,
  status: number,
][] = [
  [{ auth: "none" }, { Origin: EVIL }, 200],
  [{ auth: "none", origins: [APP] }, { Origin: APP }, 200],
  [{ auth: "none", origins: [APP] }, { origin: EVIL }, 403],
  [{ auth: "none", origins: [APP] }, { origin: "null" }, 403],
  [{ auth: "none", origins: [APP] }, {}, 200],
  // a token is not sent by itself, a cookie is
  [{ auth: "authorizer" }, { Origin: EVIL }, 200],
  [{ auth: "authorizer" }, { Origin: EVIL, Cookie: "a=b" }, 403],
  [{ auth: "authorizer" }, { Cookie: "a=b" }, 403],
  [{ auth: "authorizer", origins: [APP] }, { Origin: APP, Cookie: "a=b" }, 200],
  [{ auth: "authorizer", origins: [APP] }, { Origin: EVIL, Cookie: "a=b" }, 403],
];

for (const [options, headers, expected] of ORIGINS) {
  Deno.test(`defineWebSocketHandler() answers ${expected} with ${JSON.stringify(options)} to ${JSON.stringify(headers)}`, async () => {
    assertEquals((await connect(options, { headers, authorizer })).status, expected);
  });
}

Deno.test("defineWebSocketHandler() passes what a method of its own returns", async () => {
  const auth = {
    mode: "ticket" as const,
    authenticate: (event: ApiEvent) => ({ userId: `from ${getQuery(event).get("who")}` }),
  };
  const handler = defineWebSocketHandler({ auth, logging: { level: "SILENT" }, metrics: false })(
    (params) => {
      if (params.eventType !== "CONNECT") return;
      return { statusCode: 200, body: params.userId };
    },
  );
  assertEquals(handler.auth, "ticket");
  const event = createWebSocketConnectEvent({ query: { who: "ada" } });
  assertEquals((await handler(event, context)).body, "from ada");
});

const BAD_OPTIONS: [options: object, message: string][] = [
  [
    { auth: "bearer" },
    'auth is "bearer": it must be session, authorizer, none, or a value such as session() of defineAuth or the result of',
  ],
  [{ auth: undefined }, "auth is undefined, which would lift what it protects"],
  [{ auth: { mode: "gateway-jwt", authenticate: () => ({}) } }, "auth is "],
  [{ auth: "none", origins: [] }, 'it must be a list of origins such as ["https://app.example'],
  [{ auth: "none", origins: ["*"] }, "it must be a list of origins"],
  [{ auth: "none", origins: ["https://app.example.com/"] }, "it must be a list of origins"],
  [{ auth: "none", origins: undefined }, "origins is undefined, which would lift"],
];

for (const [options, message] of BAD_OPTIONS) {
  Deno.test(`defineWebSocketHandler() refuses ${JSON.stringify(options)}: ${message}`, () => {
    assertThrows(() => defineWebSocketHandler(options as never), ConfigurationError, message);
  });
}
