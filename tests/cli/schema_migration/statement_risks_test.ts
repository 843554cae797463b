import { assertEquals } from "@std/assert";
import { renderStep, RISKS } from "../../../cli/schema_migration/difference.ts";
import { findRisks } from "../../../cli/schema_migration/statement_risks.ts";

const CASES: readonly [sql: string, risk: string | undefined, table?: string][] = [
  ["DROP TABLE notes", RISKS.table, "notes"],
  ['drop table if exists "My Notes" cascade', RISKS.table, '"My Notes"'],
  ["DROP TABLE notes, tags", RISKS.table],
  ["DROP SCHEMA app CASCADE", RISKS.schema],
  ["DROP TYPE mood CASCADE", RISKS.dependents],
  ["DROP TYPE mood", undefined],
  ["DROP INDEX notes_idx", undefined],
  ["TRUNCATE TABLE ONLY app.notes", RISKS.rows, "app.notes"],
  ["TRUNCATE notes, tags", RISKS.rows],
  ["DELETE FROM notes WHERE id = 1", RISKS.rows],
  ["WITH gone AS (DELETE FROM notes RETURNING *) SELECT 1", RISKS.rows],
  ["WITH a AS (SELECT 1) INSERT INTO notes SELECT * FROM a", undefined],
  ["DO $$ BEGIN DROP TABLE notes; END $$", RISKS.block],
  ["DO $$ BEGIN CREATE TYPE mood AS ENUM ('good'); END $$", undefined],
  ["ALTER TABLE notes DROP COLUMN body", RISKS.column, "notes"],
  ["ALTER TABLE IF EXISTS ONLY notes ADD a int, DROP IF EXISTS body", RISKS.column, "notes"],
  ["ALTER TABLE notes DROP CONSTRAINT notes_check", undefined],
  ["ALTER TABLE notes ALTER COLUMN body SET NOT NULL", RISKS.required, "notes"],
  ["ALTER TABLE notes ALTER body DROP NOT NULL", undefined],
  ["ALTER TABLE notes ALTER body SET DATA TYPE int USING body::int", RISKS.type, "notes"],
  ["ALTER TABLE notes ADD COLUMN done boolean NOT NULL", RISKS.added, "notes"],
  ["ALTER TABLE notes ADD COLUMN IF NOT EXISTS done boolean NOT NULL DEFAULT false", undefined],
  ["ALTER TABLE notes ADD COLUMN n bigserial NOT NULL", undefined],
  ["ALTER TABLE notes ADD COLUMN n int GENERATED ALWAYS AS IDENTITY NOT NULL", undefined],
  ["ALTER TABLE notes ADD COLUMN title text", undefined],
  ["ALTER TABLE notes ADD CONSTRAINT filled CHECK (body IS NOT NULL)", undefined],
  ["CREATE TABLE notes (id int NOT NULL)", undefined],
  ["INSERT INTO notes VALUES ('DROP TABLE notes')", undefined],
];

for (const [sql, risk, table] of CASES) {
  Deno.test(`findRisks() ${risk === undefined ? "accepts" : "names the risk of"} ${sql}`, () => {
    assertEquals(
      findRisks(sql).map((found) => [found.risk, found.table]),
      risk === undefined ? [] : [[risk, table]],
    );
  });
}

Deno.test("findRisks() gives the line of the statement, and no values", () => {
  const risks = findRisks(
    "-- first\ncreate table a (id int);\n\n-- why\ndelete from a where b = 'x';\n",
  );
  assertEquals(risks.map(({ line, statement }) => [line, statement]), [[
    5,
    "delete from a where b = …",
  ]]);
});

Deno.test("findRisks() returns the warnings that renderStep() writes", () => {
  const risk = "code that is still running uses the old name";
  const sql = renderStep({ sql: "ALTER TABLE notes RENAME TO entries", risk });
  assertEquals(findRisks(sql).map((found) => [found.line, found.risk]), [[2, risk]]);
});
