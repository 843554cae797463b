import { assertEquals } from "@std/assert";
import { type SqlTokenKind, tokenize } from "../../sql/tokenize.ts";

type Token = [kind: SqlTokenKind, text: string];

/** Texts and their tokens without the spaces; each is one where a scanner that looks one character off goes wrong. */
const CASES: [what: string, sql: string, expected: Token[]][] = [
  ["every operator character in a run", "+-*/<>=~!@#%^&|`?", [["symbol", "+-*/<>=~!@#%^&|`?"]]],
  ["an operator with a dash at its end", "a <- b", [["word", "a"], ["symbol", "<-"], [
    "word",
    "b",
  ]]],
  ["an operator with a dash in it", "a<-*b", [["word", "a"], ["symbol", "<-*"], ["word", "b"]]],
  ["an operator with a slash in it", "a+/b", [["word", "a"], ["symbol", "+/"], ["word", "b"]]],
  ["an operator with a star in it", "a+*b", [["word", "a"], ["symbol", "+*"], ["word", "b"]]],
  ["a slash before a dash", "a/-b", [["word", "a"], ["symbol", "/-"], ["word", "b"]]],
  ["an operator before a line comment", "a+--b", [["word", "a"], ["symbol", "+"], [
    "line_comment",
    "--b",
  ]]],
  ["an operator before a block comment", "a+/*c*/b", [
    ["word", "a"],
    ["symbol", "+"],
    ["block_comment", "/*c*/"],
    ["word", "b"],
  ]],
  ["a dash before a block comment", "a-/*c*/b", [
    ["word", "a"],
    ["symbol", "-"],
    ["block_comment", "/*c*/"],
    ["word", "b"],
  ]],
  ["a star in brackets", "f(*)", [["word", "f"], ["symbol", "("], ["symbol", "*"], [
    "symbol",
    ")",
  ]]],
  ["a block comment that holds nothing", "/**/ x", [["block_comment", "/**/"], ["word", "x"]]],
  ["a colon alone", "[1:2]", [["symbol", "["], ["number", "1"], ["symbol", ":"], ["number", "2"], [
    "symbol",
    "]",
  ]]],
  ["a bracket before two colons", "(a)::b", [
    ["symbol", "("],
    ["word", "a"],
    ["symbol", ")"],
    ["symbol", "::"],
    ["word", "b"],
  ]],
  ["the first character after ASCII", "\u0080 a\u0080 1\u0080", [
    ["word", "\u0080"],
    ["word", "a\u0080"],
    ["number", "1"],
    ["word", "\u0080"],
  ]],
  ["the last character of ASCII", "a\u007f", [["word", "a"], ["symbol", "\u007f"]]],
  ["a string continued after a comment that touches it", "'a'--c\n'b'", [[
    "string",
    "'a'--c\n'b'",
  ]]],
  ["a string after a minus", "'a'\n-'b'", [["string", "'a'"], ["symbol", "-"], ["string", "'b'"]]],
  ["a string after a dash that follows a character", "'a'\n1- 2\n'b'", [
    ["string", "'a'"],
    ["number", "1"],
    ["symbol", "-"],
    ["number", "2"],
    ["string", "'b'"],
  ]],
  ["a parameter before a dollar sign", "$1$2", [["parameter", "$1"], ["parameter", "$2"]]],
  ["a parameter of several digits", "$123", [["parameter", "$123"]]],
  ["a dollar sign alone", "$ 1", [["symbol", "$"], ["number", "1"]]],
  ["a dollar sign before a word", "$a b", [["symbol", "$"], ["word", "a"], ["word", "b"]]],
  ["a dollar quote that holds nothing", "$$$$ x", [["string", "$$$$"], ["word", "x"]]],
  ["an exponent with a plus", "1e+5", [["number", "1e+5"]]],
  ["an exponent without digits", "1e-x", [["number", "1e"], ["symbol", "-"], ["word", "x"]]],
  ["an exponent before another operator", "1e*2", [["number", "1e"], ["symbol", "*"], [
    "number",
    "2",
  ]]],
  ["a difference of numbers", "1-2+3", [
    ["number", "1"],
    ["symbol", "-"],
    ["number", "2"],
    ["symbol", "+"],
    ["number", "3"],
  ]],
  ["a letter that is no exponent", "1d-3", [["number", "1d"], ["symbol", "-"], ["number", "3"]]],
  ["U&'' that holds nothing", "U&'' 'x'", [["string", "U&''"], ["string", "'x'"]]],
  ['U&"" that holds nothing', 'U&"" "x"', [["quoted", 'U&""'], ["quoted", '"x"']]],
  ["a backslash in U&''", String.raw`U&'\' x`, [["string", String.raw`U&'\'`], ["word", "x"]]],
  ['a backslash in U&""', String.raw`U&"\" x`, [["quoted", String.raw`U&"\"`], ["word", "x"]]],
  ["a backslash in a quoted name", String.raw`"\" x`, [["quoted", String.raw`"\"`], ["word", "x"]]],
  ["psql's commands after comments and statements", "-- a\n/* b */ \\c d\n\\e\nx; \\f", [
    ["line_comment", "-- a"],
    ["block_comment", "/* b */"],
    ["psql", "\\c d"],
    ["psql", "\\e"],
    ["word", "x"],
    ["symbol", ";"],
    ["psql", "\\f"],
  ]],
  ["a backslash in a statement", "a \\b", [["word", "a"], ["symbol", "\\"], ["word", "b"]]],
];

