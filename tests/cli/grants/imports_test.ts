import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { analysePermissions } from "../../../cli/grants/permissions.ts";
import { getGrants, handler, testGrants, withProject } from "../fixtures/analyse.ts";

const BARREL = `export * from "./queries.ts"; export { readA as everything } from "./queries.ts";`;

testGrants([
  ["grants what a called query declares", "a SELECT", {
    "fn.ts": handler(`import { readA } from "./queries.ts";`, "await readA();"),
  }],
  ["grants nothing for an import that is not used", "", {
    "fn.ts": handler(`import { readA, addB } from "./queries.ts";`, "return 1;"),
  }],
  ["grants nothing for an import that is used as a type only", "", {
    "fn.ts": handler(
      `import { readA } from "./queries.ts";`,
      "const x: Awaited<ReturnType<typeof readA>> = [] as any; return x;",
    ),
  }],
  ["grants through a barrel what is used and not the rest", "b INSERT", {
    "barrel.ts": BARREL,
    "fn.ts": handler(`import { addB } from "./barrel.ts";`, "await addB('1');"),
  }],
  ["follows a renamed re-export of a barrel of a barrel", "a SELECT", {
    "barrel.ts": BARREL,
    "index.ts": `export { everything as all } from "./barrel.ts";`,
    "fn.ts": handler(`import { all as some } from "./index.ts";`, "await some();"),
  }],
  ["takes the nearer name where a barrel declares one of its own", "c DELETE", {
    "barrel.ts":
      `export * from "./queries.ts"; import { dropC } from "./queries.ts"; export const readA = dropC;`,
    "fn.ts": handler(`import { readA } from "./barrel.ts";`, "await readA();"),
  }],
  ["grants of a namespace the member that is used", "a SELECT", {
    "fn.ts": handler(`import * as q from "./queries.ts";`, "await q.readA();"),
  }],
  ["follows a namespace that is exported again", "c DELETE", {
    "barrel.ts": `export * as queries from "./queries.ts";`,
    "fn.ts": handler(
      `import { queries } from "./barrel.ts";`,
      "const { dropC: drop } = queries; await drop();",
    ),
  }],
  ["grants all of a namespace that is handed on as a whole", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler(
      `import * as q from "./queries.ts"; import { use } from "elsewhere";`,
      "await use(q);",
    ),
  }],
  ["grants all of a namespace whose member is worked out", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler(`import * as q from "./queries.ts";`, "await (q as any)[path.name]();"),
  }],
  ["follows a default export that is an expression", "b INSERT", {
    "add.ts": `import { addB } from "./queries.ts"; export default addB;`,
    "fn.ts": handler(`import add from "./add.ts";`, "await add('1');"),
  }],
  ["follows a default export that is a function", "a SELECT", {
    "read.ts":
      `import { readA, addB } from "./queries.ts"; export default async function () { return await readA(); }
      export const other = () => addB("1");`,
    "fn.ts": handler(`import { default as read } from "./read.ts";`, "await read();"),
  }],
  ["follows a member of a default export that is an object", "a SELECT", {
    "all.ts":
      `import { readA, addB } from "./queries.ts"; export default { read: readA, add: addB };`,
    "fn.ts": handler(`import all from "./all.ts";`, "await all.read();"),
  }],
  ["follows circular imports", "a SELECT", {
    "one.ts": `import { two } from "./two.ts"; import { readA } from "./queries.ts";
      export const one = (n: number): unknown => n > 0 ? two(n - 1) : readA();`,
    "two.ts": `import { one } from "./one.ts"; import { addB } from "./queries.ts";
      export const two = (n: number): unknown => one(n); export const three = () => addB("1");`,
    "fn.ts": handler(`import { two } from "./two.ts";`, "return two(3);"),
  }],
  ["follows files that export each other's names", "a SELECT", {
    "one.ts": `export * from "./two.ts"; export { readA } from "./queries.ts";`,
    "two.ts": `export * from "./one.ts";`,
    "fn.ts": handler(`import { readA } from "./two.ts";`, "return readA();"),
  }],
  ["follows a dynamic import by the members that are used", "a SELECT", {
    "fn.ts": handler("", `const { readA } = await import("./queries.ts"); return readA();`),
  }],
  ["follows a dynamic import through then()", "b INSERT", {
    "fn.ts": handler("", `return import("./queries.ts").then((q) => q.addB("1"));`),
  }],
  ["follows both sides of a conditional dynamic import", "a SELECT, b INSERT", {
    "one.ts":
      `import { readA, dropC } from "./queries.ts"; export const run = () => readA(); export const not = dropC;`,
    "two.ts": `import { addB } from "./queries.ts"; export const run = () => addB("1");`,
    "fn.ts": handler(
      "",
      `const m = await import(path.x ? "./one.ts" : "./two.ts"); return m.run();`,
    ),
  }],
  ["grants nothing for a dynamic import whose module is not used", "", {
    "fn.ts": handler("", `await import("./queries.ts");`),
  }],
  ["follows package.json imports, with conditions", "a SELECT", {
    "package.json":
      `{ "imports": { "#db/*": { "types": "./none.d.ts", "default": "./*" }, "#x": null } }`,
    "fn.ts": handler(`import { readA } from "#db/queries.ts";`, "return readA();"),
  }],
  ["follows deno.json imports with comments and a prefix", "a SELECT", {
    "deno.jsonc": `{ // queries\n "imports": { "#/": "./", "@/": "./nowhere/" } }`,
    "fn.ts": handler(`import { readA } from "#/queries.ts";`, "return readA();"),
  }],
  ["follows an import map of its own file", "a SELECT", {
    "deno.json": `{ "importMap": "maps/import_map.json" }`,
    "maps/import_map.json": `{ "imports": { "q": "../queries.ts" } }`,
    "fn.ts": handler(`import { readA } from "q";`, "return readA();"),
  }],
  ["follows paths of tsconfig.json, also of one that it extends", "a SELECT", {
    "tsconfig.base.json":
      `{ "compilerOptions": { "baseUrl": ".", "paths": { "@app/*": ["missing/*", "./*"] } } }`,
    "tsconfig.json": `{ "extends": "./tsconfig.base.json", }`,
    "fn.ts": handler(`import { readA } from "@app/queries";`, "return readA();"),
  }],
  ["follows a member of a Deno workspace", "a SELECT", {
    "deno.json": `{ "workspace": ["packages/lib"] }`,
    "packages/lib/deno.json": `{ "name": "@acme/lib", "exports": { "./q": "./q.ts" } }`,
    "packages/lib/q.ts": `export { readA as read } from "../../queries.ts";`,
    "fn.ts": handler(`import { read } from "@acme/lib/q";`, "return read();"),
  }],
  ["finds a file that is imported by the name it has when compiled", "a SELECT", {
    "fn.ts": handler(`import { readA } from "./queries.js";`, "return readA();"),
  }],
  ["finds the index of a folder", "b INSERT", {
    "more/index.ts": `export { addB } from "../queries";`,
    "fn.ts": handler(`import { addB } from "./more";`, "return addB('1');"),
  }],
  ["knows the package under a registry's name and an alias", "a SELECT", {
    "deno.json": `{ "imports": { "fn-db": "npm:@trellis/fn@^0.1.0/database" } }`,
    "db.ts":
      `import { createQueryFactory } from "fn-db"; export const queries = createQueryFactory(() => null as any);`,
    "queries.ts":
      `import { queries } from "./db.ts"; import { DatabaseOperation as Op } from "jsr:@trellis/fn@0.1/database";
      export const readA = queries.defineQuery({ tables: [{ table: "a", operations: [Op.Select] }] }, async () => {});`,
    "fn.ts": handler(`import { readA } from "./queries.ts";`, "return readA();"),
  }],
  ["grants nothing for a constant that nobody uses", "", {
    "memo.ts":
      `import memoize from "memoize"; import { readA } from "./queries.ts"; export const all = memoize(readA); export const one = 1;`,
    "fn.ts": handler(`import { one } from "./memo.ts";`, "return one;"),
  }],
  ["grants of several constants that one function makes those that are used", "a SELECT", {
    "memo.ts": `import { addB, dropC, readA } from "./queries.ts";
      function memoize(query: any) { let value: unknown; return () => value ??= query(); }
      class Cached { constructor(private query: any) {} run() { return this.query(); } }
      export const all = memoize(readA); export const more = memoize(addB);
      export const one = new Cached(all); export const two = new Cached(dropC);`,
    "fn.ts": handler(`import { one } from "./memo.ts";`, "return one.run();"),
  }],
  ["grants what a constant is made of when it is used", "a SELECT", {
    "memo.ts":
      `import memoize from "memoize"; import { readA } from "./queries.ts"; export const all = memoize(readA);`,
    "fn.ts": handler(`import { all } from "./memo.ts";`, "return all();"),
  }],
  ["grants nothing for what a file would run that is imported for its types", "", {
    "warm.ts":
      `import { readA } from "./queries.ts"; await readA(); export type T = string; export const x = 1;`,
    "fn.ts": handler(
      `import type { T } from "./warm.ts"; import { type x } from "./warm.ts"; export type { T as U } from "./warm.ts";`,
      "return 1 as unknown as T;",
    ),
  }],
  ["follows a handler that is exported from another file", "a SELECT", {
    "impl.ts": handler(`import { readA } from "./queries.ts";`, "await readA();"),
    "fn.ts": `export { handler } from "./impl.ts";`,
  }],
]);

Deno.test("analysePermissions() follows a package that is linked into node_modules, and no other one", async () => {
  const files = {
    "packages/db/package.json":
      `{ "name": "@acme/db", "exports": { ".": { "types": "./dist/index.d.ts", "import": "./src/index.ts" } } }`,
    "packages/db/src/index.ts": `export { readA, addB } from "../../../queries.ts";`,
    "node_modules/other/package.json": `{ "name": "other", "type": "module", "main": "index.js" }`,
    "node_modules/other/index.js": `export function x() {}`,
    "fn.ts": handler(
      `import { readA } from "@acme/db"; import { x } from "other";`,
      "x(); return readA();",
    ),
  };
  await withProject(files, async (root) => {
    await Deno.mkdir(join(root, "node_modules/@acme"));
    await Deno.symlink(join(root, "packages/db"), join(root, "node_modules/@acme/db"));
    const analysis = await analysePermissions({
      root,
      functions: [{ name: "Fn", file: join(root, "fn.ts") }],
    });
    assertEquals(analysis.unresolved, []);
    assertEquals(getGrants(analysis), "a SELECT");
  });
});
