import { assert, assertEquals, assertThrows } from "@std/assert";
import { compileErrors, validate } from "@readme/openapi-parser";
import * as z from "zod";
import * as mini from "zod/mini";
import type { ProxyResult } from "../../../core/mod.ts";
import {
  type ApiRoute,
  type AuthMethod,
  type AuthMethodMode,
  type AuthNeeds,
  buildOpenApiDocument,
  createMultipartParser,
  defineApiHandler,
  type OpenApiDocument,
} from "../../../validation/mod.ts";
import type { AnyOptions } from "../../../validation/check_options.ts";

const INFO = { title: "Notes", version: "1.0.0", description: "Keeps notes" };
const OK: ProxyResult = { statusCode: 200, body: "" };

// deno-lint-ignore no-explicit-any
type Json = any;

function route(
  method: string,
  path: string,
  options: AnyOptions = {},
): ApiRoute {
  return { method, path, operation: defineApiHandler(options)(() => OK).operation };
}

/** Holds a document against a validator that is not ours, and each reference against the document. */
function build(...routes: ApiRoute[]): Promise<Json> {
  return check(buildOpenApiDocument(INFO, routes, ["https://api.example.com"]));
}

async function check(document: OpenApiDocument): Promise<Json> {
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
        const [, kind, name] = /^#\/components\/(schemas|responses)\/(.*)$/.exec(String(inner)) ??
          [];
        assert(
          name in document.components[kind as "schemas" | "responses"],
          `${inner} leads nowhere`,
        );
      }
    }
  })(document);
}

const Note = z.object({
  id: z.uuid(),
  title: z.string(),
  at: z.date(),
  tags: z.array(z.string()).optional(),
});

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
    [
      operation.operationId,
      operation.summary,
      operation.description,
      operation.tags,
      operation.deprecated,
    ],
    ["UpdateNote", "Updates a note", "*All* of it", ["notes"], true],
  );
  assertEquals(operation.parameters.map((p: Json) => [p.name, p.in, p.required, p.schema.type]), [
    ["noteId", "path", true, "string"],
    ["limit", "query", false, "integer"],
    ["tag", "query", true, "string"],
  ]);
  assertEquals(operation.requestBody.content["application/json"].schema.required, ["title"]);
  assertEquals(operation.security, [{ session: [] }]);
  assertEquals(Object.keys(operation.responses), [
    "202",
    "400",
    "401",
    "403",
    "404",
    "413",
    "415",
    "500",
    "503",
    "504",
  ]);
  const answer = operation.responses["202"].content["application/json"].schema;
  assertEquals(answer.properties.at, { type: "string", format: "date-time" });
  assertEquals(operation.responses["400"], { $ref: "#/components/responses/BadRequest" });
  assertEquals(operation.responses["413"], { $ref: "#/components/responses/ContentTooLarge" });
  const { responses, schemas } = document.components;
  assertEquals(responses.BadRequest, {
    description: "Bad Request",
    content: { "application/json": { schema: { $ref: "#/components/schemas/ApiError" } } },
  });
  assertEquals(responses.ContentTooLarge.content["application/json"].schema, {
    $ref: "#/components/schemas/ApiError",
  });
  assertEquals(Object.keys(schemas), ["ApiError"]);
  assertEquals(
    [schemas.ApiError.properties.code.type, "enum" in schemas.ApiError.properties.code],
    [
      "string",
      false,
    ],
  );
  assertEquals(
    Object.keys(schemas.ApiError.properties),
    [...schemas.ApiError.required, "errors"],
  );
  assertEquals(document.tags, [{ name: "notes" }]);
});

