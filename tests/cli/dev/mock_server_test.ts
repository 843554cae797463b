import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as sampler from "openapi-sampler";
import * as z from "zod";
import { type MockServer, startMockServer } from "../../../cli/dev/mock_server.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { createLambdaContext } from "../../../testing/context.ts";
import { createRestApiEvent } from "../../../testing/events.ts";
import { defineApiHandler } from "../../../validation/define_api_handler.ts";
import { createMultipartParser } from "../../../validation/multipart.ts";
import {
  type ApiRoute,
  buildOpenApiDocument,
  type OpenApiDocument,
} from "../../../validation/openapi/document.ts";
import { createResponseCheck } from "../../support/described_response.ts";
import { type DescribedOperation, listOperations } from "../../support/generated_requests.ts";

const { default: { sample } } = sampler as unknown as {
  default: { sample(schema: object, options: object, document: object): unknown };
};
const QUIET = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;

async function withMock(
  document: OpenApiDocument,
  test: (server: MockServer, titles: string[]) => Promise<void>,
  reload?: () => Promise<OpenApiDocument | undefined>,
): Promise<void> {
  const titles: string[] = [];
  const server = await startMockServer({
    document,
    reload,
    port: 0,
    terminal: {
      note: (text) => titles.push(text),
      warn: (text) => titles.push(text),
      show: (event) => {
        if (event.type === "call" && !event.call.isRunning) {
          titles.push(`${event.call.status} ${event.call.title}`);
        }
      },
    },
  });
  try {
    await test(server, titles);
  } finally {
    await server.stop();
  }
}

function build(...routes: ApiRoute[]): OpenApiDocument {
  return buildOpenApiDocument({ title: "Notes", version: "1.0.0" }, routes);
}

/** Builds a request that fits the document; `undefined` for a form. */
function buildRequest(
  document: OpenApiDocument,
  { path, method, operation }: DescribedOperation,
): { target: string; init: RequestInit & { headers: Headers } } | undefined {
  const headers = new Headers({ authorization: "Bearer of-nobody" });
  const query = new URLSearchParams();
  let target = path;
  for (const { name, in: place, schema, required } of operation.parameters ?? []) {
    const text = String(sample(schema, {}, document));
    if (place === "path") target = target.replace(`{${name}}`, encodeURIComponent(text));
    else if (place === "query") query.set(name, text);
    else if (place === "header" && required) headers.set(name, "a-key-of-this-test");
  }
  const init = { method: method.toUpperCase(), headers, redirect: "manual" } as const;
  target = `${target}?${query}`;
  if (operation.requestBody === undefined) return { target, init };
  const media = operation.requestBody.content["application/json"];
  if (media === undefined) return undefined;
  headers.set("content-type", "application/json");
  return { target, init: { ...init, body: JSON.stringify(sample(media.schema, {}, document)) } };
}

for (const example of ["notes", "booking", "accounts"]) {
  Deno.test(`startMockServer() answers each operation of ${example} with each documented status, always alike`, async () => {
    const file = new URL(`../../../examples/${example}/openapi.json`, import.meta.url);
    const document = JSON.parse(await Deno.readTextFile(file));
    const explain = createResponseCheck(document);
    const all = listOperations(document);
    await withMock(document, async ({ url, operations }) => {
      assertEquals(operations, all.length);
      for (const described of all) {
        const request = buildRequest(document, described);
        if (request === undefined) continue;
        const { target, init } = request;
        const [first, second] = [await fetch(url + target, init), await fetch(url + target, init)];
        assert(first.status < 400, `${first.status} ${described.method} ${target}`);
        assertEquals(await first.text(), await second.text());
        for (const status of Object.keys(described.operation.responses)) {
          init.headers.set("prefer", `code=${status}`);
          const response = await fetch(url + target, init);
          assertEquals(`${response.status}`, status, `${described.method} ${target}`);
          const { headers } = response;
          const received = { status: Number(status), headers, body: await response.text() };
          assertEquals(explain(described.path, described.method, received), undefined, target);
        }
      }
    });
  });
}

