/** Rollbacks of migrations on databases with rows: the catalog and the rows are those from before. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { planDatabaseRollback, planExpiry } from "../../../cli/database/rollback.ts";
import { dbMigrate } from "../../../cli/commands/db_migrate.ts";
import { dbRollback } from "../../../cli/commands/db_rollback.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import { runMigrationFolder } from "../../../database/migrations/run.ts";
import { runMigrations } from "../../../database/mod.ts";
import "../../support/embedded_pool.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withEnv } from "../../support/with_env.ts";
import { runInProcess } from "../fixtures/run.ts";
import { BASE, CHANGES, migrateAndKeep, rollBack, ROWS, withLab } from "./rollback_lab.ts";

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "db rollback brings back the objects and rows from before a migration",
  unsanitized,
  async (t) => {
    await using server = await startPostgres();
    for (const [name, [migration, after]] of Object.entries(CHANGES)) {
      await t.step(name, () =>
        withLab(server, async ({ target, client, write, read }) => {
          await write({ "0001_base.sql": BASE, "0002_more.sql": "CREATE TABLE more (id int);" });
          await runMigrations(target);
          await client.unsafe(ROWS);
          const before = await read();
          await write({ "0003_change.sql": migration });
          await migrateAndKeep(target);
          await client.unsafe(after);
          assertEquals(await rollBack(target), []);
          assertEquals(await read(), before);
          if (name.startsWith("dropped")) return;
          // the migration can be applied and rolled back again, although old values are kept
          await migrateAndKeep(target);
          assertEquals(await rollBack(target, "0002_more"), []);
          assertEquals(await read(), before);
        }));
    }
  },
);

/** Migrations that cannot be rolled back, and the reasons. */
const REFUSED: readonly (readonly [migration: string, reasons: readonly string[]])[] = [
  [
    `UPDATE more SET old = old + 1;
     DELETE FROM more WHERE id > 3;
     WITH gone AS (DELETE FROM more RETURNING *) SELECT * FROM gone;
     DO $$ BEGIN END $$;
     ALTER TABLE more ALTER old TYPE bigint USING old * 2;
     ALTER TABLE more ALTER old TYPE numeric(9, 2);
     DROP TABLE more CASCADE;
     GRANT SELECT ON other TO CURRENT_USER;`,
    [
      "changes rows of more, whose old values are not known (old)",
      "whose old values are not known (id, old)",
      "may change rows",
      "converts more.old from integer to bigint",
      "converts more.old from bigint to numeric: the old values are not known",
      "table more was dropped, and its values were not kept",
      "changes rights, which are not rolled back",
    ],
  ],
  [
    "ALTER TABLE more DROP COLUMN old; DROP TABLE other;",
    [
      "more.old was dropped by 0002_change.sql:1 without --retain, so its values are gone",
      "other was dropped by 0002_change.sql:1 without --retain, so its values are gone",
      "table by_hand is only in the database",
    ],
  ],
  // the time zone of the session decides
  [
    `ALTER TABLE other ALTER at TYPE timestamp USING at::timestamp AT TIME ZONE 'UTC';
     ALTER TABLE other ALTER day TYPE timestamptz USING day AT TIME ZONE 'UTC';`,
    ["converts other.at from", "converts other.day from date"],
  ],
  ["COMMENT ON TABLE more IS 'text'", ["comment on table more is only in the result"]],
  [
    "CREATE AGGREGATE total (int) (SFUNC = int4pl, STYPE = int)",
    ["aggregate total(integer) is only in the result"],
  ],
  [
    "ALTER TABLE more FORCE ROW LEVEL SECURITY, REPLICA IDENTITY FULL",
    [
      "storage of more is REPLICA IDENTITY FULL, FORCE ROW LEVEL SECURITY in the result and plain in",
    ],
  ],
];

