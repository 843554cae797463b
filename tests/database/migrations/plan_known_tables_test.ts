import { assertEquals } from "@std/assert";
import { translateSources } from "../../../distsql/findings/translate_sources.ts";

const TABLES = `
  CREATE TABLE notes (id int PRIMARY KEY, team int, title text, data jsonb, price numeric(10, 2));
  CREATE TABLE lines (a int, b int, note int REFERENCES notes (id), CONSTRAINT "lines identity" PRIMARY KEY (a, b));
  CREATE DOMAIN app_json AS jsonb;
  CREATE DOMAIN rating AS int DEFAULT 3;
  CREATE DOMAIN short AS text CHECK (length(VALUE) < 9);
`;

/** What planning says of statements after {@link TABLES}. */
function plan(sql: string): string[] {
  const choices = { enums: "check" } as const;
  const sources = [{ name: "0001_tables.sql", sql: TABLES }, { name: "0002_change.sql", sql }];
  return translateSources(sources, choices)[1].findings.map(({ severity, rule }) =>
    `${severity} ${rule}`
  );
}

const remade = "warning alter-column-type";
const rekeyed = "warning primary-key-change";

const cases: [sql: string, findings: string[]][] = [
  // what the primary key is called is read, not guessed
  ['ALTER TABLE lines DROP CONSTRAINT "lines identity"', [rekeyed]],
  [
    "ALTER TABLE lines ADD CONSTRAINT lines_note_pk UNIQUE (note); ALTER TABLE lines DROP CONSTRAINT lines_note_pk",
    [],
  ],
  ["ALTER TABLE elsewhere DROP CONSTRAINT elsewhere_pkey", [rekeyed]],
  ["ALTER TABLE lines DROP COLUMN b", [rekeyed]],
  ["ALTER TABLE notes DROP COLUMN title", ["warning drop-column"]],
  // json in keys
  ["CREATE INDEX ON notes (data)", ["error index-json-key"]],
  ["CREATE INDEX i ON notes ((data ->> 'a'))", []],
  ["ALTER TABLE notes ADD CONSTRAINT u UNIQUE (team, data)", ["error index-json-key"]],
  ["ALTER TABLE notes ADD COLUMN more app_json; CREATE INDEX i ON notes (more)", [
    "error index-json-key",
  ]],
  [
    "CREATE INDEX i ON notes (title); ALTER TABLE notes ALTER title TYPE jsonb USING to_jsonb(title)",
    [
      "error index-json-key",
      remade,
    ],
  ],
  // a change of type has to lead to a type that the provider has
  ["ALTER TABLE notes ALTER title TYPE text[] USING ARRAY[title]", ["error type-array", remade]],
  ["ALTER TABLE notes ALTER title SET DATA TYPE inet USING title::inet", [
    "error type-unsupported",
    remade,
  ]],
  ["ALTER TABLE notes ALTER title TYPE citext", ["error type-extension", remade]],
  ["ALTER TABLE notes ALTER title TYPE short", [remade]],
  // what keeps a table from being made again
  ["CREATE VIEW v AS SELECT title FROM notes; ALTER TABLE notes ADD COLUMN n serial", [
    "error recreate-view",
    "warning add-serial-column",
  ]],
  ["CREATE VIEW v AS SELECT a FROM lines; ALTER TABLE lines DROP COLUMN a CASCADE", [
    "error recreate-view",
    rekeyed,
  ]],
  ["ALTER TABLE notes ALTER id TYPE numeric(10, 0)", ["error recreation-blocked", remade]],
  ["ALTER TABLE notes ALTER id TYPE bigint", [remade]],
  ["ALTER TABLE notes DROP CONSTRAINT notes_pkey", ["error recreation-blocked", rekeyed]],
  ["ALTER TABLE notes DROP CONSTRAINT notes_pkey CASCADE", [rekeyed]],
  ["CREATE STATISTICS s ON team, title FROM notes; ALTER TABLE notes ALTER price TYPE text", [
    "error recreation-blocked",
    remade,
  ]],
  [
    "CREATE STATISTICS s ON team, title FROM notes; DROP STATISTICS s; ALTER TABLE notes ALTER price TYPE text",
    [
      remade,
    ],
  ],
  // the rows that are there would get the domain's default, and no update of NULLs would reach them
  ["ALTER TABLE notes ADD COLUMN stars rating DEFAULT 5", ["warning add-column-recreate"]],
  ["ALTER TABLE notes ADD COLUMN stars rating", ["warning add-column-recreate"]],
  ["ALTER DOMAIN rating DROP DEFAULT; ALTER TABLE notes ADD COLUMN stars rating DEFAULT 5", []],
  ["ALTER DOMAIN short RENAME TO brief; ALTER TABLE notes ADD COLUMN name brief DEFAULT 'x'", []],
  ["ALTER TABLE notes ADD COLUMN name short DEFAULT 'x'", []],
  // types and functions that nothing declares
  ["INSERT INTO notes (id, title) VALUES (1, 'x'::citext)", ["error type-extension"]],
  ["UPDATE notes SET title = CAST(team AS mood) WHERE id = 1", ["error type-user-defined"]],
  [
    "CREATE VIEW v AS SELECT title::short, data::app_json, '{1}'::int[], now()::pg_catalog.date FROM notes",
    [],
  ],
  ["SELECT NULL::notes, 'notes'::regclass, '10.0.0.1'::inet, CAST('1' AS double precision)", []],
  ["ALTER TABLE notes ALTER COLUMN title SET DEFAULT encode(gen_random_bytes(8), 'hex')", [
    "error extension-function",
  ]],
  ["SELECT ST_Distance(a, b) FROM lines", ["error extension-function"]],
];
for (const [sql, findings] of cases) {
  Deno.test(`planning finds ${findings.join(", ") || "nothing"} in ${sql}`, () =>
    assertEquals(plan(sql), findings));
}

Deno.test("a table that is recreated says so with the name of the blocking object", () => {
  const sql = "ALTER TABLE notes ALTER id TYPE numeric(10, 0)";
  const sources = [{ name: "a.sql", sql: TABLES }, { name: "b.sql", sql }];
  const [found] = translateSources(sources, {})[1].findings;
  assertEquals(
    found.message,
    "ALTER TABLE notes: the table cannot be recreated: notes: lines_note_fkey of lines references id, whose type changes " +
      "from integer to numeric(10,0): drop the constraint first, change both columns, and add it again",
  );
});
