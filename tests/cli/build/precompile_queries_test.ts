import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { startPostgres } from "../../support/postgres.ts";
import { denoProjectFiles, type TestProject, writeTestProject } from "./project.ts";

const QUERIES = "src/queries.ts";
const FILES = {
  "trellis.config.ts": `export default { build: { precompile: true } };\n`,
  "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
const config = { provider: "postgres" as const, connectionString: process.env.DATABASE_URL };
export const { definePreparedQuery } = createQueryFactory(() => getDrizzleClient(config));
`,
  "src/schema.ts": `import { integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
const instant = (name: string) => timestamp(name, { withTimezone: true });
export const notes = pgTable("notes", {
  id: integer("id").primaryKey(),
  title: text("title").notNull(),
  at: instant("at"),
  tags: text("tags").array(),
});
export const stamped = pgTable("stamped", {
  id: integer("id"),
  at: instant("at").$defaultFn(() => new Date()),
});
export const prefixed = pgTable(\`\${process.env.PREFIX}_notes\`, { id: integer("id") });
`,
  [QUERIES]: `import { asc, eq, gt, sql } from "@trellis/fn/database/orm";
import { definePreparedQuery } from "./database.ts";
import * as schema from "./schema.ts";
import { notes } from "./schema.ts";
import { z } from "zod";

export const Limit = z.object({ limit: z.coerce.number().int() });
const { at: _, ...FIELDS } = { id: notes.id, title: notes.title, at: notes.at, tags: notes.tags };
const ORDER = [asc(notes.id)];
const changed = { id: notes.id };
changed.id = schema.notes.id;
const tables = [{ table: notes, operations: ["SELECT" as const] }];

export const listNotes = definePreparedQuery({ tables }, function listNotes(db, limit: number) {
  return db.select(FIELDS).from(schema.notes)
    .orderBy(...ORDER)
    .limit(sql.placeholder("limit")).prepare("list_notes").execute({ limit });
});
export const addNote = definePreparedQuery(
  { tables: [{ table: notes, operations: ["INSERT"] }], transaction: true },
  async function addNote(db, id: number, title: string, at: Date) {
    const values = { id: sql.placeholder("id"), title: sql.placeholder("title"), at: sql.placeholder("at") };
    const known = await db.select({ id: notes.id }).from(notes).where(eq(notes.id, sql.placeholder("id")))
      .prepare("find_note").execute({ id });
    const [added] = await db.insert(notes).values({ title: "first", id: sql.placeholder("id"), at: sql.placeholder("at") })
      .returning().prepare("add_note").execute({ id, title, at });
    await db.insert(notes).values(values).prepare("local").execute({ id: id + 1, title, at });
    return [known.length, added];
  },
);
export const unused = definePreparedQuery({ tables }, (db) => db.select().from(notes).prepare("unused").execute());
export const others = definePreparedQuery({ tables }, async function others(db, suffix: string) {
  await db.select().from(notes).where(gt(notes.at, new Date())).prepare("clock").execute();
  await db.select(changed).from(notes).prepare("changed").execute();
  await db.insert(schema.stamped).values({ id: 1 }).prepare("stamped").execute();
  await db.select().from(schema.prefixed).prepare("prefixed").execute();
  await db.select().from(notes).where(eq(notes.title, suffix)).prepare("argument").execute();
  await db.select().from(notes).prepare("twice").execute();
  await db.select().from(notes).limit(1).prepare("twice").execute();
});
export const unnamed = definePreparedQuery({ tables }, (db) => db.select().from(notes).execute());
`,
  "src/functions/api/notes.post.ts": `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { addNote, Limit, listNotes, others } from "../../queries.ts";
export const handler = defineApiHandler({ querySchema: Limit })(async function list({ context, query }) {
  const added = await addNote(1, "milk", new Date(0));
  if (query.limit === 0) await others("x");
  return buildValidatedResponse(context, 200, { added, notes: await listNotes(query.limit) });
});
`,
};

async function call(project: TestProject, url: string): Promise<unknown> {
  const event = { httpMethod: "POST", queryStringParameters: { limit: "5" } };
  const { answer } = await project.call("Notes", { event, env: { DATABASE_URL: url } });
  return { ...answer, body: answer.body && JSON.parse(answer.body) };
}

Deno.test("trellis build compiles prepared queries with build.precompile, and gives the same answers", async () => {
  const project = await writeTestProject({ ...await denoProjectFiles(), ...FILES });
  const server = await startPostgres();
  try {
    const { exitCode, stdout } = await project.build();
    assertEquals(exitCode, 0, stdout);
    for (
      const line of [
        "  Notes: add_note, find_note, list_notes\n",
        `  not compiled: ${QUERIES}:33: clock: Date is used, and its values depend on the moment`,
        `  not compiled: ${QUERIES}:34: changed: ${QUERIES}:11 changes a value that it uses`,
        `  not compiled: ${QUERIES}:35: stamped: Date is used, and its values depend on the moment`,
        `  not compiled: src/schema.ts:13: prefixed: process is used`,
        `  not compiled: ${QUERIES}:37: argument: suffix is local to the enclosing function`,
        // drizzle runs the first of two statements with one name for both
        `  not compiled: ${QUERIES}:38: twice: another statement has this name`,
        `  not compiled: ${QUERIES}:41: no statement is a chain from the client`,
        `  not compiled: ${QUERIES}:27: local: values is local to the enclosing function`,
      ]
    ) assertStringIncludes(stdout, line);

    const code = await Deno.readTextFile(join(project.root, "dist/Notes/index.mjs"));
    assertStringIncludes(code, 'select "id", "title", "tags" from "notes" order by');
    const map = JSON.parse(await Deno.readTextFile(join(project.root, "dist/Notes/index.mjs.map")));
    assertStringIncludes(
      map.sourcesContent.join("\n"),
      '{ path: ["tags"], decode: decodeArray() }',
    );

    const urls = [];
    for (const name of ["compiled", "ordinary"]) {
      const url = await server.createDatabase(name);
      urls.push(url);
      await createTable(url);
    }
    const compiled = await call(project, urls[0]);
    assertEquals((compiled as { statusCode: number }).statusCode, 200, JSON.stringify(compiled));
    await Deno.writeTextFile(join(project.root, "trellis.config.ts"), "export default {};\n");
    assertEquals((await project.build()).exitCode, 0);
    assertEquals(compiled, await call(project, urls[1]));
  } finally {
    await server.stop();
    await project.remove();
  }
});

async function createTable(url: string): Promise<void> {
  const { default: postgres } = await import("postgres");
  const connection = postgres(url, { max: 1 });
  await connection.unsafe("CREATE TABLE notes (id int, title text, at timestamptz, tags text[])");
  await connection.end();
}
