import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import { isAlbEvent, isHttpApiEvent, isHttpEvent } from "../../core/http/api_event.ts";
import { UnexpectedError } from "../../errors/mod.ts";
import {
  type ApiEvent,
  buildValidatedResponse,
  getOutgoingHeaders,
  type ProxyResult,
} from "../../core/mod.ts";
import { logInfo } from "../../observability/mod.ts";
import {
  createAlbEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { mangled } from "./mangled.ts";
import { captureLog, quietly } from "./quietly.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("handlers", 1000);

const token = (): fc.Arbitrary<string> => fc.stringMatching(/^[A-Za-z0-9-]{1,12}$/);
const anyText = (): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string(),
    fc.string({ unit: anyCharacter }),
    fc.constantFrom("\r\nX: y", "\u009b31m\u2028", "\u007f\u0000\u001b[2J"),
  );

const headers = fc.dictionary(
  fc.oneof(
    fc.constantFrom(
      "Content-Type",
      "content-type",
      "Accept",
      "Authorization",
      "Origin",
      "X-Correlation-Id",
      "traceparent",
      "X-Amzn-Trace-Id",
    ),
    token(),
  ),
  fc.oneof(
    fc.constantFrom(
      "application/json",
      "application/x-www-form-urlencoded",
      "application/problem+json",
      "text/plain",
      "application/json; charset=latin1",
      "Bearer t",
    ),
    anyText(),
  ),
  { maxKeys: 6 },
);

const query = fc.dictionary(
  fc.oneof(fc.constantFrom("limit", "tags", "__proto__", "constructor"), anyText()),
  fc.oneof(anyText(), fc.array(anyText(), { minLength: 1, maxLength: 3 })),
  { maxKeys: 5 },
);

const body: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ title: fc.oneof(fc.string(), fc.integer()), tags: fc.array(anyText()) }, {
    requiredKeys: [],
  }),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom(
    undefined,
    "",
    "{",
    "[",
    "null",
    "\uFEFF{}",
    '{"__proto__":{"x":1}}',
    "title=a&tags=b&tags=c",
    "[".repeat(9999),
  ),
  anyText(),
  fc.uint8Array({ maxLength: 40 }),
);

const event: fc.Arbitrary<ApiEvent> = fc.record({
  make: fc.constantFrom(createRestApiEvent, createHttpApiEvent, createAlbEvent),
  method: fc.constantFrom("GET", "POST", "put", "DELETE"),
  path: anyText().map((text) => `/${text}`),
  headers,
  query,
  body,
  pathParameters: fc.dictionary(fc.constantFrom("noteId", "__proto__", "x"), anyText(), {
    maxKeys: 2,
  }),
  authorizer: fc.option(
    fc.record(
      {
        userId: anyText(),
        userStatus: fc.constantFrom("Authenticated", "Anonymous", "Unauthenticated", "x"),
      },
      {
        requiredKeys: [],
      },
    ),
    { nil: undefined },
  ),
  multiValue: fc.boolean(),
  claimsBase64: fc.boolean(),
}).map(({ make, claimsBase64, ...options }) => {
  const made = make(options);
  return claimsBase64 ? { ...made, isBase64Encoded: true } : made;
});

/** What API Gateway and a load balancer take for an answer. */
function assertWellFormed(asked: ApiEvent, answer: ProxyResult): void {
  assert(
    Number.isInteger(answer.statusCode) && answer.statusCode >= 100 && answer.statusCode <= 599,
  );
  assertEquals(typeof answer.body, "string");
  const allowed = new Set(["statusCode", "body", "isBase64Encoded"]);
  const all = isAlbEvent(asked) && !!asked.multiValueHeaders;
  for (
    const key of isHttpApiEvent(asked)
      ? ["headers", "cookies"]
      : all
      ? ["multiValueHeaders"]
      : ["headers", "multiValueHeaders"]
  ) {
    allowed.add(key);
  }
  for (const key of Object.keys(answer)) {
    assert(allowed.has(key), `${key} in an answer to ${JSON.stringify(asked)}`);
  }
  const values = [
    ...Object.values(answer.headers ?? {}),
    ...Object.values(answer.multiValueHeaders ?? {}).flat(),
  ];
  for (const value of values) {
    assert(["string", "number", "boolean"].includes(typeof value));
    assert(!/[\r\n\0]/.test(String(value)));
  }
  const names = Object.keys(answer.headers ?? answer.multiValueHeaders ?? {}).map((name) =>
    name.toLowerCase()
  )
    .filter((name) => name !== "set-cookie"); // a load balancer has several under spellings of one name
  assertEquals(new Set(names).size, names.length, "a header stands there twice");
  assert(names.includes("x-correlation-id"));
  if (answer.statusCode >= 400) {
    const parsed = JSON.parse(answer.body);
    assertEquals(typeof (parsed.message ?? parsed.detail), "string");
    assertEquals(parsed.correlationId, getHeaders(answer)["X-Correlation-Id"]);
  }
}

