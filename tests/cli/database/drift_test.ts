import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { dbSquash } from "../../../cli/commands/db_squash.ts";
import { findDrift } from "../../../cli/database/drift.ts";
import { proveOrder } from "../../../cli/database/migration_order.ts";
import { toPortable } from "../../../cli/schema_migration/database_objects.ts";
import { getMigrationStatus } from "../../../database/migrations/status.ts";
import { type DatabaseConfig, runMigrations } from "../../../database/mod.ts";
import type { MigrationTarget } from "../../../database/migrations/run.ts";
import { withSession } from "../../../database/providers/client.ts";
import { createTestDatabase } from "../../../testing/mod.ts";
import { runInProcess } from "../fixtures/run.ts";
import { type Files, withTempFolder, writeFiles } from "../../support/temp_folder.ts";

/** Applies migrations to an empty database, and hands both to a test. */
async function withApplied(
  files: Files,
  test: (target: MigrationTarget) => Promise<void>,
): Promise<void> {
  await withTempFolder(files, async (migrationsFolder) => {
    await withEmpty(async (database) => {
      await runMigrations({ migrationsFolder, database });
      await test({ migrationsFolder, database });
    });
  });
}

async function withEmpty(test: (database: DatabaseConfig) => Promise<void>): Promise<void> {
  const database = await createTestDatabase();
  try {
    await test(database.config);
  } finally {
    await database.close();
  }
}

Deno.test("findDrift() names each object that differs, and its statements mend it", async () => {
  const files = {
    "0001_notes.sql": `
      CREATE TABLE tags (id serial PRIMARY KEY, label text COLLATE "C" NOT NULL UNIQUE);
      CREATE TABLE notes (id int PRIMARY KEY, title text, tag int REFERENCES tags);
      CREATE INDEX notes_title ON notes (title);
      CREATE VIEW titles WITH (security_invoker = true) AS SELECT n.title FROM notes n;
      CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
      CREATE TRIGGER touched BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
      CREATE TRIGGER kept BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
      ALTER TABLE notes DISABLE TRIGGER kept;
      CREATE POLICY own ON notes FOR SELECT USING (id > 0);
      CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM notes;
      CREATE INDEX counts_n ON counts (n);`,
    "0002_pending.sql": "ALTER TABLE notes ADD COLUMN later int;",
  };
  const [first] = Object.entries(files);
  await withApplied(Object.fromEntries([first]), async (target) => {
    const { migrationsFolder, database } = target;
    await writeFiles(migrationsFolder, files);
    const none = { differences: [], statements: [], problems: [] };
    assertEquals(await findDrift(target), none);
    const run = (statements: readonly string[]) =>
      withSession(database, (session) => session.script(statements));
    await run([
      "DROP TABLE tags CASCADE",
      "DROP VIEW titles",
      "DROP TRIGGER touched ON notes",
      "ALTER TABLE notes ADD COLUMN extra int, ALTER title SET NOT NULL",
      "DROP INDEX notes_title",
      "CREATE TABLE other (id int)",
      "ALTER TABLE notes ENABLE TRIGGER kept",
      "ALTER POLICY own ON notes USING (true)",
      "CREATE POLICY more ON notes USING (true)",
      "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
      "DROP INDEX counts_n",
    ]);
    const { differences, statements, problems } = await findDrift(target);
    assertEquals(problems, []);
    assertEquals(
      differences.filter((text) =>
        /^(?:table|view|index|trigger|policy|function|column notes)/.test(text)
      ),
      [
        "column notes.extra is only in the database",
        "column notes.title is text NOT NULL in the database and text in the migrations",
        "function more() is only in the database",
        "index notes:notes_title is missing in the database",
        "index of view counts_n is missing in the database",
        "policy more ON notes is only in the database",
        "policy own ON notes is CREATE POLICY own ON notes AS PERMISSIVE FOR SELECT TO public USING (true) " +
        "in the database and CREATE POLICY own ON notes AS PERMISSIVE FOR SELECT TO public USING (id > 0) " +
        "in the migrations",
        "table other is only in the database",
        "table tags is missing in the database",
        "trigger kept ON notes is CREATE TRIGGER kept BEFORE UPDATE ON public.notes FOR EACH ROW EXECUTE " +
        "FUNCTION touch() in the database and CREATE TRIGGER kept BEFORE UPDATE ON public.notes FOR EACH ROW " +
        "EXECUTE FUNCTION touch();\nALTER TABLE notes DISABLE TRIGGER kept in the migrations",
        "trigger touched ON notes is missing in the database",
        "view titles is missing in the database",
      ],
    );
    await run(statements);
    assertEquals(await findDrift(target), none);
  });
});

const BASE = { "0001_base.sql": "CREATE TABLE notes (id int PRIMARY KEY, title text);" };

