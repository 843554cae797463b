import { assertEquals, assertMatch } from "@std/assert";
import {
  type Files,
  generate,
  getFindings,
  route,
  routeFile,
  withOpenapiProject,
} from "../fixtures/openapi_project.ts";

const FILE = routeFile("things.post");

const CASES: readonly (readonly [what: string, expected: readonly string[], files: Files])[] = [
  ["an environment variable, where it is read", [
    "src/a.ts:2: process is used, but it is not available when schemas are evaluated",
  ], {
    "src/a.ts": `import * as z from "zod";
      const tenant = () => process.env.TENANT!; export const A = z.object({ a: z.literal(tenant()) });`,
    [FILE]: route(`{ schema: A, responseSchema: z.array(A) }`, `import { A } from "../../a.ts";`),
  }],
  ["an environment variable read with this package", [
    `src/functions/api/things.post.ts:3: "@trellis/fn/env" cannot be loaded: schemas must not use it, because it reads the environment or accesses other systems`,
  ], {
    [FILE]: route(
      `{ schema: z.object({ a: z.literal(getRequiredEnv("A")) }) }`,
      `import { getRequiredEnv } from "@trellis/fn/env";`,
    ).replace("\nimport * as z", " import * as z"),
  }],
  ["files and other systems", [
    `src/functions/api/things.post.ts:4: "node:fs" cannot be loaded: schemas must not access other systems`,
  ], {
    [FILE]: route(
      `{ schema: z.enum(readFileSync("x", "utf8").split(",")) }`,
      `import { readFileSync } from "node:fs";`,
    ),
  }],
  ["await and import()", [
    "src/functions/api/things.post.ts:3: await is used, but it is not available when schemas are evaluated",
    "src/functions/api/things.post.ts:4: import() is used, but it is not available when schemas are evaluated",
  ], {
    [FILE]: route(
      `{ schema: A, querySchema: z.object({ b: z.literal(String(import("./x.ts"))) }) }`,
      `const A = await Promise.resolve(z.string());`,
    ),
  }],
  ["what an expression throws", [
    "src/a.ts:2: A cannot be evaluated: zod.nonsense is not a function",
  ], {
    "src/a.ts": `import * as z from "zod";\nexport const A = (z as any).nonsense();`,
    [FILE]: route(`{ schema: A }`, `import { A } from "../../a.ts";`),
  }],
  ["a package that is not installed", [
    `src/functions/api/things.post.ts:4: "@nobody/at-all" cannot be loaded: `,
  ], {
    [FILE]: route(`{ schema: A }`, `import { A } from "@nobody/at-all";`),
  }],
  ["a name that is not exported, and a file that is not there", [
    "src/functions/api/things.post.ts:4: B is imported from a file that does not exist",
    `src/functions/api/things.post.ts:4: src/a.ts does not export "A"`,
  ], {
    "src/a.ts": `export {};`,
    [FILE]: route(
      `{ schema: z.object({ a: A }), querySchema: z.object({ b: B }) }`,
      `import { A } from "../../a.ts"; import { B } from "../../b.ts";`,
    ),
  }],
  ["a variable that is assigned again", [
    "src/functions/api/things.post.ts:5: A is reassigned after its declaration: declare it with const",
  ], {
    [FILE]: route(
      `{ schema: z.array(A) }`,
      `let A = z.object({});\nA = A.extend({ a: z.string() });`,
    ),
  }],
  ["a schema that needs itself", [
    "src/functions/api/things.post.ts:3: A refers to itself: use z.lazy or a getter",
  ], {
    [FILE]: route(
      `{ schema: A }`,
      `const A = z.object({ b: B() }); function B() { return z.array(A as any); }`,
    ),
  }],
  ["what is no schema, and an option that is not written out", [
    "src/functions/api/things.post.ts:4: auth cannot be determined statically: use a literal value",
    "src/functions/api/things.post.ts:4: schema is not a zod 4 schema",
  ], {
    [FILE]: route(`{ schema: { a: 1 } as any, auth: process.env.AUTH as any }`),
  }],
  ["metadata that OpenAPI does not know", [
    "src/functions/api/things.post.ts:4: unknown option openapi.summery; known options: summary, description, tags, operationId, deprecated, successStatus, responses, hidden",
  ], { [FILE]: route(`{ openapi: { summery: "x" } as any }`) }],
  ["metadata of the wrong kind", [
    `src/functions/api/things.post.ts:4: openapi.tags must be a list of strings, got "x"`,
  ], { [FILE]: route(`{ openapi: { tags: "x" } as any }`) }],
  ["dates that no request carries", [
    "src/functions/api/things.post.ts:3: Body, at: a request never carries a Date: use z.coerce.date(), or z.iso.datetime() for a text",
    "src/functions/api/things.post.ts:3: Body, list.[].at: a request never carries a Date: use z.coerce.date(), or z.iso.datetime() for a text",
  ], {
    [FILE]: route(
      `{ schema: Body }`,
      `const Body = z.object({ at: z.date(), list: z.array(z.object({ at: z.date() })), fine: z.coerce.date(), made: z.preprocess((v) => new Date(String(v)), z.date()) });`,
    ),
  }],
  ["what JSON has not, in answers", [
    "src/functions/api/things.post.ts:3: Answer, a: JSON has no bigint: use z.string(), or z.int() for numbers up to 2^53",
    "src/functions/api/things.post.ts:3: Answer, b: JSON has no Map: use z.record()",
    "src/functions/api/things.post.ts:3: Answer, c: JSON has no Set: use z.array()",
  ], {
    [FILE]: route(
      `{ responseSchema: Answer }`,
      `const Answer = z.object({ a: z.bigint(), b: z.map(z.string(), z.string()), c: z.set(z.string()), d: z.date() });`,
    ),
  }],
  ["a bigint that is not coerced", [
    "src/functions/api/things.post.ts:4: schema: a request never carries a bigint: use z.coerce.bigint()",
  ], { [FILE]: route(`{ schema: z.bigint() }`) }],
  ["parameters that the route has not, and a query that is no object", [
    "src/functions/api/things.post.ts:4: pathSchema, id: the route /things has no parameter {id}",
    "src/functions/api/things.post.ts:4: querySchema: query parameters are fields: use z.object()",
  ], {
    [FILE]: route(`{ pathSchema: z.object({ id: z.string() }), querySchema: z.array(z.string()) }`),
  }],
  ["two schemas with one id", [
    "src/functions/api/things.post.ts:3: B: Two schemas have the id X and are not the same: give one of them another id",
  ], {
    [FILE]: route(
      `{ schema: A, responseSchema: B }`,
      `const A = z.object({ a: z.string() }).meta({ id: "X" }); const B = z.object({ b: z.string() }).meta({ id: "X" });`,
    ),
  }],
  ["two operations with one id", [
    "src/functions/api/things.post.ts:4: two operations have the operationId same; the other is in src/functions/api/others.post.ts:4",
  ], {
    [FILE]: route(`{ openapi: { operationId: "same" } }`),
    [routeFile("others.post")]: route(`{ openapi: { operationId: "same" } }`),
  }],
  ["a file without a handler", [
    "src/functions/api/things.post.ts:1: the file does not export a handler. Write export const handler = defineApiHandler({ … })(…)",
  ], { [FILE]: `export const x = 1;` }],
];

for (const [what, expected, files] of CASES) {
  Deno.test(`generate openapi names ${what}, with file and line, and writes nothing`, async () => {
    const found = await getFindings(files);
    assertEquals(found.length, expected.length, found.join("\n"));
    // messages of a runtime differ
    for (const [index, line] of expected.entries()) {
      assertEquals(found[index].slice(0, line.length), line);
    }
  });
}

Deno.test("generate openapi prints findings as lines that an editor can open", async () => {
  await withOpenapiProject({ [FILE]: route(`{ schema: z.bigint() }`) }, async (root) => {
    const { exitCode, stdout } = await generate(root);
    assertEquals(exitCode, 1);
    assertMatch(
      stdout,
      /^error src\/functions\/api\/things\.post\.ts:4: schema: a request never carries a bigint.*\nNothing was written: 1 error\n$/,
    );
  });
});
