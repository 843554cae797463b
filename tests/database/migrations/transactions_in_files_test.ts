/** BEGIN, COMMIT and the like in migration files: one rule for PostgreSQL and the distributed provider. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  MigrationError,
  MigrationPlanError,
} from "../../../database/migrations/migration_error.ts";
import { planMigrationFolder } from "../../../database/migrations/plan_folder.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import type { DatabaseProvider } from "../../../database/config/config.ts";
import { createTestDatabase } from "../../../testing/database.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const DIRECTIVE = "-- trellis: no-transaction\n";
const BOTH: readonly DatabaseProvider[] = ["embedded-pg", "distsql"];
const TABLE = "CREATE TABLE t (id int PRIMARY KEY);";

function withFolder<T>(
  files: readonly string[],
  work: (folder: string) => T | Promise<T>,
): Promise<T> {
  const named = Object.fromEntries(files.map((text, at) => [`000${at + 1}_m.sql`, text]));
  return withTempFolder(named, work);
}

async function findErrors(text: string, provider: DatabaseProvider): Promise<string[]> {
  const { findings } = await withFolder([text], (folder) => planMigrationFolder(folder, provider));
  return findings.filter(({ severity }) => severity === "error").map(({ line, rule }) =>
    `${line} ${rule}`
  );
}

const TAKEN: readonly string[] = [
  `BEGIN; ${TABLE} COMMIT;`,
  `begin transaction; ${TABLE} end;`,
  `START TRANSACTION; ${TABLE} COMMIT WORK AND NO CHAIN;`,
  `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${TABLE} COMMIT;`,
  `${TABLE} BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT; INSERT INTO t VALUES (3);`,
  `BEGIN; ${TABLE} COMMIT; BEGIN; INSERT INTO t VALUES (1); COMMIT;`,
  `${DIRECTIVE}${TABLE}\nBEGIN; INSERT INTO t VALUES (1); COMMIT;`,
  "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END;",
  "SELECT 'COMMIT;'; -- ROLLBACK;",
];

/** A file, and what is refused of it: line and rule. */
const REFUSED: readonly (readonly [text: string, ...errors: string[]])[] = [
  [`COMMIT;`, "1 transaction-unpaired"],
  [`BEGIN;`, "1 transaction-unpaired"],
  [`${TABLE}\nCOMMIT;\nINSERT INTO t VALUES (1);`, "2 transaction-unpaired"],
  [`${DIRECTIVE}${TABLE}\nCOMMIT;`, "3 transaction-unpaired"],
  [`BEGIN;\n${TABLE}`, "1 transaction-unpaired"],
  [`BEGIN;\nBEGIN;\n${TABLE}\nCOMMIT;`, "1 transaction-unpaired"],
  [`BEGIN;\n${TABLE}\nCOMMIT;\nCOMMIT;`, "4 transaction-unpaired"],
  [`BEGIN;\n${TABLE}\nROLLBACK;`, "3 transaction-rollback"],
  [`${TABLE}\nABORT;`, "2 transaction-rollback"],
  [
    `BEGIN;\n${TABLE}\nSAVEPOINT a;\nROLLBACK TO a;\nRELEASE a;\nCOMMIT;`,
    "3 savepoint",
    "4 savepoint",
    "5 savepoint",
  ],
  [`BEGIN;\n${TABLE}\nPREPARE TRANSACTION 'x';`, "1 transaction-unpaired", "3 two-phase-commit"],
  [`BEGIN ISOLATION LEVEL SERIALIZABLE;\n${TABLE}\nCOMMIT;`, "1 transaction-modes"],
  [`START TRANSACTION READ ONLY;\nSELECT 1;\nCOMMIT;`, "1 transaction-modes"],
  [`BEGIN;\n${TABLE}\nCOMMIT AND CHAIN;`, "3 transaction-modes"],
  [`${DIRECTIVE}SET LOCAL lock_timeout = '1s';\n${TABLE}`, "2 migration-transaction-setting"],
  [
    `${DIRECTIVE}SELECT set_config('lock_timeout', '1s', true);\n${TABLE}`,
    "2 migration-transaction-setting",
  ],
  [
    `/*\n Unfortunately …\n*/\n\n-- ALTER TABLE "t" DROP CONSTRAINT "<constraint_name>";--> statement-breakpoint\nSELECT 1;`,
    "5 primary-key-commented",
  ],
  [`-- ALTER TABLE "app"."t" DROP CONSTRAINT "<constraint_name>";`, "1 primary-key-commented"],
  [
    `/*\nALTER TABLE "t" DROP CONSTRAINT "<constraint_name>";\n*/ SELECT 1;`,
    "2 primary-key-commented",
  ],
];

