import { assertEquals, assertStringIncludes } from "@std/assert";
import { checkMigrations } from "../../../cli/commands/check_migrations.ts";
import { planMigrations } from "../../../database/migrations/plan.ts";
import { planOnDatabase } from "../../../database/migrations/plan_on_database.ts";
import { findTrafficRisks } from "../../../database/migrations/traffic_rules.ts";
import { runInProcess } from "../../cli/fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withMigrationLab } from "./migration_support.ts";

const TAG = "0002_change";

function rulesOf(sql: string): string[] {
  return findTrafficRisks({ path: `${TAG}.sql`, sql }).map(({ finding }) => finding.rule);
}

/**
 * Test cases of squawk (2026-08-22, crates/squawk_linter/src/rules): the rule that reports the SQL, or "ok", and what is
 * reported here.
 */
const squawk: [rule: string, sql: string, ours: string[]][] = [
  ["ok", `ALTER TABLE "core_recipe" ADD COLUMN "foo" integer DEFAULT 10`, []],
  [
    "adding-field-with-default",
    "alter table t set logged, add column c integer default uuid()",
    ["traffic-rewrite", "traffic-rewrite"],
  ],
  ["adding-field-with-default", "ALTER TABLE a ADD COLUMN foo boolean DEFAULT random()", [
    "traffic-rewrite",
  ]],
  ["adding-field-with-default", "ALTER TABLE a ADD COLUMN foo jsonb DEFAULT myjsonb()", [
    "traffic-rewrite",
  ]],
  [
    "adding-field-with-default",
    "ALTER TABLE foo ADD COLUMN bar numeric GENERATED ALWAYS AS (bar + baz) STORED",
    ["traffic-rewrite"],
  ],
  ["ok", "alter table t add column a double precision[] default array[]::double precision[]", []],
  ["ok", "alter table t add column b bigint[] default cast(array[] as bigint[])", []],
  [
    "ok",
    "ALTER TABLE a ADD COLUMN b timestamptz NOT NULL DEFAULT now() - interval '100 years'",
    [],
  ],
  ["ok", "alter table t add column c timestamptz default current_timestamp", []],
  ["ok", `CREATE TABLE t (id BIGSERIAL NOT NULL, fk INTEGER REFERENCES other_table (id))`, []],
  [
    "adding-foreign-key-constraint",
    `BEGIN; ALTER TABLE "email" ADD COLUMN "user_id" INT;
    ALTER TABLE "email" ADD CONSTRAINT "fk_user" FOREIGN KEY ("user_id") REFERENCES "user" ("id"); COMMIT`,
    ["traffic-constraint"],
  ],
  // without a default the new column is NULL, and PostgreSQL reads no row
  [
    "adding-foreign-key-constraint",
    `ALTER TABLE "emails" ADD COLUMN "user_id" INT REFERENCES "user" ("id")`,
    [],
  ],
  // written online by the runner
  ["adding-not-nullable-field", "ALTER TABLE a ALTER COLUMN foo SET NOT NULL", []],
  [
    "adding-not-nullable-field",
    "BEGIN; ALTER TABLE t ALTER COLUMN c SET NOT NULL; UPDATE v SET n = 'b' WHERE n = 'a'; COMMIT",
    ["traffic-not-null", "traffic-update"],
  ],
  ["adding-serial-primary-key-field", "ALTER TABLE a ADD COLUMN b SERIAL PRIMARY KEY", [
    "traffic-rewrite",
    "traffic-constraint",
  ]],
  ["adding-serial-primary-key-field", "ALTER TABLE items ADD PRIMARY KEY (id)", [
    "traffic-constraint",
  ]],
  ["ok", "ALTER TABLE items ADD CONSTRAINT items_pk PRIMARY KEY USING INDEX items_pk", []],
  ["ok", `ALTER TABLE "recipe" ADD COLUMN "public" boolean NOT NULL DEFAULT true`, []],
  ["adding-required-field", `ALTER TABLE "recipe" ADD COLUMN "public" boolean NOT NULL`, [
    "release-required",
  ]],
  ["ban-drop-column", `ALTER TABLE "bar_tbl" DROP COLUMN "foo_col" CASCADE`, ["release-drop"]],
  ["ban-drop-table", `DROP TABLE "table_name"`, ["release-drop"]],
  ["ban-truncate-cascade", "truncate a, b cascade", ["release-drop", "release-drop"]],
  // the running release does not write NULL, and old code reads no row that it does not know
  ["ban-drop-not-null", `ALTER TABLE "bar_tbl" ALTER COLUMN "foo_col" DROP NOT NULL`, []],
  ["changing-column-type", `ALTER TABLE a ALTER COLUMN edits TYPE text USING edits::text`, [
    "traffic-rewrite",
  ]],
  // the runner splits the file before VALIDATE
  [
    "constraint-missing-not-valid",
    `ALTER TABLE e ADD CONSTRAINT fk FOREIGN KEY (u) REFERENCES a (id) NOT VALID;
    ALTER TABLE e VALIDATE CONSTRAINT fk`,
    [],
  ],
  [
    "constraint-missing-not-valid",
    "ALTER TABLE d ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES b",
    [],
  ],
  ["constraint-missing-not-valid", "ALTER TABLE a ADD CONSTRAINT p CHECK (balance >= 0)", []],
  [
    "ok",
    `CREATE TABLE "core_foo" ("id" serial PRIMARY KEY, "age" integer NOT NULL);
    ALTER TABLE "core_foo" ADD CONSTRAINT "r" CHECK ("age" >= 25); CREATE INDEX i ON core_foo (age)`,
    [],
  ],
  ["disallowed-unique-constraint", "ALTER TABLE t ADD CONSTRAINT c UNIQUE (field_name)", []],
  ["disallowed-unique-constraint", "ALTER TABLE foo ADD COLUMN bar text UNIQUE", [
    "traffic-constraint",
  ]],
  ["renaming-column", `ALTER TABLE "t" RENAME COLUMN "a" TO "b"`, ["release-rename"]],
  ["renaming-table", `ALTER TABLE "table_name" RENAME TO "new_table_name"`, ["release-rename"]],
  ["require-concurrent-index-creation", `CREATE INDEX "i" ON "table_name" ("field_name")`, []],
  ["require-concurrent-index-creation", "CREATE INDEX ON t (a)", ["traffic-index"]],
  ["ok", `CREATE INDEX CONCURRENTLY "i" ON "table_name" ("field_name")`, []],
  // takes its lock for a moment, and only when it is free
  ["require-concurrent-index-deletion", `DROP INDEX IF EXISTS "field_name_idx"`, []],
  ["require-concurrent-partition-detach", "ALTER TABLE t DETACH PARTITION p", ["traffic-index"]],
  ["ok", "ALTER TABLE t DETACH PARTITION p CONCURRENTLY", []],
  ["ok", "ALTER TABLE t DETACH PARTITION p FINALIZE", []],
  ["require-concurrent-reindex", "REINDEX TABLE foo", ["traffic-index"]],
  ["ok", "REINDEX INDEX CONCURRENTLY foo", []],
  ["ok", "REINDEX (CONCURRENTLY) TABLE foo", []],
  ["prefer-repack", "CLUSTER foo", ["traffic-index"]],
  ["prefer-repack", "VACUUM (FULL) foo", ["traffic-index"]],
  ["ok", "VACUUM (FULL FALSE) foo", []],
  ["ok", "VACUUM ANALYZE foo", []],
  // the runner sets lock_timeout
  ["require-timeout-settings", "ALTER TABLE t ADD COLUMN c BOOLEAN", []],
];

