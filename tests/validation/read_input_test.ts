import { assertEquals } from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import { buildValidatedResponse } from "../../core/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import type { AnyOptions } from "../../validation/check_options.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

const context = createLambdaContext({ clock: createFakeClock() });
const SOURCES: [
  string,
  (
    options: EventOptions,
  ) => ReturnType<typeof createRestApiEvent | typeof createHttpApiEvent | typeof createAlbEvent>,
][] = [
  ["REST API", createRestApiEvent],
  ["HTTP API", createHttpApiEvent],
  ["function URL", createFunctionUrlEvent],
  ["load balancer", createAlbEvent],
  ["load balancer with all values", (options) => createAlbEvent({ ...options, multiValue: true })],
];

interface Answer {
  status: number;
  errors: unknown;
  seen: Record<string, unknown> | undefined;
}

async function ask(
  options: AnyOptions,
  event: ReturnType<typeof SOURCES[number][1]>,
): Promise<Answer> {
  let seen: Record<string, unknown> | undefined;
  const handler = defineApiHandler({ metrics: false, ...options })((params) => {
    const { event: _e, context: _c, metadata: _m, ...rest } = params as unknown as Record<
      string,
      unknown
    >;
    seen = rest;
    return buildValidatedResponse(context, 200, {});
  });
  const { result } = await captureLogs(() => handler(event, context));
  return { status: result.statusCode, errors: JSON.parse(result.body).errors, seen };
}

const Query = z.object({
  q: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  tags: z.array(z.string()).optional(),
  ids: z.preprocess((value) => value, z.array(z.coerce.number()).default([])),
});

for (const [name, make] of SOURCES) {
  const all = name !== "load balancer";

  Deno.test(`a query of a ${name} is decoded, coerced and given its defaults`, async () => {
    const { seen } = await ask(
      { querySchema: Query },
      make({ query: { q: "a b&c=d+é%", limit: "5", more: "1" } }),
    );
    assertEquals(seen, { query: { q: "a b&c=d+é%", limit: 5, ids: [] } });
    assertEquals((await ask({ querySchema: Query }, make({}))).seen, {
      query: { limit: 20, ids: [] },
    });
  });

  Deno.test(`a query of a ${name} gives a list where the schema asks for one, else the last value`, async () => {
    const query = { q: ["first", "last"], tags: "one", ids: ["1", "2"], limit: ["1", "2"] };
    const { seen } = await ask({ querySchema: Query }, make({ query }));
    assertEquals(seen, { query: { q: "last", tags: ["one"], ids: all ? [1, 2] : [2], limit: 2 } });
  });

  Deno.test(`a query of a ${name} that does not fit is answered with 400 by field`, async () => {
    const { status, errors, seen } = await ask(
      { querySchema: Query },
      make({ query: { limit: "0", ids: "x" } }),
    );
    assertEquals([status, Object.keys(errors as object), seen], [
      400,
      ["limit", "ids.0"],
      undefined,
    ]);
  });

  Deno.test(`a query of a ${name} has no key that becomes a prototype`, async () => {
    const schema = z.looseObject({});
    const { seen } = await ask(
      { querySchema: schema },
      make({ query: JSON.parse('{"__proto__":"x","constructor":"y","a":"1"}') }),
    );
    const query = seen?.query as Record<string, unknown>;
    assertEquals([Object.getPrototypeOf(query), query.a, query.constructor], [
      Object.prototype,
      "1",
      "y",
    ]);
  });
}

const Headers = z.object({
  "x-tenant": z.string(),
  "x-limit": z.coerce.number().max(9).optional(),
});
const Cookies = z.object({ theme: z.enum(["light", "dark"]), note: z.string().optional() });

for (const [name, make] of SOURCES) {
  Deno.test(`headers and cookies of a ${name} are validated and coerced`, async () => {
    const options = { headers: Headers, cookies: Cookies };
    const cookie = 'theme="dark"; note=a%20b; theme=light; __proto__=x; broken';
    const headers = { "X-Tenant": "t1", "X-Limit": "5", "X-Other": "1", Cookie: cookie };
    const { seen } = await ask(options, make({ headers }));
    assertEquals(seen, {
      headers: { "x-tenant": "t1", "x-limit": 5 },
      cookies: { theme: "dark", note: "a b" },
    });
    const { status, errors } = await ask(
      options,
      make({ headers: { "X-Limit": "10", Cookie: "theme=red" } }),
    );
    assertEquals([status, Object.keys(errors as object)], [400, [
      "headers.x-tenant",
      "headers.x-limit",
      "cookies.theme",
    ]]);
    const alone = await ask({ headers: Headers }, make({}));
    assertEquals([alone.status, Object.keys(alone.errors as object)], [400, ["x-tenant"]]);
  });
}

Deno.test("path parameters are validated and coerced", async () => {
  const pathSchema = z.object({ noteId: z.uuid(), page: z.coerce.number() });
  const noteId = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
  for (const make of [createRestApiEvent, createHttpApiEvent]) {
    const good = await ask({ pathSchema }, make({ pathParameters: { noteId, page: "2" } }));
    assertEquals(good.seen, { path: { noteId, page: 2 } });
    const bad = await ask(
      { pathSchema },
      make({ pathParameters: { noteId: "../etc", page: "2" } }),
    );
    assertEquals([bad.status, Object.keys(bad.errors as object)], [400, ["noteId"]]);
    const missing = await ask({ pathSchema }, make({}));
    assertEquals([missing.status, Object.keys(missing.errors as object)], [400, [
      "noteId",
      "page",
    ]]);
  }
});

