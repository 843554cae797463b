/**
 * Compares the verdicts of `trellis check api-compat` and of oasdiff with the right ones, for pairs of documents. Without Go only
 * ours are compared.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { compareDocuments } from "../../cli/compat/compare_documents.ts";
import type { Json } from "../../cli/compat/schema_view.ts";
import { runProgram } from "../../scripts/program.ts";
import { prepare } from "../emulator/emulator.ts";
import { withTempFolder } from "../support/temp_folder.ts";

const OASDIFF = "github.com/oasdiff/oasdiff@v1.38.0";

const text = (more: Json = {}): Json => ({ type: "string", ...more });
const whole = (more: Json = {}): Json => ({ type: "integer", ...more });
const list = (more: Json = {}): Json => ({ type: "array", items: text(), ...more });
const object = (properties: Json, required: string[] = [], more: Json = {}): Json => ({
  ...{ type: "object", properties, ...(required.length > 0 && { required }), ...more },
});
const named = (kind: string): Json => object({ kind: text({ const: kind }) }, ["kind"]);

/** A change of a schema: whether it breaks clients that send such values, and clients that receive them. */
type SchemaPair = readonly [name: string, before: Json, after: Json, verdict: Verdict];
type Verdict = "neither" | "request" | "response" | "both";

const SCHEMAS: readonly SchemaPair[] = [
  ["a longer text", text({ maxLength: 10 }), text({ maxLength: 20 }), "response"],
  ["a limit of length", text(), text({ maxLength: 20 }), "request"],
  ["a minimum of length", text(), text({ minLength: 1 }), "request"],
  ["a pattern", text(), text({ pattern: "^a" }), "request"],
  ["another pattern", text({ pattern: "^a" }), text({ pattern: "^b" }), "both"],
  ["a format", text(), text({ format: "date-time" }), "request"],
  ["another format", text({ format: "date" }), text({ format: "date-time" }), "both"],
  ["a value", text({ enum: ["a"] }), text({ enum: ["a", "b"] }), "response"],
  ["the first enum", text(), text({ enum: ["a", "b"] }), "request"],
  ["a constant that becomes an enum", text({ const: "a" }), text({ enum: ["a", "b"] }), "response"],
  ["a constant", text(), text({ const: "a" }), "request"],
  ["an extensible value", text(), text({ "x-extensible-enum": ["a"] }), "neither"],
  ["another type", text(), whole(), "both"],
  ["a wider type", whole(), { type: "number" }, "response"],
  ["null", text(), { type: ["string", "null"] }, "response"],
  ["null in another spelling", { type: ["string", "null"] }, {
    anyOf: [text(), { type: "null" }],
  }, "neither"],
  ["a second type", text(), { anyOf: [text(), whole()] }, "response"],
  ["a maximum", whole(), whole({ maximum: 20 }), "request"],
  ["a higher maximum", whole({ maximum: 20 }), whole({ maximum: 50 }), "response"],
  ["a minimum", whole(), whole({ minimum: 1 }), "request"],
  ["an exclusive minimum", whole({ minimum: 0 }), whole({ exclusiveMinimum: 0 }), "request"],
  ["a multiple", whole(), whole({ multipleOf: 5 }), "request"],
  ["32 bits", whole({ format: "int64" }), whole({ format: "int32" }), "request"],
  ["a format of fractions", { type: "number" }, { type: "number", format: "double" }, "neither"],
  ["a longer list", list({ maxItems: 5 }), list({ maxItems: 9 }), "response"],
  ["a limit of a list", list(), list({ maxItems: 9 }), "request"],
  ["a minimum of a list", list(), list({ minItems: 1 }), "request"],
  ["unique items", list(), list({ uniqueItems: true }), "request"],
  ["other items", list(), list({ items: whole() }), "both"],
  ["an optional field", object({ a: text() }), object({ a: text(), b: text() }), "neither"],
  ["a required field", object({ a: text() }), object({ a: text(), b: text() }, ["b"]), "request"],
  ["a field that is required", object({ a: text() }), object({ a: text() }, ["a"]), "request"],
  ["an optional field less", object({ a: text(), b: text() }), object({ a: text() }), "neither"],
  ["a required field less", object({ a: text() }, ["a"]), object({}), "response"],
  [
    "no other fields",
    object({ a: text() }, [], { additionalProperties: {} }),
    object({ a: text() }, [], {
      additionalProperties: false,
    }),
    "request",
  ],
  [
    "a field of a closed object",
    object({ a: text() }, [], { additionalProperties: false }),
    object(
      {
        ...{ a: text(), b: text() },
      },
      [],
      { additionalProperties: false },
    ),
    "response",
  ],
  [
    "other values of a record",
    object({}, [], { additionalProperties: text() }),
    object({}, [], {
      additionalProperties: whole(),
    }),
    "both",
  ],
  [
    "a nested limit",
    object({ a: object({ b: text() }) }),
    object({
      a: object({ b: text({ maxLength: 5 }) }),
    }),
    "request",
  ],
  ["a variant", { oneOf: [named("a")] }, { oneOf: [named("a"), named("b")] }, "response"],
  ["variants in another order", { oneOf: [named("a"), named("b")] }, {
    oneOf: [named("b"), named("a")],
  }, "neither"],
  ["a default", text(), text({ default: "a" }), "neither"],
  ["a description", text(), text({ description: "A name" }), "neither"],
  ["any value", text(), {}, "response"],
  ["an empty list of keywords", {}, { allOf: [{}] }, "neither"],
  ["a part", object({ a: text() }), {
    allOf: [object({ a: text() }), object({ b: text() }, ["b"])],
  }, "request"],
];

