import { assertEquals } from "@std/assert";
import { splitStatements, terminateStatement } from "../../sql/statement.ts";

const CASES: [string, string, string[]][] = [
  ["semicolons", "SELECT 1; SELECT 2", ["SELECT 1;", "SELECT 2"]],
  ["breakpoints on a line of their own", "A;\n--> statement-breakpoint\nB", ["A;", "B"]],
  ["breakpoints after a statement", "A;--> statement-breakpoint\r\nB", ["A;", "B"]],
  ["breakpoints without semicolons", "A\n--> statement-breakpoint\nB", ["A", "B"]],
  ["a breakpoint in a literal", "SELECT '--> statement-breakpoint\n;'", [
    "SELECT '--> statement-breakpoint\n;'",
  ]],
  ["a breakpoint in a block comment", "/*\n--> statement-breakpoint */ A", [
    "/*\n--> statement-breakpoint */ A",
  ]],
  ["dollar quotes", "DO $$ a; b; $$; C", ["DO $$ a; b; $$;", "C"]],
  ["comments before statements", "-- a;\nA; -- b\nB; -- c", ["-- a;\nA;", "-- b\nB;"]],
  ["empty statements", ";;A;; ;B;", ["A;", "B;"]],
  ["parentheses", "CREATE RULE r AS ON INSERT TO t DO (A; B); C", [
    "CREATE RULE r AS ON INSERT TO t DO (A; B);",
    "C",
  ]],
  [
    "a function's body",
    "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end; B",
    [
      "create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end;",
      "B",
    ],
  ],
  ["transactions", "BEGIN; A; END; B", ["BEGIN;", "A;", "END;", "B"]],
  ["psql commands", "\\restrict x\nA;\n\\unrestrict x", ["\\restrict x", "A;", "\\unrestrict x"]],
  ["nothing", " \n", []],
];

for (const [name, sql, expected] of CASES) {
  Deno.test(`splitStatements() cuts at the right places given ${name}`, () => {
    const statements = splitStatements(sql);
    assertEquals(statements.map((statement) => statement.text), expected);
    for (const { text, start } of statements) {
      assertEquals(sql.slice(start, start + text.length), text);
    }
  });
}

Deno.test("terminateStatement() puts the semicolon before a comment at the end", () => {
  assertEquals(terminateStatement("SELECT 1 -- one"), "SELECT 1; -- one");
  assertEquals(terminateStatement("SELECT 1; /* one */"), "SELECT 1; /* one */");
});