Deno.test("buildOpenApiDocument() describes headers and cookies of requests, headers of responses, and webhooks", async () => {
  const headers = z.object({
    "x-tenant": z.uuid().describe("The tenant"),
    "x-page": z.coerce.number().default(1),
  });
  const document = await build(
    route("POST", "/notes", {
      headers,
      cookies: z.object({ theme: z.enum(["light", "dark"]).optional() }),
      responses: {
        201: {
          body: Note,
          headers: z.object({ location: z.string(), "x-left": z.int().optional() }),
        },
        302: { headers: z.object({ location: z.string() }) },
      },
    }),
    route("POST", "/hooks/{id}", {
      schema: Note.pick({ title: true }),
      openapi: { webhook: "note.created" },
    }),
  );
  const { parameters, responses } = document.paths["/notes"].post;
  assertEquals(parameters.map((p: Json) => [p.name, p.in, p.required, p.description]), [
    ["x-tenant", "header", true, "The tenant"],
    ["x-page", "header", false, undefined],
    ["theme", "cookie", false, undefined],
  ]);
  assertEquals(responses[201].headers.location, { required: true, schema: { type: "string" } });
  assertEquals(responses[201].headers["x-left"].required, false);
  assertEquals([Object.keys(responses[302].headers), "content" in responses[302]], [
    ["location"],
    false,
  ]);
  assertEquals("400" in responses, true);
  assertEquals(Object.keys(document.paths), ["/notes"]);
  const hook = document.webhooks["note.created"].post;
  assertEquals(hook.parameters, undefined);
  assertEquals(hook.requestBody.content["application/json"].schema.required, ["title"]);
});

Deno.test("buildOpenApiDocument() describes conditional requests", async () => {
  const document = await build(
    route("GET", "/body", { etag: true, responseSchema: Note }),
    route("PUT", "/version", { etag: () => 1, headers: z.object({ "if-match": z.string() }) }),
    route("PATCH", "/version", { etag: () => 1 }),
  );
  const read = ({ parameters, responses }: Json) => [
    parameters.map((p: Json) => [p.name, p.required]),
    [304, 412].map((status) => status in responses),
    Object.keys(responses[200].headers ?? {}),
  ];
  const { "/body": body, "/version": version } = document.paths;
  assertEquals(read(body.get), [[["If-None-Match", false]], [true, true], ["ETag"]]);
  assertEquals(read(version.put), [[["if-match", true]], [false, true], []]);
  assertEquals(read(version.patch), [[["If-Match", false]], [false, true], []]);
});

Deno.test("buildOpenApiDocument() describes an operation that declares nothing", async () => {
  const { get } = (await build(route("GET", "/health"))).paths["/health"];
  assertEquals(Object.keys(get), ["operationId", "summary", "tags", "security", "responses"]);
  assertEquals([get.summary, get.tags], ["GET /health", ["health"]]);
  assertEquals([get.security, Object.keys(get.responses)], [[], ["200", "500", "503", "504"]]);
});

/** A value of the option `auth` that asks something of callers. */
function value(mode: AuthMethodMode, needs: AuthNeeds = {}): AuthMethod {
  return { mode, needs, authenticate: () => ({}) };
}

Deno.test("buildOpenApiDocument() says how each auth mode is passed", async () => {
  const cases = [
    ["none", []],
    ["bearer", [{ bearer: [] }]],
    ["session", [{ session: [] }]],
    ["authorizer", [{ authorizer: [] }]],
    ["authorizer-optional", [{}, { authorizer: [] }]],
    [value("api-key"), [{ "api-key": [] }]],
    [value("jwt"), [{ jwt: [] }]],
  ] as const;
  for (const [auth, security] of cases) {
    const { get } = (await build(route("GET", "/x", { auth }))).paths["/x"];
    assertEquals(get.security, security as Json);
    assertEquals("401" in get.responses, auth !== "none");
  }
});

const RESTRICTIONS: AuthNeeds[] = [
  { roles: ["admin"] },
  { authorize: () => true },
  { organization: {} },
  { freshWithinSeconds: 1 },
];

Deno.test("buildOpenApiDocument() has the 403 of handlers that refuse authenticated callers", async () => {
  const cases: [options: Json, statuses: string[], security: Json][] = [
    [{ auth: "session" }, ["200", "401", "403", "500", "503", "504"], [{ session: [] }]],
    ...RESTRICTIONS.map((needs): [Json, string[], Json] => [
      { auth: value("session", needs) },
      ["200", "401", "403", "500", "503", "504"],
      [{ session: [] }],
    ]),
    [
      { auth: value("session", { optional: true }) },
      ["200", "401", "403", "500", "503", "504"],
      [{}, { session: [] }],
    ],
    [
      { auth: value("api-key") },
      ["200", "401", "429", "500", "503", "504"],
      [{ "api-key": [] }],
    ],
    [
      { auth: value("api-key", { permissions: { notes: ["read"] } }) },
      ["200", "401", "403", "429", "500", "503", "504"],
      [{ "api-key": [] }],
    ],
  ];
  for (const [options, statuses, security] of cases) {
    const document = await build(route("GET", "/x", options));
    const { get } = document.paths["/x"];
    assertEquals(Object.keys(get.responses).sort(), statuses);
    assertEquals(get.security, security);
    assertEquals(Object.keys(document.components.securitySchemes), Object.keys(security.at(-1)));
  }
});

