/** ALTER TABLE through runMigrations on the provider's stand-in, beside PostgreSQL. */
import { assert, assertEquals } from "@std/assert";
import { type DistSqlLab, withDistSqlLab } from "../../support/distsql_lab.ts";
import { readTables } from "./alter/catalog.ts";
import { compare } from "./alter/differential.ts";

const LONG = "a_table_with_a_name_that_leaves_no_room_for_the_names_that_are_made_of_it";
const ROWS = "INSERT INTO t VALUES (1, NULL), (2, 20)";
const T = `CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (20), (5);
  CREATE TABLE t (id int PRIMARY KEY, c int DEFAULT 7); ${ROWS};`;

/** Files by what they try: PostgreSQL runs them one after the other, the stand-in as migrations. */
const CASES: Record<string, readonly string[]> = {
  "ADD COLUMN IF NOT EXISTS with DEFAULT, on a column that is there": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int DEFAULT 5;",
  ],
  "ADD COLUMN IF NOT EXISTS with NOT NULL": [
    T,
    "ALTER TABLE t ADD IF NOT EXISTS c int DEFAULT 5 NOT NULL;",
  ],
  "ADD COLUMN IF NOT EXISTS with REFERENCES": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int REFERENCES p (id);",
  ],
  "ADD COLUMN IF NOT EXISTS with CHECK": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int CHECK (c > 1000);",
  ],
  "ADD COLUMN IF NOT EXISTS with UNIQUE": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int CONSTRAINT u UNIQUE;",
  ],
  "ADD COLUMN IF NOT EXISTS with an identity": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c bigint GENERATED ALWAYS AS IDENTITY;",
  ],
  "ADD COLUMN IF NOT EXISTS with a generated column": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int GENERATED ALWAYS AS (id * 2) STORED;",
  ],
  "ADD COLUMN IF NOT EXISTS with a primary key": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int PRIMARY KEY;",
  ],
  "several ADD COLUMN IF NOT EXISTS, of which one is there": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int DEFAULT 5 NOT NULL, ADD COLUMN IF NOT EXISTS d int DEFAULT 6 NOT NULL " +
    "CHECK (d > 5), ADD COLUMN IF NOT EXISTS e text UNIQUE;",
  ],
  "ADD COLUMN IF NOT EXISTS twice": [
    T,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS d int DEFAULT 5 NOT NULL REFERENCES p (id);",
    "UPDATE t SET d = 1; ALTER TABLE t ADD COLUMN IF NOT EXISTS d int DEFAULT 5 NOT NULL REFERENCES p (id);",
  ],
  "ADD COLUMN IF NOT EXISTS of a name that is cut": [
    T,
    `ALTER TABLE t ADD COLUMN ${LONG} int DEFAULT 1;`,
    `ALTER TABLE t ADD COLUMN IF NOT EXISTS ${LONG} int DEFAULT 2 NOT NULL;`,
  ],
  "ADD COLUMN in a DO block that ignores a column that is there": [
    T,
    "DO $$ BEGIN ALTER TABLE t ADD COLUMN c int DEFAULT 5 NOT NULL; EXCEPTION WHEN duplicate_column THEN null; END $$;",
    "DO $$ BEGIN ALTER TABLE t ADD COLUMN d int DEFAULT 5 NOT NULL; EXCEPTION WHEN duplicate_column THEN null; END $$;",
  ],
  "SET NOT NULL, then DROP NOT NULL": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); INSERT INTO t VALUES (1, 1);",
    "ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER COLUMN c DROP NOT NULL; INSERT INTO t VALUES (2, NULL);",
  ],
  "SET, DROP, SET NOT NULL": [
    "CREATE TABLE t (id int PRIMARY KEY, c int);",
    "ALTER TABLE t ALTER c SET NOT NULL; ALTER TABLE t ALTER c DROP NOT NULL; ALTER TABLE t ALTER c SET NOT NULL;",
  ],
  "SET NOT NULL twice, in one file and in two": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); ALTER TABLE t ALTER c SET NOT NULL; ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER c SET NOT NULL;",
  ],
  "DROP NOT NULL twice, and of a column that takes NULL": [
    "CREATE TABLE t (id int PRIMARY KEY, c int NOT NULL, d int);",
    "ALTER TABLE t ALTER c DROP NOT NULL, ALTER d DROP NOT NULL; ALTER TABLE t ALTER c DROP NOT NULL;",
  ],
  "NOT NULL of CREATE TABLE, dropped and set": [
    "CREATE TABLE t (id int PRIMARY KEY, c int NOT NULL);",
    "ALTER TABLE t ALTER c SET NOT NULL; ALTER TABLE t ALTER c DROP NOT NULL;",
    "ALTER TABLE t ALTER c SET NOT NULL;",
  ],
  "NOT NULL of ADD COLUMN, dropped": [
    T,
    "ALTER TABLE t ADD COLUMN d int CONSTRAINT given NOT NULL DEFAULT 1;",
    "ALTER TABLE t ALTER d DROP NOT NULL; INSERT INTO t (id, d) VALUES (9, NULL);",
  ],
  "NOT NULL of a renamed table and column": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME c TO d;",
    "ALTER TABLE u ALTER d SET NOT NULL; ALTER TABLE u ALTER d DROP NOT NULL; INSERT INTO u VALUES (1, NULL);",
  ],
  "NOT NULL of a column that takes a renamed column's name": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t RENAME c TO d; ALTER TABLE t ADD COLUMN c int; ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER d DROP NOT NULL; INSERT INTO t (id, c) VALUES (1, 1);",
  ],
  "NOT NULL under names that are cut": [
    `CREATE TABLE ${LONG} (id int PRIMARY KEY, ${LONG} int, ${LONG.slice(0, 50)} int);`,
    `ALTER TABLE ${LONG} ALTER ${LONG} SET NOT NULL, ALTER ${LONG.slice(0, 50)} SET NOT NULL;`,
    `ALTER TABLE ${LONG} ALTER ${LONG} DROP NOT NULL;`,
  ],
  "NOT NULL across a table that is recreated": [
    "CREATE TABLE t (id int PRIMARY KEY, c int, d int); ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER d TYPE text; ALTER TABLE t ALTER c DROP NOT NULL;",
    "ALTER TABLE t ALTER d TYPE bigint USING d::bigint, ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER d TYPE text, ALTER c DROP NOT NULL; INSERT INTO t VALUES (1, NULL, 'x');",
  ],
  "DROP NOT NULL and SET NOT NULL in one statement: what is dropped comes first": [
    "CREATE TABLE t (id int PRIMARY KEY, c int NOT NULL); ALTER TABLE t ALTER c SET NOT NULL, ALTER c DROP NOT NULL;",
    "ALTER TABLE t ALTER c SET DEFAULT 5, ALTER c DROP DEFAULT, ALTER c SET NOT NULL;",
  ],
  "a CHECK that somebody wrote stays when NOT NULL is dropped": [
    "CREATE TABLE t (id int PRIMARY KEY, c int);",
    "ALTER TABLE t ADD CONSTRAINT required CHECK (c IS NOT NULL); ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t ALTER c DROP NOT NULL;",
  ],
  "a CHECK that somebody drops takes no NOT NULL with it": [
    "CREATE TABLE t (id int PRIMARY KEY, c int);",
    "ALTER TABLE t ADD CONSTRAINT t_c_not_null CHECK (c IS NOT NULL) NOT VALID; " +
    "ALTER TABLE t VALIDATE CONSTRAINT t_c_not_null; ALTER TABLE t ALTER c SET NOT NULL;",
    "ALTER TABLE t DROP CONSTRAINT t_c_not_null;",
  ],
  "an identity for a column whose NOT NULL is a CHECK": [
    "CREATE TABLE t (id bigint, c int); ALTER TABLE t ALTER id SET NOT NULL;",
    "ALTER TABLE t ALTER id ADD GENERATED BY DEFAULT AS IDENTITY (START WITH 5); INSERT INTO t (c) VALUES (1);",
  ],
  "a primary key of any name, dropped": [
    "CREATE TABLE t (id int CONSTRAINT the_key PRIMARY KEY, c int); INSERT INTO t VALUES (1, 1);",
    "ALTER TABLE t DROP CONSTRAINT the_key; INSERT INTO t VALUES (1, 2);",
  ],
  "a key with foreign keys, dropped by CASCADE": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); CREATE TABLE u (id int PRIMARY KEY, t int REFERENCES t (id));",
    "ALTER TABLE t DROP CONSTRAINT t_pkey CASCADE; INSERT INTO u VALUES (1, 99);",
  ],
  "a column of the primary key, dropped": [
    "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b)); INSERT INTO t VALUES (1, 2, 3);",
    "ALTER TABLE t DROP COLUMN b; INSERT INTO t VALUES (1, 3);",
  ],
  "two keys of the same column, in a table that is recreated": [
    "CREATE TABLE t (id int PRIMARY KEY, c int, CONSTRAINT t_u UNIQUE (c)); INSERT INTO t VALUES (1, 1);",
    "ALTER TABLE t ADD CONSTRAINT again UNIQUE (id); ALTER TABLE t ADD CONSTRAINT more UNIQUE (c);",
    "ALTER TABLE t ALTER c TYPE bigint;",
    "ALTER TABLE t DROP CONSTRAINT again, DROP CONSTRAINT t_u;",
  ],
  "USING converts values whose type stays": [
    "CREATE TABLE t (id int PRIMARY KEY, c int); INSERT INTO t VALUES (1, 5);",
    "ALTER TABLE t ALTER c TYPE int USING c * 100;",
  ],
};