Deno.test("db rollback refuses what cannot come back, and runs nothing", unsanitized, async () => {
  await using server = await startPostgres();
  for (const [migration, reasons] of REFUSED) {
    await withLab(server, async ({ target, write, read, client }) => {
      await write({
        "0001_base.sql": `CREATE TYPE mood AS ENUM ('calm');
            CREATE TABLE other (id int, at timestamptz, day date);
            CREATE TABLE more (id int PRIMARY KEY, old int);`,
        "0002_change.sql": migration,
      });
      await runMigrations(target);
      await client.unsafe("CREATE TABLE by_hand (id int)");
      const before = await read();
      const problems = (await rollBack(target)).join("\n");
      for (const reason of reasons) assertStringIncludes(problems, reason);
      assertEquals(await read(), before);
    });
  }
});

const TYPED = `CREATE TYPE mood AS ENUM ('calm', 'glad');
CREATE TABLE more (id int PRIMARY KEY, n int, at timestamp(3), day date, due date, key uuid, document jsonb,
  kind text DEFAULT 'letter' NOT NULL, mood mood DEFAULT 'calm', moods mood[], price numeric(8, 2),
  letters character(4), flag boolean, rate real, size text DEFAULT 'm');`;
const TYPED_ROWS = `INSERT INTO more VALUES
  (1, -7, '2026-03-29 02:30:00.125', '2026-03-29', '2026-03-29', '3f9a6f3c-32f8-4c5e-9a86-1d5f6c1c8f10',
    '{"b": [1, 2.50], "a": "é"}', 'bill', 'glad', '{glad,calm}', 12.50, 'ab', true, 0.1, 'l'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, 'letter', NULL, '{NULL}', NULL, NULL, NULL, NULL, NULL);
  INSERT INTO more (id, n, at, day) VALUES (3, 2147483647, 'infinity', '-infinity');`;
const CONVERTED = `ALTER TYPE mood ADD VALUE 'wild' BEFORE 'glad';
CREATE TYPE kind AS ENUM ('letter', 'bill');
CREATE TYPE "Size" AS ENUM ('m', 'l');
ALTER TABLE more RENAME COLUMN n TO number;
ALTER TABLE more ALTER number TYPE text;
ALTER TABLE more ALTER COLUMN at SET DATA TYPE timestamptz USING (at AT TIME ZONE 'UTC');
ALTER TABLE more ALTER kind DROP DEFAULT, ALTER kind TYPE kind USING kind::kind, ALTER kind SET DEFAULT 'letter';
ALTER TABLE more ALTER size DROP DEFAULT;
ALTER TABLE more ALTER size TYPE "Size" USING ("size"::"Size");
ALTER TABLE more ALTER day TYPE timestamp, ALTER key TYPE varchar(40), ALTER document TYPE json;
ALTER TABLE more ALTER price TYPE numeric(12, 4), ALTER letters TYPE text, ALTER flag TYPE text;
ALTER TABLE more ALTER rate TYPE double precision;
ALTER TABLE more ALTER due TYPE timestamptz USING due::timestamp AT TIME ZONE 'UTC';
ALTER TABLE more RENAME TO entries;`;

/** Values that are written after the migration and do not fit the old types, and the reasons. */
const UNFIT: readonly Readonly<Record<string, readonly [value: string, reason: string]>>[] = [
  {
    number: ["'007'", "entries.number has values that do not fit its old type integer"],
    day: ["'2026-03-29 10:00'", "entries.day has values that do not fit its old type date"],
    due: ["'2026-03-29 01:00Z'", "entries.due has values that do not fit its old type date"],
    key: [
      "'3F9A6F3C-32f8-4c5e-9a86-1d5f6c1c8f10'",
      "entries.key has values that do not fit its old type uuid",
    ],
    document: [
      `'{"a": 1, "a": 2}'`,
      "entries.document has values that do not fit its old type jsonb",
    ],
    price: ["1.0001", "entries.price has values that do not fit its old type numeric(8,2)"],
    letters: ["'abcde'", "entries.letters has values that do not fit its old type character(4)"],
    flag: ["'yes'", "entries.flag has values that do not fit its old type boolean"],
    rate: ["0.1", "entries.rate has values that do not fit its old type real"],
    at: [
      "'2026-03-29 01:00:00.1234Z'",
      "entries.at has values that do not fit its old type timestamp(3) without time zone",
    ],
    mood: ["'wild'", "entries.mood has values that do not fit its old type mood (calm, glad)"],
    moods: [
      "'{calm,wild}'",
      "entries.moods has values that do not fit its old type mood (calm, glad)",
    ],
  },
  {
    number: ["'seven'", "entries.number has values that do not fit its old type integer"],
    price: ["1234567", "entries.price has values that do not fit its old type numeric(8,2)"],
  },
];

