/** Rollbacks of migrations on databases with rows: the catalog and the rows are those from before. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import postgres from "postgres";
import { keepInFolder, planDatabaseRollback, planExpiry } from "../../../cli/database/rollback.ts";
import { dbMigrate } from "../../../cli/commands/db_migrate.ts";
import { dbRollback } from "../../../cli/commands/db_rollback.ts";
import { NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { readObjects } from "../../../cli/schema_migration/database_objects.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import { type MigrationTarget, runMigrationFolder } from "../../../database/migrations/run.ts";
import { closeDrizzleClient, runMigrations } from "../../../database/mod.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withEnv } from "../../support/with_env.ts";
import { runInProcess } from "../fixtures/run.ts";
import {
  buildSchema,
  changeSchema,
  createSchema,
  dropAll,
  insertRows,
  ROW_ERROR,
  writeMigration,
} from "../schema_migration/random_schema.ts";

const CASES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 100 : 1;

/** A folder of migrations and its database. */
interface Lab {
  readonly target: MigrationTarget;
  readonly url: string;
  readonly client: postgres.Sql;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Objects and rows of the database. */
  read(): Promise<unknown>;
}

let databases = 0;

async function withLab(server: TestPostgres, work: (lab: Lab) => Promise<void>): Promise<void> {
  const migrationsFolder = await Deno.makeTempDir({ prefix: "trellis-rollback-" });
  const url = await server.createDatabase(`rollback${++databases}`);
  const database = { provider: "serverless-pg", connectionString: url, instrument: false } as const;
  const client = postgres(url, { max: 1, onnotice: () => {}, prepare: false });
  const query = async (text: string) => [...await client.unsafe(text)];
  try {
    await work({
      target: { migrationsFolder, database },
      url,
      client,
      async write(files) {
        for (const [name, text] of Object.entries(files)) {
          await Deno.writeTextFile(join(migrationsFolder, name), text);
        }
      },
      async read() {
        const objects = await readObjects({
          query: async <Row>(text: string) => ({ rows: await query(text) as Row[] }),
        });
        const tables = [...objects.keys()].filter((label) => label.startsWith("table "));
        const rows = await Promise.all(tables.map(async (label) => {
          const name = label.slice("table ".length).split(".").map((part) => `"${part}"`).join(".");
          const [{ columns }] = await query(
            `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
              WHERE attrelid = '${name}'::regclass AND attnum > 0 AND NOT attisdropped
              AND NOT starts_with(attname, '__orm_kept_')`,
          );
          return (await query(`SELECT ROW(${columns})::text AS row FROM ${name} ORDER BY 1`))
            .map(({ row }) => `${label} (${columns}): ${row}`);
        }));
        return { objects, rows: rows.flat() };
      },
    });
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await Deno.remove(migrationsFolder, { recursive: true });
  }
}

async function migrateAndKeep(target: MigrationTarget): Promise<void> {
  const { folder, problems } = await keepInFolder(target);
  assertEquals(problems, []);
  await runMigrationFolder(target, () => folder);
}

