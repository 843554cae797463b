/** Enums and serial columns beyond the statement that creates them, and generated names. */
import { assertEquals } from "@std/assert";
import { translateForDistSql } from "../../../distsql/translate/sanitize.ts";

const MOOD =
  "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, m mood DEFAULT 'sad');";
const SERIAL = "CREATE TABLE w (id serial PRIMARY KEY, n int);";

/** The statements that a text adds to those of the text before it, with the labels `enums: "check"`. */
function after(before: string, sql: string): string[] {
  const { declared } = translateForDistSql(before, { enums: "check" });
  const { statements, refusals } = translateForDistSql(sql, { enums: "check", declared });
  return [...refusals.map(({ id }) => id), ...statements.map((statement) => statement.sql)];
}

const CASES:
  readonly (readonly [what: string, before: string, sql: string, expected: readonly string[]])[] = [
    ["ADD VALUE", MOOD, "ALTER TYPE mood ADD VALUE 'happy'", [
      `ALTER TABLE "t" DROP CONSTRAINT "t_m_enum";`,
      `ALTER TABLE "t" ADD CONSTRAINT "t_m_enum" CHECK ("m" IN ('sad', 'ok', 'happy')) NOT VALID;`,
      `ALTER TABLE ASYNC "t" VALIDATE CONSTRAINT "t_m_enum";`,
    ]],
    [
      "ADD VALUE BEFORE, with the type's schema",
      MOOD,
      "ALTER TYPE public.mood ADD VALUE 'so' BEFORE 'ok'",
      [
        `ALTER TABLE "t" DROP CONSTRAINT "t_m_enum";`,
        `ALTER TABLE "t" ADD CONSTRAINT "t_m_enum" CHECK ("m" IN ('sad', 'so', 'ok')) NOT VALID;`,
        `ALTER TABLE ASYNC "t" VALIDATE CONSTRAINT "t_m_enum";`,
      ],
    ],
    [
      "ADD VALUE IF NOT EXISTS of a label that exists",
      MOOD,
      "ALTER TYPE mood ADD VALUE IF NOT EXISTS 'ok'",
      [],
    ],
    ["ADD VALUE of a label that exists", MOOD, "ALTER TYPE mood ADD VALUE 'ok'", [
      "type-enum-change",
    ]],
    ["ADD VALUE after no label", MOOD, "ALTER TYPE mood ADD VALUE 'so' AFTER 'no'", [
      "type-enum-label",
    ]],
    ["RENAME VALUE with rows and a default", MOOD, "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'", [
      `ALTER TABLE "t" DROP CONSTRAINT "t_m_enum";`,
      `ALTER TABLE "t" ALTER COLUMN "m" SET DEFAULT 'low';`,
      `UPDATE "t" SET "m" = 'low' WHERE "m" = 'sad';`,
      `ALTER TABLE "t" ADD CONSTRAINT "t_m_enum" CHECK ("m" IN ('low', 'ok')) NOT VALID;`,
      `ALTER TABLE ASYNC "t" VALIDATE CONSTRAINT "t_m_enum";`,
    ]],
    [
      "RENAME VALUE of a label that the default of a text column still has",
      `${MOOD} ALTER TABLE t ALTER m TYPE text;`,
      "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'",
      [`ALTER TABLE "t" ALTER COLUMN "m" SET DEFAULT 'low';`],
    ],
    [
      "RENAME VALUE of a label that a view uses",
      `${MOOD} CREATE VIEW v AS SELECT id FROM t WHERE m = 'sad';`,
      "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'",
      ["type-enum-change"],
    ],
    ["RENAME TO", MOOD, "ALTER TYPE mood RENAME TO feeling; ALTER TABLE t ADD COLUMN n feeling", [
      "ALTER TABLE t ADD COLUMN n text;",
      "ALTER TABLE t ADD CONSTRAINT t_n_enum CHECK (n IN ('sad', 'ok')) NOT VALID;",
      "ALTER TABLE ASYNC t VALIDATE CONSTRAINT t_n_enum;",
    ]],
    ["CREATE TYPE of a type that exists", MOOD, "CREATE TYPE mood AS ENUM ('other')", [
      "type-enum-change",
    ]],
    [
      "CREATE TYPE of a type that exists in a block that ignores it",
      MOOD,
      "DO $$ BEGIN CREATE TYPE mood AS ENUM ('other'); EXCEPTION WHEN duplicate_object THEN null; END $$; " +
      "ALTER TABLE t ADD COLUMN n mood",
      [
        "ALTER TABLE t ADD COLUMN n text;",
        "ALTER TABLE t ADD CONSTRAINT t_n_enum CHECK (n IN ('sad', 'ok')) NOT VALID;",
        "ALTER TABLE ASYNC t VALIDATE CONSTRAINT t_n_enum;",
      ],
    ],
    [
      "CREATE TYPE in a block that looks for the type",
      MOOD,
      "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'mood') THEN CREATE TYPE mood AS ENUM ('x'); " +
      "END IF; END $$; DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.typname = 'two') THEN " +
      "CREATE TYPE two AS ENUM ('x'); END IF; END $$; CREATE TABLE u (a mood, b two)",
      [
        "CREATE TABLE u (a text CONSTRAINT u_a_enum CHECK (a IN ('sad', 'ok')), b text CONSTRAINT u_b_enum CHECK (b IN ('x')))",
      ],
    ],
    [
      "CREATE TYPE as the text of EXECUTE, in a block that looks for the type in its schema",
      MOOD,
      `DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type t JOIN pg_namespace n ON t.typnamespace = n.oid WHERE ` +
      `t.typname = 'Theme' AND n.nspname = current_schema()) THEN EXECUTE 'CREATE TYPE "Theme" AS ENUM (''dark'', ''light'')'; ` +
      `END IF; END $$; ALTER TABLE t ADD COLUMN IF NOT EXISTS theme "Theme" NOT NULL DEFAULT 'dark'`,
      [
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS theme text;",
        "ALTER TABLE t ALTER COLUMN theme SET DEFAULT 'dark';",
        "UPDATE t SET theme = 'dark' WHERE theme IS NULL;",
        "ALTER TABLE t ADD CONSTRAINT t_theme_not_null CHECK (theme IS NOT NULL) NOT VALID;",
        "ALTER TABLE ASYNC t VALIDATE CONSTRAINT t_theme_not_null;",
        "ALTER TABLE t ADD CONSTRAINT t_theme_enum CHECK (theme IN ('dark', 'light')) NOT VALID;",
        "ALTER TABLE ASYNC t VALIDATE CONSTRAINT t_theme_enum;",
      ],
    ],
    [
      "a block whose condition is true for another reason",
      MOOD,
      "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'y' OR typname = 'mood') " +
      "THEN CREATE TYPE y AS ENUM ('x'); END IF; END $$",
      ["do-block"],
    ],
    [
      "a block that looks for the type in another schema",
      MOOD,
      "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace " +
      "WHERE t.typname = 'y' AND n.nspname = 'other') THEN CREATE TYPE y AS ENUM ('x'); END IF; END $$",
      ["do-block"],
    ],
    [
      "a block that looks for another type",
      MOOD,
      "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'x') " +
      "THEN CREATE TYPE y AS ENUM ('x'); END IF; END $$",
      ["do-block"],
    ],
    [
      "an identity on an integer column of a table which a view reads",
      "CREATE TABLE u (id int PRIMARY KEY, n bigint NOT NULL); CREATE VIEW v AS SELECT id FROM u;",
      "ALTER TABLE IF EXISTS public.u ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (CACHE 1)",
      [
        "recreate-view",
      ],
    ],
    [
      "an identity on a bigint column of a table which a view reads",
      "CREATE TABLE u (id int PRIMARY KEY, n bigint NOT NULL); CREATE VIEW v AS SELECT id FROM u;",
      "ALTER TABLE u ALTER n ADD GENERATED ALWAYS AS IDENTITY (CACHE 1)",
      ["ALTER TABLE u ALTER n ADD GENERATED ALWAYS AS IDENTITY (CACHE 1)"],
    ],
    ["DROP TYPE in use", MOOD, "DROP TYPE mood", ["type-enum-change"]],
    ["DROP TYPE CASCADE", MOOD, "DROP TYPE mood CASCADE", [
      `ALTER TABLE "t" DROP COLUMN "m" CASCADE;`,
    ]],
    [
      "DROP TYPE CASCADE of an enum that only a default is made of",
      `${MOOD} ALTER TABLE t ALTER m TYPE text;`,
      "DROP TYPE mood CASCADE; CREATE TYPE mood AS ENUM ('x'); DROP TYPE mood",
      [`ALTER TABLE "t" ALTER COLUMN "m" DROP DEFAULT;`],
    ],
    ["a type to text", MOOD, "ALTER TABLE t ALTER m TYPE text USING m::text", [
      `ALTER TABLE t DROP CONSTRAINT "t_m_enum";`,
    ]],
    [
      "another enum with an expression",
      `${MOOD} CREATE TYPE two AS ENUM ('x', 'y');`,
      "ALTER TABLE t ALTER m TYPE two USING (CASE m WHEN 'sad' THEN 'x' ELSE 'y' END)::two",
      [
        `ALTER TABLE t DROP CONSTRAINT "t_m_enum";`,
        "UPDATE t SET m = (CASE m WHEN 'sad' THEN 'x' ELSE 'y' END)::text;",
        `ALTER TABLE t ADD CONSTRAINT "t_m_enum" CHECK (m IN ('x', 'y')) NOT VALID;`,
        `ALTER TABLE ASYNC t VALIDATE CONSTRAINT "t_m_enum";`,
      ],
    ],
    [
      "another enum of the same labels",
      `${MOOD} CREATE TYPE two AS ENUM ('ok', 'sad');`,
      "ALTER TABLE t ALTER m TYPE two USING m::text::two",
      [],
    ],
    [
      "casts in a query",
      MOOD,
      `SELECT * FROM t WHERE m = 'ok'::"public"."mood" OR m = ANY (ARRAY['ok']::mood[])`,
      [
        `SELECT * FROM t WHERE m = 'ok'::text OR m = ANY (ARRAY['ok']::text[])`,
      ],
    ],
    [
      "other casts",
      MOOD,
      "INSERT INTO t VALUES (1, CAST('ok' AS mood)), (2, mood 'ok'), (3, mood('ok'))",
      [
        "INSERT INTO t VALUES (1, CAST('ok' AS text)), (2, text 'ok'), (3, ('ok')::text)",
      ],
    ],
    ["a cast of no label", MOOD, "INSERT INTO t VALUES (1, 'no'::mood)", ["type-enum-label"]],
    ["a default that is no label", MOOD, "ALTER TABLE t ALTER m SET DEFAULT 'no'", [
      "type-enum-label",
    ]],
    ["an array of an enum", MOOD, "ALTER TABLE t ADD COLUMN n mood[]", ["type-array"]],
    ["a domain over an enum", MOOD, "CREATE DOMAIN d AS mood", ["type-enum-use"]],
    [
      "a function with an enum",
      MOOD,
      "CREATE FUNCTION f(m mood) RETURNS text LANGUAGE sql AS $$ SELECT 'a' $$",
      [
        "type-enum-use",
      ],
    ],
    [
      "a function that compares an enum",
      MOOD.replace("'ok'", "'ok', 'bad'"),
      "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT count(*)::int FROM t WHERE m > 'ok' $$",
      ["type-enum-unproven"],
    ],
    ["a grant on an enum", MOOD, "GRANT USAGE ON TYPE mood TO worker", []],
    ["LIKE of a table with an enum", MOOD, "CREATE TABLE u (LIKE t)", [
      `CREATE TABLE u (LIKE t, CONSTRAINT "u_m_enum" CHECK ("m" IN ('sad', 'ok')))`,
    ]],
    [
      "DROP DEFAULT and DROP SEQUENCE of a serial column",
      SERIAL,
      "ALTER TABLE w ALTER id DROP DEFAULT; DROP SEQUENCE w_id_seq",
      [
        `ALTER TABLE w ALTER COLUMN "id" DROP IDENTITY;`,
      ],
    ],
    ["DROP DEFAULT of a serial column", SERIAL, "ALTER TABLE w ALTER id DROP DEFAULT", [
      `CREATE SEQUENCE "w_id_kept" CACHE 1;`,
      `SELECT setval('"w_id_kept"', last_value, is_called) FROM "w_id_seq";`,
      `ALTER TABLE w ALTER COLUMN "id" DROP IDENTITY;`,
      `ALTER SEQUENCE "w_id_kept" RENAME TO "w_id_seq";`,
      `ALTER SEQUENCE "w_id_seq" OWNED BY "w"."id";`,
    ]],
    [
      "SET DEFAULT twice in one statement for a serial column",
      SERIAL,
      "ALTER TABLE w ALTER id SET DEFAULT 7, ALTER id SET DEFAULT 4; DROP SEQUENCE w_id_seq",
      [
        `ALTER TABLE w ALTER COLUMN "id" DROP IDENTITY;`,
        "ALTER TABLE w ALTER id SET DEFAULT 7, ALTER id SET DEFAULT 4;",
      ],
    ],
    [
      "SET DEFAULT of a serial column's own sequence",
      SERIAL,
      "ALTER TABLE w ALTER id SET DEFAULT nextval('w_id_seq')",
      [],
    ],
    [
      "OWNED BY of a serial column's own sequence",
      SERIAL,
      "ALTER SEQUENCE w_id_seq OWNED BY w.id",
      [],
    ],
    [
      "an integer type of a serial column",
      SERIAL,
      "ALTER TABLE w ALTER id SET DATA TYPE bigint",
      [],
    ],
    ["a text type of a serial column", SERIAL, "ALTER TABLE w ALTER id SET DATA TYPE text", [
      "serial-sequence",
    ]],
    ["DROP SEQUENCE of a serial column", SERIAL, "DROP SEQUENCE w_id_seq", ["serial-sequence"]],
    ["DROP SEQUENCE CASCADE of a serial column", SERIAL, "DROP SEQUENCE w_id_seq CASCADE", [
      `ALTER TABLE "w" ALTER COLUMN "id" DROP IDENTITY;`,
    ]],
    [
      "DROP IDENTITY IF EXISTS of a serial column",
      SERIAL,
      "ALTER TABLE w ALTER id DROP IDENTITY IF EXISTS",
      [],
    ],
    ["LIKE with the defaults of a serial column", SERIAL, "CREATE TABLE x (LIKE w INCLUDING ALL)", [
      "serial-copy",
    ]],
    [
      "a name that a table of another file has",
      "CREATE TABLE a_b (c int UNIQUE); CREATE TABLE a (b_c int);",
      "ALTER TABLE a ADD UNIQUE (b_c)",
      [
        "CREATE UNIQUE INDEX ASYNC a_b_c_key1 ON a (b_c);",
        "ALTER TABLE a ADD CONSTRAINT a_b_c_key1 UNIQUE USING INDEX a_b_c_key1;",
      ],
    ],
    [
      "a change that recreates a table which a view reads",
      "CREATE TABLE x (id int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM x;",
      "ALTER TABLE x ALTER id TYPE bigint",
      ["alter-column-type", "recreate-view"],
    ],
  ];

