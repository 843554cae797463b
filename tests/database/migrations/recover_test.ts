import { assertEquals } from "@std/assert";
import { indexOf, lookUpStatement, type StatementEvidence } from "../../../database/migrations/recover.ts";
import { withMigrationLab } from "./migration_support.ts";

const SETUP = [
  "CREATE SCHEMA app",
  "CREATE TABLE p (id int PRIMARY KEY, t text, gone text, CONSTRAINT p_t CHECK (t <> ''))",
  `CREATE TABLE app."Odd ""Name" (id int, "from" text)`,
  "CREATE TABLE parent (id int PRIMARY KEY)",
  "CREATE INDEX p_t_idx ON p (t)",
  'CREATE INDEX odd_idx ON app."Odd ""Name" (id)',
  "CREATE VIEW v AS SELECT 1 AS one",
  "CREATE MATERIALIZED VIEW mv AS SELECT 1 AS one",
  "CREATE SEQUENCE s",
  "CREATE TYPE mood AS ENUM ('a')",
  "CREATE ROLE worker",
];

/** Statements whose work shows: before it the catalog says `run`, after it `done`. */
const TELLING = [
  "CREATE TABLE t1 (id int)",
  "CREATE UNLOGGED TABLE app.t2 (id int)",
  `CREATE TABLE app."T ""3" (id int)`,
  "CREATE VIEW v1 AS SELECT 1 AS one",
  "CREATE MATERIALIZED VIEW mv1 AS SELECT 1 AS one",
  "CREATE SEQUENCE s1",
  "CREATE SCHEMA sch1",
  "CREATE ROLE role1",
  "CREATE USER user1",
  "CREATE INDEX i1 ON p (t)",
  "CREATE UNIQUE INDEX CONCURRENTLY i2 ON p (id)",
  "CREATE INDEX IF NOT EXISTS i3 ON ONLY p USING btree (id)",
  'CREATE INDEX i4 ON app."Odd ""Name" (id)',
  "ALTER TABLE p ADD COLUMN c1 int",
  "ALTER TABLE ONLY p ADD c2 int",
  "ALTER TABLE IF EXISTS p ADD CONSTRAINT con1 CHECK (id > 0)",
  "ALTER TABLE p ENABLE ROW LEVEL SECURITY, ADD COLUMN c3 int",
  "ALTER TABLE p DROP COLUMN gone",
  "ALTER TABLE p DROP CONSTRAINT p_t",
  "ALTER TABLE p RENAME COLUMN c1 TO c4",
  "ALTER TABLE p RENAME c4 TO c5",
  "ALTER TABLE p RENAME CONSTRAINT con1 TO con2",
  "ALTER TABLE parent RENAME TO parents",
  "ALTER INDEX i1 RENAME TO i5",
  "ALTER INDEX IF EXISTS i5 RENAME TO i6",
  "ALTER TYPE mood ADD VALUE 'b'",
  "DROP INDEX CONCURRENTLY p_t_idx",
  "DROP INDEX app.odd_idx",
  "DROP VIEW v",
  "DROP MATERIALIZED VIEW mv",
  "DROP SEQUENCE s",
  "DROP TABLE t1",
  "DROP ROLE worker",
  "DROP SCHEMA sch1",
];

Deno.test("lookUpStatement() tells a statement that ran from one that did not", async () => {
  await withMigrationLab({ setup: SETUP }, async ({ session, rows }) => {
    for (const statement of TELLING) {
      assertEquals(await lookUpStatement(session, statement), "run", `before ${statement}`);
      await rows(statement);
      assertEquals(await lookUpStatement(session, statement), "done", `after ${statement}`);
    }
  });
});

