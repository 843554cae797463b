import { assertEquals } from "@std/assert";
import { analyse, type Fixture, handler } from "../fixtures/analyse.ts";

const ALL = `import { addB, dropC, readA } from "./queries.ts";`;

/** Projects with the file and line of each hint, and what holds the query. */
const CASES: readonly (readonly [what: string, hints: readonly string[], files: Fixture])[] = [
  ["nothing for queries that the function calls or passes on", [], {
    "fn.ts": handler(
      `${ALL} import { retry } from "elsewhere"; const one = () => addB("1");`,
      "await readA(); await retry(dropC); return one();",
    ),
  }],
  ["nothing for members that are named", [], {
    "all.ts": `${ALL} export const queries = { notes: { read: readA, add: addB }, drop: dropC };`,
    "fn.ts": handler(`import { queries } from "./all.ts";`, `await queries.notes["read"]();`),
  }],
  ["the member of an object that is passed on", ["fn.ts:3: the member drop"], {
    "fn.ts": handler(
      `${ALL} function use(q: any) { const { read } = q; return read(); }`,
      "return use({ read: readA, drop: dropC });",
    ),
  }],
  ["the members of a factory's result", ["repo.ts:1: the member drop"], {
    "repo.ts":
      `${ALL} export function createRepo() { return { read: () => readA(), drop() { return dropC(); } }; }`,
    "fn.ts": handler(
      `import { createRepo } from "./repo.ts"; const repo = createRepo();`,
      "return repo.read();",
    ),
  }],
  ["the member that holds a function with a query", ["repo.ts:2: the member drop"], {
    "repo.ts": `${ALL} const remove = () => dropC();
      export const withRepo = (use: any) => use({ read: readA, drop: remove });`,
    "fn.ts": handler(
      `import { withRepo } from "./repo.ts";`,
      "return withRepo((repo: any) => repo.read());",
    ),
  }],
  ["nothing in a function that nothing calls, whose queries are not granted", [], {
    "fn.ts": handler(ALL, "function inner() { return dropC(); } await readA();"),
  }],
  ["a constant that nothing uses", ["q.ts:4: only other has it"], {
    "q.ts": `import { defineQuery } from "./db.ts";
      function defineOwn(tables: any, fn: any) { return defineQuery({ tables, transaction: true }, fn); }
      export const run = defineOwn([{ table: "notes", operations: ["SELECT"] }], async () => {});
      export const other = defineOwn([{ table: "others", operations: ["DELETE"] }], async () => {});`,
    "fn.ts": handler(`import { run } from "./q.ts";`, "return run();"),
  }],
];

for (const [what, expected, files] of CASES) {
  Deno.test(`analysePermissions() hints at ${what}`, async () => {
    const { hints } = await analyse(files);
    const found = hints.map(({ file, line, message }) => {
      const [holder] = /the member \w+|only \w+ has it/.exec(message) ?? [message];
      return `${file}:${line}: ${holder}`;
    });
    assertEquals(found, expected);
  });
}
