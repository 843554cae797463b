import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  RecreationRequiredError,
  UnsupportedStatementError,
} from "../../../distsql/translate/context/errors.ts";
import { getIncompatibility } from "../../../distsql/registry/incompatibilities.ts";
import { sanitizeForDistSql, translateForDistSql } from "../../../distsql/translate/sanitize.ts";
import { STATEMENT_BREAKPOINT } from "../../../sql/statement.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { RECREATED, REFUSED, STRIPPED, TRANSLATED, UNCHANGED } from "./corpus.ts";
import { parse, protections, refused, withoutAsync } from "./oracle.ts";

for (const [name, [sql, expected]] of Object.entries(TRANSLATED)) {
  Deno.test(`translateForDistSql() rewrites ${name}`, () => {
    const { statements, refusals } = translateForDistSql(sql);
    assertEquals(refusals, []);
    assertEquals(statements.map((statement) => statement.sql), [...expected]);
  });

  Deno.test(`sanitizeForDistSql() writes what the provider takes when given ${name}`, () => {
    assertEquals(
      parse(sql.replace(/^\ufeff/, "")).length > 0,
      true,
      "the source must be PostgreSQL's",
    );
    const text = sanitizeForDistSql(sql)!;
    const pieces = text.split(STATEMENT_BREAKPOINT);
    assertEquals(pieces.flatMap((piece) => refused(piece)), []);
    assertEquals(sanitizeForDistSql(text), text, "translated again");
    for (const piece of pieces) {
      assertEquals(sanitizeForDistSql(piece), piece.trim(), "translated again, one by one");
    }
  });
}

Deno.test("sanitizeForDistSql() loses no constraint when it rewrites", () => {
  for (const [name, [sql]] of Object.entries(TRANSLATED)) {
    if (/guarded/.test(name)) continue; // PostgreSQL's parser does not look into the block
    const kept = (text: string): string[] =>
      text.split(STATEMENT_BREAKPOINT).flatMap((piece) => protections(piece))
        .map((kind) => kind === "CONSTR_NOTNULL" ? "CONSTR_CHECK" : kind).sort();
    const written = sanitizeForDistSql(sql)!.split(STATEMENT_BREAKPOINT).map(withoutAsync).join(
      STATEMENT_BREAKPOINT,
    );
    assertEquals(kept(written), kept(sql.replace(/^\ufeff/, "")), name);
  }
});

for (const sql of UNCHANGED) {
  Deno.test(`sanitizeForDistSql() keeps ${sql.slice(0, 70)}`, () => {
    assertEquals(sanitizeForDistSql(sql), sql);
  });
}

for (const sql of STRIPPED) {
  Deno.test(`sanitizeForDistSql() gives null for ${JSON.stringify(sql)}`, () => {
    assertEquals(sanitizeForDistSql(sql), null);
    assertEquals(translateForDistSql(sql).action, "Strip");
  });
}

for (const [sql, id] of REFUSED) {
  Deno.test(`sanitizeForDistSql() refuses ${sql.split("\n")[0].slice(0, 70)}`, () => {
    const error = assertThrows(() => sanitizeForDistSql(sql), UnsupportedStatementError);
    assertEquals([error.code, error.id, error.advice], [
      "UNSUPPORTED_STATEMENT",
      id,
      getIncompatibility(id)!.advice,
    ]);
    assertStringIncludes(error.message, error.advice);
    assertEquals(translateForDistSql(sql).action, getIncompatibility(id)!.action);
  });
}

for (const [sql, id] of RECREATED) {
  Deno.test(`sanitizeForDistSql() asks for a new table when given ${sql.slice(0, 70)}`, () => {
    const error = assertThrows(() => sanitizeForDistSql(sql), RecreationRequiredError);
    assertEquals([error.code, error.id], ["RECREATION_REQUIRED", id]);
    assertEquals(error.table, sql.includes("public.t") ? "public.t" : "t");
    assertEquals(translateForDistSql(sql).statements, []);
  });
}