Deno.test("buildOpenApiDocument() describes each parameter of a route, also without a schema and for a greedy one", async () => {
  const parameters = async (path: string): Promise<unknown> =>
    (await build(route("GET", path))).paths[path].get.parameters.map((
      p: Json,
    ) => [p.name, p.in, p.required, p.schema]);
  assertEquals(await parameters("/a/{b}/c/{d}"), [
    ["b", "path", true, { type: "string" }],
    ["d", "path", true, { type: "string" }],
  ]);
  const greedy = await build(route("GET", "/files/{proxy+}"));
  assertEquals(greedy.paths["/files/{proxy}"].get.parameters[0].name, "proxy");
});

Deno.test("buildOpenApiDocument() takes several methods of a path, and routes of zod/mini", async () => {
  const schema = mini.object({ a: mini.string() });
  const document = await build(
    route("GET", "/x"),
    route("POST", "/x", { schema }),
    route("GET", "/y"),
  );
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
    route("POST", "/a", {
      operationName: "A",
      schema: Category,
      responseSchema: z.array(Category),
    }),
    route("POST", "/b", {
      operationName: "B",
      schema: z.object({ by: Author, other: Author, odd: Odd, tree: Category }),
    }),
    route("POST", "/c", { operationName: "C", schema: Author, responseSchema: Author }),
  );
  const { schemas } = document.components;
  assertEquals(schemas.Author.properties, { name: { type: "string" } });
  assertEquals(document.paths["/a"].post.requestBody.content["application/json"].schema, {
    $ref: "#/components/schemas/ABody",
  });
  assertEquals(schemas.ABody.properties.children.items, { $ref: "#/components/schemas/ABody" });
  const { by, other, odd } =
    document.paths["/b"].post.requestBody.content["application/json"].schema.properties;
  assertEquals([by, other], [{ $ref: "#/components/schemas/Author" }, {
    $ref: "#/components/schemas/Author",
  }]);
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
  const refs = [requestBody, responses["200"]].map((part) =>
    part.content["application/json"].schema.properties.c.$ref
  );
  assertEquals(refs, ["#/components/schemas/ChangingInput", "#/components/schemas/Changing"]);
  const { Changing: output, ChangingInput: input } = document.components.schemas;
  assertEquals([input.required, output.required], [undefined, ["limit"]]);
});

Deno.test("buildOpenApiDocument() finds the parameters of a named schema", async () => {
  const { get } = (await build(route("GET", "/x", { querySchema: Changing }))).paths["/x"];
  assertEquals(get.parameters.map((p: Json) => p.name), ["limit"]);
});

Deno.test("buildOpenApiDocument() gives operations without a name a unique id", async () => {
  const document = await build(
    route("GET", "/x"),
    route("GET", "/notes/{noteId}"),
    route("POST", "/x"),
  );
  const ids = [
    document.paths["/x"].get,
    document.paths["/notes/{noteId}"].get,
    document.paths["/x"].post,
  ].map((o) => o.operationId);
  assertEquals(ids, ["handler", "get_notes_noteId", "post_x"]);
});

Deno.test("buildOpenApiDocument() rejects a route or an operationId that occurs twice", () => {
  assertThrows(
    () => buildOpenApiDocument(INFO, [route("GET", "/x"), route("get", "/x")]),
    TypeError,
    "Two operations have the route get /x",
  );
  const openapi = { operationId: "mine" };
  assertThrows(
    () =>
      buildOpenApiDocument(INFO, [
        route("GET", "/x", { openapi }),
        route("GET", "/y", { openapi }),
      ]),
    TypeError,
    "Two operations have the operationId mine, the second at GET /y",
  );
});

Deno.test("buildOpenApiDocument() is the same for the same input, and leaves it alone", () => {
  const routes = [
    route("POST", "/a", { schema: Category, operationName: "A" }),
    route("GET", "/b"),
  ];
  assertEquals(
    JSON.stringify(buildOpenApiDocument(INFO, routes)),
    JSON.stringify(buildOpenApiDocument(INFO, routes)),
  );
  assertEquals(buildOpenApiDocument(INFO, routes).servers, [{ url: "/" }]);
});

