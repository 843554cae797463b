import { assert, assertEquals, assertFalse, assertLess, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { gzipSync } from "node:zlib";
import type { ApiEvent, ProxyResult } from "../../core/mod.ts";
import { logInfo } from "../../observability/mod.ts";
import {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

const context = createLambdaContext({ timeoutMs: 600_000 });
const SOURCES = [createRestApiEvent, createHttpApiEvent, createFunctionUrlEvent, createAlbEvent];
const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded" };

type Seen = { status: number; body: unknown; query: unknown; path: unknown; answer: string };

/** Sends an event and returns what reached the handler. */
async function send(
  event: ApiEvent,
  schemas: Parameters<typeof defineApiHandler>[0],
): Promise<Seen> {
  const seen: Seen = { status: 0, body: undefined, query: undefined, path: undefined, answer: "" };
  const handler = defineApiHandler({ metrics: false, ...schemas })((params) => {
    Object.assign(seen, { body: undefined, query: undefined, path: undefined }, params, {
      event: undefined,
    });
    logInfo("called", { body: seen.body, query: seen.query });
    return { statusCode: 200, body: "" } as ProxyResult;
  });
  const { result } = await captureLogs(() => handler(event, context));
  return { ...seen, status: result.statusCode, answer: result.body ?? "" };
}

function withBody(body: string, headers: Record<string, string> = JSON_TYPE): ApiEvent {
  return Object.assign(createRestApiEvent({ method: "POST", headers }), {
    body,
    isBase64Encoded: false,
  });
}

const POLLUTED = "polluted4711";

function assertClean(): void {
  assertFalse(POLLUTED in {}, "Object.prototype was changed");
  assertFalse(POLLUTED in [], "Array.prototype was changed");
  assertFalse(POLLUTED in (() => {}), "Function.prototype was changed");
}

const LOOSE = z.looseObject({});
const RECORD = z.record(z.string(), z.unknown());

Deno.test("no body changes a prototype: JSON is rejected, forms lose the key", async () => {
  const bodies = [
    `{"__proto__":{"${POLLUTED}":1}}`,
    `{"a":{"__proto__":{"${POLLUTED}":1}}}`,
    `[[{"__proto__":{"${POLLUTED}":1}}]]`,
    `{"\\u005f_proto__":{"${POLLUTED}":1}}`,
    `{"\\u005F\\u005Fproto\\u005f_":{"${POLLUTED}":1}}`,
    `{"constructor":{"prototype":{"${POLLUTED}":1}}}`,
    `{"constructor":{"prot\\u006ftype":{"${POLLUTED}":1}}}`,
    `{"con\\u0073tructor":{"prototype":{"${POLLUTED}":1}}}`,
    `{"a":[{"constructor":{"prototype":{"${POLLUTED}":1}}}]}`,
  ];
  for (const body of bodies) {
    for (const schema of [LOOSE, RECORD, z.any(), z.json()]) {
      const { status, answer } = await send(withBody(body), { schema });
      assertEquals(status, 400, body);
      assertStringIncludes(answer, "__proto__", body);
    }
    assertClean();
  }
  for (
    const text of [
      `__proto__[${POLLUTED}]=1`,
      `__proto__=1&a=2`,
      `constructor[prototype][${POLLUTED}]=1`,
    ]
  ) {
    const seen = await send(withBody(text, FORM_TYPE), { schema: LOOSE });
    assertEquals(seen.status, 200);
    assertEquals(Object.getPrototypeOf(seen.body), Object.prototype);
    assertFalse(Object.hasOwn(seen.body as object, "__proto__"));
    assertEquals((seen.body as { a?: string }).a, text.includes("a=2") ? "2" : undefined);
    assertClean();
  }
});

Deno.test("a body that mentions prototypes in its values is accepted unchanged", async () => {
  const body = {
    text: 'the "__proto__" and "prototype" of \\u0041',
    prototype: 1,
    constructor: "x",
  };
  const seen = await send(withBody(JSON.stringify(body)), { schema: LOOSE });
  assertEquals([seen.status, JSON.stringify(seen.body)], [200, JSON.stringify(body)]);
});

for (const make of SOURCES) {
  Deno.test(`no header, query or path parameter of ${make.name}() changes a prototype`, async () => {
    const hostile = JSON.parse(
      `{"__proto__":"${POLLUTED}","constructor":"c","toString":"t","hasOwnProperty":"h"}`,
    );
    const event = make({ method: "POST", headers: hostile, query: hostile, body: {} }) as
      & ApiEvent
      & {
        pathParameters?: unknown;
      };
    event.pathParameters = hostile;
    const seen = await send(event, { querySchema: LOOSE, pathSchema: LOOSE });
    assertEquals(seen.status, 200, seen.answer);
    assertClean();
    for (const input of [seen.query, seen.path]) {
      assertEquals(Object.getPrototypeOf(input), Object.prototype);
    }
  });
}

const DEEP = 100_000;
const deep = (open: string, close: string) => open.repeat(DEEP) + "1" + close.repeat(DEEP);

Deno.test("a body nested 100,000 levels deep is accepted or answered with 400, never with 500", async () => {
  type Nested = { a?: Nested } | Nested[];
  const recursive: z.ZodType<Nested> = z.lazy(() =>
    z.union([z.object({ a: recursive.optional() }), z.array(recursive)])
  );
  for (const body of [deep("[", "]"), deep('{"a":', "}"), "[".repeat(DEEP), deep('[{"a":', "}]")]) {
    for (const schema of [z.object({ a: z.string() }), z.any(), z.json(), LOOSE, recursive]) {
      const { status, answer } = await send(withBody(body), { schema });
      assert(status === 200 || status === 400, answer);
      assertLess(answer.length, 2000);
    }
  }
});

Deno.test("a body of 50,000 keys gets a short response for every kind of error", async () => {
  const keys = Array.from({ length: 50_000 }, (_, i) => `"key${i}":1`).join(",");
  const schemas: [z.ZodType, number][] = [
    [LOOSE, 200],
    [z.object({}), 200],
    [z.strictObject({}), 400],
    [z.record(z.string(), z.string()), 400],
    [z.record(z.string().max(3), z.number()), 400],
    [z.record(z.string(), z.string()).refine(() => true), 400],
  ];
  for (const [schema, expected] of schemas) {
    const { status, answer } = await send(withBody(`{${keys}}`), { schema });
    assertEquals(status, expected);
    assertLess(answer.length, 50_000);
  }
});

Deno.test("a body of a million keys exceeds the limit and is rejected before it is parsed", async () => {
  const keys = Array.from({ length: 1_000_000 }, (_, i) => `"${i.toString(36)}":1`).join(",");
  assertEquals((await send(withBody(`{${keys}}`), { schema: LOOSE })).status, 413);
  assertEquals((await send(withBody(`{${keys}`), { schema: LOOSE })).status, 413);
});

Deno.test("a list of 200,000 errors gets a short 400, even if zod's stack overflows", async () => {
  const wrong = `{"items":[${Array(200_000).fill('""').join(",")}]}`;
  const first = await send(withBody(wrong), { schema: z.object({ items: z.array(z.number()) }) });
  assertEquals(
    [first.status, Object.keys(JSON.parse(first.answer).errors)],
    [400, ["items.0"]],
    "zod goes on",
  );
  const items: z.ZodType[] = [
    z.string().min(1),
    z.string().refine((text) => text !== ""),
    z.string().min(1).transform((text) => text.length),
    z.preprocess((text) => text, z.string().min(1)),
  ];
  for (const item of items) {
    const { status, answer } = await send(withBody(wrong), {
      schema: z.object({ items: z.array(item) }),
    });
    assertEquals(status, 400);
    assertLess(answer.length, 50_000);
  }
  const awaited = z.object({
    items: z.array(z.string().min(1)),
    id: z.string().default("x").refine(() => Promise.resolve(true)),
  });
  assertEquals((await send(withBody(wrong), { schema: awaited })).status, 400);
});

Deno.test("a response lists up to 100 errors of a body, and says how many more it found", async () => {
  const schema = z.object({ items: z.array(z.number()) });
  const faults = (count: number) =>
    send(withBody(JSON.stringify({ items: Array(count).fill("x") })), { schema }).then((
      { answer },
    ) => JSON.parse(answer).errors);
  assertEquals(Object.keys(await faults(100)).length, 100);
  const many = await faults(5000);
  assertEquals([Object.keys(many).length, many._form], [101, ["4900 more errors are not listed"]]);
  // names of fields and messages are the client's own text
  const { answer } = await send(withBody(`{"${"k".repeat(100_000)}":1}`), {
    schema: z.strictObject({}),
  });
  assertLess(answer.length, 1000);
  const named = await send(withBody(`{"${"k".repeat(100_000)}":1}`), {
    schema: z.record(z.string(), z.string()),
  });
  assertLess(named.answer.length, 1000);
});

Deno.test("a query of 10,000 values is accepted: as an array if the schema has one, else as the last value", async () => {
  const values = Array.from({ length: 10_000 }, (_, i) => `v${i}`);
  const query = { tag: values };
  const makers = [
    createRestApiEvent,
    createHttpApiEvent,
    (o: EventOptions) => createAlbEvent({ ...o, multiValue: true }),
  ];
  for (const make of makers) {
    const list = await send(make({ query }), {
      querySchema: z.object({ tag: z.array(z.string()) }),
    });
    assertEquals([list.status, (list.query as { tag: string[] }).tag.length], [200, 10_000]);
    const last = await send(make({ query }), { querySchema: z.object({ tag: z.string() }) });
    assertEquals([last.status, last.query], [200, { tag: "v9999" }]);
    const wrong = await send(make({ query }), {
      querySchema: z.object({ tag: z.array(z.coerce.number()) }),
    });
    assertEquals(wrong.status, 400);
    assertLess(wrong.answer.length, 50_000);
  }
});

Deno.test("the size limit of a body counts its bytes, not its Content-Length", async () => {
  const options = { schema: z.any(), maxBodyBytes: 1000 };
  assertEquals((await send(withBody(JSON.stringify("x".repeat(998))), options)).status, 200);
  assertEquals((await send(withBody(JSON.stringify("x".repeat(999))), options)).status, 413);
  assertEquals((await send(withBody(JSON.stringify("é".repeat(500))), options)).status, 413);
  const small = withBody(JSON.stringify("x".repeat(5000)), { ...JSON_TYPE, "Content-Length": "5" });
  assertEquals((await send(small, options)).status, 413);
  const base64 = Object.assign(withBody(btoa(JSON.stringify("x".repeat(2000)))), {
    isBase64Encoded: true,
  });
  assertEquals((await send(base64, options)).status, 413);
});

Deno.test("a compressed body is not decompressed: 20 KB stay 20 KB", async () => {
  const bomb = gzipSync(JSON.stringify({ a: "0".repeat(20_000_000) }));
  assertLess(bomb.byteLength, 30_000);
  for (const encoding of ["gzip", "br", "deflate", "identity, gzip"]) {
    const event = Object.assign(
      withBody(bomb.toString("base64"), { ...JSON_TYPE, "Content-Encoding": encoding }),
      {
        isBase64Encoded: true,
      },
    );
    const seen = await send(event, { schema: z.any() });
    assertEquals([seen.status, seen.body], [400, undefined]);
  }
});

Deno.test("logged bodies are limited in depth, items and length", async () => {
  const handler = defineApiHandler({ metrics: false, logging: { level: "DEBUG", logEvent: true } })(
    () => ({
      statusCode: 200,
      body: "",
    }),
  );
  for (
    const body of [
      deep("[", "]"),
      `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(",")}}`,
      "x".repeat(5_000_000),
    ]
  ) {
    const { writes } = await captureLogs(() => handler(withBody(body), context));
    assertLess(writes.join("").length, 100_000);
  }
});