Deno.test("sanitizeForDistSql() never shows a literal in an error", () => {
  const marker = "s3cret-marker";
  const texts = [
    `CREATE ROLE r WITH PASSWORD '${marker}'`,
    `CREATE USER r PASSWORD '${marker}'`,
    `CREATE TABLE t (a text[] DEFAULT '{${marker}}')`,
    `CREATE TABLE t (a money DEFAULT '${marker}' CHECK (a <> '${marker}'))`,
    `ALTER TABLE t ALTER a TYPE text USING '${marker}'`,
    `MERGE INTO t USING s ON a = '${marker}' WHEN MATCHED THEN DO NOTHING`,
    `DO $$ BEGIN PERFORM '${marker}'; END $$`,
    `\\echo ${marker}`,
    `COPY t FROM '/tmp/${marker}'`,
    `NOTIFY x, '${marker}'`,
  ];
  for (const sql of texts) {
    const error = assertThrows(() => sanitizeForDistSql(sql)) as UnsupportedStatementError;
    assertEquals(
      JSON.stringify([error.message, error.details, error.stack]).includes(marker),
      false,
      error.message,
    );
  }
});

Deno.test("sanitizeForDistSql() ends each of several statements with a semicolon, so that the text runs as a whole", () => {
  assertEquals(
    sanitizeForDistSql("SELECT 1 -- one\n--> statement-breakpoint\nSELECT 2"),
    "SELECT 1; -- one\n--> statement-breakpoint\nSELECT 2;",
  );
});

Deno.test("sanitizeForDistSql() throws the refusal before the recreation when a text needs both", () => {
  const sql = "ALTER TABLE t ALTER a TYPE text; CREATE TABLE u (a text[])";
  assertThrows(() => sanitizeForDistSql(sql), UnsupportedStatementError);
  assertEquals(translateForDistSql(sql).refusals.map((refusal) => refusal.id), [
    "alter-column-type",
    "type-array",
  ]);
});

Deno.test("translateForDistSql() names the jobs, the batches and what the source ignored", () => {
  const { statements } = translateForDistSql(`
    ALTER TABLE "public"."t" ADD COLUMN "a" text DEFAULT 'x' NOT NULL;
    CREATE INDEX "i" ON "t" ("a");
    CREATE INDEX ON t (a);
    TRUNCATE "u";
    DO $$ BEGIN ALTER TABLE "t" ADD CONSTRAINT "c" UNIQUE ("a"); EXCEPTION WHEN duplicate_object OR duplicate_table THEN null; END $$;`);
  assertEquals(statements.filter((one) => one.job).map((one) => one.job), [
    { kind: "constraint", table: '"public"."t"', name: '"t_a_not_null"' },
    { kind: "index", table: '"t"', name: '"i"' },
    { kind: "index", table: "t", name: undefined },
    { kind: "index", table: '"t"', name: '"c"' },
  ]);
  assertEquals(
    statements.filter(({ sql }) => /^(?:UPDATE|DELETE)/.test(sql)).map(({ sql }) => sql),
    [`UPDATE "public"."t" SET "a" = 'x' WHERE "a" IS NULL;`, 'DELETE FROM "u";'],
  );
  assertEquals(statements.filter((one) => one.ignores).map((one) => one.ignores), [[
    "42710",
    "42P07",
  ], [
    "42710",
    "42P07",
  ]]);
});

