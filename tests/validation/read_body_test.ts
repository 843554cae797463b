import { assert, assertEquals, assertFalse, assertStrictEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import * as z from "zod";
import { buildValidatedResponse, type HttpApiEvent, type ProxyResult } from "../../core/mod.ts";
import {
  createAlbEvent,
  createFakeClock,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
  type EventOptions,
} from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { toInput } from "../../validation/read_body.ts";
import { captureLogs } from "../support/capture_logs.ts";

const SOURCES = [createRestApiEvent, createHttpApiEvent, createFunctionUrlEvent, createAlbEvent];
const JSON_TYPE = { "Content-Type": "application/json" };
const FORM = { "Content-Type": "application/x-www-form-urlencoded" };
const context = createLambdaContext({ clock: createFakeClock() });

interface Answer {
  status: number;
  // deno-lint-ignore no-explicit-any
  body: any;
  // deno-lint-ignore no-explicit-any
  seen: any;
}

const Anything = z.unknown();

async function post(
  options: EventOptions,
  schema: z.ZodType = Anything,
  maxBodyBytes?: number,
): Promise<Answer> {
  const answers: Answer[] = [];
  for (const make of SOURCES) {
    let seen: unknown;
    const handler = defineApiHandler({
      schema,
      ...maxBodyBytes !== undefined && { maxBodyBytes },
      metrics: false,
    })(({ body }) => {
      seen = body;
      return buildValidatedResponse(context, 200, null);
    });
    const event = make({ method: "POST", ...options });
    const { result } = await captureLogs(() => handler(event, context));
    const { correlationId: _c, requestId: _r, ...body } =
      JSON.parse((result as ProxyResult).body) ?? {};
    answers.push({ status: result.statusCode, body, seen });
  }
  for (const other of answers) assertEquals(other, answers[0]);
  return answers[0];
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function assertFault({ status, body, seen }: Answer, fault: string): void {
  assertEquals([status, body, seen], [
    400,
    { message: "Validation failed", code: "VALIDATION_FAILED", errors: { _form: [fault] } },
    undefined,
  ]);
}

const FAULTS: [name: string, options: EventOptions, fault: string][] = [
  ["no body", {}, "A request body is required"],
  ["no body and a media type", { headers: JSON_TYPE }, "A request body is required"],
  ["an empty body", { body: "" }, "A request body is required"],
  ["an empty base64 body", { body: new Uint8Array() }, "A request body is required"],
  ["broken JSON", { body: '{"a":', headers: JSON_TYPE }, "The request body is not valid JSON"],
  ["JSON with a tail", { body: "{} {}" }, "The request body is not valid JSON"],
  ["JSON with a comment", { body: "{} // x" }, "The request body is not valid JSON"],
  ["a BOM alone", { body: "\uFEFF" }, "The request body is not valid JSON"],
  ["blanks alone", { body: "  " }, "The request body is not valid JSON"],
  ["NaN", { body: "NaN" }, "The request body is not valid JSON"],
  [
    "a form sent as JSON",
    { body: "a=1", headers: JSON_TYPE },
    "The request body is not valid JSON",
  ],
  [
    "invalid UTF-8 in base64",
    { body: new Uint8Array([0x7B, 0xFF, 0x7D]) },
    "The request body is not valid UTF-8",
  ],
  [
    "a surrogate in UTF-8",
    { body: new Uint8Array([0x22, 0xED, 0xA0, 0x80, 0x22]) },
    "The request body is not valid UTF-8",
  ],
  [
    "an overlong form",
    { body: new Uint8Array([0x22, 0xC0, 0xAF, 0x22]) },
    "The request body is not valid UTF-8",
  ],
];

for (const [name, options, fault] of FAULTS) {
  Deno.test(`a request with ${name} is answered with 400`, async () =>
    assertFault(await post(options), fault));
}

const BASE64: [body: string, valid: boolean][] = [
  [btoa('{"a":1}'), true],
  [btoa('{"a":"???>>>"}'), true],
  ["e30=", true],
  ["e30", false],
  ["e3 0=", false],
  ["e30=\n", false],
  ["e30==", false],
  ["====", false],
  ["e30*", false],
  ["e30-", false],
  ["é30=", false],
  ["{}", false],
];

for (const [body, valid] of BASE64) {
  Deno.test(`a body in base64 that reads ${JSON.stringify(body)} is ${valid ? "read" : "answered with 400"}`, async () => {
    const handler = defineApiHandler({ schema: z.looseObject({}), metrics: false })(() => ({
      statusCode: 200,
      body: "",
    }));
    for (const make of SOURCES) {
      const event = { ...make({ method: "POST" }), body, isBase64Encoded: true };
      const { result } = await captureLogs(() => handler(event, context));
      assertEquals(result.statusCode, valid ? 200 : 400, body);
    }
  });
}

const READ: [name: string, options: EventOptions, value: unknown][] = [
  ["an object", { body: { a: [1, "é", null] } }, { a: [1, "é", null] }],
  ["a text in base64", { body: bytes('{"a":"é😀"}') }, { a: "é😀" }],
  ["a BOM before JSON", { body: "\uFEFF{}" }, {}],
  ["a BOM before JSON in base64", { body: new Uint8Array([0xEF, 0xBB, 0xBF, 0x7B, 0x7D]) }, {}],
  ["a JSON value that is no object", { body: "7" }, 7],
  ["null", { body: "null" }, null],
  ["a key twice: the last", { body: '{"a":1,"a":2}' }, { a: 2 }],
];

for (const [name, options, value] of READ) {
  Deno.test(`a body is read that holds ${name}`, async () => {
    const { status, seen } = await post(options);
    assertEquals([status, seen], [200, value]);
  });
}

const TYPES: [type: string, accepted: boolean][] = [
  ["application/json", true],
  ["APPLICATION/JSON", true],
  ["application/json; charset=utf-8", true],
  ['application/json;charset="UTF-8"', true],
  ["application/json; charset=us-ascii", true],
  ["application/json ; profile=x", true],
  ["application/problem+json", true],
  ["application/vnd.api+json; version=1", true],
  ["text/json", true],
  ["application/json; charset=iso-8859-1", false],
  ["application/json; charset=utf-16", false],
  ["text/plain", false],
  ["text/html", false],
  ["application/xml", false],
  ["multipart/form-data; boundary=x", false],
  ["application/octet-stream", false],
  ["application/jsonx", false],
  ["xapplication/json", false],
  ["application/json, text/plain", false],
  ["json", false],
];

for (const [type, accepted] of TYPES) {
  Deno.test(`a body of media type ${type} is ${accepted ? "read" : "answered with 415"}`, async () => {
    const { status, body } = await post({ body: "{}", headers: { "content-type": type } });
    assertEquals(status, accepted ? 200 : 415);
    if (!accepted) assertEquals([body.code, body.errors], ["UNSUPPORTED_MEDIA_TYPE", undefined]);
  });
}

Deno.test("a form is read: a list where the schema asks for one, else the last value", async () => {
  const schema = z.object({
    title: z.string(),
    tags: z.array(z.string()).default([]),
    wrapped: z.preprocess((value) => value, z.array(z.coerce.number()).optional()),
    count: z.coerce.number(),
  });
  const body = "title=first&title=a+b%26%C3%A9&tags=x&wrapped=1&wrapped=2&count=7&more=1";
  const expected = { title: "a b&é", tags: ["x"], wrapped: [1, 2], count: 7 };
  assertEquals((await post({ body, headers: FORM }, schema)).seen, expected);
  const base64 = await post({
    body: bytes(body),
    headers: { "content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8" },
  }, schema);
  assertEquals(base64.seen, expected);
  assertEquals((await post({ body: "title=t&count=x", headers: FORM }, schema)).status, 400);
});

Deno.test("a form has no key that becomes a prototype", async () => {
  const { seen } = await post({
    body: "__proto__=1&__proto__[x]=1&constructor=2&prototype=3&a=4",
    headers: FORM,
  });
  assertEquals(Object.getPrototypeOf(seen), Object.prototype);
  assertEquals(seen.constructor, "2");
  assertEquals(seen.a, "4");
});

const POLLUTING = [
  '{"__proto__":{"polluted":1}}',
  '{"a":[{"b":{"__proto__":{"polluted":1}}}]}',
  '{"\\u005f_proto__":{"polluted":1}}',
  '{"\\u005F\\u005f\\u0070roto__":1}',
  '{"__proto__":null}',
  '[{"__proto__":1}]',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"\\u0063onstructor":{"prototype":{}}}',
  '{"constructor":{"\\u0070rototype":{}}}',
  '{"a":{"constructor":{"prototype":1}}}',
];

for (const body of POLLUTING) {
  Deno.test(`a body is refused that holds ${body}`, async () => {
    assertFault(
      await post({ body }),
      "The request body must not contain the keys __proto__ or constructor.prototype",
    );
    assertEquals(({} as Record<string, unknown>).polluted, undefined);
  });
}

const HARMLESS = [
  '{"text":"__proto__"}',
  '{"constructor":"builder"}',
  '{"constructor":{"name":"x"}}',
  '{"prototype":{"a":1}}',
  '{"a":"\\u0041"}',
  '["__proto__","constructor"]',
  '"__proto__"',
  '{"__proto":1,"proto__":2}',
];

for (const body of HARMLESS) {
  Deno.test(`a body is read that holds ${body}`, async () =>
    assertEquals((await post({ body })).seen, JSON.parse(body)));
}

/** Texts that nest, with the levels that each adds. */
const NESTING: [open: string, close: string, levels: number][] = [
  ["[", "]", 1],
  ['{"a":', "}", 1],
  ['{"constructor":', "}", 1],
  ['[{"a":', "}]", 2],
  ["[1,", "]", 1],
  ['["]}",', ', "[{\\""]', 1],
  ['{ "\\"[": [', "] }", 2],
  ['{"é😀":', "}", 1],
];
const LARGE = 6 * 1024 * 1024;

for (const [open, close, levels] of NESTING) {
  const nest = (times: number) => open.repeat(times) + "1" + close.repeat(times);
  const most = 1_000 / levels;

  Deno.test(`a body of ${open}…${close} is read up to 1,000 levels, and refused beyond`, async () => {
    for (const encode of [(text: string) => text, bytes]) {
      const { status, seen } = await post({ body: encode(nest(most)) }, z.any());
      assertEquals([status, JSON.stringify(seen)], [200, JSON.stringify(JSON.parse(nest(most)))]);
      assertFault(
        await post({ body: encode(nest(most + 1)) }, z.any()),
        "The request body must not be nested over more than 1000 levels",
      );
      assertEquals((await post({ body: encode(nest(200_000)) }, z.any(), LARGE)).status, 400);
    }
    for (
      const schema of [
        z.json(),
        z.unknown().transform(() => null),
        z.object({ title: z.string() }),
      ]
    ) {
      assertEquals((await post({ body: nest(20_000) }, schema)).status, 400);
    }
  });

  Deno.test(`a body of ${open}…${close} that is echoed is an answer of 200 or 400`, async () => {
    const echo = defineApiHandler({ schema: z.any(), maxBodyBytes: LARGE, metrics: false })((
      { body, context },
    ) => buildValidatedResponse(context, 200, body));
    for (const [times, expected] of [[most, 200], [200_000, 400]]) {
      const event = createRestApiEvent({ method: "POST", body: nest(times) });
      const { result } = await captureLogs(() => echo(event, createLambdaContext()));
      assertEquals(result.statusCode, expected);
    }
  });
}

Deno.test("a body that is cut off in the middle of 200,000 levels is refused", async () => {
  const recursive: z.ZodType = z.lazy(() => z.array(recursive));
  assertEquals((await post({ body: "[".repeat(200_000) }, recursive)).status, 400);
  assertEquals((await post({ body: "[".repeat(990) + "]".repeat(990) }, recursive)).status, 200);
});

Deno.test("a body with many brackets side by side, or in its texts, is not nested", async () => {
  const wide = JSON.stringify(Array.from({ length: 20_000 }, () => [{ a: [] }]));
  assertEquals((await post({ body: wide }, z.any())).status, 200);
  const texts = JSON.stringify({
    a: "[{".repeat(20_000),
    ['"[{'.repeat(9_000)]: ['\\["{'.repeat(9_000)],
  });
  assertEquals((await post({ body: texts }, z.any())).status, 200);
});

Deno.test("a body with 100,000 keys is read", async () => {
  const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]));
  const schema = z.record(z.string(), z.number());
  const { status } = await post({ body: { ...body, constructor: 1 } }, schema, 6 * 1024 * 1024);
  assertEquals(status, 200);
});

