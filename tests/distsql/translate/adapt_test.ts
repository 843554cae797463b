import { assertEquals, assertThrows } from "@std/assert";
import { adaptForStandardPg } from "../../../distsql/translate/adapt.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

const UNDONE: [string, string][] = [
  [`CREATE INDEX ASYNC "i" ON "t" ("a");`, `CREATE INDEX "i" ON "t" ("a");`],
  [
    `create unique index async if not exists i on t (a)`,
    `create unique index if not exists i on t (a)`,
  ],
  [`CREATE INDEX ASYNC ON t (a)`, `CREATE INDEX ON t (a)`],
  [`CREATE INDEX "async" ON t (a)`, `CREATE INDEX "async" ON t (a)`],
  [`ALTER TABLE ASYNC t VALIDATE CONSTRAINT c;`, `ALTER TABLE t VALIDATE CONSTRAINT c;`],
  [`ALTER TABLE async VALIDATE CONSTRAINT c;`, `ALTER TABLE async VALIDATE CONSTRAINT c;`],
  [`CALL sys.wait_for_job('abc');`, ``],
  [`SELECT status FROM sys.jobs WHERE job_id = 'abc'`, ``],
  [`AWS IAM GRANT r TO 'arn:aws:iam::123456789012:role/x';`, ``],
  [
    `SELECT 'CREATE INDEX ASYNC i' -- ALTER TABLE ASYNC`,
    `SELECT 'CREATE INDEX ASYNC i' -- ALTER TABLE ASYNC`,
  ],
  [
    `CREATE ROLE r WITH LOGIN;\nAWS IAM GRANT r TO 'x';\nGRANT SELECT ON t TO r`,
    `CREATE ROLE r WITH LOGIN;\n\nGRANT SELECT ON t TO r;`,
  ],
  [`A\n--> statement-breakpoint\nB`, `A;\n--> statement-breakpoint\nB;`],
  [``, ``],
];

for (const [sql, expected] of UNDONE) {
  Deno.test(`adaptForStandardPg() undoes the provider's form of ${JSON.stringify(sql.slice(0, 60))}`, () => {
    assertEquals(adaptForStandardPg(sql), expected);
  });
}