for (const provider of BOTH) {
  for (const text of TAKEN) {
    Deno.test(`planMigrationFolder() takes BEGIN and COMMIT in pairs on ${provider}: ${text}`, async () => {
      assertEquals(await findErrors(text, provider), []);
    });
  }
  for (const [text, ...errors] of REFUSED) {
    Deno.test(`planMigrationFolder() refuses ${errors} on ${provider} when given ${text}`, async () => {
      assertEquals(await findErrors(text, provider), errors);
    });
  }
}

Deno.test("planMigrationFolder() refuses what each statement alone would lose on distsql", async () => {
  assertEquals(await findErrors(`${TABLE}\nSET LOCAL search_path = app;\nSELECT 1;`, "distsql"), [
    "2 migration-transaction-setting",
  ]);
  assertEquals(
    await findErrors(`${TABLE}\nSET LOCAL search_path = public;\nSELECT 1;`, "embedded-pg"),
    [],
  );
});

Deno.test("planMigrationFolder() rejects a statement between BEGIN and COMMIT that needs its own transaction", async () => {
  const text = `${TABLE}\nBEGIN;\nCREATE INDEX CONCURRENTLY i ON t (id);\nCOMMIT;`;
  assertEquals(await findErrors(text, "embedded-pg"), ["3 migration-transaction"]);
});

Deno.test("planMigrationFolder() warns on distsql that statements between BEGIN and COMMIT are no transaction", async () => {
  const text = `BEGIN; ${TABLE} INSERT INTO t VALUES (1); COMMIT;`;
  const { findings } = await withFolder([text], (folder) => planMigrationFolder(folder, "distsql"));
  assertEquals(findings.map(({ severity, rule }) => [severity, rule]), [
    ["warning", "transaction-block"],
    ["warning", "transaction-block"],
  ]);
});

async function runFiles(
  files: readonly string[],
): Promise<{ error: unknown; ids: unknown[]; tables: unknown }> {
  const database = await createTestDatabase();
  try {
    const error = await withFolder(
      files,
      (migrationsFolder) =>
        runMigrations({ migrationsFolder, database: database.config }).then(
          () => undefined,
          (cause) => cause,
        ),
    );
    const { rows: [{ tables }] } = await database.db.execute(
      "SELECT to_regclass('t') AS tables",
    ) as never as {
      rows: { tables: unknown }[];
    };
    if (tables === null) return { error, ids: [], tables };
    const { rows } = await database.db.execute("SELECT id FROM t ORDER BY 1") as never as {
      rows: { id: unknown }[];
    };
    return { error, ids: rows.map(({ id }) => id), tables };
  } finally {
    await database.close();
  }
}

Deno.test("runMigrations() leaves BEGIN and COMMIT out of a file that is one transaction", async () => {
  const text = `BEGIN; ${TABLE} COMMIT; INSERT INTO t VALUES (1), (1);`;
  const { error, tables } = await runFiles([text]);
  assert(error instanceof MigrationError);
  assertEquals(tables, null); // the whole file was rolled back, what stood between BEGIN and COMMIT too
  assertEquals((await runFiles([text.replace("(1), (1)", "(1), (2)")])).ids, [1, 2]);
});