async function rollBack(target: MigrationTarget, to?: string): Promise<string[]> {
  const { folder, problems } = await planDatabaseRollback(target, to);
  if (problems.length === 0) await runMigrationFolder(target, () => folder);
  return [...problems];
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

const BASE = `
CREATE TYPE mood AS ENUM ('calm', 'glad');
CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE notes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  title text NOT NULL CHECK (title <> ''),
  body varchar(20) DEFAULT 'none' NOT NULL,
  mood mood,
  owner int REFERENCES users ON DELETE CASCADE,
  short text GENERATED ALWAYS AS (lower(title)) STORED,
  UNIQUE (title, owner)
);
CREATE INDEX notes_title ON notes (lower(title)) WHERE owner > 0;
CREATE TABLE tags (id serial PRIMARY KEY, note bigint REFERENCES notes, label text);
CREATE TABLE numbered (id int, n serial);
CREATE VIEW titles WITH (security_invoker = true) AS SELECT title FROM notes;
CREATE SEQUENCE numbers START 5;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER touched BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER touched BEFORE UPDATE ON tags FOR EACH ROW EXECUTE FUNCTION touch();
CREATE POLICY seen ON users USING (id > 0);`;

const ROWS = `
INSERT INTO users SELECT n, 'user ' || n FROM generate_series(1, 5) AS n;
INSERT INTO notes (title, body, mood, owner) SELECT 'title ' || n, 'body', 'glad', n FROM generate_series(1, 5) AS n;
INSERT INTO tags (note, label) SELECT n, 'tag' FROM generate_series(1, 5) AS n;
SELECT nextval('numbers');`;

/** Migrations with the rows that are written after them. */
const CHANGES: Readonly<Record<string, readonly [migration: string, after: string]>> = {
  "dropped and renamed objects": [
    `DROP VIEW titles;
     ALTER TABLE notes DROP COLUMN short;
     ALTER TABLE notes DROP COLUMN title, DROP COLUMN mood;
     ALTER TABLE notes DROP COLUMN owner;
     ALTER TABLE notes DROP COLUMN body;
     ALTER TABLE notes ADD COLUMN body int DEFAULT 7;
     ALTER TABLE numbered DROP COLUMN n;
     DROP TABLE tags;
     DROP SEQUENCE numbers;
     DROP TYPE mood;
     CREATE SCHEMA app;
     ALTER TABLE users RENAME TO people;
     ALTER TABLE people RENAME COLUMN name TO full_name;
     ALTER TABLE people SET SCHEMA app;`,
    "UPDATE notes SET body = 8",
  ],
  "added and changed objects": [
    `CREATE TYPE size AS ENUM ('s', 'm');
     CREATE SCHEMA app;
     CREATE TABLE app.parts (id int PRIMARY KEY, size size, note bigint REFERENCES notes, name text UNIQUE);
     ALTER TABLE notes ADD COLUMN size size, ADD COLUMN part int REFERENCES app.parts, ADD COLUMN n serial;
     CREATE INDEX notes_size ON notes (size);
     CREATE VIEW sizes AS SELECT size FROM notes;
     CREATE VIEW more_sizes AS SELECT size FROM sizes;
     UPDATE notes SET size = 's';
     ALTER TABLE notes ALTER body TYPE text, ALTER body DROP DEFAULT, ALTER title DROP NOT NULL;
     ALTER TABLE notes DROP CONSTRAINT notes_title_check;
     ALTER TABLE notes DROP CONSTRAINT notes_title_owner_key;
     DROP INDEX notes_title;
     ALTER TABLE notes ADD CONSTRAINT notes_short CHECK (length(title) > 1);
     CREATE OR REPLACE VIEW titles AS SELECT title, id FROM notes;
     CREATE OR REPLACE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
     CREATE FUNCTION other() RETURNS int LANGUAGE sql AS 'SELECT 1';
     ALTER TABLE notes ALTER owner SET DEFAULT other();
     DROP TRIGGER touched ON notes;
     CREATE TRIGGER touched AFTER UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
     ALTER TABLE tags ENABLE ROW LEVEL SECURITY;
     CREATE POLICY own ON tags USING (true);`,
    "INSERT INTO app.parts VALUES (1, 'm', 1, 'part'); UPDATE notes SET part = 1",
  ],
};

Deno.test(
  "db rollback brings back the objects and rows from before a migration",
  unsanitized,
  async (t) => {
    const server = await startPostgres();
    try {
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
    } finally {
      await server.stop();
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
  ["COMMENT ON TABLE more IS 'text'", ["comment on table more is only in the result"]],
];

Deno.test("db rollback refuses what cannot come back, and runs nothing", unsanitized, async () => {
  const server = await startPostgres();
  try {
    for (const [migration, reasons] of REFUSED) {
      await withLab(server, async ({ target, write, read, client }) => {
        await write({
          "0001_base.sql": `CREATE TYPE mood AS ENUM ('calm');
            CREATE TABLE other (id int);
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
  } finally {
    await server.stop();
  }
});

/** Changes that are refused: of types and enums, and of sequences that columns own. */
const EXPECTED = /converts|can only be added|serial|identity|generated|refuses|sequence/;

Deno.test(
  "db rollback brings back generated schemas with rows, or refuses",
  unsanitized,
  async () => {
    const server = await startPostgres();
    let refused = 0;
    try {
      for (let index = 0; index < CASES; index++) {
        const seed = testSeed + index;
        const random = createRandom(seed);
        const before = createSchema(random);
        const after = changeSchema(random, before);
        await withLab(server, async ({ target, client, read }) => {
          const { migrationsFolder } = target;
          const plan = (exports: object, decisions = NO_DECISIONS, isFirst = false) =>
            planDifference({
              migrationsFolder: isFirst ? undefined : migrationsFolder,
              exports: Object.values(exports),
              decisions,
            });
          await writeMigration(
            migrationsFolder,
            "a",
            await plan(buildSchema(before), NO_DECISIONS, true),
          );
          await runMigrations(target);
          for (const statement of insertRows(before, 11)) await client.unsafe(statement);
          const present = await read();
          const asked = await plan(buildSchema(after));
          const change = asked.kept.length === 0
            ? asked
            : await plan(buildSchema(after), dropAll(asked.kept));
          if (change.steps.length === 0) return;
          await writeMigration(migrationsFolder, "b", change);
          const migrated = await migrateAndKeep(target).then(() => "", (error) => String(error));
          if (migrated !== "") return assertMatch(migrated, ROW_ERROR, `seed ${seed}`);
          const problems = await rollBack(target, "0001_a");
          if (problems.length > 0) {
            refused++;
            for (const problem of problems) assertMatch(problem, EXPECTED, `seed ${seed}`);
          } else assertEquals(await read(), present, `seed ${seed}`);
        });
      }
    } finally {
      await server.stop();
    }
    assert(CASES < 20 || refused * 2 < CASES, `${refused} of ${CASES} rollbacks were refused`);
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

Deno.test(
  "db migrate --retain keeps dropped values for a time, and db rollback prints its plan",
  unsanitized,
  async () => {
    const server = await startPostgres();
    try {
      await withLab(server, async ({ target, url, client, write }) => {
        const { migrationsFolder } = target;
        await write({
          "0001_notes.sql": "CREATE TABLE notes (id int PRIMARY KEY, body text NOT NULL);",
        });
        await runMigrations(target);
        await write({ "0002_drop.sql": "ALTER TABLE notes DROP COLUMN body;" });
        const options = ["--migrations", migrationsFolder, "--url-env", "ROLLBACK_URL", "--json"];
        const run = (...args: string[]) =>
          withEnv({ ROLLBACK_URL: url }, () =>
            runInProcess(["db", ...args, ...options], {
              commands: [dbMigrate, dbRollback],
              cwd: migrationsFolder,
            }));
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
        const expired = await planExpiry(target, 60_000, Date.now() + 120_000);
        assertEquals(expired?.names, [name]);
        await runMigrationFolder(target, () => expired!.folder);
        const [{ columns }] =
          await client`SELECT string_agg(attname, ', ') AS columns FROM pg_attribute
        WHERE attrelid = 'notes'::regclass AND attnum > 0 AND NOT attisdropped`;
        assertEquals(columns, "id");
      });
    } finally {
      await server.stop();
    }
  },
);
