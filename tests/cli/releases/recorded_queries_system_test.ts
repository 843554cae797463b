import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { build } from "../../../cli/commands/build.ts";
import { checkCompat } from "../../../cli/commands/check_compat.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { denoProjectFiles } from "../build/project.ts";
import { runInProcess } from "../fixtures/run.ts";

const DATABASE = `import {
  createQueryFactory, DatabaseOperation, getDrizzleClient,
} from "@trellis/fn/database";
import { asc, inArray } from "@trellis/fn/database/orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title").notNull() });
const { Insert, Select } = DatabaseOperation;
const { defineQuery } = createQueryFactory(() =>
  getDrizzleClient({ provider: "embedded-pg", connectionString: "memory://tests" })
);
export const listNotes = defineQuery(
  { tables: [{ table: notes, operations: [Select] }] },
  async function listNotes(db, ids: number[]) {
    return await db.select().from(notes).where(inArray(notes.id, ids)).orderBy(asc(notes.title));
  },
);
export const addNotes = defineQuery(
  { tables: [{ table: notes, operations: [Insert] }], transaction: true },
  async function addNotes(db, titles: string[]) {
    await db.insert(notes).values(titles.map((title, id) => ({ id, title })));
  },
);
/** Two queries of one name, whose statements cannot be told apart. */
export const purges = ["a", "b"].map((title) =>
  defineQuery(
    { tables: [{ table: notes, operations: [DatabaseOperation.Delete] }], name: "purgeNotes" },
    title === "a" ? async (db) => void await db.delete(notes) : async (db) => void await db.delete(notes).returning(),
  )
);
export const countNotes = defineQuery(
  { tables: [{ table: notes, operations: [Select] }] },
  async function countNotes(db) {
    return await db.$count(notes);
  },
);
`;

const toTest = (calls: string): string =>
  `import { createTestDatabase } from "@trellis/fn/testing";
import { addNotes, listNotes, purges } from "../src/database.ts";

Deno.test("notes", async () => {
  const database = await createTestDatabase({
    migrationsFolder: "migrations",
    connectionString: "memory://tests",
  });
  ${calls}
  await database.close();
});
`;

const FUNCTION = `import { defineApiHandler } from "@trellis/fn/validation";
import { addNotes, countNotes, listNotes, purges } from "../../database.ts";

export const handler = defineApiHandler({})(async () => {
  await addNotes(["a"]);
  for (const purge of purges) await purge();
  return { statusCode: 200, body: JSON.stringify([await listNotes([1]), await countNotes()]) };
});
`;

Deno.test("the statements of queries that a project's tests run are in the manifest until their sources change", async () => {
  const files = {
    ...await denoProjectFiles(),
    "trellis.config.ts": "export default {};",
    "migrations/0001_base.sql": "CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL);",
    "src/database.ts": DATABASE,
    "src/functions/api/notes.get.ts": FUNCTION,
    "tests/add_test.ts": toTest(
      'await addNotes(["secret 1", "secret 2"]); await addNotes([]).catch(() => {});',
    ),
    "tests/list_test.ts": toTest("await listNotes([1]); await listNotes([1, 2, 3]);"),
    "tests/both_test.ts": toTest(
      'await addNotes(["secret 3"]); await listNotes([4, 5]); for (const purge of purges) await purge();',
    ),
  };
  await withTempFolder(files, async (root) => {
    async function test(file: string): Promise<void> {
      const args = ["test", "-A", "--no-check", "--quiet", `tests/${file}_test.ts`];
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args,
        cwd: root,
      }).output();
      const decoder = new TextDecoder();
      assert(success, decoder.decode(stdout) + decoder.decode(stderr));
    }
    const run = (...args: string[]) =>
      runInProcess([...args, "--project", root], { commands: [build, checkCompat], cwd: root });
    async function readManifest(): Promise<{ statements: string[]; unchecked: string[] }> {
      const built = await run("build");
      assertEquals(built.exitCode, 0, built.stdout + built.stderr);
      const text = await Deno.readTextFile(join(root, "dist/release.json"));
      const [{ statements, unchecked }] = JSON.parse(text).functions;
      return {
        statements: statements.map(({ name, place, sql }: Record<string, string>) =>
          `${name} ${place} ${sql}`
        ),
        unchecked,
      };
    }
    // the test files run in processes at once, and those of a second run record nothing new
    await Promise.all(["add", "list", "both"].map(test));
    await test("both");
    const [record, ...others] = [...Deno.readDirSync(join(root, ".trellis/queries"))];
    assertEquals(others, []);
    const lines = await Deno.readTextFile(join(root, ".trellis/queries", record.name));
    assert(!lines.includes("secret"), lines);

    const manifest = await readManifest();
    const other = "other queries have its name, or its SQL is different in each call";
    assertEquals(
      new Set(manifest.unchecked),
      new Set([
        `purgeNotes (src/database.ts:26): ${other}`,
        "countNotes (src/database.ts:31): no test has run it",
      ]),
    );
    const texts = manifest.statements.join("\n");
    assertStringIncludes(
      texts,
      'listNotes src/database.ts:12 select "id", "title" from "notes" where "notes"."id" in ($1',
    );
    assertStringIncludes(
      texts,
      'addNotes src/database.ts:18 insert into "notes" ("id", "title") values ($1, $2)',
    );
    const compat = () => run("check", "compat", "--against", "dist/release.json");
    assertEquals((await compat()).exitCode, 0);
    await Deno.writeTextFile(
      join(root, "migrations/0002_name.sql"),
      "ALTER TABLE notes RENAME title TO name;",
    );
    const broken = await compat();
    assertEquals(broken.exitCode, 1);
    assertStringIncludes(broken.stdout, "breaks listNotes (src/database.ts:12) of Notes");
    assertStringIncludes(broken.stdout, "breaks addNotes (src/database.ts:18) of Notes");
    assertStringIncludes(broken.stderr, "unchecked countNotes (src/database.ts:31): no test");

    await Deno.writeTextFile(join(root, "src/database.ts"), DATABASE.replace("asc(", "(") + "\n");
    const stale = await readManifest();
    assertEquals(stale.statements, []);
    assertEquals(stale.unchecked.slice(0, 2), [
      "listNotes (src/database.ts:12): its sources have changed since a test has run it",
      "addNotes (src/database.ts:18): its sources have changed since a test has run it",
    ]);

    // a folder that cannot be written fails no test
    await Deno.remove(join(root, "migrations/0002_name.sql"));
    await Deno.remove(join(root, ".trellis/queries"), { recursive: true });
    await Deno.writeTextFile(join(root, ".trellis/queries"), "");
    await test("both");
  });
});
