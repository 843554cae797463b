/**
 * Wrong responses below must not compile: an `@ts-expect-error` without an error fails `deno check`.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import {
  buildErrorResponse,
  buildValidatedResponse,
  type LambdaContext,
  type ProxyResult,
  undeclared,
} from "../../core/mod.ts";
import { ConfigurationError, NotFoundError } from "../../errors/mod.ts";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { type ApiHandler, defineApiHandler, reply } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const Note = z.object({
  id: z.string(),
  color: z.enum(["white", "red"]),
  tags: z.array(z.string()).default([]),
});
const Problem = z.object({ reason: z.string() });
const quiet = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;
const row = { id: "n1", color: "red" as const, passwordHash: "secret" };

// deno-lint-ignore no-explicit-any
async function call(handler: ApiHandler<any, any>): Promise<[number, unknown]> {
  const result: ProxyResult = await handler(createRestApiEvent(), createLambdaContext());
  return [result.statusCode, result.body === "" ? "" : JSON.parse(result.body)];
}

Deno.test("defineApiHandler() sends a returned body as its response schema parses it", async () => {
  const handler = defineApiHandler({ ...quiet, responseSchema: Note })(() => row);
  assertEquals(await call(handler), [200, { id: "n1", color: "red", tags: [] }]);
  const created = defineApiHandler({
    ...quiet,
    responseSchema: Note,
    openapi: { successStatus: 201 },
  })(() => Promise.resolve(row));
  assertEquals(await call(created), [201, { id: "n1", color: "red", tags: [] }]);
});

Deno.test("reply() sends the body of its status, with headers and cookies", async () => {
  const handler = defineApiHandler({ ...quiet, responses: { 201: Note, 409: Problem } })(
    ({ event }) =>
      event.headers?.full === "1"
        ? reply(409, { reason: "full" })
        : reply(201, row, { headers: { Location: "/notes/n1" }, cookies: ["a=b"] }),
  );
  const context = createLambdaContext();
  const made = await handler(createHttpApiEvent() as never, context);
  assertEquals([made.statusCode, made.headers?.Location, made.cookies], [201, "/notes/n1", [
    "a=b",
  ]]);
  assertEquals(JSON.parse(made.body), { id: "n1", color: "red", tags: [] });
  const full = await handler(createRestApiEvent({ headers: { full: "1" } }), context);
  assertEquals([full.statusCode, JSON.parse(full.body)], [409, { reason: "full" }]);
});

Deno.test("defineApiHandler() sends a body by itself if there is one status of success, and 204 without a body", async () => {
  const one = defineApiHandler({ ...quiet, responses: { 201: Note, 404: Problem } })(() => row);
  assertEquals((await call(one))[0], 201);
  const none = defineApiHandler({ ...quiet, responses: { 204: z.undefined() } })(() => undefined);
  assertEquals(await call(none), [204, ""]);
  const replied = defineApiHandler({ ...quiet, responses: { 204: z.undefined() } })(() =>
    reply(204)
  );
  assertEquals(await call(replied), [204, ""]);
});

Deno.test("reply() without a body compiles beside other statuses, and without declared responses", async () => {
  const empty = z.undefined();
  const isFull = (event: { headers: unknown }) => event.headers === null;
  const handlers = [
    defineApiHandler({ ...quiet, responses: { 200: Note, 204: empty } })(({ event }) =>
      isFull(event) ? reply(200, row) : reply(204)
    ),
    defineApiHandler({ ...quiet, responses: { 200: Note, 204: z.void() } })(({ event }) => {
      if (isFull(event)) return reply(200, row);
      return reply(204);
    }),
    defineApiHandler({ ...quiet, responses: { 200: Note, 204: empty } })(async ({ event }) => {
      if (isFull(event)) return reply(200, await Promise.resolve(row));
      return reply(204, undefined, { headers: { "X-Kept": "1" } });
    }),
    defineApiHandler({ ...quiet, responses: { 202: empty } })(() => reply(202)),
    defineApiHandler({ ...quiet, responses: { 202: empty, 409: Problem } })(({ event }) =>
      isFull(event) ? reply(409, { reason: "full" }) : reply(202)
    ),
    defineApiHandler(quiet)(() => reply(204)),
    defineApiHandler(quiet)(() => Promise.resolve(reply(202))),
  ];
  const statuses = [];
  for (const handler of handlers) statuses.push(await call(handler));
  assertEquals(statuses, [204, 204, 204, 202, 202, 204, 202].map((status) => [status, ""]));
});

Deno.test("reply() keeps literals of its body beside schemas of other statuses", async () => {
  const Full = z.object({ code: z.enum(["FULL", "CLOSED"]), at: z.array(z.enum(["a", "b"])) });
  const State = z.object({ state: z.enum(["open", "done"]), notes: z.array(Note) });
  const responses = { 200: State, 409: Full };
  const isOpen = (event: { headers: unknown }) => event.headers !== null;
  const handlers = [
    defineApiHandler({ ...quiet, responses })(({ event }) =>
      isOpen(event)
        ? reply(200, { state: "open", notes: [row] })
        : reply(409, { code: "FULL", at: ["a"] })
    ),
    defineApiHandler({ ...quiet, responses })(async ({ event }) => {
      await Promise.resolve();
      if (!isOpen(event)) return reply(409, { code: "FULL", at: ["a"] });
      return reply(200, { state: "done", notes: [] });
    }),
  ];
  const bodies = [];
  for (const handler of handlers) bodies.push((await call(handler))[1]);
  assertEquals(bodies, [
    { state: "open", notes: [{ id: "n1", color: "red", tags: [] }] },
    { state: "done", notes: [] },
  ]);
  const wide = { code: "FULL", at: [] };
  const refused = [
    // @ts-expect-error a text, which may be another code
    () => defineApiHandler({ ...quiet, responses })(() => reply(409, wide)),
    // @ts-expect-error no such code
    () => defineApiHandler({ ...quiet, responses })(() => reply(409, { code: "NO", at: [] })),
    // @ts-expect-error the body of another status
    () => defineApiHandler({ ...quiet, responses })(() => reply(200, { code: "FULL", at: [] })),
  ];
  assertEquals(refused.length, 3);
});

Deno.test("a handler that declares no responses cannot reply with a body", async () => {
  // @ts-expect-error nothing says what may be sent
  const handler = defineApiHandler(quiet)(() => reply(200, row));
  assertEquals((await call(handler))[0], 500);
});

Deno.test("a handler with schema and responses gets the body and replies with its status", async () => {
  const NoteInput = z.object({ color: z.enum(["white", "red"]) });
  const create = (note: z.infer<typeof NoteInput>) => Promise.resolve({ ...row, ...note });
  const handler = defineApiHandler({ ...quiet, schema: NoteInput, responses: { 201: Note } })(
    async ({ body }) => reply(201, await create(body)),
  );
  const event = createRestApiEvent({ method: "POST", body: { color: "white" } });
  const { statusCode, body } = await handler(event, createLambdaContext());
  assertEquals([statusCode, JSON.parse(body)], [201, { id: "n1", color: "white", tags: [] }]);
});

const PARSED = { id: "n1", color: "red", tags: [] };
const MADE: [name: string, make: (context: LambdaContext) => ProxyResult, expected: unknown][] = [
  [
    "buildValidatedResponse without a schema",
    (context) => buildValidatedResponse(context, 201, row),
    [201, PARSED],
  ],
  [
    "buildValidatedResponse with the same schema",
    (context) => buildValidatedResponse(context, 200, row, Note),
    [200, PARSED],
  ],
  [
    "buildValidatedResponse with another schema",
    (context) => buildValidatedResponse(context, 200, row, z.looseObject({})),
    [200, PARSED],
  ],
  [
    "a copy of a response",
    (context) => ({ ...buildValidatedResponse(context, 200, row), cookies: [] }),
    [200, PARSED],
  ],
  [
    "a proxy result by hand",
    () => ({ statusCode: 200, body: JSON.stringify(row) }),
    [200, PARSED],
  ],
  ["a redirect", () => ({ statusCode: 302, headers: { Location: "/" }, body: "" }), [302, ""]],
  ["304", (context) => buildValidatedResponse(context, 304, row), [304, ""]],
  [
    "buildErrorResponse",
    (context) => buildErrorResponse(context, new NotFoundError("No such note")),
    404,
  ],
  ["undeclared", () => undeclared({ statusCode: 418, body: '{"a":1}' }), [418, { a: 1 }]],
  ["undeclared text", () => undeclared({ statusCode: 200, body: '"csv"' }), [200, "csv"]],
  ["a body that does not fit", (context) => buildValidatedResponse(context, 200, { a: 1 }), 500],
  ["a body by hand that does not fit", () => ({ statusCode: 200, body: '{"a":1}' }), 500],
  ["a body that is not JSON", () => ({ statusCode: 200, body: "id,title" }), 500],
  ["a body in base64", () => ({ statusCode: 200, body: "e30=", isBase64Encoded: true }), 500],
  ["a body that is missing", (context) => buildValidatedResponse(context, 200), 500],
  ["204", (context) => buildValidatedResponse(context, 204), 500],
  ["an error status", (context) => buildValidatedResponse(context, 404, row), 500],
  ["a redirect with a body", () => ({ statusCode: 302, body: JSON.stringify(row) }), 500],
];

for (const [name, make, expected] of MADE) {
  Deno.test(`defineApiHandler() enforces responseSchema for ${name}`, async () => {
    const single = defineApiHandler({ ...quiet, responseSchema: Note });
    const answer = await call(single(({ context }) => make(context)));
    assertEquals(typeof expected === "number" ? answer[0] : answer, expected);
  });
  Deno.test(`defineApiHandler() enforces responses for ${name}`, async () => {
    const several = defineApiHandler({ ...quiet, responses: { 200: Note, 201: Note } });
    const answer = await call(several(({ context }) => make(context)));
    assertEquals(typeof expected === "number" ? answer[0] : answer, expected);
  });
}

Deno.test("defineApiHandler() sends statuses of openapi.responses that have no body", async () => {
  const openapi = { responses: { 204: "Nothing is new" } };
  const handler = defineApiHandler({ ...quiet, responseSchema: Note, openapi })(({ context }) =>
    buildValidatedResponse(context, 204)
  );
  assertEquals(await call(handler), [204, ""]);
});

Deno.test("defineApiHandler() parses each body once, also by a schema that transforms", async () => {
  const Counted = z.object({ n: z.number().transform((n) => n + 1), at: z.date().optional() });
  const value = { n: 1, at: new Date(0) };
  const make = [
    () => value,
    () => reply(200, value),
    (context: LambdaContext) => buildValidatedResponse(context, 200, value),
    (context: LambdaContext) => buildValidatedResponse(context, 200, value, Counted),
  ];
  for (const each of make) {
    const handler = defineApiHandler({ ...quiet, responses: { 200: Counted } })(({ context }) =>
      each(context)
    );
    assertEquals(await call(handler), [200, { n: 2, at: "1970-01-01T00:00:00.000Z" }]);
  }
});

Deno.test("defineApiHandler() parses a body that was replaced after it was built", async () => {
  const handler = defineApiHandler({ ...quiet, responses: { 200: Note } })(({ context }) => {
    const result = buildValidatedResponse(context, 200, row, Note);
    result.body = JSON.stringify({ ...row, added: true });
    return result;
  });
  assertEquals(await call(handler), [200, { id: "n1", color: "red", tags: [] }]);
});

Deno.test("defineApiHandler() answers 500 when a body does not fit, and names the fields in the log only", async () => {
  const logs = await captureLogs(async () => {
    const handler = defineApiHandler({ responseSchema: Note, metrics: false })(() =>
      ({ id: "n1", color: "blue" }) as never
    );
    const [status, body] = await call(handler);
    assertEquals(status, 500);
    assertEquals(JSON.stringify(body).includes("color"), false);
  });
  assertStringIncludes(JSON.stringify(logs), "does not fit its schema: color");
});

Deno.test("defineApiHandler() answers 500 for a status that `responses` does not have, and for a body without a single status", async () => {
  const unknown = defineApiHandler({ ...quiet, responses: { 200: Note } })(() =>
    reply(418, row) as never
  );
  assertEquals((await call(unknown))[0], 500);
  const several = defineApiHandler({ ...quiet, responses: { 200: Note, 201: Note } })(() =>
    row as never
  );
  assertEquals((await call(several))[0], 500);
});

Deno.test("validateResponses chooses where bodies are validated", async () => {
  const wrong = { id: 7, extra: true } as never;
  const make = (validateResponses: "always" | "development" | "never") =>
    defineApiHandler({ ...quiet, responseSchema: Note, validateResponses })(() => wrong);
  const statuses = async () => [
    (await call(make("always")))[0],
    (await call(make("development")))[0],
    (await call(make("never")))[0],
  ];
  assertEquals(await statuses(), [500, 500, 200]);
  await withEnv({ LAMBDA_TASK_ROOT: "/var/task" }, async () => {
    assertEquals(await statuses(), [500, 200, 200]);
  });
});

Deno.test("defineApiHandler() parses the headers that a response declares", async () => {
  const Created = {
    body: Note,
    headers: z.object({ location: z.string().startsWith("/"), "x-left": z.number().optional() }),
  };
  const responses = { 201: Created, 302: { headers: z.object({ location: z.url() }) } };
  const create = (make: (context: LambdaContext) => unknown) =>
    defineApiHandler({ ...quiet, responses })(({ context }) => make(context) as never);
  const get = async (make: (context: LambdaContext) => unknown) => {
    const { statusCode, headers } = await create(make)(createRestApiEvent(), createLambdaContext());
    return [
      statusCode,
      headers?.location,
      headers?.Location,
      headers?.["x-left"],
      headers?.["X-Kept"],
    ];
  };
  const location = "/notes/n1";
  const sent = { headers: { location, "x-left": 3, "X-Kept": "1" } };
  assertEquals(await get(() => reply(201, row, sent)), [201, location, undefined, 3, "1"]);
  const built = (name: string) => (context: LambdaContext) =>
    buildValidatedResponse(context, 201, row, Note, { headers: { [name]: location } });
  assertEquals((await get(built("Location"))).slice(0, 3), [201, location, undefined]);
  assertEquals((await get(built("Elsewhere")))[0], 500);
  assertEquals((await get(() => reply(201, row)))[0], 500);
  const redirect = { headers: { location: "https://example.com" } };
  assertEquals((await get(() => reply(302, undefined, redirect)))[0], 302);
  assertEquals((await get(() => reply(302, "body", redirect)))[0], 500);
  assertEquals((await get(() => ({ statusCode: 302, ...redirect, body: "" })))[0], 302);
});

Deno.test("defineApiHandler() waits for a response schema that is asynchronous", async () => {
  const Slow = Note.refine((note) => Promise.resolve(note.id !== "bad"));
  const make = (id: string) =>
    defineApiHandler({ ...quiet, responseSchema: Slow })(() => ({ ...row, id }));
  assertEquals((await call(make("n1")))[0], 200);
  assertEquals((await call(make("bad")))[0], 500);
});

Deno.test("defineApiHandler() refuses responses that contradict each other", () => {
  const refuse = (options: object, text: string) =>
    assertStringIncludes(
      assertThrows(() => defineApiHandler(options), ConfigurationError).message,
      text,
    );
  refuse({ responseSchema: Note, responses: { 200: Note } }, "not both");
  refuse({ responses: {} }, "by status");
  refuse({ responses: { 100: Note } }, "by status");
  refuse({ responses: { ok: Note } }, "by status");
  refuse({ responses: { 200: "Note" } }, "by status");
  refuse({ responses: { 200: {} } }, "by status");
  refuse({ responses: { 200: { schema: Note } } }, "by status");
  const headers = z.object({ Location: z.string() });
  refuse({ responses: { 201: { headers } } }, "responses[201].headers has the field Location");
  refuse({ headers }, "lower case");
  refuse({ headers: z.object({ cookie: z.string() }) }, "set cookies instead");
  refuse({ validateResponses: "sometimes" }, "validateResponses");
});

Deno.test("wrong responses do not compile", () => {
  const single = defineApiHandler({ responseSchema: Note });
  // @ts-expect-error a field has the wrong type
  single(() => ({ id: 3, color: "red" }));
  // @ts-expect-error a field is missing
  single(() => ({ id: "n1" }));
  // @ts-expect-error a value is not in the enum
  single(() => reply(201, { id: "n1", color: "blue" }));
  // @ts-expect-error errors are thrown
  single(() => reply(404, row));
  const several = defineApiHandler({ responses: { 200: Note, 201: Note, 404: Problem } });
  // @ts-expect-error the body belongs to another status
  several(() => reply(404, row));
  // @ts-expect-error the status is not declared
  several(() => reply(409, { reason: "taken" }));
  const located = { body: Note, headers: z.object({ location: z.string() }) };
  const withHeaders = defineApiHandler({ responses: { 201: located, 404: Problem } });
  withHeaders(() => reply(201, row, { headers: { location: "/notes/n1", "X-Other": "1" } }));
  withHeaders(({ event }) =>
    event.body
      ? reply(404, { reason: "gone" }, { cookies: ["a=b"] })
      : reply(201, row, { headers: { location: "/" } })
  );
  // @ts-expect-error a header is missing
  withHeaders(() => reply(201, row));
  // @ts-expect-error a header is missing
  withHeaders(() => row);
  // @ts-expect-error a header has the wrong type
  withHeaders(() => reply(201, row, { headers: { location: 1 } }));
  // @ts-expect-error there are two statuses of success
  several(() => row);
  // @ts-expect-error without schemas only proxy results are returned
  defineApiHandler({})(() => row);
  const inferred = defineApiHandler({ schema: Note, responses: { 200: Note } })(({ body }) => ({
    ...body,
    color: "white",
  }));
  assertEquals(typeof inferred.handler, "function");
});
