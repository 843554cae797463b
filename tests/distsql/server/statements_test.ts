import { assertEquals, assertThrows } from "@std/assert";
import { toBackendSql } from "../../../distsql/server/backend_sql.ts";
import { loadStatementParser, SqlSyntaxError } from "../../../distsql/server/syntax/statements.ts";

const parse = await loadStatementParser();

Deno.test("the statement parser distinguishes kinds", () => {
  const cases: [string, string][] = [
    ["SELECT 1", "read"],
    ["SELECT * FROM t FOR UPDATE", "lock"],
    ["WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone", "write"],
    ["INSERT INTO t VALUES (1)", "write"],
    ["EXPLAIN DELETE FROM t", "read"],
    ["EXPLAIN (ANALYZE) DELETE FROM t", "write"],
    ["COPY t FROM STDIN", "write"],
    ["COPY t TO STDOUT", "read"],
    ["START TRANSACTION", "begin"],
    ["END", "commit"],
    ["ABORT", "rollback"],
    ["SET timezone = 'UTC'", "utility"],
    ["ANALYZE t", "utility"],
    ["CALL sys.wait_for_job('x')", "wait"],
    ["GRANT SELECT ON t TO app", "ddl"],
    ["CREATE TABLE t (id int)", "ddl"],
  ];
  for (const [sql, kind] of cases) {
    assertEquals(parse(sql).map((statement) => statement.kind), [kind], sql);
  }
});

Deno.test("the statement parser recognises the provider's own words", () => {
  const cases: [string, boolean, string][] = [
    ["CREATE INDEX ASYNC i ON t (a)", true, "CREATE INDEX       i ON t (a)"],
    [
      "create /* é */ unique index async if not exists i on t (a)",
      true,
      "create /* é */ unique index       if not exists i on t (a)",
    ],
    ["CREATE INDEX ASYNC ON t (a)", true, "CREATE INDEX       ON t (a)"],
    [
      "ALTER TABLE ASYNC public.t VALIDATE CONSTRAINT c",
      true,
      "ALTER TABLE       public.t VALIDATE CONSTRAINT c",
    ],
    ["ALTER TABLE async ADD COLUMN a int", false, "ALTER TABLE async ADD COLUMN a int"],
    ["SELECT 'CREATE INDEX ASYNC i ON t (a)'", false, "SELECT 'CREATE INDEX ASYNC i ON t (a)'"],
  ];
  for (const [sql, isAsync, written] of cases) {
    const [statement] = parse(sql);
    assertEquals([statement.isAsync, statement.sql], [isAsync, written]);
  }
});

Deno.test("the statement parser reads IAM mappings", () => {
  const [grant, revoke, last] = parse(
    `AWS IAM GRANT app TO 'arn:a'; aws iam revoke "App" from 'arn:it''s'; SELECT ';'`,
  );
  assertEquals(grant.iam, { grants: true, role: "app", arn: "arn:a" });
  assertEquals(revoke.iam, { grants: false, role: "App", arn: "arn:it's" });
  assertEquals(last.type, "SelectStmt");
});

Deno.test("the statement parser gives SQLSTATE and place of a syntax error", () => {
  const cases: [string, string, string, number | undefined][] = [
    ["selec 1", "42601", 'syntax error at or near "selec"', 1],
    ["SELECT 'open", "42601", 'unterminated quoted string at or near "\'open"', 8],
    ["AWS IAM GRANT app FROM 'arn'", "42601", 'syntax error at or near "FROM"', 19],
    ["AWS IAM CHANGE app", "42601", 'syntax error at or near "CHANGE"', 9],
    ["CREATE INDEX ASYNC public.i ON t (a)", "42601", 'syntax error at or near "."', 26],
    [
      "CREATE TABLE t (a int, CONSTRAINT c CHECK (a > 0) DEFERRABLE)",
      "0A000",
      "CHECK constraints cannot be marked DEFERRABLE",
      51,
    ],
    [
      "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a) NOT VALID",
      "0A000",
      "UNIQUE constraints cannot be marked NOT VALID",
      43,
    ],
  ];
  for (const [sql, sqlstate, message, position] of cases) {
    const error = assertThrows(() => parse(sql), SqlSyntaxError);
    assertEquals(
      [error.sqlstate, error.message, error.position],
      [sqlstate, message, position],
      sql,
    );
  }
});

Deno.test("toBackendSql() makes the provider's silent changes", () => {
  const cases: [string, string][] = [
    [
      "CREATE TABLE t (é numeric, b decimal NOT NULL, c numeric(5,2), d text DEFAULT '1'::numeric)",
      "CREATE TABLE t (é numeric(18,6), b decimal(18,6) NOT NULL, c numeric(5,2), d text DEFAULT '1'::numeric)",
    ],
    ["ALTER TABLE t ADD COLUMN a numeric", "ALTER TABLE t ADD COLUMN a numeric(18,6)"],
    ["CREATE UNIQUE INDEX ASYNC i ON t (a)", "CREATE  INDEX       i ON t (a)"],
    ["SELECT 1::numeric", "SELECT 1::numeric"],
  ];
  for (const [sql, written] of cases) assertEquals(toBackendSql(parse(sql)[0]), written);
  const [, second] = parse("SELECT 'é'; CREATE TABLE t (a numeric)");
  assertEquals(toBackendSql(second).trim(), "CREATE TABLE t (a numeric(18,6))");
});