const json = (schema: Json): Json => ({ content: { "application/json": { schema } } });
const build = (operation: Json, more: Json = {}): Json => ({
  ...{ openapi: "3.1.0", info: { title: "A", version: "1" } },
  paths: { "/a/{id}": { parameters: [ID], post: { responses: OK, ...operation } } },
  ...more,
});
const ID = { name: "id", in: "path", required: true, schema: text() };
const OK = { 200: { description: "" } };
const query = (more: Json): Json => ({
  parameters: [{ name: "q", in: "query", schema: text(), ...more }],
});
const secured = (scheme: Json, scopes: string[] = []): Json =>
  build({ security: [{ key: scopes }] }, { components: { securitySchemes: { key: scheme } } });
const HEADER_KEY = { type: "apiKey", in: "header", name: "x-key" };
const answers = (more: Json): Json => build({ responses: more });

const send = (schema: Json) => build({ requestBody: { required: true, ...json(schema) } });
const receive = (schema: Json) => answers({ 200: { description: "", ...json(schema) } });
const CLOSED = object({}, [], { additionalProperties: false });

type DocumentPair = readonly [name: string, before: Json, after: Json, isBreaking: boolean];

const OPERATIONS: readonly DocumentPair[] = [
  ["an operation less", build({}), { ...build({}), paths: {} }, true],
  ["an operation", { ...build({}), paths: {} }, build({}), false],
  ["an optional parameter", build({}), build(query({})), false],
  ["a required parameter", build({}), build(query({ required: true })), true],
  ["a parameter that is required", build(query({})), build(query({ required: true })), true],
  ["a parameter that is optional", build(query({ required: true })), build(query({})), false],
  ["a parameter less", build(query({})), build({}), false],
  [
    "a parameter in a header",
    build(query({ required: true })),
    build(query({ required: true, in: "header" })),
    true,
  ],
  [
    "a list in another style",
    build(query({ schema: list() })),
    build(query({ schema: list(), explode: false })),
    true,
  ],
  ["a body", build({}), build({ requestBody: { required: true, ...json(text()) } }), true],
  [
    "a body that is required",
    build({ requestBody: json(text()) }),
    build({ requestBody: { required: true, ...json(text()) } }),
    true,
  ],
  [
    "a body that is optional",
    build({ requestBody: { required: true, ...json(text()) } }),
    build({ requestBody: json(text()) }),
    false,
  ],
  [
    "another media type of a request",
    build({ requestBody: json(text()) }),
    build({ requestBody: { content: { "text/plain": { schema: text() } } } }),
    true,
  ],
  ["a session", build({}), secured(HEADER_KEY), true],
  ["a session less", secured(HEADER_KEY), build({}), false],
  [
    "another header of the key",
    secured(HEADER_KEY),
    secured({ ...HEADER_KEY, name: "x-other" }),
    true,
  ],
  ["another status of success", build({}), answers({ 201: { description: "" } }), true],
  ["an error", build({}), answers({ ...OK, 409: { description: "" } }), false],
  ["an error less", answers({ ...OK, 409: { description: "" } }), build({}), false],
  [
    "another media type of a response",
    answers({ 200: { description: "", ...json(text()) } }),
    answers({ 200: { description: "", content: { "text/plain": { schema: text() } } } }),
    true,
  ],
  [
    "a header of a response",
    build({}),
    answers({ 200: { description: "", headers: { "x-a": { required: true, schema: text() } } } }),
    false,
  ],
  [
    "a required header of a response less",
    answers({ 200: { description: "", headers: { "x-a": { required: true, schema: text() } } } }),
    build({}),
    true,
  ],
  ["another operation id", build({ operationId: "a" }), build({ operationId: "b" }), false],
  ["another name in the path", build({}), {
    ...build({}),
    paths: { "/a/{other}": { parameters: [{ ...ID, name: "other" }], post: { responses: OK } } },
  }, false],
];

