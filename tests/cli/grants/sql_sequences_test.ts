import { assertEquals } from "@std/assert";
import { loadSqlReader } from "../../../cli/grants/sql_access.ts";
import { analyse } from "../fixtures/analyse.ts";

const readSql = await loadSqlReader();

const CASES: [sql: string, expected: string[]][] = [
  ["SELECT nextval('orders_seq')", ["orders_seq USAGE"]],
  [`SELECT pg_catalog.NEXTVAL ( 'app."Odd.Name"'::regclass )`, ["app.Odd.Name USAGE"]],
  ["INSERT INTO a (id) VALUES (nextval('A_Seq'), currval('b_seq'))", [
    "a_seq USAGE",
    "b_seq USAGE",
  ]],
  ["SELECT setval('a_seq', 7, false)", ["a_seq UPDATE"]],
  ["DO $$ BEGIN PERFORM nextval('a_seq'); END $$", ["a_seq USAGE"]],
  ["SELECT nextval($1)", ["? USAGE"]],
  ["SELECT nextval('$1')", ["? USAGE"]],
  ["SELECT nextval('a_' || x)", ["? USAGE"]],
  ["SELECT nextval(pg_get_serial_sequence('a', 'id'))", ["? USAGE"]],
  ["SELECT 'nextval(''a'')', nextval FROM x -- nextval('b')", []],
  ["SELECT lastval()", []],
];

for (const [sql, expected] of CASES) {
  Deno.test(`loadSqlReader() finds the sequences of ${JSON.stringify(sql)}`, () => {
    const found = readSql(sql).sequences.map(({ sequence, privilege }) =>
      `${
        sequence === undefined ? "?" : [sequence.schema, sequence.name].filter(Boolean).join(".")
      } ${privilege}`
    );
    assertEquals(found, expected);
  });
}

/** A function whose query runs this statement. */
function queryFile(statement: string): string {
  return `import { sql } from "@trellis/fn/database/orm";
import { defineQuery } from "./db.ts";
import { defineApiHandler } from "@trellis/fn";
const number = defineQuery({ tables: [] }, async function number(db, name: string) {
  await db.execute(${statement});
});
export const handler = defineApiHandler({})(async () => { await number("x"); });`;
}

Deno.test("analysePermissions() grants a function the sequences that its SQL names", async () => {
  const { functions: [fn], unresolved } = await analyse({
    "fn.ts": queryFile("sql`SELECT nextval('app.invoices'), setval('invoices', 1)`"),
  });
  assertEquals(unresolved, []);
  assertEquals(fn.sequences, [
    {
      sequence: { schema: "app", name: "invoices" },
      privileges: ["USAGE"],
      neededBy: ["nextval (fn.ts)"],
    },
    { sequence: { name: "invoices" }, privileges: ["UPDATE"], neededBy: ["setval (fn.ts)"] },
  ]);
});

Deno.test("analysePermissions() reports a sequence that is only known at run time, with its place", async () => {
  const { unresolved } = await analyse({ "fn.ts": queryFile("sql`SELECT nextval(${name})`") });
  assertEquals(unresolved.map(({ file, line, message }) => [file, line, message]), [[
    "fn.ts",
    5,
    "the sequence of nextval() is computed at run time, so no grant is generated: write its name in the SQL text",
  ]]);
});

Deno.test("analysePermissions() grants the sequence of a column's default with the table", async () => {
  const schema =
    `import { sql } from "drizzle-orm"; import { bigint, pgTable, text } from "drizzle-orm/pg-core";
export const d = pgTable("d", { number: bigint("number", { mode: "number" }).default(sql\`nextval('numbers')\`) });`;
  const query = (operation: string) =>
    `import { defineQuery } from "./db.ts"; import { d } from "./numbers.ts"; import { defineApiHandler } from "@trellis/fn";
const use = defineQuery({ tables: [{ table: d, operations: ["${operation}"] }] }, async (db) => {});
export const handler = defineApiHandler({})(async () => { await use(); });`;
  const { functions: [fn] } = await analyse({ "numbers.ts": schema, "fn.ts": query("INSERT") });
  assertEquals(fn.sequences.map(({ sequence }) => sequence.name), ["numbers"]);
});