/** Bodies of an exact number of bytes, with a limit of 30. */
const SIZES: [name: string, options: EventOptions, status: number][] = [
  ["30 bytes", { body: JSON.stringify("x".repeat(28)) }, 200],
  ["31 bytes", { body: JSON.stringify("x".repeat(29)) }, 413],
  ["30 bytes in 16 characters", { body: JSON.stringify("é".repeat(14)) }, 200],
  ["32 bytes in 17 characters", { body: JSON.stringify("é".repeat(15)) }, 413],
  ["33 bytes in 20 code units", { body: JSON.stringify("😀".repeat(7) + "xxx") }, 413],
  ["29 bytes in base64", { body: bytes(JSON.stringify("x".repeat(27))) }, 200],
  ["30 bytes in base64", { body: bytes(JSON.stringify("x".repeat(28))) }, 200],
  ["31 bytes in base64", { body: bytes(JSON.stringify("x".repeat(29))) }, 413],
  ["32 bytes in base64", { body: bytes(JSON.stringify("x".repeat(30))) }, 413],
  ["33 bytes in base64", { body: bytes(JSON.stringify("x".repeat(31))) }, 413],
  ["31 bytes of broken JSON", { body: "{".repeat(31) }, 413],
  ["31 bytes of another media type", {
    body: "x".repeat(31),
    headers: { "Content-Type": "text/plain" },
  }, 413],
];