/** With the start of a name `w1_`, and with the schema `w1`. */
const PREFIXED: [string, string, string][] = [
  [
    `CREATE TABLE users (id uuid)`,
    `CREATE TABLE w1_users (id uuid)`,
    `CREATE TABLE w1.users (id uuid)`,
  ],
  [
    `CREATE TABLE "Users" (id uuid)`,
    `CREATE TABLE "w1_Users" (id uuid)`,
    `CREATE TABLE w1."Users" (id uuid)`,
  ],
  [
    `CREATE TABLE app.users (id uuid)`,
    `CREATE TABLE app.users (id uuid)`,
    `CREATE TABLE app.users (id uuid)`,
  ],
  [
    `CREATE TABLE a (b uuid REFERENCES c (d), CONSTRAINT "u" UNIQUE (b), CHECK (a.b <> 'a.b'), LIKE e)`,
    `CREATE TABLE w1_a (b uuid REFERENCES w1_c (d), CONSTRAINT "w1_u" UNIQUE (b), CHECK (w1_a.b <> 'a.b'), LIKE w1_e)`,
    `CREATE TABLE w1.a (b uuid REFERENCES w1.c (d), CONSTRAINT "u" UNIQUE (b), CHECK (a.b <> 'a.b'), LIKE w1.e)`,
  ],
  [
    `CREATE UNIQUE INDEX ASYNC "i" ON "t" ("a") WHERE "t"."b" > 0;`,
    `CREATE UNIQUE INDEX "w1_i" ON "w1_t" ("a") WHERE "w1_t"."b" > 0;`,
    `CREATE UNIQUE INDEX "i" ON w1."t" ("a") WHERE "t"."b" > 0;`,
  ],
  [
    `DROP INDEX IF EXISTS i, j`,
    `DROP INDEX IF EXISTS w1_i, w1_j`,
    `DROP INDEX IF EXISTS w1.i, w1.j`,
  ],
  [
    `ALTER TABLE ONLY t ADD CONSTRAINT n UNIQUE USING INDEX n`,
    `ALTER TABLE ONLY w1_t ADD CONSTRAINT w1_n UNIQUE USING INDEX w1_n`,
    `ALTER TABLE ONLY w1.t ADD CONSTRAINT n UNIQUE USING INDEX n`,
  ],
  [`ALTER TABLE t RENAME TO u`, `ALTER TABLE w1_t RENAME TO w1_u`, `ALTER TABLE w1.t RENAME TO u`],
  [
    `SELECT u.a, users.b, extract(day FROM at) FROM users, logins AS u JOIN pg_class c ON a IS DISTINCT FROM b`,
    `SELECT u.a, w1_users.b, extract(day FROM at) FROM w1_users, w1_logins AS u JOIN pg_class c ON a IS DISTINCT FROM b`,
    `SELECT u.a, users.b, extract(day FROM at) FROM w1.users, w1.logins AS u JOIN pg_class c ON a IS DISTINCT FROM b`,
  ],
  [
    `WITH d AS (DELETE FROM a USING b WHERE a.x = b.x RETURNING *) INSERT INTO c (x) SELECT x FROM d, unnest(ARRAY[1]) ON CONFLICT ON CONSTRAINT k DO NOTHING`,
    `WITH d AS (DELETE FROM w1_a USING w1_b WHERE w1_a.x = w1_b.x RETURNING *) INSERT INTO w1_c (x) SELECT x FROM d, unnest(ARRAY[1]) ON CONFLICT ON CONSTRAINT w1_k DO NOTHING`,
    `WITH d AS (DELETE FROM w1.a USING w1.b WHERE a.x = b.x RETURNING *) INSERT INTO w1.c (x) SELECT x FROM d, unnest(ARRAY[1]) ON CONFLICT ON CONSTRAINT k DO NOTHING`,
  ],
  [
    `UPDATE t SET a = x.b FROM x WHERE t.a = 1`,
    `UPDATE w1_t SET a = w1_x.b FROM w1_x WHERE w1_t.a = 1`,
    `UPDATE w1.t SET a = x.b FROM w1.x WHERE t.a = 1`,
  ],
  [
    `DELETE FROM t USING x WHERE t.a = x.a`,
    `DELETE FROM w1_t USING w1_x WHERE w1_t.a = w1_x.a`,
    `DELETE FROM w1.t USING w1.x WHERE t.a = x.a`,
  ],
  [
    `SELECT users.a FROM logins users`,
    `SELECT users.a FROM w1_logins users`,
    `SELECT users.a FROM w1.logins users`,
  ],
  [
    `GRANT SELECT ON TABLE a, b TO r`,
    `GRANT SELECT ON TABLE w1_a, w1_b TO r`,
    `GRANT SELECT ON TABLE w1.a, w1.b TO r`,
  ],
  [
    `GRANT USAGE ON SCHEMA app TO r`,
    `GRANT USAGE ON SCHEMA app TO r`,
    `GRANT USAGE ON SCHEMA app TO r`,
  ],
  [
    `COMMENT ON COLUMN t.a IS 'x'`,
    `COMMENT ON COLUMN w1_t.a IS 'x'`,
    `COMMENT ON COLUMN w1.t.a IS 'x'`,
  ],
  [`TRUNCATE a, b CASCADE`, `TRUNCATE w1_a, w1_b CASCADE`, `TRUNCATE w1.a, w1.b CASCADE`],
  [
    `DROP TABLE IF EXISTS a CASCADE`,
    `DROP TABLE IF EXISTS w1_a CASCADE`,
    `DROP TABLE IF EXISTS w1.a CASCADE`,
  ],
];

for (const [sql, named, inSchema] of PREFIXED) {
  Deno.test(`adaptForStandardPg() puts a prefix before the names of ${sql.slice(0, 60)}`, () => {
    assertEquals(adaptForStandardPg(sql, "w1_"), named);
    assertEquals(adaptForStandardPg(sql, "w1."), inSchema);
  });
}

Deno.test("adaptForStandardPg() quotes a prefix that needs it, so that both spellings of a name stay one", () => {
  assertEquals(
    adaptForStandardPg(`SELECT 1 FROM Users, "users"`, "W1-"),
    `SELECT 1 FROM "W1-users", "W1-users"`,
  );
  assertEquals(
    adaptForStandardPg(`SELECT 1 FROM users`, `"My Schema".`),
    `SELECT 1 FROM "My Schema".users`,
  );
});

Deno.test("adaptForStandardPg() throws when the prefix is a dot alone or holds a NUL", () => {
  assertThrows(() => adaptForStandardPg("SELECT 1", "."), ConfigurationError, 'prefix is "."');
  assertThrows(() => adaptForStandardPg("SELECT 1", "a\0"), ConfigurationError, "prefix is");
});
