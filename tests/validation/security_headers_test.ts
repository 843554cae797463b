import { assertEquals, assertThrows } from "@std/assert";
import { buildValidatedResponse } from "../../core/mod.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { ConfigurationError, NotFoundError } from "../../errors/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";

const quiet = { logging: { level: "SILENT" }, metrics: false } as const;
const NAMES = ["X-Content-Type-Options", "Cache-Control", "Strict-Transport-Security"];
const HTTPS = { headers: { "X-Forwarded-Proto": "https" } } as const;

type Handler = (event: ApiEvent, context: ReturnType<typeof createLambdaContext>) => Promise<{
  statusCode: number;
  headers?: Record<string, unknown>;
}>;

async function getSecurityHeaders(handler: Handler, event: ApiEvent): Promise<unknown[]> {
  const { headers = {} } = await handler(event, createLambdaContext());
  const lower = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return NAMES.map((name) => lower[name.toLowerCase()]);
}

const open = defineApiHandler(quiet)(({ context }) => buildValidatedResponse(context, 200, {}));

for (
  const [source, createEvent] of [
    ["a REST API", createRestApiEvent],
    ["an HTTP API", createHttpApiEvent],
    ["a function URL", createFunctionUrlEvent],
    ["a load balancer", createAlbEvent],
  ] as const
) {
  Deno.test(`defineApiHandler() sends security headers behind ${source}`, async () => {
    const get = (options: EventOptions, handler: Handler = open) =>
      getSecurityHeaders(handler, createEvent(options));
    assertEquals(await get({}), ["nosniff", undefined, undefined]);
    assertEquals(await get(HTTPS), ["nosniff", undefined, "max-age=31536000"]);
    const failing = defineApiHandler(quiet)(() => {
      throw new NotFoundError();
    });
    assertEquals(await get(HTTPS, failing), ["nosniff", undefined, "max-age=31536000"]);
    const raw = defineApiHandler(quiet)(() => ({ statusCode: 200, body: "x" }));
    assertEquals(await get({}, raw), ["nosniff", undefined, undefined]);
  });
}

Deno.test("defineApiHandler() keeps responses of authenticated handlers out of caches, errors too", async () => {
  const handler = defineApiHandler({ ...quiet, auth: "authorizer" })(({ context }) =>
    buildValidatedResponse(context, 200, {})
  );
  const known = createRestApiEvent({ authorizer: { userId: "u1", userStatus: "Authenticated" } });
  assertEquals((await handler(known, createLambdaContext())).statusCode, 200);
  assertEquals(await getSecurityHeaders(handler, known), ["nosniff", "no-store", undefined]);
  assertEquals((await handler(createRestApiEvent(), createLambdaContext())).statusCode, 401);
  assertEquals(await getSecurityHeaders(handler, createRestApiEvent()), [
    "nosniff",
    "no-store",
    undefined,
  ]);
});

Deno.test("defineApiHandler() prefers the headers of the handler, in any case", async () => {
  const handler = defineApiHandler({ ...quiet, auth: "authorizer" })(({ context }) =>
    buildValidatedResponse(context, 200, {}, undefined, {
      headers: { "cache-control": "private, max-age=60" },
    })
  );
  const event = createRestApiEvent({ authorizer: { userId: "u1", userStatus: "Authenticated" } });
  assertEquals(await getSecurityHeaders(handler, event), [
    "nosniff",
    "private, max-age=60",
    undefined,
  ]);
});

for (
  const [securityHeaders, expected] of [
    [false, [undefined, undefined, undefined]],
    [{}, ["nosniff", undefined, "max-age=31536000"]],
    [{ "x-content-type-options": false }, [undefined, undefined, "max-age=31536000"]],
    [
      { "Strict-Transport-Security": "max-age=60; includeSubDomains", "cache-control": "no-store" },
      ["nosniff", "no-store", "max-age=60; includeSubDomains"],
    ],
  ] as const
) {
  Deno.test(`defineApiHandler() takes securityHeaders ${JSON.stringify(securityHeaders)}`, async () => {
    const handler = defineApiHandler({ ...quiet, securityHeaders })(({ context }) =>
      buildValidatedResponse(context, 200, {})
    );
    assertEquals(await getSecurityHeaders(handler, createRestApiEvent(HTTPS)), [...expected]);
    const [, , transport] = await getSecurityHeaders(handler, createRestApiEvent());
    assertEquals(transport, undefined);
  });
}

for (
  const securityHeaders of [true, { "X Y": "a" }, { "X-A": "a\r\nSet-Cookie: b" }, { "X-A": 1 }]
) {
  Deno.test(`defineApiHandler() refuses securityHeaders ${JSON.stringify(securityHeaders)}`, () => {
    assertThrows(
      () => defineApiHandler({ securityHeaders } as object),
      ConfigurationError,
      "it must be false, or values by name",
    );
  });
}
