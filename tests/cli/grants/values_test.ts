import { handler, testGrants } from "../fixtures/analyse.ts";

const ALL = `import { addB, dropC, readA } from "./queries.ts";`;
const STORE = `${ALL} const list = async () => { await readA(); };
  export async function read() { await list(); }
  export async function add() { await addB("1"); }
  export const drop = async () => { await dropC(); return drop; };`;

testGrants([
  [
    "grants nothing for a function that is never called",
    "a SELECT",
    {
      "fn.ts": `${ALL} import { defineApiHandler } from "@trellis/fn/validation";
      async function unused() { await dropC(); }
      const alsoUnused = () => addB("1");
      export const handler = defineApiHandler({})(async () => { function inner() { return dropC(); } await readA(); });`,
    },
  ],
  ["grants nothing for a name that is shadowed", "a SELECT", {
    "fn.ts": handler(
      ALL,
      `
      await readA();
      { const dropC = () => 1; dropC(); }
      function local(addB: (id: string) => void) { addB("1"); }
      local(() => {});
      try { throw 1; } catch (dropC) { console.log(dropC); }
      for (const addB of [1]) console.log(addB);`,
    ),
  }],
  ["sees through a name that is shadowed elsewhere only", "c DELETE", {
    "fn.ts": handler(ALL, `{ const dropC = 1; console.log(dropC); } await dropC();`),
  }],
  ["follows calls from function to function over files", "b INSERT", {
    "one.ts": `import { two } from "./two.ts"; export function one() { return two(); } `,
    "two.ts":
      `${ALL} export const two = () => three(); function three() { return addB("1"); } export const four = () => dropC();`,
    "fn.ts": handler(`import { one } from "./one.ts";`, "return one();"),
  }],
  ["grants a query that is passed as an argument", "a SELECT", {
    "fn.ts": handler(`${ALL} import { retry } from "elsewhere";`, "return retry(readA);"),
  }],
  ["grants a query that is passed to a function which calls it", "a SELECT", {
    "fn.ts": handler(
      `${ALL} function twice(query: () => unknown) { query(); return query(); }`,
      "return twice(readA);",
    ),
  }],
  [
    "grants of an object that is passed what the function uses of it (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "fn.ts": handler(
        `${ALL} function use(q: any) { const { read } = q; return read(); } function take({ read: r }: any) { return r(); }`,
        "use({ read: readA, drop: dropC }); return take({ read: readA, add: addB });",
      ),
    },
  ],
  [
    "grants of what a callback is given what the callback uses (looser: kept in the bundle)",
    "a SELECT, c DELETE",
    {
      "repo.ts":
        `${ALL} export function withRepo(use: any) { return use({ read: readA, drop: dropC }); }`,
      "fn.ts": handler(
        `import { withRepo } from "./repo.ts";`,
        "return withRepo((repo: any) => repo.read());",
      ),
    },
  ],
  ["grants all of what an unknown callback is given", "a SELECT, c DELETE", {
    "fn.ts": handler(
      `${ALL} import { use } from "elsewhere"; function give(to: any) { return to({ read: readA, drop: dropC }); }`,
      "give(() => 1); return use(give);",
    ),
  }],
  ["grants what a function that nobody here calls passes on", "b INSERT", {
    "fn.ts":
      `${ALL} export const handler = async (_event: any, { run }: any) => { await run(addB); };`,
  }],
  [
    "follows Promise.all to the member that is used (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "fn.ts": handler(
        "",
        `const [q, n] = await Promise.all([import("./queries.ts"), 1]); return q.addB(String(n));`,
      ),
    },
  ],
  ["grants what a Map of queries holds when the map is used", "a SELECT, b INSERT", {
    "map.ts":
      `${ALL} export const map = new Map<string, any>([["a", readA], ["b", addB]]); export const other = new Map([[1, dropC]]);`,
    "fn.ts": handler(`import { map } from "./map.ts";`, "return map.get(path.name)();"),
  }],
  ["grants what members that are assigned later hold", "a SELECT, b INSERT", {
    "fn.ts": handler(
      `${ALL} const api: any = {}; api.read = readA; let late: any; function fill() { ({ late } = { late: addB }); }`,
      "fill(); return api.read(late());",
    ),
  }],
  [
    "ends with a function that calls itself with each member of what it gets",
    "a SELECT, b INSERT, c DELETE",
    {
      "walk.ts": `export function walk(n: any): void {
        if (!n) return;
        walk(n.a); walk(n.b); walk(n.c); walk(n.d); walk(n.e); walk(n.f); walk(n.g); walk(n.h);
        n.run(); n.a.b.c(n.d.e);
      }`,
      "fn.ts": handler(
        `${ALL} import { walk } from "./walk.ts";`,
        "walk({ a: { b: { run: readA } }, h: { g: { f: { e: { run: addB } } } }, x: dropC });",
      ),
    },
  ],
  ["ends with a loop that walks along the members of a value", "a SELECT", {
    "fn.ts": handler(
      ALL,
      `let n: any = { a: { b: { run: readA } } };
       while (n.x) { if (n.y) n = n.a; else if (n.z) n = n.b; else n = n.c ?? n.d ?? n.e ?? n.f; }
       return n.run();`,
    ),
  }],
  ["grants nothing for an argument that is not used (looser: kept in the bundle)", "a SELECT", {
    "fn.ts": handler(
      `${ALL} function ignore(_query: unknown) { return 1; }`,
      "return ignore(readA);",
    ),
  }],
  ["grants of an object of queries the member that is used", "a SELECT", {
    "all.ts":
      `${ALL} export const queries = { notes: { read: readA, add: addB }, drop: dropC } as const;`,
    "fn.ts": handler(`import { queries } from "./all.ts";`, `await queries.notes["read"]();`),
  }],
  [
    "grants through a spread and takes the later member (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "all.ts":
        `${ALL} const base = { run: readA, drop: dropC }; export const queries = { ...base, run: addB };`,
      "fn.ts": handler(`import { queries } from "./all.ts";`, "await queries.run('1');"),
    },
  ],
  ["grants all members of an object whose member is worked out", "a SELECT, b INSERT", {
    "all.ts":
      `${ALL} export const queries: any = { read: readA, add: addB }; export const other = dropC;`,
    "fn.ts": handler(`import { queries } from "./all.ts";`, "await queries[path.name]();"),
  }],
  ["follows Object.freeze to the member that is used", "a SELECT", {
    "all.ts": `${ALL} export const queries = Object.freeze({ read: readA, add: addB });`,
    "fn.ts": handler(`import { queries } from "./all.ts";`, "await queries.read();"),
  }],
  [
    "grants of a factory's result the member that is used (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "repo.ts":
        `${ALL} export function createRepo(db: unknown) { return { read: () => readA(), drop() { return dropC(); }, get add() { return addB; } }; }`,
      "fn.ts": handler(
        `import { createRepo } from "./repo.ts"; const repo = createRepo(1);`,
        "return repo.read();",
      ),
    },
  ],
  [
    "follows a variable that is filled on first use (looser: kept in the bundle)",
    "a SELECT, c DELETE",
    {
      "repo.ts":
        `${ALL} let repo: any; const make = () => ({ read: readA, drop: dropC }); export function getRepo() { return repo ??= make(); }`,
      "fn.ts": handler(`import { getRepo } from "./repo.ts";`, "return getRepo().read();"),
    },
  ],
  ["follows methods of an object through this (looser: kept in the bundle)", "a SELECT, c DELETE", {
    "fn.ts": handler(
      `${ALL} const api = { all() { return this.one(); }, one() { return readA(); }, drop: () => dropC() };`,
      "return api.all();",
    ),
  }],
  ["grants both sides of a condition", "a SELECT, b INSERT", {
    "fn.ts": handler(ALL, "const run: any = path.x ? readA : addB; return run();"),
  }],
  ["grants the members of a list, in a loop or in Promise.all", "a SELECT, b INSERT", {
    "fn.ts": handler(
      ALL,
      "for (const q of [readA]) await q(); await Promise.all([1].map(() => addB('1')));",
    ),
  }],
  ["grants nothing for the metadata of a query", "", {
    "fn.ts": handler(
      ALL,
      "return [readA.queryName, readA.tables, typeof dropC, dropC === undefined];",
    ),
  }],
  ["grants a query that runs on a transaction's client", "a SELECT, c DELETE", {
    "more.ts": `${ALL} import { defineQuery } from "./db.ts";
      export const both = defineQuery({ tables: [], transaction: true }, async function both(db) { await readA.on(db); await dropC.on(db); });`,
    "fn.ts": handler(`import { both } from "./more.ts";`, "return both();"),
  }],
  ["follows bind, call and apply", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler(
      `${ALL} function one() { return readA(); } function two() { return addB("1"); } const three = (q: any) => q();`,
      "one.call(null); const f = two.bind(null); f(); three.apply(null, [dropC]);",
    ),
  }],
  ["follows a wrapper around defineApiHandler", "a SELECT, b INSERT", {
    "wrap.ts": `import { defineApiHandler } from "@trellis/fn/validation";
      export const secured = (options: any) => defineApiHandler({ ...options, auth: "bearer" });
      export const logged = (inner: any) => async (e: any, c: any) => { await inner.before; return inner(e, c); };`,
    "fn.ts": `${ALL} import { logged, secured } from "./wrap.ts";
      export const handler = logged(secured({ timeout: 5 })(async () => { await readA(); await addB("1"); }));`,
  }],
  ["follows promises through then, catch and finally", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler(
      ALL,
      "return readA().then(() => addB('1')).catch(() => dropC()).finally(() => {});",
    ),
  }],
  ["follows what then() gets from a function (looser: kept in the bundle)", "a SELECT, c DELETE", {
    "repo.ts": `${ALL} export const load = async () => ({ read: readA, drop: dropC });`,
    "fn.ts": handler(
      `import { load } from "./repo.ts";`,
      "return load().then((repo) => repo.read());",
    ),
  }],
  ["follows a TypeScript namespace by member (looser: kept in the bundle)", "a SELECT, c DELETE", {
    "ns.ts":
      `${ALL} export namespace Q { export const read = readA; export function drop() { return dropC(); } }`,
    "fn.ts": handler(`import { Q } from "./ns.ts";`, "return Q.read();"),
  }],
  ["follows default values of parameters and of patterns", "a SELECT, b INSERT", {
    "fn.ts": handler(
      `${ALL} function run(query: any = readA, { add = addB }: any = {}) { query(); add(); }`,
      "run();",
    ),
  }],
  ["follows schemas that call queries", "a SELECT", {
    "fn.ts": handler(
      `${ALL} import * as z from "zod";`,
      "return 1;",
      "{ schema: z.string().refine(async (v) => !(await readA())) }",
    ),
  }],
  ["follows generators, switch, labels and templates", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler(
      `${ALL} async function* all() { yield await readA(); } async function pick(k: string) { switch (k) { case "b": return addB(k); } }`,
      "for await (const x of all()) { await pick(`${await dropC()}`); }",
    ),
  }],
  ["grants of a module that is imported on demand what the used functions run", "a SELECT", {
    "store.ts": STORE,
    "fn.ts": handler("", `const { read } = await import("./store.ts"); await read();`),
  }],
  ["grants of a namespace that is exported again what the used functions run", "b INSERT", {
    "store.ts": STORE,
    "index.ts": `export * as store from "./store.ts";`,
    "fn.ts": handler(`import { store } from "./index.ts";`, "await store.add();"),
  }],
  ["grants of an object what the used methods run", "a SELECT, b INSERT", {
    "store.ts": `${ALL} export const store = {
      async read() { await readA(); }, add: async () => { await addB("1"); }, async drop() { await dropC(); } };`,
    "fn.ts": handler(
      `import { store } from "./store.ts";`,
      "await store.read(); await store['add']();",
    ),
  }],
  [
    "grants all methods of an object that uses this, is handed on, or has a computed member",
    "a SELECT, b INSERT, c DELETE",
    {
      "store.ts":
        `${ALL} export const one = { async read() { await readA(); }, async run() { await this.read(); } };
        export const two = { async add() { await addB("1"); } };
        export const three = { async drop() { await dropC(); } };`,
      "fn.ts": handler(
        `import { one, two, three } from "./store.ts"; import { use } from "elsewhere";`,
        "await one.run(); await use(two); await (three as any)[path.name]();",
      ),
    },
  ],
  [
    "grants what functions run that are handed on, exported, or called through each other",
    "a SELECT, b INSERT",
    {
      "store.ts":
        `${ALL} export async function first(n: number) { await readA(); if (n) await second(n - 1); }
      async function second(n: number) { await addB("1"); await first(n); }
      export async function alone() { await dropC(); await other(); }
      async function other() { await alone(); }`,
      "fn.ts": handler(
        `import * as store from "./store.ts"; import { run } from "elsewhere";`,
        "await run(store.first);",
      ),
    },
  ],
]);