for (const [name, options, status] of SIZES) {
  Deno.test(`a body of ${name} is answered with ${status} where 30 bytes are accepted`, async () => {
    const { body, status: answered } = await post(options, z.string(), 30);
    assertEquals(answered, status);
    if (status === 413) {
      assertEquals([body.code, body.message.includes("30 bytes")], ["PAYLOAD_TOO_LARGE", true]);
    }
  });
}

/** Bodies of an exact number of bytes: with JSON around it, in one or more bytes a character, and as a form. */
const LIMITED: [name: string, make: (bytes: number) => EventOptions][] = [
  ["a text", (n) => ({ body: JSON.stringify("x".repeat(n - 2)) })],
  [
    "a text of two bytes a character",
    (n) => ({ body: JSON.stringify("é".repeat((n - 2) / 2) + (n % 2 ? "x" : "")) }),
  ],
  ["base64", (n) => ({ body: bytes(JSON.stringify("x".repeat(n - 2))) })],
  [
    "base64 of emoji",
    (n) => ({ body: bytes(JSON.stringify("😀".repeat((n - 2) / 4) + "x".repeat((n - 2) % 4))) }),
  ],
  ["a list", (n) => ({ body: `[${"1,".repeat((n - 4) / 2)}${n % 2 ? "10" : "1"} ]` })],
  [
    "a form",
    (n) => ({
      body: `a=${"x".repeat(n - 2)}`,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    }),
  ],
];

