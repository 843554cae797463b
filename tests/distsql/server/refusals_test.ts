import { assertEquals, assertExists } from "@std/assert";
import type postgres from "postgres";
import { checkRefusals, REFUSAL_RULES } from "../../../distsql/server/rules/check.ts";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { loadStatementParser } from "../../../distsql/server/syntax/statements.ts";
import { connect, refusal } from "./connect.ts";

let server: DistSqlServer;
let sql: postgres.Sql;

Deno.test.beforeAll(async () => {
  server = await startDistSqlServer();
  sql = connect(server);
  await sql.unsafe("CREATE TABLE parent (id uuid PRIMARY KEY, name text, body jsonb, n int)");
  await sql.unsafe("CREATE TABLE child (id uuid PRIMARY KEY, parent_id uuid, v text)");
  await sql.unsafe("CREATE DOMAIN short AS text");
  await sql.unsafe("CREATE ROLE reader WITH LOGIN");
});

Deno.test.afterAll(async () => {
  await sql.end();
  await server.stop();
});

const ADD_CONSTRAINT = "unsupported ALTER TABLE ADD CONSTRAINT statement";
const IDENTITY =
  "identity column is not supported without an explicit cache size. please define CACHE greater than or equal to 65536 or equal to 1";
const SEQUENCE =
  "CREATE SEQUENCE is not supported without an explicit cache size. please define CACHE greater than or equal to 65536 or equal to 1";
const ADD_COLUMN = "ALTER TABLE ADD COLUMN with constraint not supported";