function getHeaders(answer: ProxyResult): Record<string, unknown> {
  const several = Object.entries(answer.multiValueHeaders ?? {}).map((
    [name, values],
  ) => [name, values[0]]);
  return { ...Object.fromEntries(several), ...answer.headers };
}

const schema = z.object({ title: z.string(), tags: z.array(z.string()).default([]) });
const querySchema = z.object({
  limit: z.coerce.number().optional(),
  tags: z.array(z.string()).optional(),
});
const pathSchema = z.object({ noteId: z.string() });

const HANDLERS = (["none", "authorizer", "authorizer-optional"] as const).flatMap((auth) => [
  defineApiHandler({
    auth,
    schema,
    querySchema,
    pathSchema,
    maxBodyBytes: 2000,
    cors: ["https://a.example", "https://b.example"],
  })(
    ({ body, query, path, context }) => buildValidatedResponse(context, 200, { body, query, path }),
  ),
  defineApiHandler({
    auth,
    querySchema: z.looseObject({}),
    logging: { level: "TRACE", logEvent: true, logResult: true },
  })(
    ({ query, context, event }) =>
      buildValidatedResponse(context, 200, query, undefined, {
        headers: { "X-Path": event.path ?? "" },
        cookies: ["a=1"],
      }),
  ),
]);

property(
  "a handler answers every event with a well formed result of its source's shape, never 5xx for a client's fault",
  fc.asyncProperty(event, fc.nat(HANDLERS.length - 1), async (asked, i) => {
    const before = JSON.stringify(asked);
    const answer = await HANDLERS[i](asked, createLambdaContext());
    assert(answer.statusCode < 500, `${answer.statusCode} for ${before}`);
    assertWellFormed(asked, answer);
    assertEquals(JSON.stringify(asked), before, "the event was changed");
    assertEquals(({} as Record<string, unknown>).x, undefined);
  }),
  quietly,
);

property(
  "a handler answers an HTTP event that no gateway sends, and rejects any other event",
  fc.asyncProperty(mangled(event), fc.nat(HANDLERS.length - 1), async (asked, i) => {
    const pending = HANDLERS[i](asked as ApiEvent, createLambdaContext());
    if (!isHttpEvent(asked)) {
      await assertRejects(() => pending, UnexpectedError, "no HTTP request");
      return;
    }
    const answer = await pending;
    assert(
      Number.isInteger(answer.statusCode) && answer.statusCode >= 200 && answer.statusCode <= 599,
    );
    assertEquals(typeof answer.body, "string");
    if (answer.statusCode >= 400) assertEquals(typeof JSON.parse(answer.body), "object");
  }),
  quietly,
);

property(
  "what a handler logs is lines of JSON without control characters, whatever comes in",
  fc.asyncProperty(event, async (asked) => {
    const writes = await captureLog(() => HANDLERS[1](asked, createLambdaContext()).then(() => {}));
    assertEquals(writes.length, 1);
    for (const line of writes[0].trimEnd().split("\n")) JSON.parse(line);
    // deno-lint-ignore no-control-regex
    assert(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(writes[0]));
  }),
  quietly,
);