Deno.test(
  "db rollback converts values back that are those from before, and refuses others",
  unsanitized,
  async () => {
    await using server = await startPostgres({ settings: ["timezone=America/New_York"] });
    await withLab(server, async ({ target, write, read, client }) => {
      await write({ "0001_base.sql": TYPED });
      await runMigrations(target);
      await client.unsafe(TYPED_ROWS);
      const before = await read();
      await write({ "0002_types.sql": CONVERTED });
      await runMigrations(target);
      for (const changes of UNFIT) {
        const values = Object.entries(changes).map(([name, [value]]) => `${name} = ${value}`);
        await client.unsafe("CREATE TEMP TABLE saved AS SELECT * FROM entries WHERE id = 1");
        await client.unsafe(`UPDATE entries SET ${values.join(", ")} WHERE id = 1`);
        const problems = await rollBack(target);
        assertEquals(problems.length, values.length, problems.join("\n"));
        for (const [, reason] of Object.values(changes)) {
          assertStringIncludes(problems.join("\n"), reason);
        }
        await client.unsafe(`DELETE FROM entries WHERE id = 1;
          INSERT INTO entries SELECT * FROM saved; DROP TABLE saved`);
      }
      const { folder, problems } = await planDatabaseRollback(target, undefined);
      assertEquals(problems, []);
      // written after the check
      await client.unsafe("UPDATE entries SET number = '007' WHERE id = 3");
      await assertRejects(() => runMigrationFolder(target, () => folder), MigrationError);
      assertEquals([...await client`SELECT number FROM entries WHERE id = 3`], [{ number: "007" }]);
      await client.unsafe("UPDATE entries SET number = '2147483647' WHERE id = 3");
      assertEquals(await rollBack(target), []);
      assertEquals(await read(), before);
      await runMigrations(target);
      assertEquals(await rollBack(target), []);
      assertEquals(await read(), before);
    });
  },
);

Deno.test(
  "db rollback of a large table on PostgreSQL continues, and migrations are refused until then",
  unsanitized,
  async () => {
    await using server = await startPostgres();
    await withLab(server, async ({ target, client, write, read }) => {
      await write({
        "0001_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY, body text NOT NULL);",
      });
      await runMigrations(target);
      await client.unsafe(
        "INSERT INTO notes SELECT n, 'body ' || n FROM generate_series(1, 30000) n",
      );
      const before = await read();
      await write({
        "0002_open.sql": "ALTER TABLE notes ALTER body DROP NOT NULL, ADD COLUMN size int;",
      });
      await migrateAndKeep(target);
      const { folder } = await planDatabaseRollback(target, "0001_notes");
      let statements = 0;
      const logger = (message: string) => {
        if (/: statement \d+ of/.test(message) && ++statements === 2) throw new Error("killed");
      };
      await assertRejects(() => runMigrationFolder({ ...target, logger }, () => folder));
      await write({ "0003_more.sql": "CREATE TABLE more (id int);" });
      await assertRejects(
        () => runMigrations(target),
        MigrationError,
        "A rollback of this database was interrupted",
      );
      // ends after all statements, before the rollback is recorded
      await client.unsafe(`CREATE FUNCTION orm.fail() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE 'killed'; END $$;
          CREATE TRIGGER fail BEFORE INSERT ON orm.__orm_migrations EXECUTE FUNCTION orm.fail()`);
      await assertRejects(() => rollBack(target, "0001_notes"));
      await client.unsafe("DROP FUNCTION orm.fail CASCADE");
      assertEquals(await rollBack(target, "0001_notes"), []);
      assertEquals(await read(), before);
    });
  },
);