/** Statement, SQLSTATE, text. */
const REFUSED: [string, string, string][] = [
  // indexes
  ["CREATE INDEX i ON parent (name)", "0A000", "unsupported mode. please use CREATE INDEX ASYNC."],
  [
    "CREATE INDEX CONCURRENTLY i ON parent (name)",
    "0A000",
    "CONCURRENTLY not supported for CREATE INDEX",
  ],
  [
    "CREATE INDEX ASYNC i ON parent USING btree (name)",
    "0A000",
    "USING not supported for CREATE INDEX",
  ],
  [
    "CREATE INDEX ASYNC i ON parent USING gin (body)",
    "0A000",
    "USING not supported for CREATE INDEX",
  ],
  ["CREATE INDEX ASYNC i ON parent (body)", "0A000", "datatype jsonb is not supported in a key"],
  [
    "CREATE INDEX ASYNC i ON parent (name DESC)",
    "0A000",
    "specifying sort order not supported for index keys",
  ],
  [
    "CREATE INDEX ASYNC i ON parent (name ASC)",
    "0A000",
    "specifying sort order not supported for index keys",
  ],
  [
    "CREATE INDEX ASYNC i ON parent (name text_pattern_ops)",
    "0A000",
    "opclass not supported for index keys",
  ],
  ['CREATE INDEX ASYNC i ON parent (name COLLATE "C")', "0A000", "COLLATE clause not supported"],
  [
    "CREATE INDEX ASYNC i ON parent (now())",
    "42P17",
    "functions in index expression must be marked IMMUTABLE",
  ],
  ["CREATE INDEX ASYNC public.i ON parent (name)", "42601", 'syntax error at or near "."'],
  ["CREATE INDEX ASYNC IF NOT EXISTS ON parent (name)", "42601", 'syntax error at or near "ON"'],
  ["REINDEX TABLE parent", "0A000", "unsupported statement: Reindex"],
  ["CLUSTER parent USING parent_pkey", "0A000", "unsupported statement: Cluster"],
  // tables and types
  ["CREATE TABLE x (id serial PRIMARY KEY)", "42704", 'type "serial" does not exist'],
  ["CREATE TABLE x (id bigserial)", "42704", 'type "bigserial" does not exist'],
  ["CREATE TABLE x (id bigint GENERATED ALWAYS AS IDENTITY)", "0A000", IDENTITY],
  ["CREATE TABLE x (id bigint GENERATED ALWAYS AS IDENTITY (CACHE 100))", "0A000", IDENTITY],
  [
    "CREATE TABLE x (id int GENERATED ALWAYS AS IDENTITY (CACHE 1))",
    "0A000",
    "datatype integer not supported, identity column type must be bigint",
  ],
  [
    "CREATE TABLE x (id smallint GENERATED ALWAYS AS IDENTITY (CACHE 1))",
    "0A000",
    "datatype smallint not supported, identity column type must be bigint",
  ],
  ["CREATE TABLE x (id int UNIQUE DEFERRABLE)", "0A000", "DEFERRABLE constraint not supported"],
  [
    "CREATE TABLE x (id int, CONSTRAINT c UNIQUE (id) DEFERRABLE)",
    "0A000",
    "DEFERRABLE constraint not supported",
  ],
  [
    "CREATE TABLE x (id int, CONSTRAINT c CHECK (id > 0) DEFERRABLE)",
    "0A000",
    "CHECK constraints cannot be marked DEFERRABLE",
  ],
  [
    "CREATE TABLE x (id int, e text GENERATED ALWAYS AS (now()::text) STORED)",
    "42P17",
    "generation expression is not immutable",
  ],
  ['CREATE TABLE x (v text COLLATE "C")', "0A000", "COLLATE clause not supported"],
  [
    "CREATE TEMP TABLE x (id int)",
    "0A000",
    "TEMPORARY or TEMP table not supported for CREATE TABLE",
  ],
  ["CREATE UNLOGGED TABLE x (id int)", "0A000", "UNLOGGED table not supported for CREATE TABLE"],
  ["CREATE TABLE x (id int) PARTITION BY RANGE (id)", "0A000", "PARTITION BY clause not supported"],
  ["CREATE TABLE x AS SELECT 1 AS a", "0A000", "unsupported statement: CreateTableAs"],
  ["SELECT 1 AS a INTO x", "0A000", "unsupported statement: CreateTableAs"],
  ["CREATE MATERIALIZED VIEW x AS SELECT 1", "0A000", "unsupported statement: CreateTableAs"],
  ["CREATE TABLE x (a text[])", "0A000", "datatype text[] not supported"],
  ["CREATE TABLE x (a int[])", "0A000", "datatype integer[] not supported"],
  ["CREATE TABLE x (a money)", "0A000", "datatype money not supported"],
  ["CREATE TABLE x (a bit varying(3))", "0A000", "datatype bit varying not supported"],
  ["CREATE TABLE x (a inet)", "0A000", "datatype inet not supported"],
  ["CREATE TABLE x (a tsvector)", "0A000", "datatype tsvector not supported"],
  ["CREATE TABLE x (a int4range)", "0A000", "datatype int4range not supported"],
  ["CREATE TABLE x (a mood)", "42704", 'type "mood" does not exist'],
  ["CREATE TABLE x (a vector(3))", "42704", 'type "vector" does not exist'],
  ["CREATE TABLE x (a jsonb PRIMARY KEY)", "0A000", "datatype jsonb is not supported in a key"],
  ["CREATE TABLE x (a jsonb, UNIQUE (a))", "0A000", "datatype jsonb is not supported in a key"],
  ["CREATE TABLE x (a uuid REFERENCES nowhere (id))", "42P01", 'relation "nowhere" does not exist'],
  ["CREATE TYPE x AS ENUM ('a')", "0A000", "CREATE TYPE not supported"],
  ["CREATE TYPE x AS (a int)", "0A000", "unsupported statement: CompositeType"],
  ["CREATE TYPE x AS RANGE (subtype = int4)", "0A000", "unsupported statement: CreateRange"],
  ["ALTER TYPE x ADD VALUE 'b'", "0A000", "ALTER TYPE not supported"],
  ["ALTER TYPE x RENAME TO y", "0A000", "unsupported object in RENAME statement"],
  ["DROP TYPE x", "0A000", "unsupported object in DROP statement"],
  ["CREATE EXTENSION pgcrypto", "0A000", "unsupported statement: CreateExtension"],
  ["CREATE DATABASE x", "0A000", "unsupported statement: Createdb"],
  // ALTER TABLE
  ["ALTER TABLE parent ADD COLUMN a int DEFAULT 1", "0A000", ADD_COLUMN],
  ["ALTER TABLE parent ADD COLUMN a int NOT NULL", "0A000", ADD_COLUMN],
  ["ALTER TABLE parent ADD COLUMN a int CHECK (a > 0)", "0A000", ADD_COLUMN],
  ["ALTER TABLE parent ADD COLUMN a int UNIQUE", "0A000", ADD_COLUMN],
  ["ALTER TABLE parent ADD COLUMN a uuid REFERENCES child (id)", "0A000", ADD_COLUMN],
  [
    "ALTER TABLE parent ADD COLUMN a bigint GENERATED BY DEFAULT AS IDENTITY (CACHE 1)",
    "0A000",
    ADD_COLUMN,
  ],
  ["ALTER TABLE parent ADD COLUMN a text[]", "0A000", "datatype text[] not supported"],
  ["ALTER TABLE parent ADD COLUMN a serial", "42704", 'type "serial" does not exist'],
  ['ALTER TABLE parent ADD COLUMN a text COLLATE "C"', "0A000", "COLLATE clause not supported"],
  ["ALTER TABLE parent DROP COLUMN id", "0A000", "cannot drop primary key column id"],
  [
    "ALTER TABLE parent ALTER COLUMN n TYPE bigint",
    "0A000",
    "unsupported ALTER TABLE ALTER COLUMN ... SET DATA TYPE statement",
  ],
  [
    "ALTER TABLE parent ALTER COLUMN n SET NOT NULL",
    "0A000",
    "unsupported ALTER TABLE ALTER COLUMN ... SET NOT NULL statement",
  ],
  ["ALTER TABLE parent ADD CONSTRAINT c CHECK (n > 0)", "0A000", ADD_CONSTRAINT],
  [
    "ALTER TABLE child ADD CONSTRAINT f FOREIGN KEY (parent_id) REFERENCES parent (id)",
    "0A000",
    ADD_CONSTRAINT,
  ],
  ["ALTER TABLE parent ADD CONSTRAINT u UNIQUE (name)", "0A000", ADD_CONSTRAINT],
  ["ALTER TABLE parent ADD PRIMARY KEY (n)", "0A000", ADD_CONSTRAINT],
  ["ALTER TABLE parent ADD CONSTRAINT p PRIMARY KEY USING INDEX i", "0A000", ADD_CONSTRAINT],
  [
    "ALTER TABLE parent ADD CONSTRAINT u UNIQUE (name) NOT VALID",
    "0A000",
    "UNIQUE constraints cannot be marked NOT VALID",
  ],
  [
    "ALTER TABLE parent VALIDATE CONSTRAINT c",
    "0A000",
    "unsupported ALTER TABLE VALIDATE CONSTRAINT statement",
  ],
  [
    "ALTER TABLE ASYNC parent VALIDATE CONSTRAINT nothing",
    "42704",
    'constraint "nothing" of relation "parent" does not exist',
  ],
  ["ALTER TABLE ASYNC nowhere VALIDATE CONSTRAINT c", "42P01", 'relation "nowhere" does not exist'],
  [
    "ALTER TABLE parent ENABLE ROW LEVEL SECURITY",
    "0A000",
    "unsupported ALTER TABLE ENABLE ROW SECURITY",
  ],
  ["CREATE POLICY p ON parent", "0A000", "unsupported statement: CreatePolicy"],
  // other statements
  ["CREATE SEQUENCE s", "0A000", SEQUENCE],
  ["CREATE SEQUENCE s CACHE 2", "0A000", SEQUENCE],
  [
    "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$",
    "0A000",
    "CREATE FUNCTION with language plpgsql not supported",
  ],
  ["CREATE PROCEDURE p() LANGUAGE sql AS $$ SELECT 1 $$", "0A000", "PROCEDURE is not supported"],
  [
    "CREATE TRIGGER g AFTER INSERT ON parent EXECUTE FUNCTION f()",
    "0A000",
    "CREATE TRIGGER not supported",
  ],
  ["TRUNCATE parent", "0A000", "unsupported statement: Truncate"],
  [
    "MERGE INTO parent p USING child c ON p.id = c.id WHEN MATCHED THEN DO NOTHING",
    "0A000",
    "unsupported statement type: MERGE",
  ],
  ["SELECT * FROM parent TABLESAMPLE SYSTEM (10)", "0A000", "TABLESAMPLE clause not supported"],
  [
    "SELECT * FROM parent FOR SHARE",
    "0A000",
    "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
  ],
  [
    "SELECT * FROM parent FOR NO KEY UPDATE",
    "0A000",
    "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
  ],
  ["LOCK TABLE parent", "0A000", "unsupported statement: Lock"],
  ["LISTEN c", "0A000", "unsupported statement: Listen"],
  ["NOTIFY c", "0A000", "unsupported statement: Notify"],
  ["UNLISTEN c", "0A000", "unsupported statement: Unlisten"],
  ["SELECT pg_advisory_lock(1)", "0A000", "function pg_advisory_lock not supported"],
  [
    "SELECT pg_try_advisory_xact_lock(1)",
    "0A000",
    "function pg_try_advisory_xact_lock not supported",
  ],
  [
    "SELECT to_tsvector('english', 'x')",
    "42704",
    'text search configuration "english" does not exist',
  ],
  ["VACUUM parent", "0A000", "unsupported VACUUM statement"],
  ["ANALYZE", "0A000", "unsupported ANALYZE statement"],
  ["COPY parent FROM '/etc/passwd'", "0A000", "unsupported statement: Copy"],
  ["COPY parent TO PROGRAM 'cat'", "0A000", "unsupported statement: Copy"],
  ["PREPARE p AS SELECT 1", "0A000", "unsupported statement: Prepare"],
  ["DEALLOCATE p", "0A000", "unsupported statement: Deallocate"],
  ["DISCARD ALL", "0A000", "unsupported statement: Discard"],
  ["DECLARE c CURSOR FOR SELECT 1", "0A000", "unsupported statement: DeclareCursor"],
  ["ALTER SYSTEM SET work_mem = '4MB'", "0A000", "unsupported statement: AlterSystem"],
  ["DO $$ BEGIN NULL; END $$", "0A000", "unsupported statement: Do"],
  ["SET ROLE reader", "0A000", 'setting configuration parameter "role" not supported'],
  [
    "SET default_transaction_isolation = 'serializable'",
    "0A000",
    'setting configuration parameter "default_transaction_isolation" not supported',
  ],
  [
    "SET TRANSACTION READ ONLY",
    "0A000",
    'setting configuration parameter "TRANSACTION" not supported',
  ],
  [
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "0A000",
    'setting configuration parameter "TRANSACTION" not supported',
  ],
  ["BEGIN ISOLATION LEVEL SERIALIZABLE", "0A000", "Unsupported isolation level: SERIALIZABLE"],
  ["SAVEPOINT s", "0A000", "unsupported transaction statement: SAVEPOINT"],
  ["RELEASE s", "0A000", "unsupported transaction statement: RELEASE"],
  ["ROLLBACK TO SAVEPOINT s", "0A000", "unsupported transaction statement: ROLLBACK TO"],
  ["GRANT USAGE ON SCHEMA public TO reader", "0A000", "feature not supported on system entity"],
  ["AWS IAM GRANT nobody TO 'arn:aws:iam::1:role/x'", "42704", 'role "nobody" does not exist'],
  ["SELECT sys.wait_for_job('x')", "42809", "sys.wait_for_job(unknown) is a procedure"],
  ["CALL sys.wait_for_job('x')", "22P02", "Unable to convert text to UUID"],
  ["CALL sys.wait_for_job((SELECT 'x'))", "0A000", "cannot use subquery in CALL argument"],
  [
    "EXPLAIN SELECT * FROM parent FOR SHARE",
    "0A000",
    "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
  ],
];

