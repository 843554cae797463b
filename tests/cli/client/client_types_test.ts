import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import openapiTypes, { astToString } from "openapi-typescript";
import { renderClientTypes } from "../../../cli/client/client_types.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import type { OpenApiDocument } from "../../../validation/openapi/document.ts";
import { testSeed } from "../../support/seed.ts";

type Json = Record<string, unknown>;

/** Compares two types in both directions, also with all fields required: a missing optional field differs. */
const COMPARE = `
type Whole<T> = { [K in keyof T]-?: Whole<T[K]> };
type Fits<A, B> = [A] extends [B] ? true : false;
type Same<A, B> = [Fits<A, B>, Fits<B, A>, Fits<Whole<A>, Whole<B>>, Fits<Whole<B>, Whole<A>>];
/** Without members that are never: openapi-typescript lists what an operation does not have. */
type Clean<T> = { [K in keyof T as [Exclude<T[K], undefined>] extends [never] ? never : K]: T[K] };
type Part<T, K extends string> = T extends { [P in K]: infer V } ? V : {};
type Body<T> = T extends { requestBody?: infer V } ? V : undefined;
type IsRequired<T> = T extends { requestBody: object } ? true : false;
type Headers<T> = T extends { headers: infer V } ? V : { [name: string]: unknown };
type Content<T> = T extends { content: infer V } ? V : undefined;
type Answers<T, As extends "h" | "c"> = {
  [K in keyof T]: As extends "h" ? Headers<T[K]> : Content<T[K]>;
};
type Operation<A, B> = [
  ...Same<Clean<Part<A, "parameters">>, Clean<Part<B, "parameters">>>,
  ...Same<Body<A>, Body<B>>,
  ...Same<IsRequired<A>, IsRequired<B>>,
  ...Same<Answers<Part<A, "responses">, "h">, Answers<Part<B, "responses">, "h">>,
  ...Same<Answers<Part<A, "responses">, "c">, Answers<Part<B, "responses">, "c">>,
];
function check<_T extends true[]>(): void {}
`;

