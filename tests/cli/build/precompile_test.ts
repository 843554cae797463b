import { assert, assertEquals, assertStrictEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { join } from "node:path";
import * as z from "zod";
import type { $ZodType } from "zod/v4/core";
import { writeSchemaModule } from "../../../cli/build/precompile/compile_schemas.ts";
import { LOADER, RUNTIME } from "../../../cli/build/precompile/specifiers.ts";
import {
  ASK_ZOD,
  countCodePoints,
  createPrecompiledValidation,
  definePrecompiledSchema,
  type SchemaModule,
} from "../../../validation/precompiled_schema.ts";
import * as validation from "../../../validation/schema.ts";
import { testSeed } from "../../support/seed.ts";
import { getShape, schemas, valueFor } from "../../validation/schema_arbitraries.ts";
import { denoProjectFiles, type TestProject, writeTestProject } from "./project.ts";

const seed = testSeed;
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const numRuns = isFull ? 50_000 : 150;

/** The written module of a schema, run as the bundle runs it; counts how often zod is loaded. */
function runWritten(
  schema: $ZodType,
): {
  compiled: $ZodType;
  module: Omit<SchemaModule, "schemas" | "createFallbackValidator">;
  loads: () => number;
} | undefined {
  const written = writeSchemaModule(schema, "key", { runtime: RUNTIME, loader: LOADER });
  if ("reason" in written) return undefined;
  let count = 0;
  const loadSchemas = (): SchemaModule => {
    count++;
    return { schemas: { key: schema }, ...validation };
  };
  const body = written.code.replace(/^import .*$/gm, "").replace("export const schema =", "return");
  const names = ["ASK_ZOD", "COUNT", "definePrecompiledSchema", "loadSchemas"];
  const compiled = new Function(...names, body)(
    ASK_ZOD,
    countCodePoints,
    definePrecompiledSchema,
    loadSchemas,
  );
  return { compiled, module: createPrecompiledValidation(loadSchemas), loads: () => count };
}

Deno.test("writeSchemaModule() validates like zod, for any schema and any value", () => {
  let written = 0, accepted = 0;
  const cases = fc.oneof(schemas.object, schemas.any).chain((schema) =>
    fc.tuple(fc.constant(schema), valueFor(schema))
  );
  fc.assert(
    fc.property(cases, ([schema, value]) => {
      const run = runWritten(schema);
      if (run === undefined) return;
      written++;
      const { compiled, module, loads } = run;
      const copy = structuredClone(value);
      const result = module.createValidator(compiled)(value);
      const expected = validation.createValidator(schema)(copy);
      assertEquals(getShape(result), getShape(expected));
      assertEquals(getShape(value), getShape(copy));
      if ((expected as { success: boolean }).success && loads() === 0) accepted++;
      assertEquals(module.getListKeys(compiled), validation.getListKeys(schema));
    }),
    { seed, numRuns },
  );
  // the property would hold as well if nothing were ever written or accepted
  assert(
    written > numRuns / 5 && accepted > numRuns / 10,
    `${written} written, ${accepted} accepted without zod, of ${numRuns}, TRELLIS_SEED=${seed}`,
  );
});

const TEXTS = [
  "https://example.com/a?b#c",
  "HTTP://EXAMPLE.com",
  "http:example.com",
  "ftp://example.com",
  "https://localhost",
  " https://example.com",
  "https://example.com/a ",
  "https://example.com/\u2028a",
  "https://exa\nmple.com",
  "https://example.com/a/../b",
  "mailto:a@b.co",
  "nope",
  "",
];
const NUMBERS = [
  0,
  -0,
  6,
  7,
  -9,
  1.5,
  6.000000000000001,
  2 ** 31,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 32,
  2 ** 53,
];
const FORMATS: readonly (readonly [name: string, schema: $ZodType, values: unknown[]])[] = [
  ["url", z.url(), TEXTS],
  ["httpUrl", z.httpUrl(), TEXTS],
  ["url with a host", z.url({ hostname: /^example\.com$/g }), TEXTS],
  ["url, normalized", z.url({ normalize: true, protocol: /^https?$/ }), TEXTS],
  ["startsWith and endsWith", z.string().startsWith("h").endsWith("m"), TEXTS],
  ["includes", z.string().includes("t", { position: 2 }), TEXTS],
  ["int32", z.int32(), NUMBERS],
  ["uint32", z.uint32(), NUMBERS],
  ["multipleOf", z.number().multipleOf(3), NUMBERS],
  ["undefined", z.object({ a: z.undefined() }), [{}, { a: undefined }, { a: null }]],
];

for (const [name, schema, values] of FORMATS) {
  Deno.test(`writeSchemaModule() validates ${name} like zod, which it needs only for the rest`, () => {
    const { compiled, module, loads } = runWritten(schema)!;
    let accepted = 0;
    for (const value of values) {
      const before = loads();
      const result = module.createValidator(compiled)(value);
      assertEquals(getShape(result), getShape(validation.createValidator(schema)(value)));
      if (loads() === before) accepted++;
    }
    assert(accepted > 0);
  });
}

for (
  const [name, schema] of [
    ["a URL in a union", z.union([z.url(), z.null()])],
    ["a multiple in a union", z.union([z.number().multipleOf(3), z.null()])],
    ["a multiple of a fraction", z.number().multipleOf(0.1)],
  ] as const
) {
  Deno.test(`writeSchemaModule() leaves ${name} to zod`, () => {
    assertEquals(runWritten(schema), undefined);
  });
}

Deno.test("writeSchemaModule() names the type that only zod can parse", () => {
  const position = z.object({ at: z.array(z.tuple([z.iso.datetime(), z.uuid()])) });
  assertEquals(writeSchemaModule(position, "key", { runtime: RUNTIME, loader: LOADER }), {
    reason: "it has the type tuple, which only zod can parse",
  });
});

Deno.test("definePrecompiledSchema() behaves like the schema, which it loads only when needed", async () => {
  const schema = z.object({ a: z.int().default(1), b: z.array(z.string()).optional() });
  const { compiled, module, loads } = runWritten(schema)!;
  const same = compiled as unknown as typeof schema;
  assertEquals(same.parse({}), { a: 1 });
  assertEquals(same.safeParse({ a: 2 }), { success: true, data: { a: 2 } });
  assertEquals(await same.safeParseAsync({ b: ["x"] }), {
    success: true,
    data: { a: 1, b: ["x"] },
  });
  assertEquals(same["~standard"].validate({}), { value: { a: 1 } });
  assertEquals(same["~standard"].vendor, "zod");
  assertEquals(module.validateSchema(compiled, {}), { success: true, data: { a: 1 } });
  assertEquals([...module.getListKeys(compiled)], ["b"]);
  assert("_zod" in compiled);
  assertEquals(loads(), 0, "zod was loaded for values that fit");

  assertEquals(same.safeParse({ a: "x" }).error, schema.safeParse({ a: "x" }).error);
  assertEquals(loads(), 1);
  assertStrictEquals(same.shape, schema.shape);
  assert(same instanceof z.ZodObject);
  assertEquals(Object.keys(same), Object.keys(schema));
  assertEquals(same.extend({ c: z.int() }).parse({ c: 1 }), { a: 1, c: 1 });
  const parameters = { error: () => "own message" };
  assertEquals(same.safeParse({ a: "x" }, parameters).error!.issues[0].message, "own message");
});

const API = "src/functions/api";
const route = (imports: string, options: string) =>
  `import { defineApiHandler } from "@trellis/fn/validation";
import { buildValidatedResponse } from "@trellis/fn/core";
import * as z from "zod";
${imports}
export const handler = defineApiHandler(${options})(function answer(input: object) {
  const { context, body, query, path } = input as never as Record<string, never>;
  return buildValidatedResponse(context, 200, { body, query, path });
});
`;
const FILES = {
  "trellis.config.ts": `export default { build: { precompile: true } };\n`,
  "src/colors.ts": `export const COLORS = ["red", "blue"] as const;\nexport const MAX = 2 * 100;\n`,
  "src/schemas.ts": `import * as z from "zod";
import { COLORS, MAX } from "./colors.ts";
if (COLORS.length !== 2) throw new Error("this code must not be omitted");
const Title = z.string().trim().min(1).max(MAX);
export const Note = z.object({
  title: Title,
  color: z.enum(["red", "blue"]).default("blue"),
  tags: z.array(z.string()).optional(),
});
export const Page = z.object({ limit: z.coerce.number().int().max(50), tag: z.array(z.string()).optional() });
export const Patch = Note.refine((note) => note.title !== "");
export const Color = z.object({ color: z.enum(COLORS) });
export const Unused = z.string().refine((text) => text !== "");
export type Note = z.infer<typeof Note>;
`,
  [`${API}/notes.post.ts`]: route(`import { Note } from "../../schemas.ts";`, "{ schema: Note }"),
  [`${API}/notes.get.ts`]: route(
    `import { Page } from "../../schemas.ts";`,
    "{ querySchema: Page }",
  ),
  [`${API}/inline.post.ts`]: route(
    `import { Note } from "../../schemas.ts";`,
    "{ schema: z.strictObject({ note: Note.pick({ title: true }), size: z.int().nullable() }) }",
  ),
  [`${API}/refined.post.ts`]: route(
    `const Even = z.object({ n: z.int().refine((n) => n % 2 === 0) });`,
    "{ schema: Even }",
  ),
  [`${API}/configured.post.ts`]: route(
    `import { Note } from "../../schemas.ts";\nz.config({ customError: () => "own message" });`,
    "{ schema: Note }",
  ),
  [`${API}/body.post.ts`]: route(
    `const Size = z.object({ n: z.int() });\nexport const make = () => z.string();`,
    "{ schema: Size }",
  ).replace("{ body, query, path }", "{ body, query, path, made: make().safeParse(1).success }"),
  [`${API}/mutable.post.ts`]: route(
    `const LEVELS = ["low"];\nLEVELS.push("high");\nconst Level = z.object({ level: z.enum(LEVELS) });`,
    "{ schema: Level }",
  ),
  [`${API}/shared.post.ts`]: route(
    `import { Color } from "../../schemas.ts";`,
    "{ schema: Color }",
  ),
  [`${API}/held.post.ts`]: route(
    `import { Page } from "../../schemas.ts";\nconst OPTIONS = { schema: Page };`,
    "OPTIONS",
  ),
  [`${API}/derived.post.ts`]: route(
    `import { Note } from "../../schemas.ts";\nconst shape = Object.keys(Note.shape);\nexport const count = shape.length;`,
    "{ schema: Note, openapi: { summary: String(count) } }",
  ),
  [`${API}/patch.post.ts`]: route(`import { Patch } from "../../schemas.ts";`, "{ schema: Patch }"),
  [`${API}/rename.post.ts`]: route(
    `const Input = z.strictObject({ id: z.string(), title: z.string().min(1) });
const Color = z.enum(["red", "blue"]);
const Rename = Input.omit({ id: true }).extend({ color: Color, size: z.int() }).partial();`,
    "{ schema: Rename }",
  ),
  [`${API}/link.post.ts`]: route(
    `const Link = z.object({
  url: z.url(),
  site: z.httpUrl(),
  name: z.string().startsWith("a"),
  count: z.int32().multipleOf(5),
});`,
    "{ schema: Link }",
  ),
  [`${API}/empty.post.ts`]: route(
    `const None = z.object({ n: z.int() }).pick({ m: true });`,
    "{ schema: None }",
  ),
  [`${API}/ipv6.post.ts`]: route(`const Host = z.object({ ip: z.ipv6() });`, "{ schema: Host }"),
};

const LINK = '{"url":"mailto:a@b.co","site":"https://example.com/a","name":"abc","count":10}';
const NAMES = ["NotesPost", "NotesGet", "Inline", "Link", "Rename"];
const REQUESTS: [name: string, event: Record<string, unknown>][] = [
  ["NotesPost", { httpMethod: "POST", body: '{"title":" milk ","x":1}' }],
  ["NotesPost", { httpMethod: "POST", body: '{"title":"","color":"green","tags":[1]}' }],
  ["NotesGet", {
    queryStringParameters: { limit: "5", tag: "a" },
    multiValueQueryStringParameters: { limit: ["5"], tag: ["a"] },
  }],
  ["NotesGet", {
    queryStringParameters: { limit: "51" },
    multiValueQueryStringParameters: { limit: ["51"] },
  }],
  ["Inline", { httpMethod: "POST", body: '{"note":{"title":"a"},"size":null}' }],
  ["Inline", { httpMethod: "POST", body: '{"note":{"title":"a"},"size":1.5,"y":1}' }],
  ["Link", { httpMethod: "POST", body: LINK }],
  ["Link", { httpMethod: "POST", body: LINK.replace("abc", "bc") }],
  ["Rename", { httpMethod: "POST", body: '{"title":"a","color":"red"}' }],
  ["Rename", { httpMethod: "POST", body: '{"id":"n1","color":"green"}' }],
];

async function answerAll(project: TestProject): Promise<unknown[]> {
  const answers = [];
  for (const [name, event] of REQUESTS) {
    const { answer } = await project.call(name, { event });
    answers.push([answer.statusCode, answer.body, answer.thrown]);
  }
  return answers;
}

Deno.test("trellis build compiles schemas with build.precompile, and gives the same answers", async () => {
  await using project = await writeTestProject({ ...await denoProjectFiles(), ...FILES });
  const { exitCode, stdout } = await project.build();
  assertEquals(exitCode, 0, stdout);
  const dist = (path: string) => join(project.root, "dist", path);
  for (
    const line of [
      "  NotesPost: Note (zod on demand, ",
      "  NotesGet: Page (zod on demand, ",
      `  Inline: inline.post.ts:5 (zod on demand, `,
      `  Refined: zod is included, ${API}/refined.post.ts:4: a function is used`,
      `  Configured: zod is included, ${API}/configured.post.ts:5: config is used`,
      `  Body: zod is included, ${API}/body.post.ts:5: zod is used in a function`,
      `  Mutable: zod is included, ${API}/mutable.post.ts:4: LEVELS can be changed`,
      "  Shared: zod is included, src/colors.ts:1: COLORS can be changed: write its value into the",
      `  Held: zod is included, ${API}/held.post.ts:5: Page is used as a value`,
      `  Derived: zod is included, ${API}/derived.post.ts:5: Note is used as a value`,
      `  Patch: zod is included, src/schemas.ts:11: a function is used`,
      "  Rename: Rename (zod on demand, ",
      "  Link: Link (zod on demand, ",
      `  Empty: zod is included, ${API}/empty.post.ts:4: Unrecognized key: "m"`,
      `  Ipv6: zod is included, ${API}/ipv6.post.ts:4: it has a type, a format or a check`,
    ]
  ) assertStringIncludes(stdout, line);

  const compiled = await answerAll(project);
  assertEquals(compiled.map((each) => (each as unknown[])[0]), [
    200,
    400,
    200,
    400,
    200,
    400,
    200,
    400,
    200,
    400,
  ]);
  // what fits needs no zod
  for (const name of NAMES) await Deno.rename(dist(`${name}/schemas.cjs`), dist(`${name}.cjs`));
  for (const at of [0, 2, 4, 6, 8]) {
    const [name, event] = REQUESTS[at];
    const { answer } = await project.call(name, { event });
    assertEquals([answer.statusCode, answer.body, answer.thrown], compiled[at]);
  }

  await Deno.writeTextFile(join(project.root, "trellis.config.ts"), "export default {};\n");
  assertEquals((await project.build()).exitCode, 0);
  assertEquals(await answerAll(project), compiled);
});
