import { assertEquals } from "@std/assert";
import {
  type Files,
  getDocument,
  type Json,
  route,
  routeFile,
} from "../fixtures/openapi_project.ts";

const FILE = routeFile("things.post");
const ROOT = "../..";

/** The schema of the body of `POST /things`, with what it refers to put in its place once. */
async function getBody(files: Files): Promise<Json> {
  const document = await getDocument(files);
  const { schema } = document.paths["/things"].post.requestBody.content["application/json"];
  return "$ref" in schema ? document.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

const CASES: readonly (readonly [what: string, expected: unknown, files: Files])[] = [
  ["constants of the same file, in whatever order", { a: "string", b: "integer" }, {
    [FILE]: route(
      `{ schema: Body }`,
      `const shape = { a: z.string(), b: count() }; const Body = z.object(shape); function count() { return z.int(); }`,
    ),
  }],
  ["types, enums, classes and satisfies", { a: "string", kind: "string" }, {
    [FILE]: route(
      `{ schema: Body }`,
      `interface Shape { a: z.ZodString }
      enum Kind { A = "a", B = "b", C = B }
      class Limits { static readonly longest: number = 10; constructor(private readonly least = 1) {} get min(): number { return this.least; } }
      type Anything = Shape | string;
      const Body = z.object({ a: (z.string() as z.ZodString).min(new Limits(2).min).max(Limits.longest)!, kind: z.enum(Kind) } satisfies z.ZodRawShape);`,
    ),
  }],
  ["other files, barrels, namespaces, renamed and default exports", {
    a: "string",
    b: "string",
    c: "string",
    d: "string",
  }, {
    "src/a.ts": `import { z } from "zod"; export const A = z.string(); export { A as Renamed };`,
    "src/b.ts":
      `import * as z from "zod"; export default z.string(); export const unused = process.env.NOPE!.length;`,
    "src/barrel.ts":
      `export * from "./a.ts"; export { default as B } from "./b.ts"; export * as inner from "./a.ts";`,
    [FILE]: route(
      `{ schema: z.object({ a: A, b: all.B, c: all.inner.Renamed, d }) }`,
      `import { A, Renamed as d } from "${ROOT}/barrel.ts"; import * as all from "${ROOT}/barrel.ts";`,
    ),
  }],
  ["a namespace that is handed on whole", { A: "string", B: "string" }, {
    "src/fields.ts":
      `import * as z from "zod"; export const A = z.string(); export const B = z.int();`,
    [FILE]: route(
      `{ schema: z.object({ ...fields }) }`,
      `import * as fields from "${ROOT}/fields.ts";`,
    ),
  }],
  ["aliases of package.json and of tsconfig.json", { a: "string", b: "string" }, {
    "package.json":
      `{ "name": "x", "type": "module", "imports": { "#schemas/*": "./src/*" }, "dependencies": { "zod": "4.6.7" } }`,
    "tsconfig.json": `{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }`,
    "src/a.ts": `import * as z from "zod"; export const A = z.string();`,
    [FILE]: route(
      `{ schema: z.object({ a: A, b: B }) }`,
      `import { A } from "#schemas/a.ts"; import { A as B } from "@/a.ts";`,
    ),
  }],
  ["the import map of deno.json, and registries in specifiers", { a: "string", b: "string" }, {
    "package.json": "{}",
    "deno.json": `{ "imports": { "zod": "npm:zod@4.6.7", "s/": "./src/" } }`,
    "src/a.ts": `import { z } from "npm:zod@4.6.7"; export const A = z.string();`,
    "src/b.ts": `import * as mini from "zod/mini"; export const B = mini.string();`,
    [FILE]: route(
      `{ schema: z.object({ a: A, b: B }) }`,
      `import { A } from "s/a.ts"; import { B } from "s/b.ts";`,
    ),
  }],
  ["factories with arguments", { items: "array", total: "integer" }, {
    "src/page.ts":
      `import * as z from "zod"; export const page = <T extends z.ZodType>(item: T, { max = 5 } = {}) => z.object({ items: z.array(item).max(max), total: z.int() });`,
    [FILE]: route(
      `{ schema: page(z.string(), { max: 7 }) }`,
      `import { page } from "${ROOT}/page.ts";`,
    ),
  }],
  ["zod/mini", { a: "string", b: "integer" }, {
    [FILE]: route(
      `{ schema: mini.object({ a: mini.string().check(mini.minLength(1)), b: mini.optional(mini.int()) }) }`,
      `import * as mini from "zod/mini";`,
    ),
  }],
  ["z of this package, and its enums", { a: "string", s: "string" }, {
    [FILE]:
      `import { defineApiHandler, z } from "@trellis/fn"; import { UserStatus } from "@trellis/fn/core";
      export const handler = defineApiHandler({ schema: z.object({ a: z.string(), s: z.enum(UserStatus) }) })(() => ({ statusCode: 200, body: "" }));`,
  }],
  ["options through spreads and wrappers", { a: "string" }, {
    "src/api.ts":
      `import { defineApiHandler } from "@trellis/fn/validation"; export const api = (options: any) => defineApiHandler({ ...options, auth: "session" });`,
    [FILE]:
      `import * as z from "zod"; import { api } from "${ROOT}/api.ts"; const common = { schema: z.object({ a: z.string() }) };
      export const handler = api({ ...common })(() => ({ statusCode: 200, body: "" }));`,
  }],
  ["destructured schemas", { a: "string", b: "integer" }, {
    [FILE]: route(
      `{ schema: z.object({ a, b }) }`,
      `const { one: a, two: [b] } = { one: z.string(), two: [z.int()] };`,
    ),
  }],
  ["JSON files", { country: "string" }, {
    "src/countries.json": `["de", "fr"]`,
    [FILE]: route(
      `{ schema: z.object({ country: z.enum(countries as [string]) }) }`,
      `import countries from "${ROOT}/countries.json" with { type: "json" };`,
    ),
  }],
  [
    "schemas whose checks use what is only there when a request comes",
    { a: "string", b: "string" },
    {
      [FILE]: route(
        `{ schema: z.object({ a: z.string().refine((value) => value !== process.env.SECRET), b: z.string().transform(async (v) => (await fetch(v)).text()) }) }`,
        `import { readFileSync } from "node:fs"; const all = () => readFileSync("x");`,
      ),
    },
  ],
  ["code that catches what it meets before all packages are there", { a: "string" }, {
    [FILE]: route(
      `{ schema: A }`,
      `import * as mini from "zod/mini"; const A = attempt();
      function attempt() { try { return z.object({ a: mini.string() }); } catch { return z.object({}); } }`,
    ),
  }],
  ["a variable that is assigned again, and await", { a: "string", b: "integer" }, {
    [FILE]: route(
      `{ schema: A }`,
      `let A = z.object({ b: await Promise.resolve(z.int()) });\nA = A.extend({ a: z.string() });`,
    ),
  }],
  ["code without semicolons, and shadowed names", { a: "string", b: "string" }, {
    "src/a.ts": `import * as z from "zod"
const Inner = z.string()
export const make = (Inner: z.ZodString) => {
  const z2 = z
  ;[Inner].forEach((Inner) => Inner.min(1))
  return z2.object({ a: Inner, b: Inner })
}
export const A = make(Inner)
`,
    [FILE]: route(`{ schema: A }`, `import { A } from "${ROOT}/a.ts";`),
  }],
];

for (const [what, expected, files] of CASES) {
  Deno.test(`generate openapi evaluates ${what}`, async () => {
    const { properties } = await getBody(files);
    const types = Object.entries(properties).map((
      [name, property],
    ) => [name, typeof property === "object" ? (property as Json).type ?? "string" : property]);
    assertEquals(Object.fromEntries(types), expected);
  });
}

Deno.test("generate openapi loads the sources without the environment and the network of the caller", async () => {
  Deno.env.set("TRELLIS_OPENAPI_SECRET", "s3cret");
  try {
    const body = await getBody({
      "src/a.ts": `import * as z from "zod"; import { connect } from "node:net";
        const isSet = process.env.TRELLIS_OPENAPI_SECRET === "s3cret";
        const isOpen = (() => { try { connect(80, "127.0.0.1"); return true; } catch { return false; } })();
        const answered = await fetch("http://127.0.0.1:1").then(() => true, ({ message }) => message);
        if (typeof answered !== "string" || !answered.includes("closed")) throw new Error(String(answered));
        export const A = z.object({ a: z.string(), ...isSet && { b: z.string() }, ...isOpen && { c: z.string() } });
        export const db = { connect() { throw new Error("connected"); } };`,
      [FILE]: route(
        `{ schema: A }`,
        `import { A, db } from "${ROOT}/a.ts";`,
        "await db.connect();",
      ),
    });
    assertEquals(Object.keys(body.properties), ["a"]);
  } finally {
    Deno.env.delete("TRELLIS_OPENAPI_SECRET");
  }
});

const DEFINE_AUTH = `import { defineAuth } from "@trellis/fn/auth";
const { session } = defineAuth(() => Promise.reject(), { secret: "s", baseURL: "b" });`;

Deno.test("generate openapi reads the auth mode and its options from the sources", async () => {
  const document = await getDocument({
    [routeFile("a.get")]: route(`{ auth: session({ roles: ["admin"] }) }`, DEFINE_AUTH),
    [routeFile("b.get")]: route(`{ auth: session({ optional: true }) }`, DEFINE_AUTH),
    [routeFile("c.get")]: route(
      `{ auth: createJwtAuth(options) }`,
      `import { createJwtAuth } from "@trellis/fn/auth/jwt"; import { getRequiredEnv } from "@trellis/fn/env";
      const options = { issuer: getRequiredEnv("ISSUER"), audience: "a" };`,
    ),
    [routeFile("d.get")]: route(
      `{ auth }`,
      `import { createGatewayJwtAuth } from "@trellis/fn/auth/jwt";
      const auth = createGatewayJwtAuth({ issuer: "https://a.example", audience: "a" });`,
    ),
  });
  const operations = Object.entries<Json>(document.paths).map(([path, { get }]) => [
    path,
    get.security,
    "403" in get.responses,
  ]);
  assertEquals(operations, [
    ["/a", [{ session: [] }], true],
    ["/b", [{}, { session: [] }], true],
    ["/c", [{ jwt: [] }], false],
    ["/d", [{ "gateway-jwt": [] }], false],
  ]);
});
