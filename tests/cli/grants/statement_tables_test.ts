import { assertEquals, assertStringIncludes } from "@std/assert";
import { analyse, handler, shareAnalysis, testGrants } from "../fixtures/analyse.ts";

const SCHEMA = `
  import { integer, pgTable, pgView, serial, text } from "drizzle-orm/pg-core";
  export const notes = pgTable("notes", { id: serial().primaryKey(), owner: text("owner"), n: integer("n") });
  export const labels = pgTable("labels", { noteId: integer("note_id"), name: text("name") });
  export const open = pgView("open_notes", {}).existing();`;
const DB = `
  import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
  export const { defineQuery, defineStatement } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));`;

const files = (builder: string, options = "") => ({
  "db.ts": DB,
  "tables.ts": SCHEMA,
  "queries.ts": "",
  "q.ts":
    `import { defineStatement } from "./db.ts"; import { labels, notes, open } from "./tables.ts";
    import { eq, sql } from "@trellis/fn/database/orm"; import { DatabaseOperation, type Params } from "@trellis/fn/database";
    function ofOwner(db: any, owner: string) { return db.select().from(notes).where(eq(notes.owner, owner)); }
    export const run = defineStatement("run", (db, p: Params<{ owner: string }>) => ${builder}${options});
    export const other = defineStatement("other", (db) => db.delete(labels));`,
  "fn.ts": handler(`import { run } from "./q.ts";`, `return run({ owner: "a" });`),
});

const BUILDERS: readonly [what: string, grants: string, builder: string, options?: string][] = [
  ["select", "notes SELECT", "db.select().from(notes).where(eq(notes.owner, p.owner))"],
  [
    "join",
    "labels SELECT, notes SELECT",
    "db.select().from(notes).leftJoin(labels, eq(labels.noteId, notes.id))",
  ],
  ["insert", "notes INSERT", "db.insert(notes).values({ owner: p.owner })"],
  [
    "insert returning",
    "notes SELECT+INSERT",
    "db.insert(notes).values({ owner: p.owner }).returning()",
  ],
  ["on conflict do nothing", "notes INSERT", "db.insert(notes).values({}).onConflictDoNothing()"],
  [
    "on conflict do nothing with a target",
    "notes SELECT+INSERT",
    "db.insert(notes).values({}).onConflictDoNothing({ target: notes.id })",
  ],
  [
    "on conflict do update",
    "notes SELECT+INSERT+UPDATE",
    "db.insert(notes).values({}).onConflictDoUpdate({ target: notes.id, set: { owner: p.owner } })",
  ],
  ["update", "notes UPDATE", "db.update(notes).set({ owner: p.owner })"],
  [
    "update where",
    "notes SELECT+UPDATE",
    "db.update(notes).set({ n: 1 }).where(eq(notes.owner, p.owner))",
  ],
  [
    "update that reads a column",
    "notes SELECT+UPDATE",
    "db.update(notes).set({ n: sql`${notes.n} + 1` })",
  ],
  [
    "update from",
    "labels SELECT, notes SELECT+UPDATE",
    "db.update(notes).set({ n: 1 }).from(labels).where(eq(labels.noteId, notes.id))",
  ],
  ["delete", "notes DELETE", "db.delete(notes)"],
  [
    "delete where",
    "notes SELECT+DELETE",
    "db.delete(notes).where(eq(notes.owner, p.owner))",
  ],
  ["for update", "notes SELECT+UPDATE", 'db.select().from(notes).for("update")'],
  [
    "for update of a table",
    "labels SELECT, notes SELECT+UPDATE",
    'db.select().from(notes).innerJoin(labels, eq(labels.noteId, notes.id)).for("update", { of: notes })',
  ],
  [
    "a common table",
    "labels SELECT, notes SELECT",
    `{ const few = db.$with("few").as(db.select().from(labels)); return db.with(few).select().from(few).innerJoin(notes, eq(notes.id, few.noteId)); }`,
  ],
  [
    "a subquery in a template",
    "labels SELECT, notes SELECT",
    "db.select().from(notes).where(sql`exists (select 1 from ${labels} where note_id = ${notes.id})`)",
  ],
  ["a view", "open_notes SELECT", "db.select().from(open)"],
  ["a function that builds a part", "notes SELECT", "ofOwner(db, p.owner)"],
  ["SQL", "labels DELETE", "db.execute(sql`delete from ${labels}`)"],
  [
    "declared tables",
    "notes SELECT+UPDATE",
    "db.update(notes).set({ owner: p.owner }).where(eq(notes.id, 1))",
    ", { tables: [{ table: notes, operations: [DatabaseOperation.Select, DatabaseOperation.Update] }] }",
  ],
];

testGrants(
  BUILDERS.map(([what, grants, builder, options]) =>
    [`reads the tables of a statement: ${what}`, grants, files(builder, options)] as const
  ),
);

Deno.test("analysePermissions() lists the sequences of serial columns for a statement that inserts", async () => {
  const { functions } = await analyse(files("db.insert(notes).values({ owner: p.owner })"));
  assertEquals(functions[0].tables[0].sequences, [{ name: "notes_id_seq" }]);
  assertEquals(functions[0].tables[0].neededBy, ["run (q.ts)"]);
});

Deno.test("analysePermissions() reports a table of a statement that it cannot determine", async () => {
  const unknown = [
    "db.select().from(globalThis.tables.notes)",
    "db.execute(sql.raw(globalThis.text))",
    "db.insert(p.owner.length > 1 ? notes : labels).values({})",
  ];
  const projects = unknown.map((builder) => files(builder));
  const analyseUnknown = shareAnalysis(projects);
  for (const [at, builder] of unknown.entries()) {
    const { missed, unresolved } = await analyseUnknown(projects[at]);
    const errors = [...missed, ...unresolved].map((each) => [each.file, each.line]);
    assertEquals(errors, [["q.ts", 4]], builder);
    assertStringIncludes([...missed, ...unresolved][0].message, "run", builder);
  }
  const declared = ", { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] }";
  const { missed } = await analyse(files("db.delete(labels)", declared));
  assertStringIncludes(missed[0].message, "run uses table labels");
});

const query = (body: string) => ({
  ...files("db.select().from(notes).where(eq(notes.owner, p.owner))"),
  "both.ts":
    `import { defineQuery } from "./db.ts"; import { other, run } from "./q.ts"; import { labels } from "./tables.ts";
    export const inner = defineQuery({}, async function inner(db) { await other.on(db); });
    export const both = defineQuery({ transaction: true }, async function both(tx, owner: string) {
      ${body}
    });`,
  "fn.ts": handler(`import { both } from "./both.ts";`, `return both("a");`),
});

testGrants([
  [
    "reads the tables of a query without tables from its statements and queries",
    "labels DELETE, notes SELECT",
    query("await inner.on(tx); return await run.on(tx, { owner });"),
  ],
]);

Deno.test("analysePermissions() reports a table that a query without tables uses itself", async () => {
  const { missed } = await analyse(query("await tx.insert(labels).values({ name: owner });"));
  assertEquals(missed.map(({ file, line, message }) => [file, line, message]), [
    ["both.ts", 4, "both uses table labels, which is missing in its tables"],
  ]);
});