for (const [what, sql, expected] of CASES) {
  Deno.test(`tokenize() reads ${what}`, () => {
    const tokens = tokenize(sql);
    assertEquals(
      tokens.filter(({ kind }) => kind !== "space").map(({ kind, text }) => [kind, text]),
      expected,
    );
    assertEquals(tokens.map(({ text }) => text).join(""), sql);
  });
}

Deno.test("tokenize() takes rows for the rows of COPY FROM stdin alone", () => {
  const rows = "\n'a'\n\\.";
  const cases: [start: string, isCopy: boolean][] = [
    ["COPY t FROM stdin;", true],
    ["copy t (a, b) from Stdin;", true],
    ["-- a dump\n/* of t */ COPY t FROM stdin;", true],
    ["SELECT 1; COPY t FROM stdin;", true],
    ["\\restrict x\nCOPY t FROM stdin;", true],
    ["COPY t FROM other;", false], // as long as STDIN
    ["COPY t TO stdout;", false],
    ["SHOW t FROM stdin;", false], // as long as COPY
    ["SELECT stdin;", false],
    ["x; y;", false],
    ["(stdin;", false],
    ["x;", false],
    ["x; COPY t;", false],
    ["COPY t FROM stdin; x;", true], // the rows are looked for right after it
  ];
  for (const [start, isCopy] of cases) {
    const strings = tokenize(start + rows).filter(({ kind }) => kind === "string").length;
    assertEquals(strings, isCopy ? 0 : 1, start);
  }
});

Deno.test("tokenize() takes each COPY's own rows, and goes on after the last of them", () => {
  const sql =
    "COPY a FROM stdin;\n'\n\\.\nCOPY b FROM stdin;\n\\.\nCOPY c FROM stdin;\nSELECT 'x';";
  const tokens = tokenize(sql);
  assertEquals(tokens.filter(({ kind }) => kind === "psql").map(({ text }) => text), [
    "\n'\n\\.",
    "\n\\.",
  ]);
  assertEquals(tokens.filter(({ kind }) => kind === "string").map(({ text }) => text), ["'x'"]);
});

// Looking for the rows of a COPY at every semicolon would be at these for minutes.
for (const [what, end, more] of [["", "", 0], [" and the end of some rows", "\\.", 1]] as const) {
  Deno.test(`tokenize() gets through 1 MB when it is full of semicolons${what}`, () => {
    assertEquals(tokenize(";\n".repeat(500_000) + end).length, 1_000_000 + more);
  });
}