Deno.test("buildOpenApiDocument() uses the given names of schemas everywhere, also through references", async () => {
  const Label = z.object({ title: z.string() });
  const Item = z.object({ label: Label.optional(), labels: z.array(Label) });
  const options = {
    schemaNames: new Map<z.core.$ZodType, string>([[Label, "Label"], [Item, "Item"]]),
  };
  const document = await check(buildOpenApiDocument(
    INFO,
    [
      route("POST", "/a", { operationName: "A", schema: Item, responseSchema: Item }),
      route("GET", "/b", {
        operationName: "B",
        responseSchema: z.array(Item.describe("of today")),
      }),
    ],
    undefined,
    options,
  ));
  assertEquals(Object.keys(document.components.schemas), [
    "ApiError",
    "Item",
    "Label",
  ]);
  assertEquals(document.components.schemas.Item.properties, {
    label: { $ref: "#/components/schemas/Label" },
    labels: { type: "array", items: { $ref: "#/components/schemas/Label" } },
  });
  const { post } = document.paths["/a"];
  assertEquals(post.requestBody.content["application/json"].schema, {
    $ref: "#/components/schemas/Item",
  });
  assertEquals(post.responses["200"].content["application/json"].schema, {
    $ref: "#/components/schemas/Item",
  });
  assertEquals(document.paths["/b"].get.responses["200"].content["application/json"].schema.items, {
    $ref: "#/components/schemas/Item",
    description: "of today",
  });
});

Deno.test("buildOpenApiDocument() splits a schema that differs in requests, and all that lead to it", async () => {
  const Inner = z.object({ at: z.coerce.date().default(new Date(0)) });
  const Outer = z.object({ inner: Inner });
  const Same = z.object({ a: z.string() });
  const names = new Map<z.core.$ZodType, string>([[Inner, "Inner"], [Outer, "Outer"], [
    Same,
    "Same",
  ]]);
  const both = z.object({ outer: Outer, same: Same });
  const { components, paths } = await check(
    buildOpenApiDocument(
      INFO,
      [route("POST", "/a", { schema: both, responseSchema: both })],
      undefined,
      {
        schemaNames: names,
      },
    ),
  );
  assertEquals(Object.keys(components.schemas), [
    "ApiError",
    "Inner",
    "InnerInput",
    "Outer",
    "OuterInput",
    "Same",
  ]);
  assertEquals(components.schemas.OuterInput.properties.inner, {
    $ref: "#/components/schemas/InnerInput",
  });
  assertEquals(components.schemas.Outer.properties.inner, { $ref: "#/components/schemas/Inner" });
  assertEquals(paths["/a"].post.requestBody.content["application/json"].schema.properties, {
    outer: { $ref: "#/components/schemas/OuterInput" },
    same: { $ref: "#/components/schemas/Same" },
  });
});

Deno.test("buildOpenApiDocument() leaves the names of an application's schemas to them", async () => {
  const Mine = z.object({ problem: z.string() }).meta({ id: "ApiError" });
  const Taken = z.object({ n: z.coerce.number().default(1) }).meta({ id: "Taken" });
  const Other = z.object({ other: z.string() }).meta({ id: "TakenInput" });
  const { components } = await build(
    route("POST", "/a", { schema: Taken, responseSchema: z.object({ Mine, Taken, Other }) }),
  );
  assertEquals(Object.keys(components.schemas), [
    "ApiError",
    "ApiError2",
    "Taken",
    "TakenInput",
    "TakenInput2",
  ]);
  assertEquals(Object.keys(components.schemas.ApiError.properties), ["problem"]);
  assertEquals(components.responses.InternalServerError.content["application/json"].schema, {
    $ref: "#/components/schemas/ApiError2",
  });
});

Deno.test("buildOpenApiDocument() refuses two different schemas with one id", () => {
  const one = z.object({ a: z.string() }).meta({ id: "X" });
  const other = z.object({ b: z.string() }).meta({ id: "X" });
  for (
    const options of [{ schema: one, responseSchema: other }, {
      schema: z.object({ one }),
      responseSchema: other,
    }]
  ) {
    assertThrows(
      () => buildOpenApiDocument(INFO, [route("POST", "/a", options)]),
      TypeError,
      "Two schemas have the id X and are not the same",
    );
  }
  const again = () => z.object({ a: z.string() }).meta({ id: "X" });
  const { components } = buildOpenApiDocument(INFO, [
    route("POST", "/a", { schema: again(), responseSchema: again() }),
  ]);
  assertEquals(Object.keys(components.schemas), ["ApiError", "X"]);
});

