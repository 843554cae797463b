import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { AUTH_MIGRATION_SQL } from "../../../auth/migration.ts";
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
  "src/functions/api/me.get.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
import { buildValidatedResponse } from "@trellis/fn/core";
import { getDrizzleClient } from "@trellis/fn/database";
import { defineApiHandler } from "@trellis/fn/validation";
const config = { provider: "postgres" as const, connectionString: process.env.DATABASE_URL };
configureSessionAuth(() => getDrizzleClient(config), {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "http://localhost:3000",
});
export const handler = defineApiHandler({ auth: "session" })(function me({ context, session }) {
  return buildValidatedResponse(context, 200, session);
});
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

const EVENTS = {
  Notes: { httpMethod: "POST", queryStringParameters: { limit: "5" } },
  Me: { headers: { authorization: "Bearer known-token" } },
};

async function callAll(project: TestProject, url: string): Promise<unknown[]> {
  const answers = [];
  for (const [name, event] of Object.entries(EVENTS)) {
    const { answer } = await project.call(name, { event, env: { DATABASE_URL: url } });
    answers.push([answer.statusCode, answer.body && JSON.parse(answer.body), answer.thrown]);
  }
  return answers;
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
      await createTables(url);
    }
    const me = await Deno.readTextFile(join(project.root, "dist/Me/index.mjs.map"));
    assertEquals(me.includes("drizzle-orm"), false);
    const compiled = await callAll(project, urls[0]);
    const statuses = compiled.map((answer) => (answer as unknown[])[0]);
    assertEquals(statuses, [200, 200], JSON.stringify(compiled));
    await Deno.writeTextFile(join(project.root, "trellis.config.ts"), "export default {};\n");
    assertEquals((await project.build()).exitCode, 0);
    assertEquals(compiled, await callAll(project, urls[1]));
  } finally {
    await server.stop();
    await project.remove();
  }
});

async function createTables(url: string): Promise<void> {
  const { default: postgres } = await import("postgres");
  const connection = postgres(url, { max: 1, onnotice() {} });
  await connection.unsafe(AUTH_MIGRATION_SQL);
  await connection.unsafe(`CREATE TABLE notes (id int, title text, at timestamptz, tags text[]);
    INSERT INTO users (id, name, email)
      VALUES ('7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69', 'Ada', 'ada@example.com');
    INSERT INTO sessions (id, user_id, token, expires_at)
      VALUES ('0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e', '7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69',
        'known-token', '2999-01-01')`);
  await connection.end();
}