const WARNED: [string, string[]][] = [
  [`GRANT USAGE ON SCHEMA public TO r`, []],
  [`GRANT CREATE ON SCHEMA public TO r`, ["grant-schema-public"]],
  [`REVOKE CREATE ON SCHEMA public FROM PUBLIC`, ["grant-schema-public"]],
  [`SET TRANSACTION ISOLATION LEVEL READ COMMITTED`, ["set-transaction"]],
  [`TRUNCATE t`, ["truncate"]],
  [`DROP AGGREGATE a (int)`, ["drop-object-unsupported"]],
  [`BEGIN; SELECT 1; COMMIT`, ["transaction-block"]],
  [`CREATE INDEX i ON t USING brin (a)`, ["index-method"]],
  [`CREATE INDEX i ON t (a, b DESC)`, ["index-sort-order"]],
  [`CREATE INDEX i ON t (a DESC, b DESC)`, []],
  [`CREATE INDEX i ON t (date_trunc('day', at))`, ["index-expression"]],
  [`CREATE TABLE t (id uuid PRIMARY KEY, a numeric)`, ["numeric-precision"]],
  [`CREATE TABLE t (id uuid PRIMARY KEY, a text COLLATE "C")`, []],
  [`CREATE TABLE t (id uuid PRIMARY KEY, a text COLLATE "de_DE")`, ["collation"]],
  [`CREATE TABLE t (id serial PRIMARY KEY)`, ["type-serial"]],
  [`CREATE TABLE t (id uuid PRIMARY KEY NOT DEFERRABLE)`, []],
  [`ALTER TABLE t ADD COLUMN a uuid NOT NULL`, ["add-column-constraint"]],
  [`ALTER TABLE t ADD COLUMN a timestamptz DEFAULT now() NOT NULL`, []],
  [`ALTER TABLE t ADD COLUMN a timestamptz DEFAULT clock_timestamp() NOT NULL`, [
    "add-column-constraint",
  ]],
  [`ALTER TABLE t ADD COLUMN a int DEFAULT 1 NOT NULL`, []],
  [`ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID`, ["constraint-unvalidated"]],
  [
    `ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT c`,
    [],
  ],
  [`SELECT 1 FROM t FOR UPDATE SKIP LOCKED`, ["skip-locked"]],
  [`UPDATE t SET a = 1`, ["whole-table-change"]],
  [`UPDATE t SET a = (SELECT 1 WHERE true) WHERE b = 1`, []],
];

for (const [sql, expected] of WARNED) {
  Deno.test(`translateForDistSql() warns of ${expected.join(" and ") || "nothing"} when given ${sql}`, () => {
    assertEquals(translateForDistSql(sql).warnings.map((warning) => warning.id), expected);
  });
}

Deno.test("translateForDistSql() turns enums to text with a CHECK of the labels when asked to", () => {
  const first = translateForDistSql(
    `CREATE TYPE "public"."mood" AS ENUM('sad', 'it''s ok');--> statement-breakpoint
CREATE TABLE "p" ("id" uuid PRIMARY KEY, "m" "public"."mood" DEFAULT 'sad'::"public"."mood" NOT NULL);`,
    { enums: "check" },
  );
  assertEquals(first.statements.map((statement) => statement.sql), [
    `CREATE TABLE "p" ("id" uuid PRIMARY KEY, "m" text DEFAULT 'sad'::text NOT NULL CONSTRAINT "p_m_enum" CHECK ("m" IN ('sad', 'it''s ok')));`,
  ]);
  const later = translateForDistSql(`ALTER TABLE "p" ADD COLUMN "n" "mood";`, {
    enums: "check",
    declared: first.declared,
  });
  assertEquals(later.statements.map((statement) => statement.sql), [
    `ALTER TABLE "p" ADD COLUMN "n" text;`,
    `ALTER TABLE "p" ADD CONSTRAINT "p_n_enum" CHECK ("n" IN ('sad', 'it''s ok')) NOT VALID;`,
    `ALTER TABLE ASYNC "p" VALIDATE CONSTRAINT "p_n_enum";`,
  ]);
});

Deno.test("translateForDistSql() takes a column of a domain when it knows the domain", () => {
  const created = translateForDistSql(
    "CREATE DOMAIN app.email AS text; CREATE TABLE t (id uuid PRIMARY KEY, a app.email)",
  );
  assertEquals(created.refusals, []);
  const { declared } = created;
  const later = "CREATE TABLE u (a app.email)";
  assertEquals(sanitizeForDistSql(later, { declared }), later);
  assertThrows(() => sanitizeForDistSql("CREATE TABLE u (a email)", { declared }), Error, "email");
});