Deno.test("startMockServer() refuses what the handler refuses, with the same messages", async () => {
  const input = {
    ...QUIET,
    pathSchema: z.object({ noteId: z.uuid() }),
    querySchema: z.object({
      limit: z.coerce.number<number>().int().max(50),
      tag: z.array(z.string()).optional(),
    }),
    schema: z.object({ title: z.string().min(3) }),
    responses: {
      201: z.object({ id: z.string().regex(/^[A-Z]{3}-[0-9]+$/) }),
      202: z.object({ id: z.string().regex(/^\w+$/) }),
      409: z.object({ reason: z.literal("taken") }),
    },
  };
  const handler = defineApiHandler(input)(() => ({ statusCode: 500, body: "" }));
  const { operation } = defineApiHandler({ ...input, auth: "bearer" })(handler.handler);
  const noteId = "8a1f9c1e-1c53-4f0e-9a57-0b7d1c2f4e11";
  const send = (url: string, path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  await withMock(
    build({ method: "POST", path: "/notes/{noteId}", operation }),
    async ({ url }, titles) => {
      const bad = await send(url, "/notes/x?limit=99", { title: "a" });
      const expected = await handler(
        createRestApiEvent({
          method: "POST",
          path: "/notes/x",
          pathParameters: { noteId: "x" },
          query: { limit: ["99"] },
          body: { title: "a" },
        }),
        createLambdaContext(),
      );
      assertEquals([bad.status, expected.statusCode], [400, 400]);
      // the document repeats the format of a text as a pattern, which adds a second message
      const first = ({ errors }: { errors: Record<string, string[]> }) =>
        Object.entries(errors).map(([field, [message]]) => [field, message]);
      assertEquals(first(await bad.json()), first(JSON.parse(expected.body)));

      const path = `/notes/${noteId}?limit=5&tag=7`;
      assertEquals((await send(url, path, { title: "abc" })).status, 201);
      const taken = await send(url, path, { title: "abc" }, { prefer: "respond-async, code=409" });
      assertEquals([taken.status, await taken.json()], [409, { reason: "taken" }]);
      const absent = await send(url, path, { title: "abc" }, { prefer: "code=404" });
      assertEquals([absent.status, (await absent.json()).code], [404, "NOT_FOUND"]);
      const unknown = await send(url, path, { title: "abc" }, { prefer: "code=418" });
      assertEquals(unknown.status, 400);
      assertStringIncludes(
        (await unknown.json()).message,
        "POST /notes/{noteId} has no response 418",
      );

      const page = { origin: "http://localhost:5173" };
      const preflight = await fetch(`${url}${path}`, {
        method: "OPTIONS",
        headers: { ...page, "access-control-request-method": "POST" },
      });
      const answered = await send(url, path, { title: "abc" }, page);
      for (const response of [preflight, answered]) {
        assertEquals(response.headers.get("access-control-allow-origin"), page.origin);
        assertEquals(response.headers.get("access-control-allow-credentials"), "true");
      }
      assertEquals((await send(url, "/elsewhere", {})).status, 404);
      assertEquals(titles.at(-1), "404 POST /elsewhere");
      await Promise.all([preflight, answered].map((response) => response.body?.cancel()));
    },
  );
});

Deno.test("startMockServer() takes the example of a schema, and forms with files", async () => {
  const Photo = z.object({ size: z.int(), title: z.string() })
    .meta({ id: "Photo", examples: [{ size: 7, title: "me" }] });
  const { operation } = defineApiHandler({
    ...QUIET,
    schema: z.object({
      photo: z.file().meta({ id: "Image" }),
      others: z.array(z.file()),
      size: z.coerce.number<number>().max(9),
    }).meta({ id: "PhotoForm" }),
    bodyParser: createMultipartParser(),
    responses: { 201: Photo },
  })(() => ({ statusCode: 500, body: "" }));
  await withMock(build({ method: "POST", path: "/photos", operation }), async ({ url }) => {
    const form = new FormData();
    form.set("photo", new File(["x"], "x.png", { type: "image/png" }));
    form.set("size", "5");
    const incomplete = await fetch(`${url}/photos`, { method: "POST", body: form });
    assertEquals(Object.keys((await incomplete.json()).errors), ["others"]);
    form.set("others", new File(["y"], "y.png", { type: "image/png" }));
    for (const [size, status] of [["5", 201], ["50", 400]] as const) {
      form.set("size", size);
      const response = await fetch(`${url}/photos`, { method: "POST", body: form });
      const body = await response.json();
      assertEquals(response.status, status, JSON.stringify(body));
      if (status === 201) assertEquals(body, { size: 7, title: "me" });
    }
  });
});

Deno.test("startMockServer() refuses a document with an example that does not fit its schema", async () => {
  const { operation } = defineApiHandler({
    ...QUIET,
    responseSchema: z.object({ count: z.int().max(3) }).meta({ examples: [{ count: 4 }] }),
  })(() => ({ count: 1 }));
  const error = await assertRejects(
    () => withMock(build({ method: "GET", path: "/count", operation }), async () => {}),
    ConfigurationError,
    "GET /count, response 200: no value fits it",
  );
  assert(error.message.includes("at count"), error.message);
});

Deno.test("startMockServer() sends the example that Prefer asks for, and answers HEAD", async () => {
  const Notes = z.array(z.string()).meta({ id: "Notes", examples: [["Milk"], []] });
  const { operation } = defineApiHandler({ ...QUIET, responses: { 200: Notes, 404: z.null() } })(
    () => [],
  );
  await withMock(build({ method: "GET", path: "/notes", operation }), async ({ url }) => {
    const get = async (prefer?: string) => {
      const response = await fetch(`${url}/notes`, { headers: prefer ? { prefer } : {} });
      return [response.status, await response.json()];
    };
    assertEquals(await get(), [200, ["Milk"]]);
    assertEquals(await get("example=2"), [200, []]);
    assertEquals(await get('code=200, example="1"'), [200, ["Milk"]]);
    const [status, { message }] = await get("example=full");
    assertEquals([status, message], [400, "The response 200 has no example full: it has 1, 2"]);
    assertEquals((await get("code=404, example=1"))[0], 400);
    const head = await fetch(`${url}/notes`, { method: "HEAD" });
    assertEquals([head.status, await head.text()], [200, ""]);
  });
});

Deno.test("startMockServer() serves a changed document, and the former one if that is wrong", async () => {
  const describe = (...titles: string[]) => {
    const schema = z.object({ title: z.string().max(9) }).meta({
      examples: titles.map((title) => ({ title })),
    });
    const { operation } = defineApiHandler({ ...QUIET, responseSchema: schema })(() => ({
      title: "",
    }));
    return build({ method: "GET", path: `/${titles[0]}`, operation });
  };
  const changes = [undefined, describe("b"), describe("c", "far too long"), undefined];
  let calls = 0;
  await withMock(describe("a"), async ({ url }, titles) => {
    assertEquals((await (await fetch(`${url}/a`)).json()).title, "a");
    // both requests wait for the change
    const both = await Promise.all([fetch(`${url}/b`), fetch(`${url}/a`)]);
    assertEquals(both.map(({ status }) => status), [200, 404]);
    const [kept, gone] = [await fetch(`${url}/b`), await fetch(`${url}/c`)];
    assertEquals([kept.status, gone.status], [200, 404]);
    assertStringIncludes(titles.join(), "GET /c, response 200: no value fits it");
    await Promise.all([...both, kept, gone].map(({ body }) => body?.cancel()));
  }, () => Promise.resolve(changes[calls++]));
});