/** Compares the types of documents with those of openapi-typescript, with one run of the type checker. */
async function compare(documents: readonly OpenApiDocument[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [index, document] of documents.entries()) {
      // openapi-typescript reads literals of booleans as const only, and null as a type only
      const text = JSON.stringify(document).replaceAll('"x-const":null', '"type":"null"')
        .replaceAll('"x-const":', '"const":');
      const nodes = await openapiTypes(text, {
        defaultNonNullable: false,
        silent: true,
      });
      const lines: string[] = [];
      const schemas = Object.keys(document.components.schemas);
      for (const name of schemas.map((each) => JSON.stringify(each))) {
        const path = `["components"]["schemas"][${name}]`;
        lines.push(`check<Same<Ours${path}, Theirs${path}>>();`);
      }
      for (const [path, item] of Object.entries(document.paths)) {
        for (const method of Object.keys(item)) {
          const at = `["paths"][${JSON.stringify(path)}]["${method}"]`;
          lines.push(`check<Operation<Ours${at}, Theirs${at}>>();`);
        }
      }
      lines.push(`check<Same<keyof Ours["operations"], keyof Theirs["operations"]>>();`);
      await Deno.writeTextFile(`${folder}/ours${index}.ts`, renderClientTypes(document));
      await Deno.writeTextFile(`${folder}/theirs${index}.ts`, astToString(nodes));
      const parts = "paths: paths; components: components; operations: operations";
      await Deno.writeTextFile(
        `${folder}/compare${index}.ts`,
        `import type * as ours from "./ours${index}.ts";
import type * as theirs from "./theirs${index}.ts";
interface Ours { ${parts.replaceAll(": ", ": ours.")} }
interface Theirs { ${parts.replaceAll(": ", ": theirs.")} }
${COMPARE}${lines.join("\n")}\n`,
      );
    }
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "check",
        "--no-config",
        ...documents.map((_, index) => `${folder}/compare${index}.ts`),
      ],
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stderr);
    return text.includes("[ERROR]") || text.includes("error:") ? text : "";
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const NAMES = ["id", "title", "a-b", "0", "é", "x y", "class", "__typename"];
const { schema } = fc.letrec<{ schema: Json; deep: Json }>((tie) => {
  const text = fc.constantFrom("a", "b", 'say "hi"', "*/", "é\n");
  const scalar = fc.constantFrom("string", "number", "integer", "boolean", "null");
  const value = fc.oneof(text, fc.integer(), fc.boolean());
  const leaf: fc.Arbitrary<Json> = fc.oneof(
    fc.record({ type: scalar, description: text, deprecated: fc.boolean() }, {
      requiredKeys: ["type"],
    }),
    fc.record({ type: fc.tuple(scalar, fc.constant("null")), default: value }, {
      requiredKeys: ["type"],
    }),
    value.map((each) => ({ const: each })),
    fc.uniqueArray(value, { minLength: 1, maxLength: 4 }).map((all) => ({ enum: all })),
    fc.constantFrom({}, { $ref: "#/components/schemas/Leaf" }, {
      $ref: "#/components/schemas/Tree",
    }),
  );
  const object = fc.dictionary(fc.constantFrom(...NAMES), tie("deep"), { maxKeys: 4 }).chain(
    (properties) =>
      fc.record({
        type: fc.constant("object"),
        properties: fc.constant(properties),
        required: fc.subarray(Object.keys(properties)),
        additionalProperties: fc.constantFrom(false, undefined),
        readOnly: fc.boolean(),
      }),
  );
  return {
    deep: fc.oneof({ maxDepth: 3 }, leaf, tie("schema")),
    schema: fc.oneof(
      object,
      tie("deep").map((items) => ({ type: "array", items })),
      fc.array(tie("deep"), { minLength: 1, maxLength: 3 }).map((prefixItems) => ({
        type: "array",
        prefixItems,
      })),
      tie("deep").map((additionalProperties) => ({ type: "object", additionalProperties })),
      fc.array(tie("deep"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      fc.array(tie("deep"), { minLength: 1, maxLength: 3 }).map((oneOf) => ({ oneOf })),
      fc.array(object, { minLength: 1, maxLength: 2 }).map((allOf) => ({ allOf })),
    ) as fc.Arbitrary<Json>,
  };
});

const FIXED: Record<string, Json> = {
  Leaf: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  Tree: {
    type: "object",
    properties: { children: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
    required: ["children"],
  },
};

const parameter = fc.record({
  in: fc.constantFrom("query", "header", "cookie"),
  name: fc.constantFrom(...NAMES),
  required: fc.boolean(),
  schema,
});
const operation = fc.record({
  parameters: fc.uniqueArray(parameter, {
    maxLength: 4,
    selector: (each) => `${each.in} ${each.name}`,
  }),
  requestBody: fc.option(
    fc.record({
      required: fc.boolean(),
      content: fc.record({ "application/json": fc.record({ schema }) }),
    }),
    { nil: undefined },
  ),
  responses: fc.record({
    200: fc.oneof(
      fc.record({
        description: fc.constant(""),
        content: fc.record({
          "application/json": fc.record({ schema }),
          "text/plain": fc.constant({}),
        }),
      }),
      fc.constant({ description: "", headers: { "Retry-After": { schema: { type: "integer" } } } }),
      fc.constant({ $ref: "#/components/responses/Problem" }),
    ),
    204: fc.constant({ description: "" }),
  }),
});

function toDocument(schemas: Json[], operations: Json[]): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { title: "a", version: "1" },
    paths: Object.fromEntries(
      operations.map((each, index) => {
        const path = { name: "id", in: "path", required: true, schema: { type: "string" } };
        const own = index % 2 === 0 ? {} : { operationId: `operation ${index}` };
        return [`/r${index}/{id}`, {
          post: { ...each, ...own, parameters: [path, ...each.parameters as Json[]] },
        }];
      }),
    ),
    components: {
      schemas: {
        ...FIXED,
        ...Object.fromEntries(schemas.map((each, index) => [`S${index}`, each])),
      },
      responses: {
        Problem: {
          description: "",
          content: { "application/json": { schema: { $ref: "#/components/schemas/Leaf" } } },
        },
      },
      securitySchemes: {},
    },
  };
}

Deno.test("renderClientTypes() writes the types of openapi-typescript for the examples", async () => {
  const documents = ["accounts", "booking", "notes"].map((name) =>
    JSON.parse(
      Deno.readTextFileSync(new URL(`../../../examples/${name}/openapi.json`, import.meta.url)),
    ) as OpenApiDocument
  );
  assertEquals(await compare(documents), "");
});

Deno.test("renderClientTypes() writes the types of openapi-typescript for generated documents", async () => {
  const [document] = fc.sample(
    fc.tuple(
      fc.array(schema, { minLength: 150, maxLength: 150 }),
      fc.array(operation, { minLength: 50, maxLength: 50 }),
    ).map(([schemas, operations]) => toDocument(schemas, operations as unknown as Json[])),
    { numRuns: 1, seed: testSeed },
  );
  assertEquals(await compare([document]), "", `TRELLIS_SEED=${testSeed}`);
});

function renderSchema(given: Json, others: Json = {}): string {
  const schemas = { Given: given, ...others };
  const text = renderClientTypes({
    openapi: "3.1.0",
    info: { title: "a", version: "1" },
    paths: {},
    components: { schemas, responses: {}, securitySchemes: {} },
  } as OpenApiDocument);
  const [, found] =
    /Given: ([\s\S]*?);\n(?: {8}Base: [\s\S]*)? {4}\};\n\}\nexport interface operations/
      .exec(text)!;
  return found.replaceAll(/\s+/g, " ");
}

