import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { analysePermissions } from "../../../cli/grants/permissions.ts";
import { loadSqlReader } from "../../../cli/grants/sql_access.ts";
import { type Fixture, handler, withProject } from "../fixtures/analyse.ts";

const readSql = await loadSqlReader();

const CALLS: [sql: string, calls: string[]][] = [
  ["SELECT * FROM my_function()", ["my_function own", "my_function"]],
  [
    "SELECT * FROM notes n, LATERAL app.parts(n.id) p",
    ["app.parts own", "app.parts"],
  ],
  ["SELECT * FROM ROWS FROM (f(1), g(2)) AS x", ["f own", "f", "g own", "g"].sort()],
  ["SELECT my_function(id) FROM notes", ["my_function"]],
  ["SELECT * FROM generate_series(1, 2)", ["generate_series"]],
  ["SELECT * FROM jsonb_to_recordset($1) AS x(id uuid), unnest($2::text[])", [
    "jsonb_to_recordset",
    "unnest",
  ]],
  ["SELECT pg_catalog.now()", []],
  ["SELECT * FROM nextval('orders_seq')", []],
];

for (const [sql, calls] of CALLS) {
  Deno.test(`loadSqlReader() lists the functions that ${JSON.stringify(sql)} calls`, () => {
    const printed = readSql(sql).calls.map(({ name: { schema, name }, isOwn }) =>
      `${schema === undefined ? "" : `${schema}.`}${name}${isOwn ? " own" : ""}`
    );
    assertEquals(new Set(printed), new Set(calls));
  });
}

const DB = `
  import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
  export const { defineQuery, defineStatement } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));`;

function project(declaration: string): Fixture {
  return {
    "db.ts": DB,
    "queries.ts": "",
    "q.ts":
      `import { defineQuery, defineStatement } from "./db.ts"; import { sql } from "@trellis/fn/database/orm";
    export const run = ${declaration};`,
    "fn.ts": handler(`import { run } from "./q.ts";`, "return run();"),
  };
}

/** Returns what is missed and what is warned of. */
async function find(declaration: string, created: readonly string[] = []): Promise<string[][]> {
  return await withProject(project(declaration), async (root) => {
    const { missed, warnings } = await analysePermissions({
      root,
      functions: [{ name: "Fn", file: join(root, "fn.ts") }],
      created: new Set(created),
    });
    return [missed, warnings].map((found) => found.map((each) => `${each.line} ${each.message}`));
  });
}

Deno.test("analysePermissions() reports a function in FROM, whose tables it cannot see", async () => {
  for (
    const declaration of [
      'defineStatement("run", (db) => db.execute(sql`SELECT * FROM my_function()`))',
      "defineQuery({}, async function run(db: any) { await db.execute(sql`SELECT * FROM my_function()`); })",
      "defineQuery({}, async function run(db: any) { await db.select().from(sql`my_function()`); })",
    ]
  ) {
    const [[missed, ...others], warnings] = await find(declaration);
    assertEquals([others, warnings], [[], []], declaration);
    assertStringIncludes(missed, "2 the SQL calls my_function(), whose tables are not in its text");
    assertStringIncludes(missed, "EXECUTE");
  }
});

Deno.test("analysePermissions() reports functions in expressions that a migration creates", async () => {
  const declaration =
    "defineQuery({}, async function run(db: any) { await db.select({ n: sql`total(1)`, c: sql`count(*)` }).from(sql`(select 1) x`); })";
  assertEquals(await find(declaration), [[], []]);
  const [missed] = await find(declaration, ["total"]);
  assertEquals(missed.length, 1);
  assertStringIncludes(missed[0], "total()");
});

Deno.test("analysePermissions() takes listed tables for those of a function", async () => {
  const statement = (tables: string) =>
    `defineStatement("run", (db) => db.execute(sql\`SELECT * FROM my_function()\`), { tables: ${tables} })`;
  const listed = '[{ table: "notes", operations: ["SELECT"] }]';
  assertEquals(await find(statement(listed)), [[], []]);
  assertEquals(await find(statement("[]")), [[], []]);
  const query =
    `defineQuery({ tables: ${listed} }, async function run(db: any) { await db.execute(sql\`SELECT * FROM my_function()\`); })`;
  const [missed, warnings] = await find(query);
  assertEquals([missed, warnings.length], [[], 1]);
});

Deno.test("analysePermissions() warns of a function with a schema, which may be one of an extension", async () => {
  const [missed, warnings] = await find(
    'defineStatement("run", (db) => db.execute(sql`SELECT extensions.total(1)`))',
  );
  assertEquals([missed, warnings.length], [[], 1]);
});