/** Statements about which no look is needed, and those where none helps. */
const DECIDED: [sql: string, expected: StatementEvidence][] = [
  ["COMMENT ON TABLE p IS 'x'", "run"],
  ["GRANT SELECT ON p TO worker", "run"],
  ["VACUUM p", "run"],
  ["SELECT 1", "run"],
  ["CREATE OR REPLACE VIEW v AS SELECT 1 AS one", "run"],
  ["CREATE TABLE IF NOT EXISTS p (id int)", "run"],
  ["CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1", "unknown"],
  ["CREATE INDEX ON p (t)", "unknown"],
  ["CREATE INDEX i", "unknown"],
  ["DROP TABLE IF EXISTS p", "run"],
  ["DROP FUNCTION f()", "unknown"],
  ["ALTER TABLE p VALIDATE CONSTRAINT p_t", "run"],
  ["ALTER TABLE p SET (fillfactor = 70)", "run"],
  ["ALTER TABLE p SET SCHEMA app", "unknown"],
  ["ALTER TABLE p OWNER TO worker", "run"],
  ["ALTER TABLE p ALTER COLUMN t SET DEFAULT 'x'", "run"],
  ["ALTER TABLE p ALTER t DROP NOT NULL", "run"],
  ["ALTER TABLE p ALTER t SET STATISTICS 10", "run"],
  ["ALTER TABLE p ALTER t TYPE varchar(9)", "unknown"],
  ["ALTER TABLE p ALTER t SET DEFAULT 'x', ALTER gone TYPE int USING gone::int", "unknown"],
  ["ALTER TABLE p ADD PRIMARY KEY (id)", "unknown"],
  ["ALTER TABLE p ADD FOREIGN KEY (id) REFERENCES parent (id)", "unknown"],
  ["ALTER TABLE p ADD COLUMN IF NOT EXISTS t text", "run"],
  ["ALTER TABLE p DROP COLUMN IF EXISTS nothing", "run"],
  ["ALTER TABLE p ADD (t)", "unknown"],
  ["ALTER TABLE p INHERIT parent", "unknown"],
  ["ALTER INDEX i SET (fillfactor = 70)", "unknown"],
  ["ALTER TYPE mood RENAME VALUE 'a' TO 'c'", "unknown"],
  ["ALTER TYPE mood ADD VALUE IF NOT EXISTS 'a'", "run"],
  ["ALTER TYPE mood ADD VALUE E'a'", "unknown"],
  ["ALTER TYPE mood ADD VALUE 'it''s'", "unknown"],
  ["ALTER DATABASE d SET work_mem = '1MB'", "unknown"],
  ["", "unknown"],
];

Deno.test("lookUpStatement() does not ask the catalog where a statement may run twice or leaves no trace", async () => {
  const silent = {
    query: (text: string): Promise<never> => Promise.reject(new Error(`asked ${text}`)),
    script: (): Promise<never> => Promise.reject(new Error("ran a script")),
  };
  for (const [sql, expected] of DECIDED) assertEquals(await lookUpStatement(silent, sql), expected, sql);
});

Deno.test("lookUpStatement() knows an index that is there and not valid, and looks at the right table's", async () => {
  await withMigrationLab({ setup: SETUP }, async ({ session, rows }) => {
    await rows("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_t_idx'::regclass");
    assertEquals(await lookUpStatement(session, "CREATE INDEX ASYNC p_t_idx ON p (t)"), "invalid");
    assertEquals(await lookUpStatement(session, "CREATE INDEX p_t_idx ON parent (id)"), "run");
  });
});

Deno.test("lookUpStatement() reads EXTENSION and DATABASE by name", async () => {
  await withMigrationLab({}, async ({ session }) => {
    assertEquals(await lookUpStatement(session, "CREATE EXTENSION plpgsql"), "done");
    assertEquals(await lookUpStatement(session, "DROP EXTENSION nothing"), "done");
    assertEquals(await lookUpStatement(session, "CREATE DATABASE template1"), "done");
    assertEquals(await lookUpStatement(session, "DROP DATABASE template1"), "run");
  });
});

Deno.test("indexOf() names the index that a statement makes, and drops it in its table's schema", () => {
  const cases: [sql: string, expected: ReturnType<typeof indexOf>][] = [
    ["CREATE INDEX i ON t (a)", { name: "i", dropSql: "DROP INDEX IF EXISTS i" }],
    ["create unique index concurrently if not exists I on only app.t (a)", {
      name: "i",
      dropSql: "DROP INDEX IF EXISTS app.I",
    }],
    ['CREATE INDEX ASYNC "I ""x" ON "App"."T" (a)', { name: 'I "x', dropSql: 'DROP INDEX IF EXISTS "App"."I ""x"' }],
    ["CREATE INDEX ON t (a)", undefined],
    ["CREATE INDEX CONCURRENTLY ON t (a)", undefined],
    ["CREATE INDEX i", undefined],
    ["CREATE TABLE t (a int)", undefined],
    ["DROP INDEX i", undefined],
  ];
  for (const [sql, expected] of cases) assertEquals(indexOf(sql), expected, sql);
});
