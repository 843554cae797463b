import { assertEquals } from "@std/assert";
import { loadSqlReader } from "../../../cli/grants/sql_access.ts";

const readSqlTables = await loadSqlReader();

const CASES: [sql: string, tables: string[], hasUnknownTable?: boolean][] = [
  ["SELECT * FROM notes", ["notes SELECT"]],
  ["select n.id from public.notes n, app.users u where n.a = $1", [
    "public.notes SELECT",
    "app.users SELECT",
  ]],
  [`SELECT 1 FROM "Odd ""Name" AS x LEFT JOIN ONLY b USING (id)`, [`Odd "Name SELECT`, "b SELECT"]],
  ["INSERT INTO notes (id) VALUES ($1)", ["notes INSERT"]],
  ["INSERT INTO notes (id) VALUES (1) RETURNING id", ["notes INSERT,SELECT"]],
  ["INSERT INTO notes VALUES (1) ON CONFLICT (id) DO NOTHING", ["notes INSERT,SELECT"]],
  ["INSERT INTO notes VALUES (1) ON CONFLICT DO NOTHING", ["notes INSERT"]],
  ["INSERT INTO a SELECT * FROM b ON CONFLICT (id) DO UPDATE SET x = 1", [
    "a INSERT,SELECT,UPDATE",
    "b SELECT",
  ]],
  ["UPDATE notes SET a = 1", ["notes UPDATE"]],
  ["UPDATE ONLY notes SET a = 1 WHERE id = $1", ["notes UPDATE,SELECT"]],
  ["UPDATE notes SET a = b.a FROM b WHERE b.id = notes.id", ["notes UPDATE,SELECT", "b SELECT"]],
  ["DELETE FROM notes", ["notes DELETE"]],
  ["DELETE FROM notes USING b WHERE b.id = notes.id RETURNING 1", [
    "notes DELETE,SELECT",
    "b SELECT",
  ]],
  ["SELECT * FROM notes FOR UPDATE", ["notes SELECT,UPDATE"]],
  ["SELECT * FROM a JOIN b ON b.id = a.b FOR UPDATE", ["a SELECT,UPDATE", "b SELECT,UPDATE"]],
  ["SELECT * FROM a JOIN b ON b.id = a.b FOR UPDATE OF a SKIP LOCKED", [
    "a SELECT,UPDATE",
    "b SELECT",
  ]],
  ['SELECT * FROM app.a x, b AS "Y", c FOR NO KEY UPDATE OF x FOR SHARE OF "Y" NOWAIT', [
    "app.a SELECT,UPDATE",
    "b SELECT,UPDATE",
    "c SELECT",
  ]],
  ["SELECT * FROM a b JOIN b c USING (id) FOR UPDATE OF b", ["a SELECT,UPDATE", "b SELECT"]],
  ["SELECT * FROM (SELECT * FROM a) s JOIN b ON true FOR UPDATE OF s", [
    "a SELECT,UPDATE",
    "b SELECT",
  ]],
  ["SELECT * FROM a WHERE id IN (SELECT id FROM b) FOR UPDATE", ["a SELECT,UPDATE", "b SELECT"]],
  ["WITH x AS (SELECT * FROM a) SELECT * FROM b FOR UPDATE", ["a SELECT", "b SELECT,UPDATE"]],
  ["SELECT * FROM (a JOIN b ON true) FOR UPDATE OF b", ["a SELECT", "b SELECT,UPDATE"]],
  ["SELECT * FROM a, b FOR KEY SHARE OF a, b", ["a SELECT,UPDATE", "b SELECT,UPDATE"]],
  ["SELECT * FROM notes FOR NO KEY UPDATE SKIP LOCKED", ["notes SELECT,UPDATE"]],
  ["WITH x AS (SELECT * FROM a), y AS (DELETE FROM b WHERE 1 = 1) SELECT * FROM x", [
    "a SELECT",
    "b DELETE,SELECT",
  ]],
  ["SELECT extract(day FROM at), trim(both 'x' FROM name) FROM notes", ["notes SELECT"]],
  ["SELECT a IS DISTINCT FROM b FROM notes", ["notes SELECT"]],
  ["SELECT * FROM generate_series(1, 2) AS s(n)", []],
  ["SELECT * FROM pg_class, information_schema.tables", []],
  ["SELECT 'FROM secrets' -- FROM comments\n/* FROM blocks */", []],
  ["SELECT 1; DELETE FROM b", ["b DELETE"]],
  ["SELECT * FROM $1", [], true],
  ["INSERT INTO $1 (id) VALUES (1)", [], true],
  ["UPDATE $1 SET a = 1", [], true],
  ["SELECT extract(day FROM $1)", []],
  ["SELECT 1 WHERE a IS DISTINCT FROM $1", []],
  ["SELECT substring(name FROM $1 FOR 3) FROM notes", ["notes SELECT"]],
  ["SELECT * FROM", [], true],
  ["DO $$ BEGIN IF x THEN DELETE FROM notes; END IF; END $$", ["notes DELETE"]],
  ["DO LANGUAGE plpgsql $a$ BEGIN EXECUTE 'x'; END $a$", [], true],
  ["DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM a) THEN x := (SELECT n FROM b); END IF; END $$", [
    "a SELECT",
    "b SELECT",
  ]],
  ["DO $$ BEGIN FOR r IN SELECT * FROM a LOOP DELETE FROM b; END LOOP; END $$", [
    "a SELECT",
    "b DELETE",
  ]],
  ["LOCK TABLE notes, app.tags", ["notes UPDATE", "app.tags UPDATE"]],
  ["LOCK notes IN ACCESS SHARE MODE", ["notes SELECT"]],
  ["TABLE notes", ["notes SELECT"]],
  ["MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE", [
    "a SELECT,INSERT,UPDATE,DELETE",
    "b SELECT",
  ]],
];

for (const [sql, tables, hasUnknownTable = false] of CASES) {
  Deno.test(`loadSqlReader() reads ${JSON.stringify(sql)}`, () => {
    const read = readSqlTables(sql);
    const printed = read.tables.map(({ table: { schema, name }, operations }) =>
      `${schema === undefined ? "" : `${schema}.`}${name} ${operations.join(",")}`
    );
    assertEquals([printed.sort(), read.hasUnknownTable], [[...tables].sort(), hasUnknownTable]);
  });
}

Deno.test("loadSqlReader() lists statements that need the owner", () => {
  const { tables, ownerStatements } = readSqlTables(
    "TRUNCATE a, app.b; REFRESH MATERIALIZED VIEW c",
  );
  assertEquals([tables, ownerStatements], [[], ["TRUNCATE a", "TRUNCATE b", "REFRESH of c"]]);
});
