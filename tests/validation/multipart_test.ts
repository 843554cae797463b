import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { ConfigurationError } from "../../errors/mod.ts";
import {
  createFunctionUrlEvent,
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../testing/mod.ts";
import { encodeBase64 } from "../../core/http/base64.ts";
import {
  buildOpenApiDocument,
  createMultipartParser,
  defineApiHandler,
  type MultipartOptions,
} from "../../validation/mod.ts";

const SOURCES = [createRestApiEvent, createHttpApiEvent, createFunctionUrlEvent];
const schema = z.object({
  title: z.string().min(1),
  tags: z.array(z.string()).default([]),
  photo: z.file().max(100).mime(["image/png"]),
});
const BYTES = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 255]);
const photo = (bytes: Uint8Array = BYTES, type = "image/png") =>
  new File([bytes as Uint8Array<ArrayBuffer>], "me.png", { type });

async function send(
  form: FormData | string,
  options: MultipartOptions = {},
  more: { contentType?: string; maxBodyBytes?: number } = {},
) {
  const request = new Request("https://example.com/", { method: "POST", body: form });
  const body = encodeBase64(new Uint8Array(await request.clone().arrayBuffer()));
  const { contentType = request.headers.get("Content-Type")!, maxBodyBytes } = more;
  const answers: unknown[] = [];
  for (const create of SOURCES) {
    let seen: unknown;
    const handler = defineApiHandler({
      schema,
      ...maxBodyBytes !== undefined && { maxBodyBytes },
      bodyParser: createMultipartParser(options),
      logging: { level: "SILENT" },
      metrics: false,
    })(async ({ body }) => {
      const bytes = [...new Uint8Array(await body.photo.arrayBuffer())];
      seen = [body.title, body.tags, body.photo.name, body.photo.type, bytes];
      return { statusCode: 200, body: "" };
    });
    const event = create({ method: "POST", headers: { "Content-Type": contentType } });
    const given = { ...event, body, isBase64Encoded: true };
    const { statusCode, body: text } = await handler(given as never, createLambdaContext());
    answers.push([statusCode, seen ?? JSON.parse(text).errors ?? JSON.parse(text).message]);
  }
  assertEquals(answers[1], answers[0]);
  assertEquals(answers[2], answers[0]);
  return answers[0];
}

function fill(entries: readonly (readonly [string, string | File])[]): FormData {
  const form = new FormData();
  for (const [name, value] of entries) form.append(name, value);
  return form;
}

Deno.test("createMultipartParser() gives the schema files and texts, lists where it asks for them", async () => {
  const form = fill([["title", "mé"], ["tags", "a"], ["tags", "b"], ["photo", photo()]]);
  assertEquals(await send(form), [200, ["mé", ["a", "b"], "me.png", "image/png", [...BYTES]]]);
  const one = fill([["title", "x"], ["tags", "a"], ["photo", photo()]]);
  assertEquals(await send(one), [200, ["x", ["a"], "me.png", "image/png", [...BYTES]]]);
});

Deno.test("createMultipartParser() reports files that the schema refuses by their field", async () => {
  const large = fill([["title", "x"], ["photo", photo(new Uint8Array(101))]]);
  const [status, errors] = await send(large) as [number, Record<string, string[]>];
  assertEquals([status, Object.keys(errors)], [400, ["photo"]]);
  const html = fill([["title", "x"], ["photo", photo(BYTES, "text/html")]]);
  assertEquals((await send(html) as unknown[])[0], 400);
  const text = fill([["title", "x"], ["photo", "no file"]]);
  assertEquals((await send(text) as unknown[])[0], 400);
});

Deno.test("createMultipartParser() refuses too many files or fields, and bodies over the limit", async () => {
  const two = fill([["title", "x"], ["photo", photo()], ["photo", photo()]]);
  assertEquals(await send(two, { maxFiles: 1 }), [
    400,
    { _form: ["The request body has more than 1 files"] },
  ]);
  assertEquals(await send(fill([["title", "x"], ["a", "b"]]), { maxFields: 1 }), [
    400,
    { _form: ["The request body has more than 1 fields"] },
  ]);
  const large = fill([["title", "x"], ["photo", photo(new Uint8Array(500))]]);
  assertEquals((await send(large, {}, { maxBodyBytes: 400 }) as unknown[])[0], 413);
});

Deno.test("createMultipartParser() refuses what is no form, and leaves other media types alone", async () => {
  const invalid = { _form: ["The request body is not valid multipart/form-data"] };
  for (const contentType of ["multipart/form-data", "multipart/form-data; boundary=x"]) {
    assertEquals(await send("no form", {}, { contentType }), [400, invalid]);
  }
  const [status, errors] = await send('{"title":"x"}', {}, {
    contentType: "application/json",
  }) as [number, Record<string, string[]>];
  assertEquals([status, Object.keys(errors)], [400, ["photo"]]);
  assertEquals((await send("x", {}, { contentType: "image/png" }) as unknown[])[0], 415);
});

Deno.test("createMultipartParser() never sets the prototype of the input", async () => {
  const form = fill([["title", "x"], ["__proto__", "y"], ["photo", photo()]]);
  assertEquals((await send(form) as unknown[])[0], 200);
});

Deno.test("buildOpenApiDocument() names the media type of a body with files", () => {
  const { operation } = defineApiHandler({ schema, bodyParser: createMultipartParser() })(() => ({
    statusCode: 200,
    body: "",
  }));
  const document = buildOpenApiDocument({ title: "Shop", version: "1" }, [
    { method: "POST", path: "/photos", operation },
  ]);
  const text = JSON.stringify(document);
  assertStringIncludes(text, '"requestBody":{"required":true,"content":{"multipart/form-data":');
  assertStringIncludes(text, '"format":"binary"');
});

Deno.test("defineApiHandler() refuses a parser without a schema, and options that are none", () => {
  assertThrows(
    () => defineApiHandler({ bodyParser: createMultipartParser() }),
    ConfigurationError,
    "bodyParser goes with schema",
  );
  assertThrows(
    () => defineApiHandler({ schema, bodyParser: createMultipartParser as never }),
    ConfigurationError,
    "bodyParser is a function",
  );
  assertThrows(() => createMultipartParser({ maxFiles: -1 }), ConfigurationError, "maxFiles is -1");
});
