import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { describeAbsentTables } from "../../../cli/deploy/live_tables.ts";
import { readProject } from "../../../cli/config/read_project.ts";
import { readFunctions } from "../../../cli/infra/read_functions.ts";
import { closeDrizzleClient, withSession } from "../../../database/providers/client.ts";
import { withProject } from "../fixtures/analyse.ts";

const MIGRATION = `CREATE TABLE notes (id uuid PRIMARY KEY, title text NOT NULL);
CREATE TABLE unused (id uuid PRIMARY KEY);
ALTER TABLE notes ADD COLUMN body text;
CREATE VIEW titles AS SELECT title FROM notes;`;

const FILES = {
  "migrations/0001_notes.sql": MIGRATION,
  "src/queries.ts": `import { createQueryFactory, DatabaseOperation } from "@trellis/fn/database";
import { pgTable, uuid } from "drizzle-orm/pg-core";
const notes = pgTable("notes", { id: uuid("id") });
const titles = pgTable("titles", { id: uuid("id") });
const { defineQuery } = createQueryFactory(() => ({} as any));
export const listNotes = defineQuery({ name: "listNotes", tables: [
  { table: notes, operations: [DatabaseOperation.Select] }, { table: titles, operations: [DatabaseOperation.Select] },
] }, async (db: any) => db.select().from(notes));`,
  "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn";
import { listNotes } from "../../queries.ts";
export const handler = defineApiHandler({})(async () => listNotes());`,
};

Deno.test("describeAbsentTables() names what the database lacks of tables that functions use", async () => {
  const database = { provider: "embedded-pg", connectionString: "memory://live" } as const;
  await withProject(FILES, async (root) => {
    const { config, functions: files } = await readProject({ root, options: {} });
    const { functions } = await readFunctions({ root, files, settings: {} });
    const describe = () => describeAbsentTables(root, config, functions, database);
    const change = (sql: string) => withSession(database, (session) => session.query(sql));
    const missing = await describe();
    assert(missing !== undefined);
    assertEquals(missing.split("\n")[0], "The database lacks the table notes");
    assertStringIncludes(missing, "was marked as applied without running");
    await change("CREATE TABLE notes (id uuid PRIMARY KEY, title text NOT NULL)");
    assertEquals((await describe())?.split("\n")[0], "The database lacks the column body of notes");
    await change("ALTER TABLE notes ADD COLUMN body text");
    assertEquals(await describe(), undefined);
    // another schema of the search path
    await change("CREATE SCHEMA app");
    await change("ALTER TABLE notes SET SCHEMA app");
    assertEquals(await describe(), undefined);
  });
  await closeDrizzleClient(database);
});
