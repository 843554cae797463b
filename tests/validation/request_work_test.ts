import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import { readCookieHeader } from "../../core/http/cookies.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { parseXrayHeader } from "../../observability/trace_context.ts";
import { createHttpApiEvent, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { createMultipartParser } from "../../validation/multipart.ts";
import { defineApiHandler } from "../../validation/define_api_handler.ts";

// What a request of 1 MB makes a function do grows no faster than the request. Work is counted, because times depend on
// the machine.

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

async function send(handler: (event: ApiEvent, context: never) => unknown, event: ApiEvent) {
  const { statusCode, body } = await handler(event, createLambdaContext() as never) as {
    statusCode: number;
    body: string;
  };
  return { status: statusCode, body: statusCode < 400 ? undefined : JSON.parse(body) };
}

/** Counts the characters that searches look at while `work` runs. */
function countSearched(work: () => void): number {
  const { indexOf } = String.prototype;
  let count = 0;
  String.prototype.indexOf = function (this: string, search: string, from = 0): number {
    const at = indexOf.call(this, search, from);
    count += (at < 0 ? this.length : at) - from + 1;
    return at;
  };
  try {
    work();
  } finally {
    String.prototype.indexOf = indexOf;
  }
  return count;
}

Deno.test("a trace header of 100,000 parts is searched once", () => {
  const searched = [25_000, 100_000].map((parts) => [
    countSearched(() => assertEquals(parseXrayHeader(";".repeat(parts)), undefined)),
    countSearched(() => assertEquals(parseXrayHeader("a;b=c".repeat(parts)), undefined)),
  ]);
  for (const [at, few] of searched[0].entries()) {
    assert(few > 0 && searched[1][at] < 5 * few, String([few, searched[1][at]]));
  }
});

Deno.test("a body that does not fit is validated once, each of its values", async () => {
  for (const values of [1, 50_000]) {
    let calls = 0;
    const item = z.number().refine(() => (calls++, true));
    const handler = defineApiHandler({
      schema: z.object({ items: z.array(item), title: z.string() }),
      ...QUIET,
    })(() => ({ statusCode: 204, body: "" }));
    const items = JSON.stringify({ title: 1, items: Array.from({ length: values }, () => 1) });
    const { status, body } = await send(
      handler,
      createRestApiEvent({ method: "POST", body: items }),
    );
    assertEquals([status, Object.keys(body.errors)], [400, ["title"]]);
    assertEquals(calls, values);
  }
});

Deno.test("100,000 keys, objects and levels of JSON are each validated once, or refused", async () => {
  let calls = 0;
  const handler = defineApiHandler({
    schema: z.union([
      z.record(z.string(), z.any().refine(() => (calls++, true))),
      z.array(z.any().refine(() => (calls++, true))),
    ]),
    ...QUIET,
  })(() => ({ statusCode: 204, body: "" }));
  const keys = `{${Array.from({ length: 100_000 }, (_, at) => `"${at}":1`).join()}}`;
  const objects = `[${"{},".repeat(99_999)}{}]`;
  for (const [text, values] of [[keys, 100_000], [objects, 100_000]] as const) {
    calls = 0;
    const { status } = await send(handler, createRestApiEvent({ method: "POST", body: text }));
    assertEquals([status, calls], [204, values]);
  }
  calls = 0;
  const levels = "[".repeat(100_000) + "]".repeat(100_000);
  const { status } = await send(handler, createRestApiEvent({ method: "POST", body: levels }));
  assertEquals([status, calls], [400, 0]);
});

Deno.test("more than 10,000 query parameters are refused before they are collected", async () => {
  const handler = defineApiHandler({ querySchema: z.looseObject({}), ...QUIET })(
    () => ({ statusCode: 204, body: "" }),
  );
  const names = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);
  const text = (count: number) => names(count).map((name) => `${name}=v`).join("&");
  const lists = (count: number) => Object.fromEntries(names(count).map((name) => [name, ["v"]]));
  const events = (count: number) =>
    [
      { ...createHttpApiEvent({}), rawQueryString: text(count) },
      { ...createRestApiEvent({}), multiValueQueryStringParameters: lists(count) },
      { ...createRestApiEvent({}), multiValueQueryStringParameters: { a: names(count) } },
      {
        ...createRestApiEvent({}),
        multiValueQueryStringParameters: null,
        queryStringParameters: Object.fromEntries(names(count).map((name) => [name, "v"])),
      },
    ] as ApiEvent[];
  for (const event of events(10_000)) assertEquals((await send(handler, event)).status, 204);
  for (const event of events(10_001)) {
    const { status, body } = await send(handler, event);
    assertEquals([status, body.errors], [400, { _form: ["The query string is too long"] }]);
  }
});

Deno.test("a form of many parts is refused before it is parsed", async () => {
  const handler = defineApiHandler({
    schema: z.looseObject({}),
    bodyParser: createMultipartParser({ maxFiles: 2, maxFields: 3 }),
    ...QUIET,
  })(() => ({ statusCode: 204, body: "" }));
  const { formData } = Response.prototype;
  let parsed = 0;
  Response.prototype.formData = function (this: Response): Promise<FormData> {
    parsed++;
    return formData.call(this);
  };
  try {
    const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nis --b\r\n';
    for (const boundary of ["b", '"b"']) {
      const headers = { "Content-Type": `multipart/form-data; boundary=${boundary}` };
      const sent = (parts: number) =>
        send(
          handler,
          createRestApiEvent({ method: "POST", headers, body: `${part.repeat(parts)}--b--\r\n` }),
        );
      parsed = 0;
      assertEquals([(await sent(3)).status, parsed], [204, 1]);
      const { status, body } = await sent(6);
      assertEquals([status, body.errors, parsed], [400, {
        _form: ["The request body has more than 5 parts"],
      }, 1]);
    }
  } finally {
    Response.prototype.formData = formData;
  }
});

Deno.test("200,000 Cookie headers are one header", () => {
  const event = createRestApiEvent({});
  const Cookie = Array.from({ length: 200_000 }, () => "a=b");
  const text = readCookieHeader({ ...event, multiValueHeaders: { Cookie } } as ApiEvent);
  assertEquals(text?.length, 200_000 * 5 - 2);
});