Deno.test("startDistSqlServer() refuses with the provider's SQLSTATE and text by the simple protocol", async () => {
  for (const [statement, sqlstate, message] of REFUSED) {
    assertEquals(await refusal(sql.unsafe(statement)), { sqlstate, message }, statement);
  }
});

Deno.test("startDistSqlServer() refuses the same by the extended protocol", async () => {
  for (const [statement, sqlstate, message] of REFUSED) {
    assertEquals(
      await refusal(sql.unsafe(statement, [], { prepare: true })),
      { sqlstate, message },
      statement,
    );
  }
});

/** What the provider takes, each on a schema of its own making. */
const ACCEPTED = [
  "CREATE TABLE o (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), parent_id uuid REFERENCES parent (id) ON DELETE CASCADE DEFERRABLE, a smallint, b real, c double precision, d numeric(10,2), e char(3), f varchar(20), g date, h time, i timetz, j timestamp, k timestamptz, l interval, m boolean, n bytea, o json, p jsonb, UNIQUE NULLS NOT DISTINCT (f), CHECK (a > 0))",
  "CREATE TABLE q (id bigint GENERATED BY DEFAULT AS IDENTITY (CACHE 1) PRIMARY KEY, v bigint GENERATED ALWAYS AS IDENTITY (CACHE 65536), w int GENERATED ALWAYS AS (1 + 1) STORED)",
  "CREATE TABLE r (LIKE q)",
  "CREATE TABLE s (a short)",
  "ALTER TABLE o ADD COLUMN IF NOT EXISTS z text, ADD COLUMN y int",
  "ALTER TABLE o ALTER COLUMN z SET DEFAULT 'x'",
  "ALTER TABLE o ALTER COLUMN z DROP DEFAULT",
  "ALTER TABLE q ALTER COLUMN v DROP IDENTITY",
  "ALTER TABLE q ALTER COLUMN v DROP NOT NULL",
  "ALTER TABLE q ALTER COLUMN w DROP EXPRESSION",
  "ALTER TABLE o ADD CONSTRAINT positive CHECK (y > 0) NOT VALID",
  "ALTER TABLE o DROP CONSTRAINT positive",
  "ALTER TABLE o RENAME COLUMN y TO yy",
  "ALTER TABLE o DROP COLUMN yy",
  "ALTER TABLE s RENAME TO ss",
  "COMMENT ON TABLE o IS 'orders'",
  "CREATE INDEX ASYNC lowered ON o (lower(f)) INCLUDE (a) WHERE a > 1",
  "CREATE UNIQUE INDEX ASYNC ON o (a NULLS FIRST)",
  "ALTER INDEX lowered RENAME TO lower_f",
  "DROP INDEX lower_f",
  "CREATE VIEW v AS SELECT id FROM o",
  "CREATE OR REPLACE VIEW v AS SELECT id FROM o",
  "DROP VIEW v",
  "CREATE SEQUENCE seq CACHE 1",
  "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$",
  "DROP TRIGGER IF EXISTS nothing ON o",
  "CREATE SCHEMA app",
  "CREATE TABLE app.t (id int)",
  "CREATE STATISTICS st ON a, b FROM o",
  "ANALYZE o",
  "GRANT SELECT ON o TO reader",
  "REVOKE ALL ON TABLE o FROM reader",
  "AWS IAM GRANT reader TO 'arn:aws:iam::1:role/reader'",
  "AWS IAM REVOKE reader FROM 'arn:aws:iam::1:role/reader'",
  "SELECT * FROM parent FOR UPDATE SKIP LOCKED",
  "SELECT * FROM parent FOR KEY SHARE",
  "SELECT unnest(string_to_array('a,b', ','))",
  "INSERT INTO q (id) SELECT 5 ON CONFLICT (id) DO UPDATE SET v = 1 RETURNING id",
  "EXPLAIN ANALYZE SELECT * FROM parent",
  "SET timezone = 'UTC'",
  "DEALLOCATE ALL",
  "DROP TABLE r, ss",
];

