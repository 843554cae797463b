import { assertEquals } from "@std/assert";
import { compareDocuments } from "../../../cli/compat/compare_documents.ts";
import type { Json } from "../../../cli/compat/schema_view.ts";

const OPERATION = { responses: { 200: { description: "" } } };
const LIMIT = { name: "limit", in: "query", schema: { type: "integer", maximum: 50 } };
const STRICT_LIMIT = { ...LIMIT, schema: { type: "integer", maximum: 20 } };
const PLACES = [["a", "integer"], ["b", "string"]].map(([name, type]) => ({
  name,
  in: "path",
  required: true,
  schema: { type },
}));
const getById = (item: Json, path = "/notes/{id}"): Json => ({
  openapi: "3.1.0",
  paths: { [path]: { get: OPERATION, ...item } },
});
const answer = (headers: Json): Json =>
  getById({ get: { responses: { 200: { description: "", headers } } } });
const body = (schema: Json): Json =>
  getById({ get: { requestBody: { content: { "application/json": { schema } } } } });
const reply = (schema: Json): Json =>
  getById({
    get: { responses: { 200: { description: "", content: { "application/json": { schema } } } } },
  });
const LIST = { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } };
const secured = (key: Json): Json => ({
  ...getById({}),
  security: [{ key: [] }],
  components: { securitySchemes: { key } },
});
const variants = (anyOf: readonly string[], oneOf: readonly string[]): Json => ({
  anyOf: anyOf.map((value) => ({ type: "object", properties: { a: { const: value } } })),
  oneOf: oneOf.map((value) => ({
    type: "object",
    properties: { b: { const: value } },
    required: ["b"],
  })),
});

type Case = readonly [name: string, before: Json, after: Json, changes: readonly string[]];