Deno.test("a schema sees a copy of the path parameters", async () => {
  const pathParameters = { id: "1" };
  const schema = z.looseObject({}).transform((path) => {
    path.id = "changed";
    return path;
  });
  await ask({ pathSchema: schema }, createRestApiEvent({ pathParameters }));
  assertEquals(pathParameters, { id: "1" });
});

const Part = z.object({
  a: z.literal("x", "not x"),
  b: z.object({ c: z.literal("y", "not y") }).optional(),
});
const GOOD = { a: "x" }, BAD = { a: "z" };

/** Which inputs are at fault; keys of the answer. */
const FAULTS: [
  body: unknown,
  query: Record<string, string>,
  path: Record<string, string>,
  keys: string[],
][] = [
  [BAD, GOOD, GOOD, ["a"]],
  [GOOD, BAD, GOOD, ["a"]],
  [GOOD, GOOD, BAD, ["a"]],
  [BAD, BAD, GOOD, ["query.a", "a"]],
  [BAD, GOOD, BAD, ["path.a", "a"]],
  [GOOD, BAD, BAD, ["path.a", "query.a"]],
  [BAD, BAD, BAD, ["path.a", "query.a", "a"]],
  [{ a: "x", b: { c: "z" } }, BAD, GOOD, ["query.a", "b.c"]],
  ["{", BAD, GOOD, ["query.a", "_form"]],
  [undefined, GOOD, GOOD, ["_form"]],
];

for (const [body, query, pathParameters, keys] of FAULTS) {
  Deno.test(`faults are told together for body ${JSON.stringify(body)}, query ${query.a}, path ${pathParameters.a}`, async () => {
    const options = { schema: Part, querySchema: Part, pathSchema: Part };
    const event = createRestApiEvent({ method: "POST", body, query, pathParameters });
    const { status, errors, seen } = await ask(options, event);
    assertEquals([status, seen], [400, undefined]);
    assertEquals(Object.keys(errors as object), keys);
  });
}

Deno.test("faults of a whole query or path say where they are", async () => {
  const never = z.object({}).refine(() => false, "no");
  const { errors } = await ask({ querySchema: never, pathSchema: never }, createRestApiEvent());
  assertEquals(errors, { "path._form": ["no"], "query._form": ["no"] });
});

Deno.test("a fault that has the same key in two inputs loses none of its messages", async () => {
  const schema = z.object({ "query.a": z.literal("x", "body's") });
  const event = createRestApiEvent({ method: "POST", body: {}, query: BAD });
  const { errors } = await ask({ schema, querySchema: Part }, event);
  assertEquals(errors, { "query.a": ["not x", "body's"] });
});

Deno.test("synchronous and asynchronous schemas work side by side", async () => {
  const taken = z.object({
    name: z.string().refine(async (name) => await Promise.resolve(name !== "taken"), "taken"),
  });
  for (const [schema, querySchema] of [[taken, Part], [Part, taken], [taken, taken]]) {
    for (const name of ["free", "taken"]) {
      const event = createRestApiEvent({
        method: "POST",
        body: { name, ...GOOD },
        query: { name, ...GOOD },
      });
      const { status, seen } = await ask({ schema, querySchema }, event);
      assertEquals(status, name === "free" ? 200 : 400);
      if (status === 200) assertEquals(Object.keys(seen ?? {}).sort(), ["body", "query"]);
    }
  }
});

Deno.test("schemas of zod/mini and compiled schemas work", async () => {
  const event = createRestApiEvent({ method: "POST", body: { a: 1 }, query: { a: ["1", "2"] } });
  const schema = z.compile(z.object({ a: z.number() }));
  const querySchema = mini.object({ a: mini.array(mini.string()) });
  assertEquals((await ask({ schema, querySchema }, event)).seen, {
    body: { a: 1 },
    query: { a: ["1", "2"] },
  });
  const compiledQuery = z.compile(z.object({ a: z.array(z.string()) }));
  assertEquals((await ask({ querySchema: compiledQuery }, event)).seen, {
    query: { a: ["1", "2"] },
  });
});

Deno.test("a schema may refer through z.lazy to one that is declared further down", async () => {
  // deno-lint-ignore prefer-const
  let Later: z.ZodType;
  const querySchema = z.object({ a: z.lazy(() => Later) });
  const handler = defineApiHandler({ querySchema, metrics: false })(({ query }) =>
    buildValidatedResponse(context, 200, query)
  );
  Later = z.array(z.string());
  const { result } = await captureLogs(() =>
    handler(createRestApiEvent({ query: { a: "1" } }), context)
  );
  assertEquals(JSON.parse(result.body), { a: ["1"] });
});

Deno.test("a body that the schema makes optional can be empty or null", async () => {
  const event = (body?: unknown) =>
    createRestApiEvent({
      method: "POST",
      headers: { "Content-Type": "application/json" },
      ...body !== undefined && { body },
    });
  const Fields = z.object({ title: z.string() });
  const cases: [z.ZodType, unknown, [number, unknown]][] = [
    [Fields.optional(), undefined, [200, undefined]],
    [Fields.optional(), "null", [200, undefined]],
    [Fields.nullable(), "null", [200, null]],
    [Fields.default({ title: "Milk" }), "null", [200, { title: "Milk" }]],
    [Fields.optional(), { title: "Tea" }, [200, { title: "Tea" }]],
    [Fields, undefined, [400, undefined]],
    [Fields, "null", [400, undefined]],
    [Fields.optional(), {}, [400, undefined]],
  ];
  for (const [schema, body, expected] of cases) {
    const { status, seen } = await ask({ schema }, event(body));
    assertEquals([status, seen?.body], expected);
  }
});