for (const [name, make] of LIMITED) {
  Deno.test(`a body that is ${name} is limited to 1 MiB unless told`, async () => {
    const limit = 1024 * 1024;
    assertEquals((await post(make(limit), z.any())).status, 200);
    assertEquals((await post(make(limit + 1), z.any())).status, 413);
    assertEquals((await post(make(limit + 1), z.any(), limit + 1)).status, 200);
  });
}

Deno.test("a body of 3.5 MB for a record is refused unless told, and before it is parsed", async () => {
  const record = `{${
    Array.from({ length: 400_000 }, (_, n) => `"${n.toString(36)}":""`).join(",")
  }}`;
  const startedMs = performance.now();
  assertEquals(
    (await post({ body: record }, z.record(z.string().regex(/^k/), z.string()))).status,
    413,
  );
  assert(performance.now() - startedMs < 1_000);
});

Deno.test("a query string of over a million characters is refused", async () => {
  const getStatus = async (query: Record<string, string[]>): Promise<number[]> => {
    const schema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));
    const handler = defineApiHandler({ querySchema: schema, metrics: false })(() => ({
      statusCode: 204,
      body: "",
    }));
    const statuses = [];
    for (const make of SOURCES) {
      const event = make({ query, multiValue: true } as EventOptions);
      const { result } = await captureLogs(() => handler(event, context));
      statuses.push((result as ProxyResult).statusCode);
    }
    return statuses;
  };
  assertEquals(await getStatus({ a: ["x".repeat(1_000_000)] }), SOURCES.map(() => 204));
  for (
    const query of [
      { a: ["é".repeat(1_100_000)] },
      { ["k".repeat(1_100_000)]: [""] },
      { a: Array(600_000).fill("x") },
    ]
  ) assertEquals(await getStatus(query), SOURCES.map(() => 400));
});