for (const [what, before, sql, expected] of CASES) {
  Deno.test(`translateForDistSql() knows earlier texts when it meets ${what}`, () => {
    assertEquals(after(before, sql), expected);
  });
}

Deno.test("translateForDistSql() follows a value's removal in Prisma's way, in one text", () => {
  const sql = `CREATE TYPE "Role" AS ENUM ('USER', 'ADMIN', 'MOD');
CREATE TABLE "User" ("id" TEXT NOT NULL, "role" "Role" NOT NULL DEFAULT 'USER', PRIMARY KEY ("id"));
CREATE TYPE "Role_new" AS ENUM ('USER', 'ADMIN');
ALTER TABLE "User" ALTER COLUMN "role" DROP DEFAULT;
ALTER TABLE "User" ALTER COLUMN "role" TYPE "Role_new" USING ("role"::text::"Role_new");
ALTER TYPE "Role" RENAME TO "Role_old";
ALTER TYPE "Role_new" RENAME TO "Role";
DROP TYPE "Role_old";
ALTER TABLE "User" ALTER COLUMN "role" SET DEFAULT 'USER';`;
  const { statements, declared, refusals } = translateForDistSql(sql, { enums: "check" });
  assertEquals(refusals, []);
  assertEquals(statements.slice(1).map((statement) => statement.sql), [
    `ALTER TABLE "User" ALTER COLUMN "role" DROP DEFAULT;`,
    `ALTER TABLE "User" DROP CONSTRAINT "User_role_enum";`,
    `ALTER TABLE "User" ADD CONSTRAINT "User_role_enum" CHECK ("role" IN ('USER', 'ADMIN')) NOT VALID;`,
    `ALTER TABLE ASYNC "User" VALIDATE CONSTRAINT "User_role_enum";`,
    `ALTER TABLE "User" ALTER COLUMN "role" SET DEFAULT 'USER';`,
  ]);
  assertEquals([...declared.enums.values()].map(({ name, labels }) => [name, labels]), [["Role", [
    "USER",
    "ADMIN",
  ]]]);
});
