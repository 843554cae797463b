import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { IDEMPOTENCY_MIGRATION_SQL } from "../../../idempotency/migration.ts";
import { CHANGES_MIGRATION_SQL } from "../../../jobs/changes/migration.ts";
import { JOBS_MIGRATION_SQL } from "../../../jobs/migration.ts";
import { SUBSCRIPTION_MIGRATION_SQL } from "../../../realtime/migration.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { generateMigration } from "../../../cli/commands/generate_migration.ts";
import { withAuthProject as withProject } from "../fixtures/auth_project.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";

const run = (root: string, ...args: string[]): Promise<CliResult> =>
  runInProcess(["generate", "migration", "--project", root, ...args], {
    commands: [generateMigration],
  });

const read = (root: string, path: string) => Deno.readTextFile(join(root, path));
const write = (root: string, path: string, text: string) =>
  Deno.writeTextFile(join(root, path), text);

async function list(root: string): Promise<string[]> {
  const names = await Array.fromAsync(Deno.readDir(join(root, "migrations")));
  return names.map(({ name }) => name).sort();
}

const schema = (columns: string) =>
  `import { boolean, integer, pgTable, text } from "drizzle-orm/pg-core";
export const notes = pgTable("notes", { id: integer("id").primaryKey(), ${columns} });`;

const FILES = {
  "src/schema.ts": schema(`title: text("title").notNull(), body: text("body")`),
  "migrations/0001_notes.sql":
    `CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL, body text);
    CREATE TABLE audit (id int PRIMARY KEY);`,
};

Deno.test("generate migration keeps indexes and constraints that only the migrations have, until --drop", async () => {
  const own = `${FILES["migrations/0001_notes.sql"]}
    CREATE INDEX notes_title_idx ON notes (title);
    ALTER TABLE notes ADD CONSTRAINT notes_title_check CHECK (title <> '');`;
  await withProject({ ...FILES, "migrations/0001_notes.sql": own }, async (root) => {
    const kept = await run(root, "--check");
    assertEquals(kept.exitCode, 0);
    assertStringIncludes(kept.stderr, "index notes:notes_title_idx");
    assertStringIncludes(kept.stderr, "check notes:notes_title_check");
    const dropped = await run(root, "drop", "--dry-run", "--drop", "notes:notes_title_idx");
    assertStringIncludes(dropped.stdout, 'DROP INDEX "notes_title_idx";');
    assertEquals(dropped.stdout.includes("notes_title_check"), false);
  });
});

Deno.test("generate migration does not list tables of this package that the schema need not declare", async () => {
  const own = [
    FILES["migrations/0001_notes.sql"],
    CHANGES_MIGRATION_SQL,
    IDEMPOTENCY_MIGRATION_SQL,
    JOBS_MIGRATION_SQL,
    RATE_LIMIT_MIGRATION_SQL,
    SUBSCRIPTION_MIGRATION_SQL,
  ].join("\n--> statement-breakpoint\n");
  await withProject({ ...FILES, "migrations/0001_notes.sql": own }, async (root) => {
    const { exitCode, stderr } = await run(root, "--check");
    assertEquals(exitCode, 0, stderr);
    assertStringIncludes(stderr, "the schema does not declare it: table audit. --drop");
  });
});

const secured = (condition: string, role: string) =>
  `import { integer, pgPolicy, pgTable, text } from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
const columns = () => ({ id: integer("id").primaryKey(), title: text("title").notNull(), body: text("body") });
const own = () => [pgPolicy("own", { for: "select", to: ${role}, using: sql\`${condition}\` })];
export const notes = pgTable("notes", columns(), own);
export const drafts = pgTable("drafts", columns(), own);`;

Deno.test("generate migration enables row security for policies, and creates and replaces them", async () => {
  const first = `${FILES["migrations/0001_notes.sql"]} CREATE POLICY own ON notes USING (true);`;
  const files = {
    "src/schema.ts": secured("id > 0", `"current_user"`),
    "migrations/0001_notes.sql": first,
  };
  await withProject(files, async (root) => {
    const { exitCode, stderr } = await run(root, "policies", "--keep", "audit");
    assertEquals(exitCode, 0, stderr);
    const text = (await read(root, "migrations/0002_policies.sql")).replaceAll(/^--.*\n/gm, "");
    assertEquals(text.split("\n").slice(5), [
      'ALTER TABLE "drafts" ENABLE ROW LEVEL SECURITY;',
      'CREATE POLICY "own" ON "drafts" AS PERMISSIVE FOR SELECT TO current_user USING (id > 0);',
      'ALTER TABLE "notes" ENABLE ROW LEVEL SECURITY;',
      'DROP POLICY "own" ON "notes";',
      'CREATE POLICY "own" ON "notes" AS PERMISSIVE FOR SELECT TO current_user USING (id > 0);',
      "",
    ]);
    assertEquals((await run(root, "--check")).exitCode, 0);
    await write(root, "src/schema.ts", secured("id > 1", `["public"]`));
    assertEquals((await run(root, "--check")).exitCode, 1);
  });
});