Deno.test("a body is limited also where the handler has no schema for it", async () => {
  const handler = defineApiHandler({ maxBodyBytes: 3, metrics: false })(() => ({
    statusCode: 200,
    body: "",
  }));
  const status = async (body: string): Promise<number> =>
    (await captureLogs(() => handler(createRestApiEvent({ method: "POST", body }), context))).result
      .statusCode;
  assertEquals([await status("abc"), await status("abcd")], [200, 413]);
});

Deno.test("a handler without a schema gets the event's body untouched, whatever its media type", async () => {
  let seen: unknown;
  const handler = defineApiHandler({ metrics: false })((params) => {
    seen = params.event.body;
    assertFalse("body" in params);
    return { statusCode: 200, body: "" };
  });
  const headers = { "Content-Type": "application/xml" };
  await captureLogs(() =>
    handler(createRestApiEvent({ method: "POST", body: "<a/>", headers }), context)
  );
  assertStrictEquals(seen, "<a/>");
});

Deno.test("an event of an HTTP API without the body's field has no body", async () => {
  const { body: _, ...event } = createHttpApiEvent({ method: "POST" }) as HttpApiEvent;
  const handler = defineApiHandler({ schema: z.unknown(), metrics: false })(() => ({
    statusCode: 200,
    body: "",
  }));
  assertEquals(
    (await captureLogs(() => handler(event as HttpApiEvent, context))).result.statusCode,
    400,
  );
});

Deno.test("toInput() makes no prototype of a name, also where a schema asks for a list under it", () => {
  const input = toInput(new Map([["__proto__", ["a"]], ["b", ["1", "2"]]]), new Set(["__proto__"]));
  assertEquals(Object.getPrototypeOf(input), Object.prototype);
  assertEquals(Object.entries(input), [["b", "2"]]);
});

Deno.test("Buffer.byteLength counts base64 as it decodes", () => {
  // the limit rests on it: no more than the padding is looked at, nothing is decoded
  for (let n = 0; n < 10; n++) {
    assert(Buffer.byteLength(Buffer.alloc(n).toString("base64"), "base64") === n);
  }
});

Deno.test("a form with more than 10,000 fields is answered with 400 before it is split", async () => {
  const { status, body } = await post({ headers: FORM, body: "a=1&".repeat(10_000) });
  assertEquals([status, body.errors._form], [400, ["The request body has more than 10000 fields"]]);
  const allowed = await post({ headers: FORM, body: "a=1&".repeat(9_999) });
  assertEquals(allowed.status < 400, true);
});