Deno.test("renderClientTypes() intersects what openapi-typescript drops or unites", () => {
  const a = { type: "object", properties: { a: { type: "string" } } };
  const b = { type: "object", properties: { b: { type: "string" } } };
  assertEquals(renderSchema({ ...a, anyOf: [b] }), "{ a?: string; } & { b?: string; }");
  assertEquals(
    renderSchema({ type: "array", prefixItems: [{ const: 1 }], items: { type: "string" } }),
    "[ 1, ...string[] ]",
  );
  assertEquals(
    renderSchema({ allOf: [{ $ref: "#/components/schemas/Base" }], required: ["a"] }, { Base: a }),
    `components["schemas"]["Base"] & Required<Pick<components["schemas"]["Base"], "a">>`,
  );
  assertEquals(renderSchema({ type: "string", nullable: true }), "string | null");
});

Deno.test("renderClientTypes() renders a reference into a schema in place, and refuses others", () => {
  const Base = { type: "object", properties: { id: { type: "integer" } } };
  const $ref = "#/components/schemas/Base/properties/id";
  assertEquals(renderSchema({ type: "array", items: { $ref } }, { Base }), "number[]");
  const refused: readonly (readonly [$ref: string, message: string])[] = [
    ["#/components/schemas/None", "points to nothing"],
    ["other.json#/Note", "is not in the document. Bundle the documents into one first"],
    ["#/components/schemas/Given/properties/self", "refers to itself"],
  ];
  for (const [$ref, message] of refused) {
    const given = { type: "object", properties: { self: { items: { $ref }, type: "array" } } };
    const error = assertThrows(() => renderSchema(given), ConfigurationError);
    assert(
      error.message.startsWith(`The reference ${$ref} of the document ${message}`),
      `${error}`,
    );
  }
});

Deno.test("renderClientTypes() refuses two operations with one id, and closes no comment early", () => {
  const operation = { operationId: "a", summary: "ends */ here", responses: {} };
  const document = toDocument([], []);
  assertStringIncludes(
    renderClientTypes({ ...document, paths: { "/a": { get: operation } } }),
    "/** ends *\\/ here */",
  );
  assertThrows(
    () => renderClientTypes({ ...document, paths: { "/a": { get: operation, put: operation } } }),
    ConfigurationError,
    "Two operations have the operationId a",
  );
});
