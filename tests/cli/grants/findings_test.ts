import { assertEquals } from "@std/assert";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";
import {
  analyse,
  type Fixture,
  getGrants,
  handler,
  shareAnalysis,
  testGrants,
} from "../fixtures/analyse.ts";

const QUERY = (options: string, more = "") =>
  `import { defineQuery } from "./db.ts"; import { b, a } from "./schema.ts"; import { pgTable } from "drizzle-orm/pg-core";\n${more}
export const run = defineQuery(${options}, async function run(db: any) {});`;
const RUN = { "fn.ts": handler(`import { run } from "./q.ts";`, "return run();") };

const UNRESOLVED: readonly [what: string, place: string, message: string, files: Fixture][] = [
  [
    "a dynamic import by a computed name",
    "fn.ts:3",
    "the name of an imported module is computed at run time",
    {
      "fn.ts": handler("", "return import(path.name);"),
    },
  ],
  [
    "a require by a computed name",
    "fn.ts:3",
    "the name of an imported module is computed at run time",
    {
      "fn.ts": handler("", "return require(path.name);"),
    },
  ],
  ["a file that is not there", "fn.ts:2", `Could not resolve "./none.ts"`, {
    "fn.ts": handler(`import { x } from "./none.ts";`, "return x();"),
  }],
  ["an alias that leads nowhere", "fn.ts:2", `Could not resolve "#db/none.ts"`, {
    "package.json": `{ "imports": { "#db/*": "./*" } }`,
    "fn.ts": handler(`import { x } from "#db/none.ts";`, "return x();"),
  }],
  [
    "a name that a file does not export",
    "fn.ts:2",
    `No matching export in "queries.ts" for import "nothing"`,
    {
      "fn.ts": handler(`import { nothing } from "./queries.ts";`, "\nreturn nothing();"),
    },
  ],
  [
    "a default export that export * does not pass on",
    "fn.ts:2",
    `No matching export in "barrel.ts" for import "default"`,
    {
      "add.ts": `import { addB } from "./queries.ts"; export default addB;`,
      "barrel.ts": `export * from "./add.ts";`,
      "fn.ts": handler(`import add from "./barrel.ts";`, "return add('1');"),
    },
  ],
  ["a syntax error", "fn.ts:2", `Unexpected ";"`, {
    "fn.ts": "export const handler =\n  (;",
  }],
  [
    "a table whose name is not set",
    "q.ts:3",
    "A declared table is neither a drizzle table nor a name",
    {
      ...RUN,
      "q.ts": QUERY(
        `{ tables: [{ table: t, operations: ["SELECT"] }] }`,
        "const t = pgTable(undefined as any, {});",
      ),
    },
  ],
  [
    "an operation that is none",
    "q.ts:3",
    `The operations of table a must be from SELECT, INSERT, UPDATE, DELETE, ALL, got ["READ"]`,
    {
      ...RUN,
      "q.ts": QUERY(`{ tables: [{ table: a, operations: ["READ"] }] }`),
    },
  ],
  [
    "a query that runs when its module is loaded",
    "db.ts:3",
    "getDrizzleClient() was called while the module was loaded. Call it in a function",
    {
      "warm.ts":
        `import { readA } from "./queries.ts"; export const all = await Promise.all([readA()]);`,
      "fn.ts": handler(`import "./warm.ts";`, "return 1;"),
    },
  ],
  [
    "a package that is not installed",
    "fn.ts:1",
    'Import "not-installed" not a dependency',
    {
      "fn.ts": handler(`import { x } from "not-installed";`, "return x();"),
    },
  ],
  [
    "a file without a handler",
    "fn.ts:1",
    "the file does not export a handler. Write export const handler = defineApiHandler({ … })(…)",
    {
      "fn.ts": `export const handle = 1;`,
    },
  ],
];

