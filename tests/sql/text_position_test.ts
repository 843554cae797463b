import { assertEquals } from "@std/assert";
import { splitStatements } from "../../sql/statement.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { createLocator, findFirstWord } from "../../sql/text_position.ts";

/** Where each statement of a text begins, as `line:column`. */
function places(sql: string): string[] {
  const locate = createLocator(sql);
  return splitStatements(sql).map((statement) => {
    const { line, column } = locate(findFirstWord(statement));
    return `${line}:${column}`;
  });
}

Deno.test("createLocator() counts lines and characters as editors do", () => {
  const cases: [sql: string, expected: string[]][] = [
    ["SELECT 1", ["1:1"]],
    ["SELECT 1; SELECT 2", ["1:1", "1:11"]],
    ["\n\n  SELECT 1;\n\tSELECT 2", ["3:3", "4:2"]],
    ["SELECT 1;\r\nSELECT 2;\r\n\r\n SELECT 3", ["1:1", "2:1", "4:2"]],
    ["SELECT 1;\rSELECT 2", ["1:1", "2:1"]],
    ["-- a comment\nSELECT 1;", ["2:1"]],
    ["/* one /* nested */\ntwo */ SELECT 1; -- end\nSELECT 2", ["2:8", "3:1"]],
    ["SELECT 1;\n--> statement-breakpoint\nSELECT 2;--> statement-breakpoint\r\n\r\nSELECT 3", [
      "1:1",
      "3:1",
      "5:1",
    ]],
    // é is two bytes and one character, 🙂 two code units and one character
    ["SELECT 'é'; SELECT 2", ["1:1", "1:13"]],
    ["/* 🙂🙂 */ SELECT '🙂'; SELECT 2", ["1:10", "1:22"]],
    ["SELECT $a$ ; \n ; $b$ \n $a$; SELECT 2", ["1:1", "3:7"]],
    ["SELECT ';\n''--> statement-breakpoint\n'; SELECT 2", ["1:1", "3:4"]],
    ["DO $$\r\nBEGIN\r\n  NULL;\r\nEND $$;\r\nSELECT 1;", ["1:1", "5:1"]],
  ];
  for (const [sql, expected] of cases) assertEquals(places(sql), expected, JSON.stringify(sql));
});

function summarize(sql: string): string {
  return maskStatement(splitStatements(sql)[0].tokens);
}

Deno.test("summarizeStatement() writes the beginning on one line and no value", () => {
  const cases: [sql: string, expected: string][] = [
    [
      "-- why\nCREATE TABLE a (\n  id int, -- key\n  n numeric(10, 2)\n);",
      "CREATE TABLE a ( id int, n numeric(10, 2) )",
    ],
    ["CREATE ROLE app PASSWORD 's3cr3t';", "CREATE ROLE app PASSWORD '…'"],
    ["INSERT INTO users (email) VALUES ('a@b.example', 1)", "INSERT INTO users (email) VALUES (…"],
    ["UPDATE users SET token = $$s3cr3t$$ WHERE id = 7", "UPDATE users SET token = …"],
    ["SELECT 4111111111111111", "SELECT …"],
    ["\\connect app s3cr3t", "\\connect"],
    [`CREATE TABLE "a\nb" (id int)`, `CREATE TABLE "a b" (id int)`],
    [`CREATE TABLE t (${"🙂".repeat(80)} int)`, `CREATE TABLE t (${"🙂".repeat(55)}…`],
    [
      "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$;",
      "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS '…'",
    ],
  ];
  for (const [sql, expected] of cases) assertEquals(summarize(sql), expected, sql);
});