Deno.test("generate migration asks about a column that is gone, and renames or drops it when told", async () => {
  await withProject(FILES, async (root) => {
    const same = await run(root, "--check");
    assertEquals([same.exitCode, same.stdout], [
      0,
      "0 statements: the migrations match the schema\n",
    ]);
    assertStringIncludes(same.stderr, "table audit");
    await write(
      root,
      "src/schema.ts",
      schema(`title: text("title"), text: text("text"), done: boolean("done").notNull()`),
    );
    const asked = await run(root, "change");
    assertEquals(asked.exitCode, 1);
    assertStringIncludes(
      asked.stdout,
      "--rename notes.body=text, --drop notes.body or --keep notes.body",
    );
    assertEquals(await list(root), ["0001_notes.sql"]);
    const done = await run(root, "change", "--rename", "notes.body=text", "--drop", "audit");
    assertEquals([done.exitCode, done.stdout.split("\n")[0]], [
      0,
      "created migrations/0002_change.sql",
    ]);
    assertEquals(
      await read(root, "migrations/0002_change.sql"),
      [
        "-- Written by trellis generate migration. Read it before you apply it.",
        "-- Warning: code that is still running uses the old name. --expand keeps both names.",
        `ALTER TABLE "notes" RENAME COLUMN "body" TO "text";`,
        "--> statement-breakpoint",
        `ALTER TABLE "notes" ALTER COLUMN "title" DROP NOT NULL;`,
        "--> statement-breakpoint",
        "-- Warning: fails if the table has rows, because the column has no default. Declare a " +
        "default, or add the column without NOT NULL, fill it, and set NOT NULL in a later migration.",
        `ALTER TABLE "notes" ADD COLUMN "done" boolean NOT NULL;`,
        "--> statement-breakpoint",
        "-- Warning: drops the table with its rows.",
        `DROP TABLE "audit";`,
        "",
      ].join("\n"),
    );
    const again = await run(root, "again");
    assertEquals([again.exitCode, again.stdout, again.stderr], [
      0,
      "0 statements: the migrations match the schema\n",
      "",
    ]);
    assert(await Deno.stat(join(root, ".trellis")).then(() => false, () => true));
  });
});

Deno.test("generate migration --expand says what to write where triggers cannot keep both names", async () => {
  await withProject(FILES, async (root) => {
    await write(
      root,
      "src/schema.ts",
      schema(`title: text("title").notNull(), text: text("text")`).replace(/notes/g, "entries"),
    );
    const usage = await run(root, "change", "--expand");
    assertEquals(usage.exitCode, 2);
    assertStringIncludes(usage.stderr, "--expand needs --rename");
    const table = await run(root, "change", "--expand", "--rename", "notes=entries");
    assertEquals(table.exitCode, 1);
    assertStringIncludes(
      table.stdout + table.stderr,
      'CREATE VIEW "notes" WITH (security_invoker = true) AS SELECT * FROM "entries"',
    );
    await write(root, "src/database.ts", `export const config = { provider: "distsql" };`);
    const distSql = await run(root, "change", "--expand", "--rename", "notes.body=text");
    assertEquals(distSql.exitCode, 1);
    assertStringIncludes(distSql.stdout + distSql.stderr, "deploy a release that writes both");
    assertEquals(await list(root), ["0001_notes.sql"]);
  });
});

Deno.test("generate migration writes nothing that Aurora DSQL or PostgreSQL refuses", async () => {
  const files = {
    ...FILES,
    "src/database.ts": `export const config = { provider: "distsql" };`,
    "src/schema.ts": schema(`title: text("title").notNull(), body: text("body"),
      tags: text("tags").array()`),
  };
  await withProject(files, async (root) => {
    const refused = await run(root, "tags");
    assertEquals(refused.exitCode, 1);
    assertStringIncludes(refused.stderr, "type-array");
    // no integer is a uuid
    await write(root, "src/schema.ts", FILES["src/schema.ts"].replaceAll("integer", "uuid"));
    const impossible = await run(root, "id", "--json");
    assertEquals(impossible.exitCode, 1);
    const { files: written, problems } = JSON.parse(impossible.stdout);
    assertEquals(written, []);
    assertStringIncludes(problems[0], "PostgreSQL refuses");
    assertEquals(await list(root), ["0001_notes.sql"]);
  });
});