Deno.test("sanitizeForDistSql() follows the options for CACHE, numeric and row security", () => {
  const options = {
    identityCache: 65536,
    numeric: { precision: 30, scale: 10 },
    dropRowSecurity: true,
  };
  assertEquals(
    sanitizeForDistSql("CREATE TABLE t (id serial PRIMARY KEY, a numeric, b numeric(4))", options),
    "CREATE TABLE t (id bigint GENERATED BY DEFAULT AS IDENTITY (CACHE 65536) PRIMARY KEY, a numeric(30, 10), b numeric(4))",
  );
  assertEquals(sanitizeForDistSql("ALTER TABLE t ENABLE ROW LEVEL SECURITY", options), null);
  assertEquals(translateForDistSql("CREATE POLICY p ON t", options).warnings.map((one) => one.id), [
    "row-security-dropped",
  ]);
});

for (
  const [options, message] of [
    [{ asOf: "August" }, "asOf is August"],
    [{ asOf: new Date(NaN) }, "asOf is Invalid Date"],
    [{ identityCache: 20 }, "identityCache is 20"],
    [{ numeric: { precision: 0, scale: 0 } }, "numeric.precision is 0"],
    [{ numeric: { precision: 4, scale: 5 } }, "numeric.scale is 5"],
    [{ enums: "text" as "check" }, "enums is text"],
  ] as const
) {
  Deno.test(`sanitizeForDistSql() throws when ${message}`, () => {
    assertThrows(() => sanitizeForDistSql("SELECT 1", options), ConfigurationError, message);
  });
}

Deno.test("sanitizeForDistSql() gets through 1 MB of one statement and of many", () => {
  const rows = Array.from({ length: 60_000 }, (_, i) => `(${i}, 'value ${i}')`).join(",\n");
  const insert = `INSERT INTO t (a, b) VALUES ${rows};`;
  assertEquals(sanitizeForDistSql(insert), insert);
  const statements = "ALTER TABLE t ADD COLUMN a int DEFAULT 1 NOT NULL;\n".repeat(20_000);
  assertEquals(translateForDistSql(statements).statements.length, 100_000);
  const deep = `SELECT ${"(".repeat(400_000)}1${")".repeat(400_000)}`;
  assertEquals(sanitizeForDistSql(deep), deep);
});

Deno.test("translateForDistSql() builds no index for a unique constraint that a DO block leaves out", () => {
  const indexes = (existing: string, ignored: string): number =>
    translateForDistSql(`
      CREATE TABLE t (id int PRIMARY KEY, b int, CONSTRAINT k ${existing});
      DO $$ BEGIN ALTER TABLE t ADD CONSTRAINT k UNIQUE (b); EXCEPTION WHEN ${ignored} THEN null; END $$;`)
      .statements.filter(({ sql }) => sql.includes("UNIQUE INDEX")).length;
  assertEquals(indexes("CHECK (b > 0)", "duplicate_object"), 0);
  // PostgreSQL fails here, and so does the server
  assertEquals(indexes("CHECK (b > 0)", "duplicate_table"), 1);
  assertEquals(indexes("UNIQUE (b)", "duplicate_object"), 1);
});

Deno.test("sanitizeForDistSql() refuses a DO block around ADD COLUMN with a named constraint, which PostgreSQL undoes together", () => {
  const block = (column: string) =>
    `DO $$ BEGIN ALTER TABLE t ADD COLUMN ${column}; EXCEPTION WHEN duplicate_table THEN null; END $$;`;
  for (const constraint of ["CONSTRAINT k UNIQUE", "DEFAULT 1 CONSTRAINT k CHECK (c > 0)"]) {
    assertThrows(
      () => sanitizeForDistSql(block(`c int ${constraint}`)),
      Error,
      "ADD COLUMN with a named constraint",
    );
  }
  assertEquals(translateForDistSql(block("c int DEFAULT 1 NOT NULL")).statements.length, 5);
});