const echo = defineApiHandler({
  auth: "authorizer",
  schema: z.object({ secret: z.string(), turns: z.number() }),
})(
  async ({ body, userId, metadata, context }) => {
    for (let turn = 0; turn < body.turns; turn++) await Promise.resolve();
    logInfo("turn", { given: body.secret });
    return buildValidatedResponse(context, 200, {
      secret: body.secret,
      userId,
      correlationId: metadata.correlationId,
      outgoing: getOutgoingHeaders()["X-Correlation-Id"],
    });
  },
);

property(
  "requests that run at the same time never see another's data, nor do their log lines",
  fc.asyncProperty(
    fc.array(fc.record({ secret: anyText(), turns: fc.nat(9) }), { maxLength: 12 }),
    async (requests) => {
      const writes = await captureLog(async () => {
        const answers = await Promise.all(requests.map((request, i) =>
          echo(
            createRestApiEvent({
              method: "POST",
              body: request,
              authorizer: { userId: `u${i}` },
              headers: { "X-Correlation-Id": `c${i}` },
            }),
            createLambdaContext(),
          )
        ));
        for (const [i, answer] of answers.entries()) {
          assertEquals(JSON.parse(answer.body), {
            secret: requests[i].secret.toWellFormed(),
            userId: `u${i}`,
            correlationId: `c${i}`,
            outgoing: `c${i}`,
          });
        }
      });
      const turns = writes.flatMap((text) => text.trimEnd().split("\n")).map((line) =>
        JSON.parse(line)
      )
        .filter(({ message }) => message === "turn");
      assertEquals(turns.length, requests.length);
      for (const line of turns) {
        const { secret } = requests[Number(line.correlation_id.slice(1))];
        assertEquals(line.given, secret.toWellFormed());
      }
    },
  ),
  quietly,
);

/** A handler that gives a header in two spellings gets both: which of them is intended is unknown. */
function inOneSpelling(headers: Record<string, string>): Record<string, string> {
  const names = Object.keys(headers);
  const isFirst = (name: string, at: number) =>
    names.findIndex((other) => other.toLowerCase() === name.toLowerCase()) === at;
  return Object.fromEntries(names.filter(isFirst).map((name) => [name, headers[name]]));
}

const headerText = fc.oneof(fc.string({ maxLength: 12 }), anyText());

property(
  "a handler's cookies arrive in their order, each once and on one line, whatever the source",
  fc.asyncProperty(
    fc.constantFrom(
      createRestApiEvent({}),
      createHttpApiEvent({}),
      createAlbEvent({}),
      createAlbEvent({ multiValue: true, headers: { Host: "a.example" } }),
    ),
    fc.array(headerText, { maxLength: 5 }),
    fc.dictionary(
      fc.oneof(
        token(),
        headerText,
        fc.constantFrom("toString", "constructor", "Set-Cookie", "Vary"),
      ),
      headerText,
      { maxKeys: 4 },
    ).map(inOneSpelling),
    async (asked, cookies, own) => {
      const handler = defineApiHandler()(() => ({
        statusCode: 200,
        body: "",
        cookies,
        headers: own,
      }));
      const answer = await handler(asked, createLambdaContext());
      assertWellFormed(asked, answer);
      const single = Object.entries(own).filter(([name]) => name.toLowerCase() === "set-cookie")
        .map(([, value]) => value);
      assertEquals(
        getCookies(answer),
        [...single, ...cookies].map((cookie) => cookie.replace(/[\0\r\n]+/g, " ")),
      );
      for (const name of Object.keys(getHeaders(answer))) {
        assert(/^[!-~]+$/.test(name), `a header is called ${name}`);
      }
    },
  ),
  quietly,
);

/** Where each source has the cookies of an answer. */
function getCookies(
  { headers = {}, multiValueHeaders = {}, cookies = [] }: ProxyResult,
): unknown[] {
  const isCookie = ([name]: [string, unknown]): boolean => name.toLowerCase() === "set-cookie";
  return [
    ...Object.entries(headers).filter(isCookie).map(([, value]) => value),
    ...Object.entries(multiValueHeaders).filter(isCookie).flatMap(([, values]) => values),
    ...cookies,
  ];
}