Deno.test("findTrafficRisks() finds what squawk finds, but what the runner makes safe", () => {
  for (const [, sql, ours] of squawk) assertEquals(rulesOf(sql), ours, sql);
});

const more: [sql: string, ours: string[]][] = [
  ["UPDATE notes SET n = 1", ["traffic-update"]],
  ["UPDATE notes SET n = 1 WHERE id = 1", []],
  ["DELETE FROM ONLY notes", ["traffic-update"]],
  ["ALTER TABLE a ADD n int;\n-- trellis: backfill\nUPDATE a SET n = 1", []],
  ["ALTER TABLE a ADD n int; UPDATE a SET n = 1 WHERE id < 9", ["traffic-update"]],
  ["ALTER TABLE a ADD n int; ALTER TABLE b ADD n int", ["traffic-locks"]],
  ["-- trellis: no-transaction\nALTER TABLE a ADD n int; ALTER TABLE b ADD n int", []],
  ["ALTER TABLE a ADD n int; CREATE INDEX i ON a (n); ALTER TABLE b ADD n int", []],
  ["CREATE TABLE a (n int); ALTER TABLE b ADD n int; DROP TABLE a", []],
  ["ALTER TABLE a ADD CHECK (n > 0), ADD CONSTRAINT c CHECK (n > 1)", ["traffic-constraint"]],
  ["ALTER TABLE a SET SCHEMA app", ["release-rename"]],
  ["ALTER VIEW v RENAME TO w", ["release-rename"]],
  ["DROP VIEW v, w", ["release-drop", "release-drop"]],
  ["REFRESH MATERIALIZED VIEW m", ["traffic-index"]],
  ["REFRESH MATERIALIZED VIEW CONCURRENTLY m", []],
  ["ALTER TABLE a ADD COLUMN n int GENERATED ALWAYS AS IDENTITY", ["traffic-rewrite"]],
  ["ALTER TABLE a ADD COLUMN n int DEFAULT 1 REFERENCES b", ["traffic-constraint"]],
  ["ALTER TABLE a ALTER n SET DEFAULT random(), ALTER n SET STATISTICS 9", []],
];