const MISSING = [
  ...[
    "ADD COLUMN a int",
    "ADD COLUMN IF NOT EXISTS a int DEFAULT 5 NOT NULL",
    "ADD COLUMN a int UNIQUE CHECK (a > 0)",
  ],
  ...[
    "ADD a int REFERENCES missing2 (id)",
    "ADD COLUMN a bigint GENERATED ALWAYS AS IDENTITY",
    "ADD a int PRIMARY KEY",
  ],
  ...[
    "ADD COLUMN a int GENERATED ALWAYS AS (1) STORED",
    "ADD CONSTRAINT k CHECK (a > 0)",
    "ADD UNIQUE (a)",
  ],
  ...[
    "ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES missing2 (id)",
    "ADD PRIMARY KEY (a)",
    "DROP COLUMN a",
    "DROP IF EXISTS a",
  ],
  ...[
    "DROP CONSTRAINT k",
    "DROP CONSTRAINT IF EXISTS k CASCADE",
    "DROP CONSTRAINT missing_pkey",
    "VALIDATE CONSTRAINT k",
  ],
  ...[
    "ALTER a SET NOT NULL",
    "ALTER a DROP NOT NULL",
    "ALTER a SET DEFAULT 1",
    "ALTER a DROP DEFAULT",
    "ALTER a TYPE text",
  ],
  ...[
    "ALTER a SET DATA TYPE int USING 1",
    "ALTER a ADD GENERATED ALWAYS AS IDENTITY",
    "ALTER a DROP IDENTITY",
  ],
  ...[
    "ALTER a DROP EXPRESSION",
    "ALTER a RESTART",
    "ALTER a SET STATISTICS 5",
    "ALTER CONSTRAINT k DEFERRABLE",
  ],
  ...[
    "RENAME TO other",
    "RENAME a TO b",
    "RENAME CONSTRAINT k TO l",
    "SET SCHEMA public",
    "OWNER TO CURRENT_USER",
  ],
  ...["SET (fillfactor = 70)", "REPLICA IDENTITY FULL", "ENABLE TRIGGER ALL", "CLUSTER ON i"],
  "ADD COLUMN a int DEFAULT 1, ALTER b SET NOT NULL, ADD UNIQUE (c), DROP COLUMN d",
];