Deno.test("runMigrations() makes BEGIN … COMMIT one transaction in a file of single statements", async () => {
  const text =
    `${DIRECTIVE}${TABLE} INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (2); COMMIT;`;
  const { error, ids } = await runFiles([text]);
  assert(error instanceof MigrationError);
  assertEquals(ids, [1]); // the first two statements stay, nothing of the block does
  assertEquals((await runFiles([text.replace("(2); COMMIT", "(3); COMMIT")])).ids, [1, 2, 3]);
});

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "runMigrations() runs Prisma's change of an enum beside a new label on PostgreSQL",
  options,
  async () => {
    const text = `ALTER TYPE a ADD VALUE 'z';
BEGIN;
CREATE TYPE b_new AS ENUM ('x');
ALTER TABLE t ALTER COLUMN b TYPE b_new USING (b::text::b_new);
ALTER TYPE b RENAME TO b_old;
ALTER TYPE b_new RENAME TO b;
DROP TYPE b_old;
COMMIT;
INSERT INTO t VALUES (1, 'x', 'z');`;
    const before =
      "CREATE TYPE a AS ENUM ('y'); CREATE TYPE b AS ENUM ('x', 'gone'); CREATE TABLE t (id int, b b, a a);";
    const { error, ids } = await runFiles([before, text]);
    assertEquals([error, ids], [undefined, [1]]);
  },
);

Deno.test(
  "runMigrations() sets what a file sets for each of its statements",
  options,
  async (t) => {
    await withDistSqlLab(async (lab) => {
      const files = [
        "CREATE SCHEMA IF NOT EXISTS app;",
        "SET search_path TO app;\nCREATE TABLE a (id int PRIMARY KEY);\nCREATE TABLE b (id int PRIMARY KEY);\nRESET search_path;",
      ];
      const where = async (): Promise<unknown[]> =>
        (await lab.backing`SELECT relnamespace::regnamespace::text AS schema, relname FROM pg_class
        WHERE relname IN ('a', 'b') AND relkind = 'r' ORDER BY 2`).map(({ schema, relname }) =>
          `${schema}.${relname}`
        );

      await t.step("when a run died in the middle", async () => {
        await lab.clear();
        await lab.backing.unsafe("DROP SCHEMA IF EXISTS app CASCADE");
        const logger = (line: string): void => {
          if (line.includes("0002_m: statement 3 of 4")) throw new Error("stopped");
        };
        await assertRejects(() => lab.migrate(files, { logger }), Error, "stopped");
        assertEquals(await where(), ["app.a"]);
        await lab.migrate(files);
        assertEquals(await where(), ["app.a", "app.b"]);
      });

      await t.step("when the connection is lost in the middle", async () => {
        await lab.clear();
        await lab.backing.unsafe("DROP SCHEMA IF EXISTS app CASCADE");
        lab.server.inject({ fault: "cut-at-statement", match: "CREATE TABLE b" });
        await lab.migrate(files);
        assertEquals(await where(), ["app.a", "app.b"]);
        await lab.backing.unsafe("DROP SCHEMA app CASCADE");
      });

      await t.step("TRUNCATE empties referencing tables first, whatever their order", async () => {
        await lab.clear();
        const setup =
          "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p (id)); " +
          "CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c (id)); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1); " +
          "INSERT INTO g VALUES (1, 1);";
        const rows = async (): Promise<unknown> =>
          (await lab
            .backing`SELECT (SELECT count(*)::int FROM p) AS p, (SELECT count(*)::int FROM c) AS c,
          (SELECT count(*)::int FROM g) AS g`)[0];
        const error = await assertRejects(
          () => lab.migrate([setup, "TRUNCATE p, c;"]),
          MigrationError,
        );
        assert(error.message.includes("TRUNCATE of"), error.message);
        assertEquals({ ...await rows() as object }, { p: 1, c: 1, g: 1 });
        await lab.clear();
        await lab.migrate([setup, "TRUNCATE p, c, g;"]);
        assertEquals({ ...await rows() as object }, { p: 0, c: 0, g: 0 });
      });

      await t.step("nothing runs when planning refuses a statement", async () => {
        await lab.clear();
        const files = [TABLE, "INSERT INTO t VALUES (1); COMMIT;"];
        await assertRejects(() => lab.migrate(files), MigrationPlanError);
        assertEquals((await lab.backing`SELECT to_regclass('t') AS t`)[0].t, null);
      });
    });
  },
);
