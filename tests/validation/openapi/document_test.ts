import { assert, assertEquals, assertThrows } from "@std/assert";
import { compileErrors, validate } from "@readme/openapi-parser";
import * as z from "zod";
import * as mini from "zod/mini";
import type { ProxyResult } from "../../../core/mod.ts";
import {
  type ApiRoute,
  buildOpenApiDocument,
  defineApiHandler,
  type DefineApiHandlerOptions,
  type OpenApiDocument,
} from "../../../validation/mod.ts";

const INFO = { title: "Notes", version: "1.0.0", description: "Keeps notes" };
const OK: ProxyResult = { statusCode: 200, body: "" };

// deno-lint-ignore no-explicit-any
type Json = any;

// deno-lint-ignore no-explicit-any
function route(method: string, path: string, options: DefineApiHandlerOptions<any, any, any, any> = {}): ApiRoute {
  return { method, path, operation: defineApiHandler(options)(() => OK).operation };
}

/** Holds a document against a validator that is not ours, and each reference against the document. */
async function build(...routes: ApiRoute[]): Promise<Json> {
  const document = buildOpenApiDocument(INFO, routes, ["https://api.example.com"]);
  const copy = (): Json => JSON.parse(JSON.stringify(document));
  assertEquals(copy(), document as Json);
  const result = await validate(copy());
  assert(result.valid, result.valid ? "" : compileErrors(result));
  assertReferencesLead(document);
  return copy();
}

function assertReferencesLead(document: OpenApiDocument): void {
  (function visit(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key !== "$ref") visit(inner);
      else {
        const name = String(inner).replace("#/components/schemas/", "");
        assert(name in document.components.schemas, `${inner} leads nowhere`);
      }
    }
  })(document);
}

const Note = z.object({ id: z.uuid(), title: z.string(), at: z.date(), tags: z.array(z.string()).optional() });

Deno.test("buildOpenApiDocument() describes inputs, answer, failures and security of an operation", async () => {
  const document = await build(route("PATCH", "/notes/{noteId}", {
    operationName: "UpdateNote",
    auth: "session",
    schema: Note.pick({ title: true }),
    querySchema: z.object({ limit: z.coerce.number().int().max(100).default(20), tag: z.string() }),
    pathSchema: z.object({ noteId: z.uuid() }),
    responseSchema: Note,
    openapi: {
      summary: "Updates a note",
      description: "*All* of it",
      tags: ["notes"],
      deprecated: true,
      successStatus: 202,
    },
  }));
  assertEquals([document.openapi, document.info, document.servers], ["3.1.0", INFO, [{
    url: "https://api.example.com",
  }]]);
  const operation = document.paths["/notes/{noteId}"].patch;
  assertEquals(
    [operation.operationId, operation.summary, operation.description, operation.tags, operation.deprecated],
    ["UpdateNote", "Updates a note", "*All* of it", ["notes"], true],
  );
  assertEquals(operation.parameters.map((p: Json) => [p.name, p.in, p.required, p.schema.type]), [
    ["noteId", "path", true, "string"],
    ["limit", "query", false, "integer"],
    ["tag", "query", true, "string"],
  ]);
  assertEquals(operation.requestBody.content["application/json"].schema.required, ["title"]);
  assertEquals(operation.security, [{ session: [] }]);
  assertEquals(Object.keys(operation.responses), ["202", "400", "401", "404", "413", "415", "500"]);
  const answer = operation.responses["202"].content["application/json"].schema;
  assertEquals(answer.properties.at, { type: "string", format: "date-time" });
  assertEquals(operation.responses["400"].content["application/json"].schema, { $ref: "#/components/schemas/Error" });
  assertEquals(operation.responses["413"].description, "Content Too Large");
});

Deno.test("buildOpenApiDocument() describes an operation that declares nothing", async () => {
  const { get } = (await build(route("GET", "/health"))).paths["/health"];
  assertEquals(Object.keys(get), ["operationId", "security", "responses"]);
  assertEquals([get.security, Object.keys(get.responses)], [[], ["200", "500"]]);
});

Deno.test("buildOpenApiDocument() says how each auth mode is passed", async () => {
  const cases = [
    ["none", []],
    ["bearer", [{ bearer: [] }]],
    ["session", [{ session: [] }]],
    ["authorizer", [{ authorizer: [] }]],
    ["authorizer-optional", [{}, { authorizer: [] }]],
  ] as const;
  for (const [auth, security] of cases) {
    const { get } = (await build(route("GET", "/x", { auth }))).paths["/x"];
    assertEquals(get.security, security as Json);
    assertEquals("401" in get.responses, auth !== "none");
  }
});