Deno.test("startDistSqlServer() takes what the provider takes", async () => {
  for (const statement of ACCEPTED) {
    assertEquals(await refusal(sql.unsafe(statement)), undefined, statement);
  }
});

Deno.test("checkRefusals() goes by the rules of the given day", async () => {
  const parse = await loadStatementParser();
  const cases: [string, string][] = [
    ["CREATE INDEX ASYNC i ON t (a) WHERE b", "2026-09-15"],
    ["CREATE TABLE t (a uuid REFERENCES o (id))", "2026-08-26"],
    ["ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES o (id) NOT VALID", "2026-08-26"],
  ];
  for (const [statement, since] of cases) {
    const [parsed] = parse(statement);
    const dayBefore = new Date(Date.parse(since) - 24 * 3600 * 1000).toISOString().slice(0, 10);
    assertEquals(checkRefusals(parsed, since), undefined, statement);
    assertEquals(checkRefusals(parsed, dayBefore)?.sqlstate, "0A000", statement);
  }
});

Deno.test("REFUSAL_RULES names every rule once, with a source", () => {
  const ids = REFUSAL_RULES.map((rule) => rule.id);
  assertEquals(ids.length, new Set(ids).size);
  for (const rule of REFUSAL_RULES) assertExists(rule.source.match(/\w/), rule.id);
});

