import { assertEquals } from "@std/assert";
import { type SqlTokenKind, tokenize } from "../../sql/tokenize.ts";
import { scan } from "../distsql/translate/oracle.ts";

/** Texts with the tokens that are not spaces. */
const CASES: [string, string, [SqlTokenKind, string][]][] = [
  ["a doubled quote", "'it''s'", [["string", "'it''s'"]]],
  ["a backslash in a plain string", String.raw`'\' x`, [["string", String.raw`'\'`], [
    "word",
    "x",
  ]]],
  ["a backslash in E''", String.raw`E'\'' x`, [["string", String.raw`E'\''`], ["word", "x"]]],
  ["U&'' with UESCAPE", "U&'d!0061' UESCAPE '!'", [["string", "U&'d!0061'"], ["word", "UESCAPE"], [
    "string",
    "'!'",
  ]]],
  ["a string continued on the next line", "'a'\n  'b'", [["string", "'a'\n  'b'"]]],
  ["an escape string continued", "E'a' -- c\n '\\'b'", [["string", "E'a' -- c\n '\\'b'"]]],
  ["two strings on a line", "'a' 'b'", [["string", "'a'"], ["string", "'b'"]]],
  ["bit and national strings", "B'1' x'f' N'n'", [["string", "B'1'"], ["string", "x'f'"], [
    "string",
    "N'n'",
  ]]],
  ["a nested comment", "/* a /* b */ ; */x", [["block_comment", "/* a /* b */ ; */"], [
    "word",
    "x",
  ]]],
  ["a line comment", "-- a; b\r\nx", [["line_comment", "-- a; b"], ["word", "x"]]],
  ["a comment after an operator", "a+--b\nc", [["word", "a"], ["symbol", "+"], [
    "line_comment",
    "--b",
  ], ["word", "c"]]],
  ["an anonymous dollar quote", "$$ ' ; $a$ $$", [["string", "$$ ' ; $a$ $$"]]],
  ["a tagged dollar quote", "$fn$ $$ $x$ $fn$", [["string", "$fn$ $$ $x$ $fn$"]]],
  ["a dollar in a name", "a$b$c", [["word", "a$b$c"]]],
  ["a parameter", "$1::int", [["parameter", "$1"], ["symbol", "::"], ["word", "int"]]],
  ["a quoted name with a doubled quote", '"a""; b"', [["quoted", '"a""; b"']]],
  ["a U& name", 'U&"d\\0061"', [["quoted", 'U&"d\\0061"']]],
  ["a name outside ASCII", "größe", [["word", "größe"]]],
  ["numbers", "1.5e-3 .5 0x1F 1_000", [["number", "1.5e-3"], ["number", ".5"], ["number", "0x1F"], [
    "number",
    "1_000",
  ]]],
  ["a hexadecimal number less one", "0x1e-1", [["number", "0x1e"], ["symbol", "-"], [
    "number",
    "1",
  ]]],
  ["a range of numbers", "1..2", [["number", "1"], ["symbol", "."], ["number", ".2"]]],
  ["a psql command", "\\restrict abc\nSELECT", [["psql", "\\restrict abc"], ["word", "SELECT"]]],
  ["an unterminated string", "x 'a;", [["word", "x"], ["string", "'a;"]]],
  ["an unterminated comment", "x /* a", [["word", "x"], ["block_comment", "/* a"]]],
  ["an unterminated dollar quote", "$a$ x", [["string", "$a$ x"]]],
  ["a byte order mark", "\ufeffSELECT", [["word", "SELECT"]]],
];

for (const [name, sql, expected] of CASES) {
  Deno.test(`tokenize() reads ${name}`, () => {
    const tokens = tokenize(sql);
    assertEquals(
      tokens.filter((token) => token.kind !== "space").map(({ kind, text }) => [kind, text]),
      expected,
    );
    assertEquals(tokens.map((token) => token.text).join(""), sql);
  });
}

Deno.test("tokenize() takes the rows after COPY FROM stdin as one token when they end with a backslash and a dot", () => {
  const tokens = tokenize("COPY t (a) FROM stdin;\n1\tit's\n\\.\nSELECT 1;");
  assertEquals(tokens.filter((token) => token.kind === "psql").map((token) => token.text), [
    "\n1\tit's\n\\.",
  ]);
  assertEquals(tokens.filter((token) => token.kind === "string").length, 0);
});

Deno.test("tokenize() cuts strings, names and comments where PostgreSQL's scanner does", () => {
  const sql = String
    .raw`SELECT E'a\'b', U&"x""y", $q$ '; $$ $q$, 'it''s' /* a /* b */ */ FROM "a;b" -- ;
WHERE a.b::text <> B'01' AND c = 'x'`;
  const kinds: SqlTokenKind[] = ["string", "quoted", "word", "line_comment", "block_comment"];
  const ours = tokenize(sql).filter((token) => kinds.includes(token.kind)).map((token) =>
    token.text
  );
  assertEquals(ours, scan(sql).filter((text) => /^(?:[\w"'$]|--|\/\*)/.test(text)));
});

const LONG: [string, string][] = [
  ["quotes", "'"],
  ["doubled quotes", "''"],
  ["opened comments", "/*"],
  ["dollar signs", "$"],
  ["dollar tags", "$a"],
  ["dollar quotes that are never closed", "$a$ $b"],
  ["parentheses", "("],
  ["COPY without rows", "COPY t FROM stdin;"],
  ["strings and line breaks", "'a'\n--c\n"],
  ["exponents", "1e-"],
  ["backslashes", "E'\\"],
];

for (const [name, piece] of LONG) {
  // A scan that is not linear would be at this for minutes: 1 MB is 50 times the largest file that people write.
  Deno.test(`tokenize() gets through 1 MB when it is full of ${name}`, () => {
    const sql = piece.repeat(Math.ceil(1_000_000 / piece.length));
    assertEquals(tokenize(sql).map((token) => token.text).join("") === sql, true);
  });
}