/** Files of two branches: the second is applied first. */
const BRANCHES: readonly (readonly [name: string, mine: string, theirs: string, result: string])[] =
  [
    [
      "the same objects in both orders",
      "ALTER TABLE notes ADD COLUMN a int; CREATE TABLE more (id int);",
      "ALTER TABLE notes ADD COLUMN b int; INSERT INTO notes VALUES (1);",
      "",
    ],
    [
      "other objects",
      "ALTER TABLE notes ALTER title SET DEFAULT 'a';",
      "ALTER TABLE notes ALTER title SET DEFAULT 'b';",
      "error migration-order column notes.title is text DEFAULT 'a'::text in the order of this " +
      "database and text DEFAULT 'b'::text in that of the folder",
    ],
    [
      "a statement that fails in the order of the database",
      "ALTER TABLE notes ADD COLUMN a int;",
      "ALTER TABLE notes RENAME TO entries;",
      "error migration-order does not run in the order of this database",
    ],
    [
      "rows of the same table",
      "UPDATE notes SET title = lower(title);",
      "UPDATE notes SET title = title || '!';",
      "warning migration-late",
    ],
  ];

Deno.test("proveOrder() tries the migrations of two branches in both orders", async (t) => {
  for (const [name, mine, theirs, result] of BRANCHES) {
    await t.step(
      name,
      () =>
        withApplied({ ...BASE, "0003_theirs.sql": theirs }, async (target) => {
          await writeFiles(target.migrationsFolder, { "0002_mine.sql": mine });
          const { findings } = await proveOrder(target, await getMigrationStatus(target));
          const found = findings.filter(({ rule }) =>
            rule !== "migration-gap" && !rule.includes("-r")
          );
          const [first] = found.map(({ severity, rule, message, advice }) =>
            `${severity} ${rule} ${message} ${advice}`
          );
          if (result === "") return assertEquals(found, []);
          assertStringIncludes(first ?? "", result);
          if (result.startsWith("error")) {
            assertStringIncludes(first, "0002_mine.sql:1, 0003_theirs.sql:1");
          }
        }),
    );
  }
});

const LONG = {
  "0001_notes.sql": `CREATE TYPE mood AS ENUM ('calm', 'glad');
    CREATE TABLE tags (id serial PRIMARY KEY, label text NOT NULL UNIQUE);
    CREATE TABLE notes (id int PRIMARY KEY, title text, tag int REFERENCES tags, mood mood);
    CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;`,
  "0002_change.sql": `ALTER TABLE notes DROP COLUMN title, ADD COLUMN text text DEFAULT 'a';
    CREATE INDEX notes_text ON notes (lower(text)) WHERE id > 1;
    CREATE VIEW texts AS SELECT text FROM notes;
    CREATE TRIGGER touched BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();`,
  "0003_more.sql": "CREATE TABLE more (id int GENERATED ALWAYS AS IDENTITY, n int CHECK (n > 1));",
};

Deno.test("db squash writes one file that old databases take as applied, and new ones run", async () => {
  await withApplied(LONG, async (target) => {
    const { migrationsFolder } = target;
    const squash = (...args: string[]) =>
      runInProcess(["db", "squash", "start", "--migrations", migrationsFolder, ...args], {
        commands: [dbSquash],
        cwd: migrationsFolder,
      });
    const { exitCode, stdout, stderr } = await squash("--to", "0002_change");
    assertEquals(exitCode, 0, stderr + stdout);
    const status = await getMigrationStatus(target);
    assertEquals([status.pending, status.unknown, status.findings], [[], [], []]);
    assertEquals((await findDrift(target)).differences, []);
    await withEmpty(async (database) => {
      const next = { migrationsFolder, database };
      const migrated = await runMigrations(next);
      assertEquals(migrated.migrations.map(({ tag }) => tag), ["0002_start", "0003_more"]);
      assertEquals((await findDrift(next)).differences, []);
      // a database with a part of the replaced migrations
      await withSession(database, (session) =>
        session.script([
          "UPDATE orm.__orm_migrations SET tag = '0001_notes' WHERE tag = '0002_start'",
        ]));
      await assertRejects(
        () => runMigrations(next),
        Error,
        "the database lacks 0001_notes, 0002_c",
      );
    });
    await writeFiles(migrationsFolder, {
      "0004_rows.sql": "INSERT INTO more (n) VALUES (2); COMMENT ON TABLE more IS 'text';",
    });
    const refused = await squash();
    assertEquals(refused.exitCode, 1);
    assertStringIncludes(refused.stdout, "the migrations insert rows into more");
    assertStringIncludes(refused.stdout, "comment on table more is missing in the squashed file");
  });
});

Deno.test("toPortable() leaves out qualifiers of names, and keeps numbers and texts", () => {
  const toText = (definition: string) =>
    toPortable(new Map([["view v", definition]])).get("view v");
  assertEquals(
    toText(`SELECT notes.id,\n  "Notes"."at" FROM public.notes WHERE n > 1.5 AND t <> 'it''s a.b'`),
    `SELECT id, "at" FROM notes WHERE n > 1.5 AND t <> 'it''s a.b'`,
  );
});