Deno.test(
  "db rollback continues on the distributed engine after each statement",
  unsanitized,
  async () => {
    const files = {
      "0001_notes.sql": `CREATE TABLE notes (id int PRIMARY KEY, title text, body text);
      CREATE TABLE tags (id int PRIMARY KEY, label text);
      CREATE INDEX notes_title ON notes (title);`,
      "0002_change.sql": `ALTER TABLE notes DROP COLUMN title;
      DROP TABLE tags;
      ALTER TABLE notes ADD COLUMN size int;
      ALTER TABLE notes RENAME COLUMN body TO text;`,
    };
    await withTempFolder(
      files,
      (migrationsFolder) =>
        withDistSqlLab(async ({ config, backing }) => {
          const target = { migrationsFolder, database: config };
          await Deno.rename(`${migrationsFolder}/0002_change.sql`, `${migrationsFolder}/0002.txt`);
          await runMigrations(target);
          await backing.unsafe(
            "INSERT INTO notes SELECT n, 't' || n, 'b' || n FROM generate_series(1, 9) n",
          );
          await backing.unsafe("INSERT INTO tags SELECT n, 'l' || n FROM generate_series(1, 9) n");
          const read = async () => [
            [...await backing.unsafe("SELECT id, title, body FROM notes ORDER BY 1")],
            [...await backing.unsafe("SELECT * FROM tags ORDER BY 1")],
            [
              ...await backing.unsafe(
                "SELECT indexdef FROM pg_indexes WHERE indexname = 'notes_title'",
              ),
            ],
            [
              ...await backing.unsafe(
                "SELECT tag FROM orm.__orm_migrations WHERE tag NOT LIKE '\\_%'",
              ),
            ],
          ];
          const before = await read();
          await Deno.rename(`${migrationsFolder}/0002.txt`, `${migrationsFolder}/0002_change.sql`);
          await migrateAndKeep(target);
          await backing.unsafe("UPDATE notes SET size = id");
          let plan = await planDatabaseRollback(target, undefined);
          let kills = 0;
          for (let isOver = false; !isOver;) {
            assertEquals(plan.problems, []);
            let statements = 0;
            const logger = (message: string) => {
              if (/: statement \d+ of/.test(message) && ++statements === 2) {
                throw new Error("killed");
              }
            };
            isOver = await runMigrationFolder({ ...target, logger }, () => plan.folder)
              .then(() => true, (error: Error) => {
                assertStringIncludes(error.message, "killed");
                return false;
              });
            if (isOver || kills++ > 0) continue;
            await assertRejects(
              async () => {
                await Deno.writeTextFile(
                  `${migrationsFolder}/0003_more.sql`,
                  "CREATE TABLE more (id int)",
                );
                await runMigrations(target);
              },
              MigrationError,
              "A rollback of this database was interrupted",
            );
            await Deno.remove(`${migrationsFolder}/0003_more.sql`);
            // a rollback that has begun has the same plan
            const again = await planDatabaseRollback(target, undefined);
            assertEquals(again.statements, plan.statements);
            plan = again;
          }
          assert(kills > 4, `killed ${kills} times`);
          assertEquals(await read(), before);
        }),
    );
  },
);