Deno.test("buildOpenApiDocument() describes what JSON carries of dates, bigints, transforms and defaults", async () => {
  const body = z.object({
    coerced: z.coerce.date(),
    big: z.coerce.bigint(),
    length: z.string().transform((text) => text.length),
    piped: z.string().pipe(z.transform(Number)).pipe(z.int()),
    day: z.codec(z.iso.date(), z.date(), {
      decode: (text) => new Date(text),
      encode: (date) => date.toISOString(),
    }),
    fixed: z.string().default("a"),
    id: z.string().default(() => crypto.randomUUID()),
    now: z.coerce.date().default(() => new Date()),
    time: z.int().default(() => Date.now()),
  });
  const { post } =
    (await build(route("POST", "/a", { schema: body, responseSchema: body.omit({ big: true }) })))
      .paths["/a"];
  const input = post.requestBody.content["application/json"].schema.properties;
  assertEquals(input.coerced, { type: "string", format: "date-time" });
  assertEquals(input.big, { type: "integer", format: "int64" });
  assertEquals([input.length.type, input.piped.type, input.day.format], [
    "string",
    "string",
    "date",
  ]);
  assertEquals(input.fixed, { type: "string", default: "a" });
  assertEquals(input.id, { type: "string" });
  assertEquals(input.now, { type: "string", format: "date-time" });
  assertEquals("default" in input.time, false);
  const output = post.responses["200"].content["application/json"].schema.properties;
  assertEquals([output.length, output.piped.type, output.day.format], [{}, "integer", "date-time"]);
});

Deno.test("buildOpenApiDocument() reports values that JSON cannot contain to onIssue", () => {
  const heard: string[] = [];
  const schema = z.object({
    list: z.array(z.object({ at: z.date() })),
    map: z.map(z.string(), z.bigint()),
  });
  buildOpenApiDocument(
    INFO,
    [route("POST", "/a", { schema, responseSchema: z.bigint() })],
    undefined,
    {
      onIssue: ({ path, message }) => void heard.push(`${path}: ${message}`),
    },
  );
  assertEquals(heard.sort(), [
    ": JSON has no bigint: use z.string(), or z.int() for numbers up to 2^53",
    "list.[].at: a request never carries a Date: use z.coerce.date(), or z.iso.datetime() for a text",
    "map: JSON has no Map: use z.record()",
  ]);
});

Deno.test("buildOpenApiDocument() reports parameters that refuse or misread the texts in which they arrive", () => {
  const heard: string[] = [];
  const querySchema = z.object({
    coerced: z.coerce.number().int().default(1),
    either: z.union([z.number(), z.literal("all")]),
    flag: z.coerce.boolean().optional(),
    ids: z.array(z.int()).optional(),
    is: z.boolean().default(false),
    isText: z.stringbool().optional(),
    limit: z.number().int().optional(),
    piped: z.string().transform(Number).pipe(z.number()),
    split: z.preprocess((text) => String(text).split(","), z.array(z.number())).optional(),
    where: z.object({ age: z.coerce.number() }).optional(),
  });
  const operations = [
    route("GET", "/a/{id}", {
      querySchema,
      pathSchema: z.object({ id: z.int() }),
      headers: z.object({ "x-rank": z.number().optional() }),
      cookies: z.object({ seen: z.coerce.boolean().optional() }),
    }),
    route("GET", "/b", {
      querySchema: z.preprocess((query) => query, z.object({ n: z.number() })),
    }),
    // bodies of JSON have numbers and booleans
    route("POST", "/c", { schema: z.object({ n: z.number(), is: z.boolean() }) }),
    route("POST", "/d", {
      schema: z.object({ count: z.number() }),
      bodyParser: createMultipartParser(),
    }),
    route("GET", "/e", {
      responses: { 200: { headers: z.object({ "x-count": z.int() }) } },
    }),
  ];
  buildOpenApiDocument(INFO, operations, undefined, {
    onIssue: ({ path, message }) => void heard.push(`${path}: ${message}`),
  });
  assertEquals(heard.sort(), [
    "count: arrives as a text: use z.coerce.number()",
    'flag: z.coerce.boolean() takes the text "false" for true: use z.stringbool()',
    "id: arrives as a text: use z.coerce.number()",
    "ids.[]: arrives as a text: use z.coerce.number()",
    "is: arrives as a text: use z.stringbool()",
    "limit: arrives as a text: use z.coerce.number()",
    'seen: z.coerce.boolean() takes the text "false" for true: use z.stringbool()',
    "where: arrives as a text: declare each of its fields as a parameter",
    "x-rank: arrives as a text: use z.coerce.number()",
  ]);
});