const CASES: readonly Case[] = [
  [
    "a parameter of the path that got stricter",
    getById({ parameters: [LIMIT] }),
    getById({
      parameters: [STRICT_LIMIT],
    }),
    ["breaking the parameter query limit: may not fit maximum 20"],
  ],
  [
    "a parameter that moved from the path to the operation",
    getById({ parameters: [LIMIT] }),
    getById({
      get: { ...OPERATION, parameters: [LIMIT] },
    }),
    [],
  ],
  [
    "a parameter of the operation that replaces that of its path",
    getById({
      parameters: [STRICT_LIMIT],
      get: { ...OPERATION, parameters: [LIMIT] },
    }),
    getById({ parameters: [LIMIT] }),
    [],
  ],
  [
    "a parameter that has content got stricter",
    getById({
      parameters: [{ name: "q", in: "query", content: { "application/json": { schema: {} } } }],
    }),
    getById({
      parameters: [{
        name: "q",
        in: "query",
        content: { "application/json": { schema: { type: "string" } } },
      }],
    }),
    [
      "breaking the parameter query q: may be of the type number or boolean or null or array or object",
    ],
  ],
  [
    "parameters that changed their places in the path",
    getById({ parameters: PLACES }, "/{a}/{b}"),
    getById({ parameters: PLACES }, "/{b}/{a}"),
    [
      "breaking the parameter 2 of the path: may be of the type string",
      "breaking the parameter 1 of the path: may be of the type integer",
    ],
  ],
  [
    "a required header of an answer that was removed",
    answer({
      "X-Total": { required: true, schema: { type: "integer" } },
    }),
    answer({}),
    ["breaking the header x-total of 200 was removed"],
  ],
  [
    "an optional header of an answer that was removed",
    answer({ "x-total": { schema: {} } }),
    answer(
      {},
    ),
    ["compatible the header x-total of 200 was removed"],
  ],
  [
    "a header of an answer that may be missing",
    answer({
      "x-total": { required: true, schema: {} },
    }),
    answer({ "X-Total": { schema: {} } }),
    ["breaking the header x-total of 200 may be missing"],
  ],
  [
    "other values of a header of an answer",
    answer({
      "x-total": { schema: { type: "integer" } },
    }),
    answer({ "x-total": { schema: { type: "string" } } }),
    [
      "breaking the header x-total of 200: may be of the type string",
    ],
  ],
  ["a header of an answer that was added", answer({}), answer({ "x-total": { schema: {} } }), [
    "compatible the header x-total of 200 was added",
  ]],
  [
    "a variant less of oneOf beside anyOf",
    body(variants(["x", "y"], ["p", "q"])),
    body(variants(["x", "y"], ["p"])),
    ["breaking the body: may fit none of the variants"],
  ],
  [
    "a variant less of anyOf beside oneOf",
    body(variants(["x", "y"], ["p", "q"])),
    body(variants(["x"], ["p", "q"])),
    ["breaking the body: may fit none of the variants"],
  ],
  [
    "a variant more of both",
    body(variants(["x"], ["p"])),
    body(variants(["x", "y"], ["p", "q"])),
    ["compatible the body changed in a compatible way"],
  ],
  [
    "a path that is a reference",
    {
      ...getById({}),
      components: { pathItems: { Note: { get: OPERATION } } },
      paths: { "/notes": { $ref: "#/components/pathItems/Note" } },
    },
    { ...getById({}), paths: { "/notes": {} } },
    ["breaking the operation was removed"],
  ],
  ["a security of the whole document", getById({}), { ...getById({}), security: [{ key: [] }] }, [
    "breaking security was none and is key",
  ]],
  [
    "an object of a request that becomes strict",
    body({ type: "object", properties: { a: {} } }),
    body({ type: "object", properties: { a: {} }, additionalProperties: false }),
    ["breaking the body, *: may be sent, and is not allowed"],
  ],
  [
    "an object of a response that becomes strict",
    reply({ type: "object", properties: { a: {} } }),
    reply({ type: "object", properties: { a: {} }, additionalProperties: false }),
    [],
  ],
  [
    "a number of 64 bits that has 32",
    body({ type: "integer", format: "int64", minimum: 0 }),
    body({ type: "integer", format: "int32", minimum: 0 }),
    ["breaking the body: may not fit maximum 2147483647"],
  ],
  [
    "a number of a response that has 64 bits",
    reply({ type: "integer", format: "int32" }),
    reply({ type: "integer", format: "int64" }),
    [
      "breaking the body of 200: may not fit minimum -2147483648",
      "breaking the body of 200: may not fit maximum 2147483647",
    ],
  ],
  [
    "a number whose limits fit the format that it gets",
    body({ type: "integer", minimum: 0, maximum: 100 }),
    body({ type: "integer", format: "int32", minimum: 0, maximum: 100 }),
    [],
  ],
  [
    "null alone that is described by x-const",
    reply({ type: "null" }),
    reply({ "x-const": null }),
    [],
  ],
  [
    "a literal of a boolean that is described by x-const",
    reply({ type: "boolean", const: true }),
    reply({ type: "boolean", "x-const": true }),
    [],
  ],
  [
    "a closed list of a response that is open with the same values",
    reply({ type: "string", enum: ["A"] }),
    reply({ type: "string", "x-extensible-enum": ["A"] }),
    [],
  ],
  [
    "a list of parameters that is written in another way",
    getById({ parameters: [LIST] }),
    getById({ parameters: [{ ...LIST, explode: false }] }),
    ["breaking the parameter query tags is written in another way"],
  ],
  [
    "a parameter that has the default style",
    getById({ parameters: [LIST, LIMIT] }),
    getById({
      parameters: [{ ...LIST, style: "form", explode: true }, { ...LIMIT, explode: false }],
    }),
    [],
  ],
  [
    "a credential that has another header",
    secured({ type: "apiKey", in: "header", name: "x-api-key", description: "A key" }),
    secured({ type: "apiKey", in: "header", name: "x-key" }),
    ["breaking the security scheme key changed"],
  ],
  [
    "a credential that has another description",
    secured({ type: "http", scheme: "bearer", description: "A token" }),
    secured({ type: "http", scheme: "bearer", bearerFormat: "JWT" }),
    [],
  ],
];

Deno.test("compareDocuments() finds changes of parameters, headers, variants and security", async (t) => {
  for (const [name, before, after, expected] of CASES) {
    await t.step(name, () => {
      const changes = compareDocuments(before, after).map(({ isBreaking, message }) =>
        `${isBreaking ? "breaking" : "compatible"} ${message}`
      );
      assertEquals(changes, expected);
      assertEquals(compareDocuments(after, after), []);
    });
  }
});
