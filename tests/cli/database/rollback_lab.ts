import { assertEquals } from "@std/assert";
import { join } from "node:path";
import postgres from "postgres";
import { keepInFolder, planDatabaseRollback } from "../../../cli/database/rollback.ts";
import {
  type DatabaseObjects,
  readObjects,
} from "../../../cli/schema_migration/database_objects.ts";
import { type MigrationTarget, runMigrationFolder } from "../../../database/migrations/run.ts";
import { closeDrizzleClient } from "../../../database/mod.ts";
import type { TestPostgres } from "../../support/postgres.ts";

/** A folder of migrations and its database. */
export interface RollbackLab {
  readonly target: MigrationTarget;
  readonly url: string;
  readonly client: postgres.Sql;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Objects and rows of the database. */
  read(): Promise<DatabaseState>;
}

let databases = 0;

/** Objects and rows of a database. */
export interface DatabaseState {
  readonly objects: DatabaseObjects;
  readonly rows: readonly string[];
}

/**
 * Reads the objects and the rows of a database, without what is kept after it was dropped.
 *
 * @param order Order of the values of a row: `attnum` or `attname`.
 */
export async function readDatabase(
  client: postgres.Sql,
  order = "attnum",
): Promise<DatabaseState> {
  const query = async (text: string) => [...await client.unsafe(text)];
  const objects = await readObjects({
    query: async <Row>(text: string) => ({ rows: await query(text) as Row[] }),
  });
  const tables = [...objects.keys()].filter((label) => label.startsWith("table "));
  const rows = await Promise.all(tables.map(async (label) => {
    const name = label.slice("table ".length).split(".").map((part) => `"${part}"`).join(".");
    const [{ columns }] = await query(
      `SELECT string_agg(quote_ident(attname), ', ' ORDER BY ${order}) AS columns FROM pg_attribute
        WHERE attrelid = '${name}'::regclass AND attnum > 0 AND NOT attisdropped
        AND NOT starts_with(attname, '__orm_kept_')`,
    );
    return (await query(`SELECT ROW(${columns})::text AS row FROM ${name} ORDER BY 1`))
      .map(({ row }) => `${label} (${columns}): ${row}`);
  }));
  return { objects, rows: rows.flat() };
}

/**
 * Opens a database of a server with a folder of migrations.
 *
 * @param template The database of which it is a copy.
 */
export async function withLab(
  server: TestPostgres,
  work: (lab: RollbackLab) => Promise<void>,
  template?: string,
): Promise<void> {
  const migrationsFolder = await Deno.makeTempDir({ prefix: "trellis-rollback-" });
  const url = await server.createDatabase(`rollback${++databases}`, template);
  const database = { provider: "serverless-pg", connectionString: url, instrument: false } as const;
  const client = postgres(url, { max: 1, onnotice: () => {}, prepare: false });
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
      read: () => readDatabase(client),
    });
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await Deno.remove(migrationsFolder, { recursive: true });
  }
}

/** Applies the pending migrations, and keeps what they drop. */
export async function migrateAndKeep(target: MigrationTarget): Promise<void> {
  const { folder, problems } = await keepInFolder(target);
  assertEquals(problems, []);
  await runMigrationFolder(target, () => folder);
}

/** Rolls migrations back. Returns why it is refused. */
export async function rollBack(target: MigrationTarget, to?: string): Promise<string[]> {
  const { folder, problems, tags } = await planDatabaseRollback(target, to);
  if (problems.length === 0 && tags.length > 0) await runMigrationFolder(target, () => folder);
  return [...problems];
}

/** Migration of objects of each kind. */
export const BASE = `
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
CREATE VIEW bodies AS SELECT body FROM notes;
CREATE VIEW "short bodies" AS SELECT left(body, 3) AS short FROM bodies;
CREATE SEQUENCE numbers START 5;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER touched BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
CREATE TRIGGER touched BEFORE UPDATE ON tags FOR EACH ROW EXECUTE FUNCTION touch();
ALTER TABLE tags DISABLE TRIGGER touched;
ALTER TABLE tags ADD CONSTRAINT tags_label CHECK (label <> '') NOT VALID;
CREATE POLICY seen ON users USING (id > 0);
CREATE TABLE events (id int, day date, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE INDEX events_note ON events (note);
CREATE TABLE animals (id int PRIMARY KEY, name text);
CREATE TABLE dogs (breed text) INHERITS (animals);
CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM users;
CREATE UNIQUE INDEX counts_n ON counts (n);`;