Deno.test("buildOpenApiDocument() takes declared answers, and leaves the body out where there is none", async () => {
  const { paths } = await build(
    route("POST", "/a", {
      openapi: { responses: { 200: "Made", 409: "Taken", 302: "Elsewhere", 429: "" } },
    }),
    route("DELETE", "/a", { responseSchema: z.object({}), openapi: { successStatus: 204 } }),
    route("GET", "/a", { responseSchema: z.void() }),
  );
  const { responses } = paths["/a"].post;
  assertEquals([responses["200"], responses["302"]], [{ description: "Made" }, {
    description: "Elsewhere",
  }]);
  assertEquals(responses["409"], {
    description: "Taken",
    content: { "application/json": { schema: { $ref: "#/components/schemas/ApiError" } } },
  });
  assertEquals(responses["429"], { $ref: "#/components/responses/TooManyRequests" });
  assertEquals(paths["/a"].delete.responses["204"], { description: "No Content" });
  assertEquals(paths["/a"].get.responses["200"], { description: "OK" });
});

Deno.test("buildOpenApiDocument() writes ANY as the methods without their own operation", async () => {
  const { paths } = await build(
    route("ANY", "/a", { operationName: "All" }),
    route("GET", "/a", { operationName: "One" }),
  );
  const ids = Object.entries<Json>(paths["/a"]).map((
    [method, { operationId }],
  ) => [method, operationId]);
  assertEquals(ids, [
    ["get", "One"],
    ["post", "All_post"],
    ["put", "All_put"],
    ["patch", "All_patch"],
    ["delete", "All_delete"],
  ]);
});

Deno.test("buildOpenApiDocument() omits hidden operations and unused security schemes", async () => {
  const document = await build(
    route("GET", "/a", { auth: "bearer", openapi: { hidden: true } }),
    route("GET", "/b", { auth: "authorizer-optional" }),
  );
  assertEquals(Object.keys(document.paths), ["/b"]);
  assertEquals(Object.keys(document.components.securitySchemes), ["authorizer"]);
});

Deno.test("buildOpenApiDocument() finds the parameters of intersections and unions", async () => {
  const page = z.object({ limit: z.coerce.number() });
  const by = z.discriminatedUnion("by", [
    z.object({ by: z.literal("name"), name: z.string() }),
    z.object({ by: z.literal("age"), age: z.coerce.number() }),
  ]);
  const parameters = async (querySchema: z.ZodType) =>
    (await build(route("GET", "/x", { querySchema }))).paths["/x"].get.parameters.map((
      p: Json,
    ) => [p.name, p.required]);
  assertEquals(await parameters(z.intersection(page, z.object({ q: z.string().optional() }))), [
    ["limit", true],
    ["q", false],
  ]);
  assertEquals(await parameters(by), [["by", true], ["name", false], ["age", false]]);
});

const Circle = z.object({ kind: z.literal("circle"), radius: z.number() });
const Square = z.object({ kind: z.enum(["square", "box"]), side: z.number() });

Deno.test("buildOpenApiDocument() writes the mapping of discriminated unions whose variants have names", async () => {
  const Shape = z.discriminatedUnion("kind", [Circle, Square]);
  const Done = z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true) }),
    z.object({ ok: z.literal(false), reason: z.string().optional() }),
  ]);
  const schemaNames = new Map<z.core.$ZodType, string>([[Circle, "Circle"], [Square, "Square"]]);
  const routes = [
    route("POST", "/a", { schema: Shape, responseSchema: Done }),
    route("POST", "/b", {
      schema: z.discriminatedUnion("kind", [Circle, Square.omit({ side: true })]),
    }),
  ];
  const { paths, components } = await check(
    buildOpenApiDocument(INFO, routes, undefined, { schemaNames }),
  );
  const body = (path: string) => paths[path].post.requestBody.content["application/json"].schema;
  assertEquals(body("/a"), {
    oneOf: [{ $ref: "#/components/schemas/Circle" }, { $ref: "#/components/schemas/Square" }],
    discriminator: {
      propertyName: "kind",
      mapping: {
        circle: "#/components/schemas/Circle",
        square: "#/components/schemas/Square",
        box: "#/components/schemas/Square",
      },
    },
  });
  assertEquals(Object.keys(components.schemas), ["ApiError", "Circle", "Square"]);
  // a variant without a name cannot be a target
  assertEquals(Object.keys(body("/b")), ["oneOf"]);
  // without their literals both variants fit { "ok": true }
  const done = paths["/a"].post.responses["200"].content["application/json"].schema;
  assertEquals(Object.keys(done), ["anyOf"]);
  assertEquals(done.anyOf[0].properties.ok, { type: "boolean", "x-const": true });
});

