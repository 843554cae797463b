import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { isHttpEvent } from "../../core/http/api_event.ts";
import { buildValidatedResponse } from "../../core/mod.ts";
import type { ApiEvent, ProxyResult } from "../../core/http/lambda.ts";
import { getPreflightResponder } from "../../core/http/preflight.ts";
import { ConfigurationError, UnexpectedError } from "../../errors/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createQueueEvent,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { defineRouter, type RouteKey } from "../../router/mod.ts";
import { mangled } from "../property/mangled.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { testSeed } from "../support/seed.ts";

const quiet = { logging: { level: "SILENT" }, metrics: false } as const;

/** Answers with what it was called with. */
const echo = (name: string) =>
  defineApiHandler(quiet)(function echo({ event, context }) {
    const { pathParameters } = event;
    return buildValidatedResponse(context, 200, { name, pathParameters });
  });

const ROUTES: Readonly<Partial<Record<RouteKey, ReturnType<typeof echo>>>> = {
  "GET /": echo("root"),
  "GET /notes": echo("list"),
  "POST /notes": echo("create"),
  "GET /notes/{noteId}": echo("get"),
  "GET /notes/latest": echo("latest"),
  "ANY /files/{path+}": echo("files"),
};

const EVENTS: readonly (readonly [string, (options: EventOptions) => ApiEvent])[] = [
  ["a REST API", createRestApiEvent],
  ["an HTTP API", createHttpApiEvent],
  ["a function URL", createFunctionUrlEvent],
  ["a load balancer", createAlbEvent],
];

const router = defineRouter(ROUTES, { ...quiet });

async function call(event: ApiEvent, handler = router): Promise<ProxyResult> {
  return await handler(event, createLambdaContext());
}

for (const [source, createEvent] of EVENTS) {
  Deno.test(`defineRouter() passes decoded path parameters to the handler behind ${source}`, async () => {
    for (
      const [method, path, name, pathParameters] of [
        ["GET", "/", "root", null],
        ["GET", "/notes", "list", null],
        ["GET", "/notes/", "list", null],
        ["POST", "/notes", "create", null],
        ["GET", "/notes/latest", "latest", null],
        ["GET", "/notes/n%201%2F2", "get", { noteId: "n 1/2" }],
        ["GET", "/notes/%zz", "get", { noteId: "%zz" }],
        ["GET", "/notes/__proto__", "get", { noteId: "__proto__" }],
        ["DELETE", "/files/a/b%20c", "files", { path: "a/b c" }],
      ] as const
    ) {
      const { statusCode, body } = await call(createEvent({ method, path, resource: undefined }));
      const found = JSON.parse(body);
      assertEquals([statusCode, found.name, found.pathParameters ?? null], [
        200,
        name,
        pathParameters,
      ]);
    }
  });

  Deno.test(`defineRouter() answers unknown paths with 404 and unknown methods with 405 behind ${source}`, async () => {
    const unknown = await call(createEvent({ path: "/other" }));
    assertEquals([unknown.statusCode, JSON.parse(unknown.body).code], [404, "NOT_FOUND"]);
    const refused = await call(createEvent({ method: "DELETE", path: "/notes" }));
    assertEquals(refused.statusCode, 405);
    assertEquals(refused.headers?.Allow, "GET, HEAD, OPTIONS, POST");
  });

  Deno.test(`defineRouter() answers HEAD and OPTIONS behind ${source}`, async () => {
    const head = await call(createEvent({ method: "HEAD", path: "/notes" }));
    assertEquals([head.statusCode, head.body], [200, ""]);
    assertEquals(head.headers?.["Content-Type"], "application/json");
    const options = await call(createEvent({ method: "OPTIONS", path: "/notes/n1" }));
    assertEquals([options.statusCode, options.headers?.Allow, options.body], [
      204,
      "GET, HEAD, OPTIONS",
      "",
    ]);
  });
}

Deno.test("defineRouter() passes the event of a gateway that has the route unchanged", async () => {
  let given: unknown;
  const handler = defineRouter({
    "GET /notes/{noteId}": defineApiHandler(quiet)(({ event, context }) => {
      given = event;
      return buildValidatedResponse(context, 204);
    }),
  });
  const event = createRestApiEvent({
    path: "/notes/n1",
    resource: "/notes/{noteId}",
    pathParameters: { noteId: "n1" },
  });
  await call(event, handler);
  assertEquals(given === event, true);
});

Deno.test("defineRouter() ignores the base path of a custom domain and the stage of an HTTP API", async () => {
  const atBase = createRestApiEvent({
    path: "/v1/api/notes/n1",
    resource: "/notes/{noteId}",
    pathParameters: { noteId: "n1" },
  });
  assertEquals(JSON.parse((await call(atBase)).body).name, "get");
  const proxied = createRestApiEvent({
    path: "/v1/notes/latest",
    resource: "/{proxy+}",
    pathParameters: { proxy: "notes/latest" },
  });
  assertEquals(JSON.parse((await call(proxied)).body).name, "latest");
  const { requestContext, ...event } = createHttpApiEvent({ path: "/live/notes" });
  const staged = {
    ...event,
    routeKey: "$default",
    requestContext: { ...requestContext, stage: "live" },
  };
  assertEquals(JSON.parse((await call(staged)).body).name, "list");
});