testGrants([
  ["reads tables and operations that are computed", "a SELECT, b SELECT", {
    ...RUN,
    "q.ts": QUERY(
      `{ tables: Object.values({ a, b }).map((table) => ({ table, operations: ["SELECT"].filter(Boolean) })) }`,
    ),
  }],
  ["reads options of another package", "a SELECT", {
    ...RUN,
    "q.ts": QUERY(`{ ...loadOptions() }`, `import { loadOptions } from "elsewhere";`),
  }],
  ["reads an auth mode of another package", "", {
    "fn.ts": handler(`import { mode } from "elsewhere";`, "return 1;", "{ auth: mode }"),
  }],
  ["follows a CommonJS file", "a SELECT", {
    "q.js": `module.exports = { run: require("./queries.ts").readA };`,
    "fn.ts": handler(`import { run } from "./q.js";`, "return run();"),
  }],
  ["grants all of modules that a computed name may mean", "a SELECT, b INSERT, c DELETE", {
    "fn.ts": handler("", "return import(`./${path.name}.ts`);"),
  }],
]);

const analyseUnresolved = shareAnalysis(UNRESOLVED.map(([, , , files]) => files));
for (const [what, place, message, files] of UNRESOLVED) {
  Deno.test(`analysePermissions() names ${what} with its place`, async () => {
    const { unresolved } = await analyseUnresolved(files);
    // esbuild adds why it could not resolve a path
    const found = unresolved.filter((finding) => finding.message.startsWith(message));
    assertEquals(
      found.map(({ file, line, functions }) => [`${file}:${line}`, functions]),
      [[place, ["Fn"]]],
      JSON.stringify(unresolved),
    );
  });
}

Deno.test("analysePermissions() names only what a function reaches", async () => {
  const files = {
    "other.ts": `export const load = (name: string) => import(name); export const one = 1;`,
    "fn.ts": handler(`import { one } from "./other.ts";`, "return one;"),
  };
  assertEquals((await analyse(files)).unresolved, []);
});

type Missed = readonly [
  what: string,
  body: string,
  declared: string,
  messages: readonly string[],
];

const OF_DRIZZLE_ONE: readonly Missed[] = [
  [
    "a relation in a filter",
    `const where = { OR: [{ id: "1" }, { NOT: { parts: { more: true } } }] }; await db.query.a.findMany({ where });`,
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
      "q uses table c, which is missing in its tables",
    ],
  ],
  [
    "a relation in an order",
    `await db.query.a.findMany({ orderBy: { parts: { more: { id: "asc(max)" } } } });`,
    `{ table: a, operations: ["SELECT"] }, { table: b, operations: ["SELECT"] }`,
    ["q uses table c, which is missing in its tables"],
  ],
  [
    "the table between two related ones",
    "await db.query.a.findMany({ with: { linked: true } });",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table c, which is missing in its tables"],
  ],
  [
    "the table between two related ones in a filter",
    "await db.query.a.findMany({ where: { linked: true } });",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table c, which is missing in its tables"],
  ],
  [
    "the table in the condition of a relation",
    "await db.query.b.findMany({ with: { shown: true } });",
    `{ table: b, operations: ["SELECT"] }`,
    [
      "q uses table a, which is missing in its tables",
      "q uses table c, which is missing in its tables",
    ],
  ],
  [
    "the table in the condition of a relation in a filter, and in one that is turned around",
    "await db.query.b.findMany({ where: { NOT: { shown: true } } }); await db.query.c.findMany({ with: { hidden: true } });",
    `{ table: b, operations: ["SELECT"] }, { table: c, operations: ["SELECT"] }`,
    [
      "q uses table a, which is missing in its tables",
      "q uses table d, which is missing in its tables",
    ],
  ],
  [
    "a filter that is computed, of a table with relations",
    "await db.query.a.findMany({ where: JSON.parse(text()) });",
    "",
    [
      "q uses table a, which is missing in its tables",
      "the tables of this SQL in q are computed at run time: list all of them",
    ],
  ],
  [
    "nothing for columns in a filter and an order, and for a filter of a table without relations",
    `await db.query.a.findMany({ where: { id: { in: [text()] } }, orderBy: (t: any, { asc }: any) => [asc(t.id)] });
     await db.query.c.findFirst({ where: JSON.parse(text()) });`,
    `{ table: a, operations: ["SELECT"] }, { table: c, operations: ["SELECT"] }`,
    [],
  ],
];