Deno.test("findTrafficRisks() finds locks and changes of rows in one transaction", () => {
  for (const [sql, ours] of more) assertEquals(rulesOf(sql), ours, sql);
});

Deno.test("planOnDatabase() warns only about tables of the database, and about rewrites only of large ones", async () => {
  const setup = [
    "CREATE TABLE small (id int)",
    "CREATE TABLE big (id int, body text)",
    "INSERT INTO big SELECT n, repeat('x', 1000) FROM generate_series(1, 1500) AS n",
    "ANALYZE big",
  ];
  const sql = "ALTER TABLE small ALTER id TYPE bigint;\nALTER TABLE small DROP id;\n" +
    "CREATE TABLE new (id int); ALTER TABLE new DROP id;\n-- trellis: no-transaction\n" +
    "ALTER TABLE big ALTER id TYPE bigint; DROP TABLE IF EXISTS missing; UPDATE big SET id = 1";
  const file = { tag: TAG, path: `${TAG}.sql`, hash: "h", sql, statements: [] };
  const folder = { files: [file], unlisted: [], hasJournal: false };
  await withMigrationLab({ setup }, async ({ session, context }) => {
    const status = planMigrations(folder, []);
    const target = { provider: "postgres" as const, translation: {} };
    const { findings } = await planOnDatabase(folder, status, target, session, context.tables);
    assertEquals(findings.map(({ line, rule, message }) => `${line} ${rule}: ${message}`), [
      "2 release-drop: small loses something that the running release may use",
      "5 traffic-rewrite: big is rewritten while nobody can read it (about 1500 rows)",
      "5 traffic-update: big has rows changed that stay locked to the end of the transaction (about 1500 rows)",
    ]);
  });
});

Deno.test("trellis check migrations checks the last file, or those after --since, and writes SARIF", async () => {
  const files = {
    "migrations/0001_notes.sql": "CREATE TABLE notes (id int);",
    "migrations/0002_big.sql": "ALTER TABLE notes ALTER id TYPE bigint;",
    "migrations/0003_gone.sql": "SELECT 1;\n  DROP TABLE notes;",
  };
  await withTempFolder(files, async (cwd) => {
    const check = (...args: string[]) =>
      runInProcess(["check", "migrations", ...args], { commands: [checkMigrations], cwd });
    const last = await check();
    assertEquals(last.exitCode, 0);
    assertStringIncludes(last.stderr, "warning migrations/0003_gone.sql:2:3: notes loses");
    const { findings } = JSON.parse((await check("--since", "0001_notes", "--json")).stdout);
    assertEquals(findings.map(({ rule }: { rule: string }) => rule), [
      "traffic-rewrite",
      "release-drop",
    ]);
    await check("--sarif", "out.sarif");
    const { version, runs } = JSON.parse(await Deno.readTextFile(`${cwd}/out.sarif`));
    const [{ ruleId, level, locations: [{ physicalLocation }] }] = runs[0].results;
    assertEquals([version, ruleId, level, physicalLocation], ["2.1.0", "release-drop", "warning", {
      artifactLocation: { uri: "migrations/0003_gone.sql" },
      region: { startLine: 2, startColumn: 3 },
    }]);
    assertEquals((await check("--since", "0009_none")).exitCode, 2);
  });
});