/** Stops every case after each statement instead of a few. */
const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";

const options = { sanitizeOps: false, sanitizeResources: false };

async function assertSame(lab: DistSqlLab, name: string, files: readonly string[]): Promise<void> {
  const differences = await compare(lab.native, lab.backing, { seed: 1, files: [files] });
  assertEquals(differences, [], `${name}: ${differences.join("\n")}`);
}

class Stopped extends Error {}

/** Runs files in runs that each end after one more statement, as if the process died there. */
async function migrateInPieces(lab: DistSqlLab, files: readonly string[]): Promise<number> {
  for (let runs = 1;; runs++) {
    assert(runs < 200, "the runs come to no end");
    let statements = 0;
    const logger = (line: string): void => {
      if (/: statement \d+ of \d+: /.test(line) && ++statements > 1) throw new Stopped(line);
    };
    try {
      await lab.migrate(files, { logger });
      return runs;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
  }
}

Deno.test(
  "runMigrations() does what PostgreSQL does on the distributed provider",
  options,
  async (t) => {
    await withDistSqlLab(async (lab) => {
      for (const [name, files] of Object.entries(CASES)) {
        await t.step(name, async () => {
          await lab.clear();
          for (const file of files) await lab.native.unsafe(file);
          await lab.migrate(files);
          await assertSame(lab, name, files);
        });
      }

      const stopped = Object.entries(CASES).filter(([name]) =>
        IS_FULL || /several ADD|twice|DO block|renamed/.test(name)
      );
      for (const [name, files] of stopped) {
        await t.step(`${name}, when a run dies after each statement`, async () => {
          await lab.clear();
          for (const file of files) await lab.native.unsafe(file);
          assert(await migrateInPieces(lab, files) > 1);
          await assertSame(lab, name, files);
        });
      }

      for (const fault of ["cut-after-commit", "cut-before-commit", "OC001"] as const) {
        await t.step(`every answer is lost or a conflict (${fault})`, async () => {
          await lab.clear();
          const files = CASES["several ADD COLUMN IF NOT EXISTS, of which one is there"];
          for (const file of files) await lab.native.unsafe(file);
          const injected = Array.from(
            { length: 12 },
            (_, at) =>
              lab.server.inject({ fault, skip: at * 2, match: /ALTER TABLE|CREATE UNIQUE/ }),
          );
          await lab.migrate(files);
          injected.forEach((one) => one.remove());
          await assertSame(lab, fault, files);
        });
      }

      await t.step("ALTER TABLE IF EXISTS of a table that is not there, in all forms", async () => {
        await lab.clear();
        const statements = MISSING.flatMap((action) => [
          `ALTER TABLE IF EXISTS missing ${action}`,
          `ALTER TABLE IF EXISTS ONLY public."missing" ${action}`,
        ]);
        for (const statement of statements) await lab.native.unsafe(statement);
        assertEquals((await lab.migrate([statements.join(";\n")])).applied, 1);
        assertEquals((await readTables(lab.backing)).length, 0);
      });

      await t.step("ALTER … IF EXISTS of other objects that are not there", async () => {
        await lab.clear();
        const statements = [
          ...[
            "INDEX missing RENAME TO other",
            "INDEX missing SET (fillfactor = 70)",
            "SEQUENCE missing RESTART",
          ],
          ...[
            "SEQUENCE missing OWNED BY NONE",
            "SEQUENCE missing RENAME TO other",
            "SEQUENCE missing SET SCHEMA public",
          ],
          ...[
            "VIEW missing RENAME TO other",
            "VIEW missing SET SCHEMA public",
            "VIEW missing ALTER COLUMN a SET DEFAULT 1",
          ],
          ...["VIEW missing OWNER TO CURRENT_USER", "VIEW missing RENAME COLUMN a TO b"],
        ].map((rest) => `ALTER ${rest.replace(" missing", " IF EXISTS missing")}`);
        for (const statement of statements) await lab.native.unsafe(statement);
        assertEquals((await lab.migrate([statements.join(";\n")])).applied, 1);
      });
    });
  },
);