Deno.test("generate migration adds, removes and moves values of an enum, and does not rename them", async () => {
  const mood = (values: string) =>
    `import { integer, pgEnum, pgTable } from "drizzle-orm/pg-core";
export const mood = pgEnum("mood", [${values}]);
export const notes = pgTable("notes", { id: integer("id").primaryKey(), mood: mood("mood") });`;
  const files = {
    "src/schema.ts": mood(`"shy", "calm", "wild"`),
    "migrations/0001_notes.sql":
      `CREATE TYPE mood AS ENUM ('calm'); CREATE TABLE notes (id int PRIMARY KEY, mood mood);
      CREATE TABLE others (mood mood DEFAULT 'calm');`,
  };
  await withProject(files, async (root) => {
    const { statements } = JSON.parse((await run(root, "moods", "--json")).stdout);
    assertEquals(statements.map(({ sql }: { sql: string }) => sql), [
      `ALTER TYPE "public"."mood" ADD VALUE 'shy' BEFORE 'calm'`,
      `ALTER TYPE "public"."mood" ADD VALUE 'wild'`,
    ]);
    assertEquals((await run(root, "--check")).exitCode, 0);
    await write(root, "src/schema.ts", mood(`"wild", "calm"`));
    const less = JSON.parse((await run(root, "less", "--json")).stdout);
    const next = `"public"."mood__trellis_new"`;
    assertEquals(less.statements, [
      { sql: `CREATE TYPE ${next} AS ENUM ('wild', 'calm')` },
      {
        sql:
          `ALTER TABLE "notes" ALTER COLUMN "mood" SET DATA TYPE ${next} USING "mood"::text::${next}`,
        risk: "fails if a row has the value shy",
      },
      { sql: 'ALTER TABLE "others" ALTER COLUMN "mood" DROP DEFAULT' },
      {
        sql:
          `ALTER TABLE "others" ALTER COLUMN "mood" SET DATA TYPE ${next} USING "mood"::text::${next}`,
        risk: "fails if a row has the value shy",
      },
      { sql: `DROP TYPE "public"."mood"` },
      { sql: `ALTER TYPE ${next} RENAME TO "mood"` },
      // the schema does not declare it
      { sql: `ALTER TABLE "others" ALTER COLUMN "mood" SET DEFAULT 'calm'::mood` },
    ]);
    assertEquals((await run(root, "--check")).exitCode, 0);
    await write(root, "src/schema.ts", mood(`"wild", "quiet"`));
    const renamed = await run(root, "renamed");
    assertStringIncludes(renamed.stdout, `write ALTER TYPE "public"."mood" RENAME VALUE by hand`);
  });
});

Deno.test("generate migration names what is wrong with its arguments", async () => {
  await withProject(FILES, async (root) => {
    for (
      const [args, message] of [
        [["--dry-run"], "Missing argument <name>"],
        [["a/b"], "letters, digits"],
        [["a", "--rename", "notes.body"], "--rename must be old=new"],
      ] as const
    ) {
      const { exitCode, stderr } = await run(root, ...args);
      assertEquals(exitCode, 2);
      assertStringIncludes(stderr, message);
    }
    const unknown = await run(root, "a", "--drop", "notes.nothing");
    assertStringIncludes(unknown.stdout, "the migrations create no notes.nothing");
    assertEquals(unknown.exitCode, 1);
  });
});

Deno.test("generate migration says how to apply the file, also while trellis dev runs", async () => {
  await withProject(FILES, async (root) => {
    await write(root, "src/schema.ts", schema(`title: text("title"), body: text("body")`));
    const first = await run(root, "first");
    assertStringIncludes(first.stdout, "1 statement: read the file, then trellis db migrate");
    await Deno.mkdir(join(root, ".trellis/dev"), { recursive: true });
    await write(root, ".trellis/dev/lock", String(Deno.pid));
    await write(root, "src/schema.ts", schema(`title: text("title")`));
    const second = await run(root, "second", "--drop", "notes.body");
    assertStringIncludes(
      second.stdout,
      "1 statement: read the file, then type m and press Enter in trellis dev, which holds it",
    );
  });
});

Deno.test("generate migration reads and writes folders of migration.sql, and accepts a file with comments", async () => {
  const files = {
    "src/schema.ts": schema(`title: text("title")`),
    "migrations/20250101000000_notes/migration.sql":
      "CREATE TABLE notes (id int PRIMARY KEY, title text);",
    "migrations/20250102000000_own/migration.sql":
      "-- Custom SQL migration file, put your code below! --",
  };
  await withProject(files, async (root) => {
    assertEquals((await run(root, "--check")).exitCode, 0);
    await write(root, "src/schema.ts", schema(`title: text("title"), body: text("body")`));
    const { stdout } = await run(root, "body");
    const [path] = /migrations\/\d{14}_body\/migration\.sql/.exec(stdout)!;
    assertStringIncludes(await read(root, path), 'ADD COLUMN "body" text;');
    assertEquals((await run(root, "--check")).exitCode, 0);
  });
});