const MISSED: readonly Missed[] = [
  [
    "a table that is not listed",
    "await db.select().from(b);",
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  [
    "assertRowExists on a table that is not listed",
    "await assertRowExists(db, b, b.id, 1);",
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  [
    "returning() without SELECT",
    "await db.insert(a).values({}).returning();",
    `{ table: a, operations: ["INSERT"] }`,
    [
      "q needs SELECT on table a, which is missing in its tables",
    ],
  ],
  [
    "where() without SELECT",
    "await db.update(a).set({}).where(eq(a.id, '1'));",
    `{ table: a, operations: ["UPDATE"] }`,
    [
      "q needs SELECT on table a, which is missing in its tables",
    ],
  ],
  [
    "an upsert without UPDATE",
    "await db.insert(a).values({}).onConflictDoUpdate({});",
    `{ table: a, operations: ["INSERT", "SELECT"] }`,
    [
      "q needs UPDATE on table a, which is missing in its tables",
    ],
  ],
  [
    "a table in a template",
    "await db.execute(sql`select * from ${b}`);",
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  ["a table that a helper touches", "await help(db);", `{ table: b, operations: ["SELECT"] }`, [
    "q needs DELETE on table b, which is missing in its tables",
  ]],
  [
    "a table in the text of SQL",
    "await db.execute(sql`select * from b where id = ${1}`);",
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  [
    "a statement in a text",
    `await db.execute("delete from public.b");`,
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  [
    "raw SQL",
    `await db.execute(sql.raw("update a set id = 1 where id = 2"));`,
    `{ table: a, operations: ["UPDATE"] }`,
    [
      "q needs SELECT on table a, which is missing in its tables",
    ],
  ],
  [
    "the driver's client",
    `const client = db.$client; await client.unsafe("select 1 from b");`,
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
    ],
  ],
  [
    "the driver's client as a tag",
    "await db.$client`select 1 from ${b}, c`;",
    `{ table: b, operations: ["SELECT"] }`,
    [
      "q uses table c, which is missing in its tables",
    ],
  ],
  [
    "a row lock",
    `await db.select().from(a).where(eq(a.id, "1")).for("update");`,
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q needs UPDATE on table a, which is missing in its tables",
    ],
  ],
  [
    "a row lock on all tables of a join",
    `await db.select().from(a).innerJoin(b, eq(a.id, b.id)).for("update");`,
    `{ table: a, operations: ["SELECT", "UPDATE"] }, { table: b, operations: ["SELECT"] }`,
    ["q needs UPDATE on table b, which is missing in its tables"],
  ],
  [
    "a row lock on one table of a join",
    `await db.select().from(a).innerJoin(b, eq(a.id, b.id)).for("update", { of: a });`,
    `{ table: a, operations: ["SELECT"] }, { table: b, operations: ["SELECT"] }`,
    ["q needs UPDATE on table a, which is missing in its tables"],
  ],
  [
    "a row lock on an alias of a join",
    `const other = alias(b, "other"); const lock = { of: [other], skipLocked: true } as const;
     const rows = db.select().from(a).leftJoin(other, eq(a.id, other.id)); await rows.for("share", lock);`,
    `{ table: a, operations: ["SELECT"] }, { table: b, operations: ["SELECT"] }`,
    ["q needs UPDATE on table b, which is missing in its tables"],
  ],
  ["a relational query", `await db.query.b.findMany();`, `{ table: a, operations: ["SELECT"] }`, [
    "q uses table b, which is missing in its tables",
  ]],
  [
    "a relation of a relational query",
    `await db.query.a.findFirst({ with: { parts: { with: { more: true } } } });`,
    `{ table: a, operations: ["SELECT"] }`,
    [
      "q uses table b, which is missing in its tables",
      "q uses table c, which is missing in its tables",
    ],
  ],
  [
    "a relational query by a constant",
    "const { query } = db; await query.b.findFirst();",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a relational query of a table that the schema names otherwise",
    "Object.keys(schema); await db.query.things.findMany({ with: { parts: true } });",
    `{ table: b, operations: ["SELECT"] }`,
    ["q uses table a, which is missing in its tables"],
  ],
  [
    "a relational query with relations in a constant",
    "const related = { parts: { columns: { id: true } } } as const; await db.query.a.findMany({ with: related });",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a relational query with relations in a constant of the module",
    "await db.query.a.findMany({ with: wanted });",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a relational query of an unknown table",
    "await db.query[text()].findMany();",
    "",
    ["the tables of this SQL in q are computed at run time: list all of them"],
  ],
  [
    "a relational query whose relations are computed",
    "await db.query.a.findMany({ ...JSON.parse(text()) });",
    "",
    [
      "q uses table a, which is missing in its tables",
      "the tables of this SQL in q are computed at run time: list all of them",
    ],
  ],
  [
    "a table that a helper gets",
    "const clear = (table: any) => db.delete(table); await clear(b);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "tables that a condition or a key selects",
    "await db.delete(direction ? b : a); await db.delete({ b, c }[text()]);",
    `{ table: a, operations: ["DELETE"] }`,
    [
      "q uses table b, which is missing in its tables",
      "q uses table c, which is missing in its tables",
    ],
  ],
  [
    "a relational query by a key in quotes",
    "const rows = db.query; await rows['b'].findMany();",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a statement in a constant",
    "const text = 'select * from b'; await db.execute(text);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "SQL in place of a table",
    "await db.select().from(sql`b`);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a joined source of SQL",
    "await db.select().from(a).leftJoin(sql`lateral (select * from b) x`, sql`true`);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a lateral join",
    "await db.select().from(a).leftJoinLateral(b, sql`true`);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a transaction of the driver",
    "await db.$client.begin(async (tx: any) => { await tx`delete from b`; });",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a connection of the driver",
    "const one = await db.$client.connect(); await one.query('delete from b');",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a DO block",
    "await db.execute(sql`do $$ begin if true then delete from b; end if; end $$`);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  ["a method by its name", "await db['delete'](b);", `{ table: a, operations: ["SELECT"] }`, [
    "q uses table b, which is missing in its tables",
  ]],
  [
    "a destructured method",
    "const { delete: remove } = db; await remove(b);",
    `{ table: a, operations: ["SELECT"] }`,
    ["q uses table b, which is missing in its tables"],
  ],
  [
    "a row lock on a statement in a variable",
    `const rows = db.select().from(a); await rows.for("update");`,
    `{ table: a, operations: ["SELECT"] }`,
    ["q needs UPDATE on table a, which is missing in its tables"],
  ],
  [
    "a row lock on a dynamic statement",
    `let rows = db.select().from(a).$dynamic(); rows = rows.for("share"); await rows;`,
    `{ table: a, operations: ["SELECT"] }`,
    ["q needs UPDATE on table a, which is missing in its tables"],
  ],
  [
    "SQL that is joined of parts",
    "await db.execute(sql.join([sql`select * from`, sql`b`], sql` `));",
    "",
    [
      "the tables of this SQL in q are computed at run time: list all of them",
    ],
  ],
  ["SQL that is worked out, where nothing is listed", `await db.execute(sql.raw(text()));`, "", [
    "the tables of this SQL in q are computed at run time: list all of them",
  ]],
  [
    "SQL that is concatenated",
    `await db.execute("select * from " + text());`,
    "",
    ["the tables of this SQL in q are computed at run time: list all of them"],
  ],
  [
    "SQL that is passed in as text",
    `const run = async (statement: string) => (await getDb()).execute(statement);
    declare function getDb(): Promise<any>; await run(text());`,
    "",
    ["the tables of this SQL in q are computed at run time: list all of them"],
  ],
  [
    "nothing for SQL objects that are passed in, and for other things that execute text",
    `const run = (statement: SQL) => db.execute(statement); await run(sql\`select 1 from a\`);
    const shell = { execute(command: string) {} }; shell.execute("ls " + text());`,
    `{ table: a, operations: ["SELECT"] }`,
    [],
  ],
  [
    "nothing for SQL that is listed",
    "await db.execute(sql`insert into ${a} (id) select id from public.b where x = ${sql.raw('1')} returning id`); await db.query.a.findMany({ with: { parts: true }, limit: 3 });",
    `{ table: a, operations: ["INSERT", "SELECT"] }, { table: "b", operations: ["SELECT"] }`,
    [],
  ],
  [
    "nothing for fragments of SQL",
    "await db.select({ n: sql`count(*)` }).from(a).orderBy(sql`${a.id} ${sql.raw(direction)}`);",
    `{ table: a, operations: ["SELECT"] }`,
    [],
  ],
  [
    "nothing when all is listed",
    "await db.select().from(a).innerJoin(b, eq(a.id, b.id)); await db.insert(a).values({}).onConflictDoNothing();",
    `{ table: a, operations: ["ALL"] }, { table: "b", operations: ["SELECT"] }`,
    [],
  ],
  [
    "nothing for methods of other things",
    "new Map().delete(1); new Set([a]).values(); from(a); function from(x: unknown) {}",
    `{ table: b, operations: ["SELECT"] }`,
    [],
  ],
  ...isDrizzleOne ? OF_DRIZZLE_ONE : [],
];

const RELATIONS = isDrizzleOne
  ? `import { defineRelations } from "drizzle-orm";
    export const schema = defineRelations({ a, b, c, things: a }, (r) => ({
      a: {
        parts: r.many.b({ from: r.a.id, to: r.b.id }),
        linked: r.many.a({ from: r.a.id.through(r.c.id), to: r.a.id.through(r.c.id) }),
      },
      b: {
        more: r.one.c({ from: r.b.id, to: r.c.id }),
        shown: r.many.a({
          from: r.b.id,
          to: r.a.id,
          where: { id: { ne: "0" }, OR: [{ RAW: (a, { exists, sql }) => exists(sql\`(select from \${c} where \${c.id} = \${a.id})\`) }] },
        }),
        ofC: r.one.c({ from: r.b.id, to: r.c.id, alias: "hidden", where: { NOT: { RAW: sql\`\${c.id} in (select id from d)\` } } }),
      },
      c: { hidden: r.many.b({ alias: "hidden" }) },
      things: { parts: r.many.b({ from: r.things.id, to: r.b.id }) },
    }));`
  : `import { relations } from "drizzle-orm"; export const schema = { things: a };
    export const aRelations = relations(a, ({ many }) => ({ parts: many(b) }));
    export const bRelations = relations(b, ({ one }) => ({ more: one(c) }));`;

const QUERIES = MISSED.map(([, body, declared]): Fixture => ({
  "fn.ts": handler(`import { q } from "./q.ts";`, "return q();"),
  "q.ts":
    `import { defineQuery } from "./db.ts"; import { a, b } from "./schema.ts"; import { assertRowExists } from "@trellis/fn/database";
    import { eq, sql } from "@trellis/fn/database/orm"; import { alias } from "drizzle-orm/pg-core";
    import { c } from "./schema.ts";
    declare const direction: string; declare function text(): string;
    ${RELATIONS}
    const wanted = { parts: { columns: { id: true } } } as const;
    async function help(db: any) { await db.delete(b); }
    export const q = defineQuery({ tables: [${declared}] }, async function q(db: any) { ${body} });`,
}));
const analyseQuery = shareAnalysis(QUERIES);
for (const [at, [what, , , messages]] of MISSED.entries()) {
  Deno.test(`analysePermissions() misses the grant of ${what} in a query`, async () => {
    const { missed, unresolved } = await analyseQuery(QUERIES[at]);
    assertEquals(unresolved, []);
    assertEquals(missed.map(({ message }) => message), messages);
  });
}

Deno.test("analysePermissions() warns of a table that is touched outside a declared query, and grants nothing", async () => {
  const analysis = await analyse({
    "fn.ts": handler(
      `import { a } from "./schema.ts"; import { getDb } from "elsewhere";`,
      "const db = await getDb();\nawait db.insert(a).values({});",
    ),
  });
  assertEquals(getGrants(analysis), "");
  assertEquals(analysis.missed.map(({ line, message }) => [line, message]), [
    [
      4,
      "table a is written outside a declared query, so no grant is generated: move it into a defineQuery that lists the table",
    ],
  ]);
});

Deno.test("analysePermissions() misses nothing of functions that a module imported on demand has for its queries", async () => {
  const { missed, unresolved, functions } = await analyse({
    "store.ts": `import { a, b } from "./schema.ts";
      export const read = async (db: any) => await db.select().from(a);
      export async function write(db: any) { await db.insert(b).values({}); }`,
    "declared.ts":
      `import { defineQuery } from "./db.ts"; import { a } from "./schema.ts"; import * as store from "./store.ts";
      export const readAll = defineQuery({ tables: [{ table: a, operations: ["SELECT"] }] }, async (db: any) => await store.read(db));
      export async function unused(db: any) { await store.write(db); }`,
    "fn.ts": handler("", `return (await import("./declared.ts")).readAll();`),
  });
  assertEquals(unresolved, []);
  assertEquals(missed, []);
  assertEquals(functions[0].tables.map(({ table }) => table.name), ["a"]);
});

const WRAPPER = {
  "node_modules/@acme/session/package.json": `{ "name": "@acme/session", "type": "module" }`,
  "node_modules/@acme/session/api.js": `export const whoIs = (name) => name;`,
  "fn.ts": handler(`import { whoIs } from "@acme/session/api.js";`, "return whoIs('x');"),
};
const WRAPPERS: readonly [what: string, files: Fixture][] = [
  ["node_modules", {
    "node_modules/@acme/session/package.json":
      `{ "type": "module", "peerDependencies": { "@trellis/fn": "^0.1.0" } }`,
  }],
  ["Deno's lock file, from npm", {
    "deno.lock":
      `{ "npm": { "@acme/session@1.0.0": { "dependencies": ["@trellis/fn@0.1.0", "zod@4.0.0"] } } }`,
  }],
  ["Deno's lock file, from JSR", {
    "deno.lock":
      `{ "jsr": { "@acme/session@1.0.0": { "dependencies": ["jsr:@trellis/fn@0.1"] } } }`,
  }],
  ["node_modules, through another package", {
    "node_modules/@acme/session/package.json":
      `{ "dependencies": { "@acme/core": "1", "@acme/session": "1" } }`,
    "node_modules/@acme/session/node_modules/@acme/core/package.json":
      `{ "dependencies": { "@acme/session": "1", "fn": "npm:@trellis/fn@^0.1.0" } }`,
  }],
  ["node_modules, from JSR", {
    "node_modules/@acme/session/package.json":
      `{ "dependencies": { "@trellis/fn": "npm:@jsr/trellis__fn@^0.1.0" } }`,
  }],
  ["Deno's lock file, through other packages and registries", {
    "deno.lock": `{
      "jsr": { "@acme/core@1.0.0": { "dependencies": ["jsr:@trellis/fn@0.1"] } },
      "npm": {
        "@acme/session@1.0.0_zod@4.0.0": { "dependencies": ["between"] },
        "between@1.0.0": { "optionalPeers": ["@acme/core@1.0.0", "@acme/session@1.0.0"] }
      } }`,
  }],
];

for (const [what, files] of WRAPPERS) {
  Deno.test(`analysePermissions() names the use of a package that wraps this one, by ${what}`, async () => {
    const { missed } = await analyse({ ...WRAPPER, ...files });
    assertEquals(missed.map(({ file, line, message }) => [file, line, message.split(":")[0]]), [
      ["fn.ts", 3, "@acme/session depends on @trellis/fn, and packages are not analyzed"],
    ]);
  });
}

Deno.test("analysePermissions() names no package that does not depend on this one", async () => {
  const files = {
    "node_modules/@acme/session/package.json": `{ "dependencies": { "zod": "^4.0.0" } }`,
  };
  assertEquals((await analyse({ ...WRAPPER, ...files })).missed, []);
});
