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
    "src/a.ts:2: TENANT decides what is described, and its value is only known at run time: use a literal value",
  ], {
    "src/a.ts": `import * as z from "zod";
      const tenant = () => process.env.TENANT!; export const A = z.object({ a: z.literal(tenant()) });`,
    [FILE]: route(`{ schema: A, responseSchema: z.array(A) }`, `import { A } from "../../a.ts";`),
  }],
  ["an environment variable read with this package", [
    "src/functions/api/things.post.ts:3: A_VALUE decides what is described, and its value is only known at run time: use a literal value",
  ], {
    [FILE]: route(
      `{ schema: z.object({ a: z.literal(getRequiredEnv("A_VALUE")) }) }`,
      `import { getRequiredEnv } from "@trellis/fn/env";`,
    ).replace("\nimport * as z", " import * as z"),
  }],
  ["what a function of the runtime throws", [
    "src/functions/api/things.post.ts:4: ENOENT",
  ], {
    [FILE]: route(
      `{ schema: z.enum(readFileSync("x", "utf8").split(",")) }`,
      `import { readFileSync } from "node:fs";`,
    ),
  }],
  ["what an expression throws", ["src/a.ts:2: z.nonsense is not a function"], {
    "src/a.ts": `import * as z from "zod";\nexport const A = (z as any).nonsense();`,
    [FILE]: route(`{ schema: A }`, `import { A } from "../../a.ts";`),
  }],
  ["a package that is not installed", ["src/functions/api/things.post.ts:3: "], {
    [FILE]: route(`{ schema: A }`, `import { A } from "@nobody/at-all";`),
  }],
  ["a file that is not there", [
    `src/functions/api/things.post.ts:3: Could not resolve "../../b.ts"`,
    `src/functions/api/things.post.ts:4: Could not resolve "./c.ts"`,
  ], {
    [FILE]: route(
      `{ querySchema: z.object({ b: B }), schema: z.literal(String(import("./c.ts"))) }`,
      `import { B } from "../../b.ts";`,
    ),
  }],
  ["a name that is not exported", [
    `src/functions/api/things.post.ts:3: No matching export in "src/a.ts" for import "A"`,
  ], {
    "src/a.ts": `export {};`,
    [FILE]: route(`{ schema: z.object({ a: A }) }`, `import { A } from "../../a.ts";`),
  }],
  ["code that is no TypeScript", ["src/functions/api/things.post.ts:4: Unexpected "], {
    [FILE]: route(`{ schema: z.object({ a: ] }) }`),
  }],
  ["what is no schema", [
    `src/functions/api/things.post.ts:4: schema is {"a":1}: it must be a schema of zod 4 or zod/mini`,
  ], { [FILE]: route(`{ schema: { a: 1 } as any }`) }],
  ["an option that depends on the environment", [
    "src/functions/api/things.post.ts:4: AUTH_MODE decides what is described",
  ], { [FILE]: route(`{ openapi: { summary: process.env.AUTH_MODE } }`) }],
  ["metadata that OpenAPI does not know", [
    "src/functions/api/things.post.ts:4: unknown setting openapi.summery; known settings: summary, description, tags, operationId, deprecated, successStatus, responses, hidden, webhook",
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