Deno.test("defineRouter() takes the start of a path for the stage only where the gateway puts it", async () => {
  const { requestContext, ...event } = createHttpApiEvent({ path: "/live/notes" });
  const send = async (domainName: string, more: object) => {
    const staged = {
      ...event,
      ...more,
      requestContext: { ...requestContext, stage: "live", domainName },
    };
    return (await call(staged as never)).statusCode;
  };
  const own = "a1.execute-api.eu-west-1.amazonaws.com", custom = "api.example.com";
  assertEquals(await send(own, { routeKey: "$default" }), 200);
  assertEquals(await send(custom, { routeKey: "$default" }), 404);
  const proxied = { routeKey: "ANY /{proxy+}" };
  assertEquals(await send(own, { ...proxied, pathParameters: { proxy: "notes" } }), 200);
  assertEquals(await send(custom, { ...proxied, pathParameters: { proxy: "live/notes" } }), 404);
  const encoded = {
    ...proxied,
    rawPath: "/live/notes/a%2Fb",
    pathParameters: { proxy: "notes/a/b" },
  };
  assertEquals(await send(own, encoded), 200);
  const doubled = {
    ...proxied,
    rawPath: "/live/live/notes",
    pathParameters: { proxy: "live/notes" },
  };
  assertEquals(await send(own, doubled), 404);
});

Deno.test("defineRouter() rejects events of other triggers, and answers malformed requests", async () => {
  const handler = defineRouter({
    "GET /notes": defineApiHandler(quiet)(({ context }) => buildValidatedResponse(context, 200)),
  }, quiet);
  await assertRejects(
    () => handler(createQueueEvent([{ body: "x" }]) as never, createLambdaContext()),
    UnexpectedError,
    "no HTTP request",
  );
  const malformed = fc.asyncProperty(
    mangled(fc.constantFrom(createRestApiEvent(), createHttpApiEvent(), createAlbEvent())),
    async (event) => {
      const answer = await handler(event as never, createLambdaContext()).catch((error) => error);
      if (isHttpEvent(event)) assertEquals(typeof answer.statusCode, "number");
      else assertInstanceOf(answer, UnexpectedError);
    },
  );
  await fc.assert(malformed, { numRuns: 700, seed: testSeed });
});

Deno.test("defineRouter() answers a preflight request by the handler of the requested method", async () => {
  const handler = defineRouter({
    "GET /notes": defineApiHandler({ ...quiet, cors: "https://one.example" })(({ context }) =>
      buildValidatedResponse(context, 200)
    ),
    "POST /notes": defineApiHandler({ ...quiet, cors: "https://two.example" })(({ context }) =>
      buildValidatedResponse(context, 200)
    ),
    "PUT /notes": defineApiHandler(quiet)(() => {
      throw new Error("a preflight request must not reach the handler");
    }),
  }, quiet);
  const ask = (method: string) =>
    createRestApiEvent({
      method: "OPTIONS",
      path: "/notes",
      headers: { Origin: "https://two.example", "Access-Control-Request-Method": method },
    });
  const { statusCode, headers } = await call(ask("POST"), handler);
  assertEquals([statusCode, headers?.["Access-Control-Allow-Origin"]], [
    204,
    "https://two.example",
  ]);
  const responder = getPreflightResponder(handler)!;
  const local = await responder(ask("GET"));
  assertEquals(local?.headers?.["Access-Control-Allow-Origin"], "https://one.example");
  const without = await call(ask("PUT"), handler);
  assertEquals([without.statusCode, without.headers?.["Access-Control-Allow-Origin"]], [
    204,
    undefined,
  ]);
});

Deno.test("defineRouter() logs a request once, with the name of its handler or of the router", async () => {
  const handler = defineRouter(
    {
      "GET /notes": defineApiHandler({ metrics: false })(function listNotes({ context }) {
        return buildValidatedResponse(context, 200);
      }),
    },
    { operationName: "notes", metrics: false },
  );
  const { lines } = await captureLogs(async () => {
    await call(createRestApiEvent({ path: "/notes" }), handler);
    await call(createRestApiEvent({ path: "/none" }), handler);
  });
  assertEquals(lines.length, 2);
  assertStringIncludes(JSON.stringify(lines[0]), "listNotes");
  assertStringIncludes(JSON.stringify(lines[1]), '"notes"');
});

const handler = echo("x");
for (
  const [what, routes, message] of [
    ["no route", {}, "defineRouter needs routes"],
    ["an unknown method", { "FETCH /notes": handler }, 'The route "FETCH /notes" is invalid'],
    ["a path with a slash at the end", { "GET /notes/": handler }, "ends with a slash"],
    ["a colon parameter", { "GET /notes/:{id}": handler }, 'segment ":{id}"'],
    ["a rest before other segments", { "GET /{a+}/b": handler }, "{a+} must be the last segment"],
    ["a repeated parameter", { "GET /{a}/{a}": handler }, "the parameter a occurs twice"],
    [
      "two routes for the same requests",
      { "GET /notes/{a}": handler, "GET /notes/{b}": handler },
      "GET /notes/{a} and GET /notes/{b} match the same requests",
    ],
    ["a route without a handler", { "GET /": undefined }, "The route GET / has no handler"],
    [
      "a handler with settings of its own function",
      { "GET /": defineApiHandler({ timeout: 5 })(() => ({ statusCode: 200, body: "" })) },
      "The handler of GET / has the option timeout",
    ],
  ] as const
) {
  Deno.test(`defineRouter() refuses ${what}`, () => {
    assertThrows(() => defineRouter(routes as typeof ROUTES), ConfigurationError, message);
  });
}

Deno.test("defineRouter() refuses unknown options", () => {
  assertThrows(
    () => defineRouter(ROUTES, { prefix: "/v1" } as Record<string, unknown>),
    ConfigurationError,
    "defineRouter has no option prefix",
  );
});