interface SampleCase {
  readonly id: string;
  readonly sql: string;
  readonly class: string;
  readonly expected: string | string[] | null;
}

async function readSample(): Promise<SampleCase[] | undefined> {
  const file = new URL("../../../../shared/contract/distsql_cases.json", import.meta.url);
  try {
    return JSON.parse(await Deno.readTextFile(file)).cases;
  } catch {
    // deno-lint-ignore no-console
    console.warn(
      `SKIPPED: ${file.pathname} is not there, so the sample of statements was not tried`,
    );
  }
}

/** What has to be there for a statement that the provider takes. */
const SAMPLE_TABLES = [
  "CREATE TABLE users (id uuid PRIMARY KEY, email text UNIQUE, plan text, age int, handle text)",
  "CREATE TABLE orders (id uuid PRIMARY KEY, total int, customer_id uuid, created_at timestamptz)",
  "CREATE TABLE a (id uuid PRIMARY KEY)",
  "CREATE TABLE b (id uuid PRIMARY KEY)",
  "CREATE TABLE t (id uuid PRIMARY KEY, c text)",
  "CREATE TABLE files (id uuid PRIMARY KEY)",
  "CREATE TABLE jobs (id uuid PRIMARY KEY, state text)",
  "CREATE SCHEMA auth",
  "CREATE ROLE lambda_files_get WITH LOGIN",
];