/** A handler sends no fields that its schema does not name, unless the schema says so: `z.looseObject()`. */
const OBJECTS: readonly DocumentPair[] = [
  ["a request that gets strict", send(object({})), send(CLOSED), true],
  ["a response that gets strict", receive(object({})), receive(CLOSED), false],
  ["a strict response less", receive(CLOSED), receive(object({})), false],
  [
    "a response that gets loose",
    receive(CLOSED),
    receive(object({}, [], { additionalProperties: true })),
    true,
  ],
];

const PAIRS: readonly DocumentPair[] = [
  ...SCHEMAS.flatMap(([name, a, b, verdict]): DocumentPair[] => {
    const breaksRequests = verdict === "request" || verdict === "both";
    const breaksResponses = verdict === "response" || verdict === "both";
    // the same change backwards breaks the other side, unless it breaks both or none
    const isSame = verdict === "both" || verdict === "neither";
    return [
      [`request: ${name}`, send(a), send(b), breaksRequests],
      [`response: ${name}`, receive(a), receive(b), breaksResponses],
      [`request: ${name}, backwards`, send(b), send(a), isSame ? breaksRequests : breaksResponses],
      [
        `response: ${name}, backwards`,
        receive(b),
        receive(a),
        isSame ? breaksResponses : breaksRequests,
      ],
    ];
  }),
  ...OPERATIONS,
  ...OBJECTS,
];

/** Pairs about which oasdiff is wrong. */
const WRONG_IN_OASDIFF: readonly string[] = [
  // no error
  ...["request: a pattern", "response: a pattern, backwards"],
  ...["request: another pattern", "response: another pattern"],
  ...["request: another pattern, backwards", "response: another pattern, backwards"],
  // an error
  ...["request: a constant that becomes an enum"],
  ...["response: null in another spelling", "request: null in another spelling, backwards"],
  // no error
  ...["response: an exclusive minimum", "request: an exclusive minimum, backwards"],
  // an error
  ...["request: a format of fractions", "response: a format of fractions, backwards"],
  // no error
  ...["request: no other fields", "response: no other fields, backwards"],
  "response: a field of a closed object",
  // an error
  "request: a field of a closed object, backwards",
  // no error
  ...["response: a part, backwards", "a list in another style"],
  ...["a request that gets strict", "a response that gets loose"],
];

Deno.test(`check api-compat is right about ${PAIRS.length} pairs of documents`, () => {
  const wrong = PAIRS.filter(([, before, after, isBreaking]) =>
    compareDocuments(before, after).some((change) => change.isBreaking) !== isBreaking
  );
  assertEquals(wrong.map(([name]) => name), []);
});

const hasGo = (await runProgram("go", ["version"]).catch(() => ({ code: 1 }))).code === 0;

Deno.test({
  name: hasGo
    ? "oasdiff is wrong about known pairs alone"
    : "oasdiff is wrong about known pairs alone: not compared without Go",
  ignore: !hasGo,
  async fn() {
    const folder = await prepare(
      `trellis-${OASDIFF.replaceAll(/[^a-z0-9.]/g, "-")}`,
      async (draft) => {
        const { code, stderr } = await runProgram("go", ["install", OASDIFF], {
          env: { GOBIN: draft },
        });
        assertEquals(code, 0, stderr);
      },
    );
    const differing: string[] = [];
    await withTempFolder({}, async (temp) => {
      for (const [name, before, after, isBreaking] of PAIRS) {
        const files = [before, after].map((_, index) => join(temp, `${index}.json`));
        await Deno.writeTextFile(files[0], JSON.stringify(before));
        await Deno.writeTextFile(files[1], JSON.stringify(after));
        const args = ["breaking", ...files, "--format", "json", "--fail-on", "ERR"];
        const { code, stderr } = await runProgram(join(folder, "oasdiff"), args);
        assertEquals(stderr, "", name);
        if ((code !== 0) !== isBreaking) differing.push(name);
      }
    });
    assertEquals(differing, WRONG_IN_OASDIFF);
  },
});