/** Rows of {@link BASE}. */
export const ROWS = `
INSERT INTO users SELECT n, 'user ' || n FROM generate_series(1, 5) AS n;
INSERT INTO notes (title, body, mood, owner) SELECT 'title ' || n, 'body', 'glad', n FROM generate_series(1, 5) AS n;
INSERT INTO tags (note, label) SELECT n, 'tag' FROM generate_series(1, 5) AS n;
INSERT INTO events VALUES (1, '2026-01-02', 'first'), (2, '2026-02-03', 'second');
INSERT INTO animals VALUES (1, 'Rex');
INSERT INTO dogs VALUES (2, 'Max', 'Beagle');
SELECT nextval('numbers');`;

/** Migrations with the rows that are written after them. */
export const CHANGES: Readonly<Record<string, readonly [migration: string, after: string]>> = {
  "dropped and renamed objects": [
    `DROP VIEW titles, "short bodies", bodies;
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
  "partitions, policies, triggers and materialized views": [
    `ALTER TABLE events RENAME note TO body;
     DROP INDEX events_note;
     ALTER TABLE events ALTER body SET NOT NULL;
     DROP TABLE events_1;
     DROP TABLE dogs;
     CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
     DROP MATERIALIZED VIEW counts;
     CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
     CREATE TRIGGER noted AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION noted();
     DROP TRIGGER touched ON tags;
     ALTER TABLE tags VALIDATE CONSTRAINT tags_label;
     ALTER TABLE notes ENABLE ALWAYS TRIGGER touched;
     DROP POLICY seen ON users;
     CREATE POLICY seen ON users AS RESTRICTIVE FOR SELECT USING (id > 1);`,
    `DO $$ BEGIN
       ASSERT (SELECT count(*) FROM events) = 1, 'the rows of a kept partition are those of no other table';
       ASSERT (SELECT count(*) FROM animals) = 1, 'nor are those of a table that inherits';
     END $$;
     INSERT INTO events VALUES (3, '2026-03-04', 'third')`,
  ],
  "no objects": ["CREATE TABLE IF NOT EXISTS users (id int);", "SELECT 1"],
  "added and changed objects": [
    `CREATE TYPE size AS ENUM ('s', 'm');
     CREATE SCHEMA app;
     CREATE TABLE app.parts (id int PRIMARY KEY, size size, note bigint REFERENCES notes, name text UNIQUE);
     ALTER TABLE notes ADD COLUMN size size, ADD COLUMN part int REFERENCES app.parts, ADD COLUMN n serial;
     CREATE INDEX notes_size ON notes (size);
     CREATE VIEW sizes AS SELECT size FROM notes;
     CREATE VIEW more_sizes AS SELECT size FROM sizes;
     UPDATE notes SET size = 's';
     DROP VIEW "short bodies", bodies;
     ALTER TABLE notes ALTER body TYPE text, ALTER body DROP DEFAULT, ALTER title DROP NOT NULL;
     ALTER TABLE notes DROP CONSTRAINT notes_title_check;
     ALTER TABLE notes DROP CONSTRAINT notes_title_owner_key;
     DROP INDEX notes_title;
     ALTER TABLE notes ADD CONSTRAINT notes_short CHECK (length(title) > 1);
     CREATE VIEW bodies AS SELECT body FROM notes;
     CREATE VIEW "short bodies" AS SELECT left(body, 3) AS short FROM bodies;
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
  "converted columns and added values": [
    `ALTER TYPE mood ADD VALUE 'wild';
     CREATE TYPE pet AS ENUM ('Max', 'Rex', 'Tom');
     ALTER TABLE animals ALTER name TYPE pet USING name::pet;
     ALTER TABLE numbered ALTER id TYPE text;
     ALTER TABLE events ALTER note TYPE varchar(9);
     ALTER TABLE animals RENAME TO pets;
     ALTER SEQUENCE tags_id_seq OWNED BY NONE;
     ALTER TABLE tags ALTER id DROP DEFAULT;
     ALTER TABLE tags ALTER id ADD GENERATED BY DEFAULT AS IDENTITY;
     SELECT setval(pg_get_serial_sequence('tags', 'id'), 5);`,
    "UPDATE pets SET name = name; UPDATE notes SET mood = 'calm'; UPDATE notes SET mood = 'glad'",
  ],
  "an enum without a value": [
    `CREATE TYPE next AS ENUM ('glad');
     ALTER TABLE notes ALTER mood TYPE next USING mood::text::next;
     DROP TYPE mood;
     ALTER TYPE next RENAME TO mood;`,
    "UPDATE notes SET mood = 'glad'",
  ],
};
