import { assertEquals } from "@std/assert";
import { analyse, handler, testGrants } from "../fixtures/analyse.ts";

const query = (table: string, operations = `["SELECT"]`) =>
  `import { defineQuery } from "./db.ts"; import * as s from "./tables.ts"; import { DatabaseOperation } from "@trellis/fn/database";
   export const run = defineQuery({ tables: [{ table: ${table}, operations: ${operations} }] }, async function run(db) {});`;
const FN = { "fn.ts": handler(`import { run } from "./q.ts";`, "return run();") };
const NAMED: readonly [what: string, declaration: string, table: string, expected: string][] = [
  ["a string", "", `"notes"`, "notes"],
  ["a string with a schema", "", `"app.notes"`, "app.notes"],
  ["pgTable", `export const t = pgTable("notes", {});`, "s.t", "notes"],
  [
    "pgTable with types around it",
    `export const t = (pgTable("notes", {}) satisfies object)!;`,
    "s.t",
    "notes",
  ],
  [
    "pgTable(...).enableRLS()",
    `export const t = pgTable("notes", {}).enableRLS();`,
    "s.t",
    "notes",
  ],
  [
    "pgSchema().table",
    `const app = pgSchema("app"); export const t = app.table("notes", {});`,
    "s.t",
    "app.notes",
  ],
  [
    "pgTableCreator",
    "const make = pgTableCreator((name) => `app_${name}`); export const t = make('notes', {});",
    "s.t",
    "app_notes",
  ],
  [
    "a creator that is a function",
    `function rename(name: string) { const p = "x_"; return p + name; } export const t = pgTableCreator(rename)("notes", {});`,
    "s.t",
    "x_notes",
  ],
  [
    "a function around pgTable",
    "const own = (n: string) => pgTable(`t_${n}`, {}); export const t = own('notes');",
    "s.t",
    "t_notes",
  ],
  ["a constant name", `const NAME = "notes"; export const t = pgTable(NAME, {});`, "s.t", "notes"],
  [
    "an object of tables",
    `export const tables = { notes: pgTable("notes", {}) };`,
    "s.tables.notes",
    "notes",
  ],
  [
    "a table that is exported again",
    `export { authUsers as t } from "@trellis/fn/auth/schema";`,
    "s.t",
    "users",
  ],
  [
    "the auth mapping",
    `export { AUTH_SCHEMA_MAPPING } from "@trellis/fn/auth";`,
    "s.AUTH_SCHEMA_MAPPING.session",
    "sessions",
  ],
  [
    "an alias of a table",
    `import { alias } from "drizzle-orm/pg-core"; export const t = alias(pgTable("notes", {}), "n");`,
    "s.t",
    "notes",
  ],
];

testGrants([
  ...NAMED.map(([what, declaration, table, expected]) =>
    [`reads a table that is ${what}`, `${expected} SELECT`, {
      ...FN,
      "q.ts": query(table),
      "tables.ts":
        `import { pgSchema, pgTable, pgTableCreator } from "drizzle-orm/pg-core"; ${declaration}`,
    }] as const
  ),
  [
    "reads operations from constants, spreads and All",
    "n SELECT+INSERT+UPDATE+DELETE, notes SELECT+INSERT",
    {
      ...FN,
      "tables.ts": "export {};",
      "q.ts":
        `import { defineQuery } from "./db.ts"; import { DatabaseOperation as Op } from "@trellis/fn/database";
      const READ = [Op.Select] as const; const { Insert } = Op;
      const shared = [{ table: "n", operations: [Op.All] }];
      const options = { tables: [...shared, { table: "notes", operations: [...READ, Insert] }], transaction: true };
      export const run = defineQuery(options, async () => {});`,
    },
  ],
  [
    "follows a wrapper that gives defineQuery its tables (looser: kept in the bundle)",
    "notes SELECT, others DELETE",
    {
      ...FN,
      "tables.ts": "export {};",
      "q.ts": `import { defineQuery } from "./db.ts";
      function defineOwn(tables: any, fn: any) { return defineQuery({ tables, transaction: true }, fn); }
      export const run = defineOwn([{ table: "notes", operations: ["SELECT"] }], async () => {});
      export const other = defineOwn([{ table: "others", operations: ["DELETE"] }], async () => {});`,
    },
  ],
  ["adds up what several queries do with one table", "notes SELECT+DELETE", {
    ...FN,
    "tables.ts": "export {};",
    "q.ts": `import { defineQuery } from "./db.ts"; import { remove } from "./r.ts";
      const read = defineQuery({ tables: [{ table: "notes", operations: ["SELECT"] }] }, async () => {});
      export const run = () => { read(); remove(); };`,
    "r.ts": `import { defineQuery } from "./db.ts";
      export const remove = defineQuery({ tables: [{ table: "notes", operations: ["DELETE"] }] }, async () => {});`,
  }],
]);

Deno.test("analysePermissions() lists the sequences of serial columns for a query that inserts", async () => {
  const files = {
    ...FN,
    "q.ts": query("s.t", `["INSERT"]`),
    "tables.ts": `import { bigserial, pgSchema, serial, text } from "drizzle-orm/pg-core";
      export const t = pgSchema("app").table("notes", { id: serial().primaryKey(), no: bigserial("nr", { mode: "number" }), x: text("x") });`,
  };
  const [table] = (await analyse(files)).functions[0].tables;
  assertEquals(table.sequences, [
    { schema: "app", name: "notes_id_seq" },
    { schema: "app", name: "notes_nr_seq" },
  ]);
  const read = await analyse({ ...files, "q.ts": query("s.t") });
  assertEquals(read.functions[0].tables[0].sequences, []);
});