Deno.test("buildOpenApiDocument() writes formats, enums and texts that generators of other languages can read", async () => {
  const schema = z.object({
    big: z.int(),
    id: z.int().min(1),
    small: z.int().min(0).max(100),
    edge: z.int().gte(-(2 ** 31)).lt(2 ** 31),
    literal: z.literal(1),
    numbers: z.union([z.literal(1), z.literal(2)]),
    texts: z.union([z.literal("a"), z.enum(["b", "c"])]),
    mixed: z.union([z.literal("a"), z.literal(2)]),
    flag: z.stringbool(),
    named: z.stringbool({ truthy: ["yes"], falsy: ["no"] }).describe("Whether"),
    yes: z.literal(true),
    ratio: z.number().min(0),
    either: z.literal([true, false]),
    nothing: z.null(),
    perhaps: z.union([z.string(), z.null()]),
  });
  const { post } = (await build(route("POST", "/a", { schema }))).paths["/a"];
  const { properties } = post.requestBody.content["application/json"].schema;
  const int64 = { type: "integer", format: "int64" };
  assertEquals(properties, {
    big: int64,
    id: { ...int64, minimum: 1 },
    small: { type: "integer", format: "int32", minimum: 0, maximum: 100 },
    ratio: { type: "number", format: "double", minimum: 0 },
    edge: { ...int64, minimum: -(2 ** 31), exclusiveMaximum: 2 ** 31 },
    literal: { type: "integer", const: 1 },
    numbers: { type: "integer", enum: [1, 2] },
    texts: { type: "string", enum: ["a", "b", "c"] },
    mixed: { anyOf: [{ type: "string", const: "a" }, { type: "integer", const: 2 }] },
    flag: {
      type: "string",
      enum: ["true", "1", "yes", "on", "y", "enabled", "false", "0", "no", "off", "n", "disabled"],
    },
    named: { type: "string", enum: ["yes", "no"], description: "Whether" },
    yes: { type: "boolean", "x-const": true },
    either: { type: "boolean" },
    nothing: { "x-const": null },
    perhaps: { type: ["string", "null"] },
  });
});

Deno.test("buildOpenApiDocument() says that lists of a form are fields of their own", () => {
  const schema = z.object({
    photos: z.array(z.file()),
    tags: z.array(z.string()).max(3).optional(),
    sizes: z.array(z.coerce.number()).default([]),
    title: z.string(),
  });
  const { paths }: Json = buildOpenApiDocument(INFO, [
    route("POST", "/a", { schema, bodyParser: createMultipartParser() }),
  ]);
  const form = { style: "form", explode: true };
  assertEquals(paths["/a"].post.requestBody.content["multipart/form-data"].encoding, {
    tags: form,
    sizes: form,
  });
});

Deno.test("buildOpenApiDocument() says that an optional body is optional, and refuses files without a parser", () => {
  const heard: string[] = [];
  const photo = z.object({ photo: z.file() });
  const { paths }: Json = buildOpenApiDocument(
    INFO,
    [
      route("POST", "/a", { schema: z.object({ a: z.string() }).optional() }),
      route("POST", "/b", { schema: photo }),
      route("POST", "/c", { schema: photo, bodyParser: createMultipartParser() }),
    ],
    undefined,
    { onIssue: ({ path, message }) => void heard.push(`${path}: ${message}`) },
  );
  const bodies = ["/a", "/b", "/c"].map((path) => paths[path].post.requestBody);
  assertEquals(bodies.map(({ required }) => required), [false, true, true]);
  assertEquals(Object.keys(bodies[2].content), ["multipart/form-data"]);
  assertEquals("encoding" in bodies[2].content["multipart/form-data"], false);
  assertEquals(heard, ["photo: JSON has no files: set bodyParser: createMultipartParser()"]);
});