Deno.test("buildOpenApiDocument() describes each parameter of a route, also without a schema and for a greedy one", async () => {
  const parameters = async (path: string): Promise<unknown> =>
    (await build(route("GET", path))).paths[path].get.parameters.map((p: Json) => [p.name, p.in, p.required, p.schema]);
  assertEquals(await parameters("/a/{b}/c/{d}"), [
    ["b", "path", true, { type: "string" }],
    ["d", "path", true, { type: "string" }],
  ]);
  const greedy = buildOpenApiDocument(INFO, [route("GET", "/files/{proxy+}")]) as Json;
  assertEquals(greedy.paths["/files/{proxy+}"].get.parameters[0].name, "proxy");
});

Deno.test("buildOpenApiDocument() takes several methods of a path, and routes of zod/mini", async () => {
  const schema = mini.object({ a: mini.string() });
  const document = await build(route("GET", "/x"), route("POST", "/x", { schema }), route("GET", "/y"));
  assertEquals(Object.keys(document.paths["/x"]), ["get", "post"]);
});

const Category: z.ZodType = z.object({
  name: z.string(),
  get children() {
    return z.array(Category);
  },
});
const Author = z.object({ name: z.string() }).meta({ id: "Author" });
const Odd = z.object({ x: z.string() }).meta({ id: "odd/name ~1" });
const Changing = z.object({ limit: z.coerce.number().default(1) }).meta({ id: "Changing" });

Deno.test("buildOpenApiDocument() keeps references of recursive and of named schemas whole", async () => {
  const document = await build(
    route("POST", "/a", { operationName: "A", schema: Category, responseSchema: z.array(Category) }),
    route("POST", "/b", {
      operationName: "B",
      schema: z.object({ by: Author, other: Author, odd: Odd, tree: Category }),
    }),
    route("POST", "/c", { operationName: "C", schema: Author, responseSchema: Author }),
  );
  const { schemas } = document.components;
  assertEquals(schemas.Author.properties, { name: { type: "string" } });
  assertEquals(
    document.paths["/a"].post.requestBody.content["application/json"].schema.properties.children.items.$ref in
      { "#/components/schemas/ABody": 1 },
    true,
  );
  assertEquals(schemas.ABody.properties.children.items, { $ref: "#/components/schemas/ABody" });
  const { by, other, odd } = document.paths["/b"].post.requestBody.content["application/json"].schema.properties;
  assertEquals([by, other], [{ $ref: "#/components/schemas/Author" }, { $ref: "#/components/schemas/Author" }]);
  assert(odd.$ref.slice("#/components/schemas/".length) in schemas);
});

Deno.test("buildOpenApiDocument() keeps the input and the output of one named schema apart", async () => {
  const document = await build(
    route("POST", "/a", {
      operationName: "A",
      schema: z.object({ c: Changing }),
      responseSchema: z.object({ c: Changing }),
    }),
  );
  const { requestBody, responses } = document.paths["/a"].post;
  const refs = [requestBody, responses["200"]].map((part) => part.content["application/json"].schema.properties.c.$ref);
  const [input, output] = refs.map((ref: string) => document.components.schemas[ref.split("/").at(-1)!]);
  assertEquals([input.required, output.required], [undefined, ["limit"]]);
});

Deno.test("buildOpenApiDocument() finds the parameters of a named schema", async () => {
  const { get } = (await build(route("GET", "/x", { querySchema: Changing }))).paths["/x"];
  assertEquals(get.parameters.map((p: Json) => p.name), ["limit"]);
});

Deno.test("buildOpenApiDocument() gives operations without a name an id of their own", async () => {
  const document = await build(route("GET", "/x"), route("GET", "/notes/{noteId}"), route("POST", "/x"));
  const ids = [document.paths["/x"].get, document.paths["/notes/{noteId}"].get, document.paths["/x"].post].map((o) =>
    o.operationId
  );
  assertEquals(ids, ["handler", "get_notes_noteId", "post_x"]);
});

Deno.test("buildOpenApiDocument() refuses a route or an operationId that stands there twice", () => {
  assertThrows(
    () => buildOpenApiDocument(INFO, [route("GET", "/x"), route("get", "/x")]),
    TypeError,
    "Two operations have the route get /x",
  );
  const openapi = { operationId: "mine" };
  assertThrows(
    () => buildOpenApiDocument(INFO, [route("GET", "/x", { openapi }), route("GET", "/y", { openapi })]),
    TypeError,
    "Two operations have the operationId mine, the second at GET /y",
  );
});

Deno.test("buildOpenApiDocument() is the same for the same input, and leaves it alone", () => {
  const routes = [route("POST", "/a", { schema: Category, operationName: "A" }), route("GET", "/b")];
  assertEquals(JSON.stringify(buildOpenApiDocument(INFO, routes)), JSON.stringify(buildOpenApiDocument(INFO, routes)));
  assertEquals("servers" in buildOpenApiDocument(INFO, routes), false);
});
