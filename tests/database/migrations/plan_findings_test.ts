import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  formatPlanFinding,
  getMigrationStatus,
  MigrationError,
  MigrationPlanError,
  type PlanFinding,
  planMigrationFolder,
} from "../../../database/migrate.ts";
import {
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  markMigrationApplied,
  runMigrations,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { createTestDatabase } from "../../../testing/mod.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

type Files = Readonly<Record<string, string>>;

function places(findings: readonly PlanFinding[]): string[] {
  return findings.map(({ severity, file, line, column, rule }) =>
    `${severity} ${file}:${line}:${column} ${rule}`
  );
}

const REFUSED: Files = {
  "0001_types.sql":
    "\ufeff-- moods\r\nCREATE TYPE mood AS ENUM ('sad', 'ok');\r\n--> statement-breakpoint\r\n" +
    "CREATE TYPE point3 AS (x int, y int);",
  "0002_tables.sql":
    "CREATE TABLE notes (id int PRIMARY KEY, mood mood, tags text[], price numeric);\n" +
    '/* é🙂 */ CREATE TABLE "Odd names" (id int PRIMARY KEY, at inet); CREATE TABLE plain (id int PRIMARY KEY);',
  "0003_change.sql":
    "SELECT $$ ; --> statement-breakpoint\n$$;  ALTER TABLE notes ALTER COLUMN price TYPE bigint;\n" +
    "DO $$ BEGIN RAISE NOTICE 'x'; END $$;",
};

Deno.test("planMigrationFolder() finds everything in one pass, each with its place", async () => {
  await withTempFolder(REFUSED, async (folder) => {
    const { findings } = await planMigrationFolder(folder, "distsql");
    assertEquals(places(findings), [
      "error 0001_types.sql:2:1 create-type",
      "error 0001_types.sql:4:1 create-type",
      "error 0002_tables.sql:1:1 type-user-defined",
      "error 0002_tables.sql:1:1 type-array",
      "warning 0002_tables.sql:1:1 numeric-precision",
      "error 0002_tables.sql:2:10 type-unsupported",
      "warning 0003_change.sql:2:6 alter-column-type",
      "error 0003_change.sql:3:1 do-block",
    ]);
    const [type, , ownType, array, , odd] = findings;
    assertEquals([type.type, ownType.type, array.type, odd.type], [
      "mood",
      "mood",
      "text[]",
      "inet",
    ]);
    assertEquals([type.table, ownType.table, odd.table], [undefined, "notes", "Odd names"]);
    assertEquals(type.message, "CREATE TYPE mood: not supported: an enum");
    assertEquals(array.message, "CREATE TABLE notes: not supported: column tags of type text[]");
    assertEquals(type.statement, "CREATE TYPE mood AS ENUM ('…', '…')");
    for (const { advice } of findings) assert(advice.length > 10);
    assertEquals((await planMigrationFolder(folder, "serverless-pg")).findings, []);
  });
});

Deno.test("translation choices reach planning", async () => {
  await withTempFolder(
    {
      "0001_a.sql": "CREATE TYPE mood AS ENUM ('a');",
      "0002_b.sql": "CREATE TABLE t (id int PRIMARY KEY, m mood);",
    },
    async (folder) => {
      assertEquals((await planMigrationFolder(folder, "distsql")).findings.length, 2);
      assertEquals((await planMigrationFolder(folder, "distsql", { enums: "check" })).findings, []);
    },
  );
});

Deno.test("runMigrations() throws one error with all findings, and has written nothing", async () => {
  const files = {
    "0001_a.sql": "CREATE TABLE a (id int);",
    "0002_b.sql": "CREATE TABLE b (id int);\nCOMMIT;\nCREATE TABLE c (id int);\n  BEGIN;",
    "0003_c.sql": "\\copy a from 'x'",
    "0004_d.sql": "",
  };
  await withTempFolder(files, async (migrationsFolder) => {
    const test = await createTestDatabase();
    const target = { migrationsFolder, database: test.config };
    try {
      const error = await assertRejects(() => runMigrations(target), MigrationPlanError);
      assert(error instanceof MigrationError);
      assertEquals([error.name, error.code, error.tag], [
        "MigrationPlanError",
        "MIGRATION",
        "0002_b",
      ]);
      assertEquals(error.findings.map(({ file, line, column }) => [file, line, column]), [
        ["0002_b.sql", 2, 1],
        ["0002_b.sql", 4, 3],
        ["0003_c.sql", 1, 1],
        ["0004_d.sql", undefined, undefined],
      ]);
      assertStringIncludes(
        error.message,
        "Nothing was run: 4 statements of the pending migrations cannot be run:\n",
      );
      for (const finding of error.findings) {
        assertStringIncludes(error.message, `\n  ${formatPlanFinding(finding)}`);
      }
      const { findings, plan, applied } = await runMigrations({ ...target, dryRun: true });
      assertEquals([findings, applied], [error.findings, 0]);
      assertEquals(plan?.map(({ tag, statements }) => [tag, statements.length]), [
        ["0001_a", 1],
        ["0002_b", 0],
        ["0003_c", 0],
        ["0004_d", 0],
      ]);
      assertEquals((await getMigrationStatus(target)).findings, error.findings);
      const made =
        sql`SELECT nspname FROM pg_namespace WHERE nspname = 'orm' UNION SELECT tablename FROM pg_tables
        WHERE schemaname = 'public'`;
      assertEquals(await executeRows(test.db, made), []);
    } finally {
      await test.close();
    }
  });
});

Deno.test("runMigrations() runs the journal's files in its order, and names the others", async () => {
  const entries = [{ tag: "0001_table" }, { tag: "0000_column" }];
  const files = {
    "0001_table.sql": "CREATE TABLE a (id int);",
    "0000_column.sql": "ALTER TABLE a ADD COLUMN title text;",
    "0002_by_hand.sql": "DROP TABLE a;",
    "meta/_journal.json": JSON.stringify({ version: "7", dialect: "postgresql", entries }),
  };
  await withTempFolder(files, async (migrationsFolder) => {
    const test = await createTestDatabase();
    const database: DatabaseConfig = test.config;
    const target = { migrationsFolder, database };
    try {
      const lines: string[] = [];
      const { migrations, warnings, findings } = await runMigrations({
        ...target,
        logger: (line) => lines.push(line),
      });
      assertEquals(migrations.map(({ tag }) => tag), ["0001_table", "0000_column"]);
      assertEquals(warnings, [
        "0002_by_hand.sql is not listed in meta/_journal.json, so it is never run",
      ]);
      assertEquals(findings.map(({ rule, file }) => [rule, file]), [[
        "migration-unlisted",
        "0002_by_hand.sql",
      ]]);
      assert(
        lines.some((line) => line.startsWith("warning: 0002_by_hand.sql is not listed")),
        lines.join("\n"),
      );
      const status = await getMigrationStatus(target);
      assertEquals([status.pending, status.unlisted, status.warnings], [
        [],
        ["0002_by_hand"],
        warnings,
      ]);
      assertEquals((await runMigrations(target)).warnings, warnings);
      const marked = await markMigrationApplied({ ...target, tag: "0001_table" });
      assertEquals([marked.alreadyApplied, marked.findings], [true, findings]);
      const refused = () => markMigrationApplied({ ...target, tag: "0002_by_hand.sql" });
      await assertRejects(
        refused,
        MigrationError,
        "0002_by_hand.sql is not listed in meta/_journal.json",
      );
      const db = await getDrizzleClient(database);
      assertEquals(await executeRows(db, sql`SELECT id, title FROM a`), []);
    } finally {
      await test.close();
    }
  });
});