Deno.test("startDistSqlServer() refuses each statement of the sample that needs translation, and takes the others", async () => {
  const sample = await readSample();
  for (const { id, sql: text, class: kind, expected } of sample ?? []) {
    // A further server for each case would take seconds: this one is emptied.
    await dropEverything(sql);
    for (const table of SAMPLE_TABLES) {
      if (!conflictsWith(table, text)) await refusal(sql.unsafe(table));
    }
    const refused = await refusal(sql.unsafe(text));
    // Texts of several statements joined by drizzle's marker are a comment to the database: they are two DDL.
    const isTaken = expected === "unchanged" ||
      (kind === "unsupported_strip" && text.replace(/[\s;]/g, "") === "");
    assertEquals(refused === undefined, isTaken, `${id}: ${text} → ${JSON.stringify(refused)}`);
    if (refused && refused.sqlstate !== "42704") {
      assertEquals(refused.sqlstate, "0A000", `${id}: ${refused.message}`);
    }
  }
});

function conflictsWith(table: string, text: string): boolean {
  const created = /^CREATE (?:TABLE|ROLE) (\w+)/.exec(table)?.[1];
  return created !== undefined &&
    new RegExp(`^CREATE (TABLE|ROLE) "?${created}"? `, "i").test(text);
}

async function dropEverything(client: postgres.Sql): Promise<void> {
  const objects = await client.unsafe(
    `SELECT 'DROP TABLE ' || c.oid::regclass || ' CASCADE' AS drop FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname IN ('public', 'auth', 'app') UNION ALL
     SELECT 'DROP SEQUENCE ' || c.oid::regclass || ' CASCADE' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'S' AND n.nspname = 'public' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')) UNION ALL
     SELECT 'DROP SCHEMA auth' FROM pg_namespace WHERE nspname = 'auth' UNION ALL
     SELECT 'DROP ROLE lambda_files_get' FROM pg_roles WHERE rolname = 'lambda_files_get'`,
  );
  for (const { drop } of objects) await client.unsafe(drop);
}