Deno.test("db migrate --retain keeps a sequence that a column owns", unsanitized, async () => {
  await using server = await startPostgres();
  await withLab(server, async ({ target, client, write }) => {
    await write({ "0001_base.sql": "CREATE TABLE notes (id serial PRIMARY KEY);" });
    await runMigrations(target);
    await client`SELECT nextval('notes_id_seq') FROM generate_series(1, 7)`;
    await write({
      "0002_plain.sql": "ALTER TABLE notes ALTER id DROP DEFAULT;\nDROP SEQUENCE notes_id_seq;",
    });
    await migrateAndKeep(target);
    const kept = await client`SELECT schemaname AS schema, last_value FROM pg_sequences`;
    assertEquals(kept.map((row) => [row.schema.startsWith("__orm_kept_"), row.last_value]), [
      [true, "7"],
    ]);
  });
});

Deno.test(
  "db migrate --retain keeps dropped values for a time, and db rollback prints its plan",
  unsanitized,
  async () => {
    await using server = await startPostgres();
    await withLab(server, async ({ target, url, client, write }) => {
      const { migrationsFolder } = target;
      await write({
        "0001_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY, body text NOT NULL);",
      });
      await runMigrations(target);
      await write({ "0002_drop.sql": "ALTER TABLE notes DROP COLUMN body;" });
      const options = ["--migrations", migrationsFolder, "--url-env", "ROLLBACK_URL"];
      const runAsText = (...args: string[]) =>
        withEnv({ ROLLBACK_URL: url }, () =>
          runInProcess(["db", ...args, ...options], {
            commands: [dbMigrate, dbRollback],
            cwd: migrationsFolder,
          }));
      const run = (...args: string[]) => runAsText(...args, "--json");
      const wrong = await run("migrate", "--retain", "soon");
      assertStringIncludes(wrong.stdout, "--retain must be a number of days or hours");
      const kept = await run("migrate", "--retain", "7d");
      assertEquals(kept.exitCode, 0, kept.stderr);
      const [{ label, name }] = JSON.parse(kept.stdout).kept;
      assertEquals(label, "notes.body");
      const dry = await run("rollback", "--dry-run");
      assertEquals(JSON.parse(dry.stdout).statements.slice(0, 2), [
        `ALTER TABLE "notes" RENAME COLUMN "${name}" TO "body"`,
        'ALTER TABLE "notes" ALTER COLUMN "body" SET NOT NULL',
      ]);
      const none = await run("rollback", "--to", "0002_drop", "--dry-run");
      assertEquals(JSON.parse(none.stdout).statements, []);
      const early = await planDatabaseRollback(target, undefined);
      const other = "INSERT INTO orm.__orm_migrations VALUES ('0003_other', 'hash', 1, 1, true)";
      await client.unsafe(other);
      await assertRejects(
        () => runMigrationFolder(target, () => early.folder),
        MigrationError,
        "Another run has changed the migrations",
      );
      await client`DELETE FROM orm.__orm_migrations WHERE tag = '0003_other'`;
      const done = await run("rollback");
      assertEquals(done.exitCode, 0, done.stderr);
      assertEquals(JSON.parse(done.stdout).migrations, ["0002_drop"]);
      assertEquals((await run("migrate", "--retain", "7d")).exitCode, 0);
      assertEquals(await planExpiry(target, 60_000, Date.now()), undefined);
      await client`UPDATE orm.__orm_migrations SET applied_at = now() - interval '8 days'`;
      const expiring = await runAsText("migrate", "--retain", "7d", "--dry-run");
      assertEquals(expiring.stdout.split("\n")[0], `expires ${name}`);
      const expired = await planExpiry(target, 60_000, Date.now() + 120_000);
      assertEquals(expired?.names, [name]);
      await runMigrationFolder(target, () => expired!.folder);
      const [{ columns }] =
        await client`SELECT string_agg(attname, ', ') AS columns FROM pg_attribute
        WHERE attrelid = 'notes'::regclass AND attnum > 0 AND NOT attisdropped`;
      assertEquals(columns, "id");
    });
  },
);
