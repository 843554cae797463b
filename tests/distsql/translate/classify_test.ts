import { assertEquals, assertStringIncludes } from "@std/assert";
import { classifyStatement } from "../../../distsql/translate/classify.ts";
import { RECREATED, REFUSED, STRIPPED } from "./corpus.ts";

const CASES: [string, string, string | undefined][] = [
  [
    `CREATE TABLE IF NOT EXISTS "auth"."Sessions" (id uuid PRIMARY KEY)`,
    "compatible",
    "auth.Sessions",
  ],
  [`create unique index i on Users (a)`, "create_index", "users"],
  [`ALTER TABLE "t" ADD CONSTRAINT "u" UNIQUE ("a")`, "create_index", "t"],
  [`ALTER TABLE IF EXISTS ONLY t ADD CONSTRAINT c CHECK (a > 0)`, "compatible", "t"],
  [`ALTER TABLE ASYNC t VALIDATE CONSTRAINT c`, "compatible", "t"],
  [`ALTER TABLE t ADD COLUMN a text`, "compatible", "t"],
  [`ALTER TABLE t ADD COLUMN a text DEFAULT NULL`, "compatible", "t"],
  [`ALTER TABLE t ADD COLUMN a text DEFAULT 'x'`, "needs_recreation", "t"],
  [`ALTER TABLE t ALTER a SET NOT NULL`, "needs_recreation", "t"],
  [`INSERT INTO t VALUES (1)`, "compatible", "t"],
  [`DELETE FROM ONLY t WHERE a = 1`, "compatible", "t"],
  [`UPDATE "T" SET a = 1 WHERE a = 2`, "compatible", "T"],
  [`TRUNCATE TABLE t`, "compatible", "t"],
  [`SELECT 1`, "compatible", undefined],
  [`CREATE SEQUENCE s`, "compatible", undefined],
  [`CREATE TABLE t (id uuid PRIMARY KEY); CREATE INDEX i ON t (id)`, "create_index", "t"],
];

for (const [sql, type, table] of CASES) {
  Deno.test(`classifyStatement() gives ${type} for ${sql}`, () => {
    const classification = classifyStatement(sql);
    assertEquals([classification.type, classification.table], [type, table]);
    assertEquals(classification.description.length > 0, true);
  });
}

Deno.test("classifyStatement() gives unsupported_strip with the reason for what is refused or left out", () => {
  for (const [sql, id] of REFUSED) {
    const { type, description } = classifyStatement(sql);
    assertEquals(type, "unsupported_strip", sql);
    assertStringIncludes(description, id);
  }
  for (const sql of STRIPPED) assertEquals(classifyStatement(sql).type, "unsupported_strip", sql);
});

Deno.test("classifyStatement() gives needs_recreation with the table for what takes a new one", () => {
  for (const [sql] of RECREATED) assertEquals(classifyStatement(sql).type, "needs_recreation", sql);
});
