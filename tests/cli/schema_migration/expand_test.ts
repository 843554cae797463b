/**
 * Columns that get another name over two releases: the old release and the new one write the same
 * rows of a PostgreSQL server, each under a role that may write its own columns only.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as pg from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import { join } from "node:path";
import postgres from "postgres";
import { planMigrationFiles } from "../../../cli/auth_schema/migration_file.ts";
import { findDrift } from "../../../cli/database/drift.ts";
import { keepInFolder, planDatabaseRollback } from "../../../cli/database/rollback.ts";
import { checkRelease } from "../../../cli/releases/check_release.ts";
import type { ReleaseManifest } from "../../../cli/releases/release_manifest.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { groupSteps, renderStep } from "../../../cli/schema_migration/difference.ts";
import {
  endExpand,
  planExpand,
  readOpenExpands,
} from "../../../cli/schema_migration/expand_steps.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { planSquash } from "../../../cli/schema_migration/plan_squash.ts";
import { readCatalog } from "../../../cli/schema_migration/read_catalog.ts";
import { withMigrated } from "../../../cli/schema_migration/replay.ts";
import { closeDrizzleClient, runMigrations } from "../../../database/mod.ts";
import { readMigrationFolder } from "../../../database/migrations/folder.ts";
import { runMigrationFolder } from "../../../database/migrations/run.ts";
import { decideChange } from "../../../distsql/engine.ts";
import { startPostgres } from "../../support/postgres.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const ROWS = isFull ? 100_000 : 4_000;
const WRITES = isFull ? 3_000 : 150;

const before = {
  notes: pg.pgTable("notes", {
    id: pg.integer("id").primaryKey(),
    body: pg.varchar("body", { length: 40 }).notNull(),
    state: pg.text("state").default("open"),
    n: pg.integer("n"),
  }, (table) => [
    pg.uniqueIndex("notes_n").on(table.n),
    pg.check("notes_filled", sql`length(${table.body}) > 0`),
  ]),
};

const after = {
  notes: pg.pgTable("notes", {
    id: pg.integer("id").primaryKey(),
    text: pg.text("text").notNull(),
    status: pg.text("status").default("open"),
    count: pg.bigint("count", { mode: "number" }),
  }, (table) => [
    pg.uniqueIndex("notes_n").on(table.count),
    pg.check("notes_filled", sql`length(${table.text}) > 0`),
  ]),
};

const EXPAND: Decisions = {
  ...NO_DECISIONS,
  renames: [["notes.body", "text"], ["notes.state", "status"], ["notes.n", "count"]],
  isExpand: true,
};
const CONTRACT: Decisions = {
  ...NO_DECISIONS,
  drops: new Set(["notes.body", "notes.state", "notes.n"]),
};

function connect(url: string, username = "postgres"): postgres.Sql {
  return postgres(url, { username, max: 1, onnotice: () => {} });
}

interface Lab {
  readonly url: string;
  readonly client: postgres.Sql;
  readonly target: Parameters<typeof runMigrations>[0];
  readonly folder: string;
  /** Writes the migrations of a schema as the command does. */
  write(name: string, exports: object, decisions?: Decisions): Promise<string[]>;
}

async function withLab(test: (lab: Lab) => Promise<void>): Promise<void> {
  const server = await startPostgres();
  const client = connect(server.url);
  const folder = await Deno.makeTempDir({ prefix: "trellis-expand-" });
  const connection = { connectionString: server.url, instrument: false };
  const database = { provider: "serverless-pg" as const, ...connection };
  try {
    await test({
      url: server.url,
      client,
      folder,
      target: { migrationsFolder: folder, database },
      async write(name, exports, decisions = NO_DECISIONS) {
        const { steps, problems, open } = await planDifference({
          migrationsFolder: folder,
          exports: Object.values(exports),
          decisions,
        });
        assertEquals(problems, []);
        const files = groupSteps(steps).map((group) => group.map(renderStep));
        const present = readMigrationFolder(folder);
        const options = { dir: "", folder, present, name, head: "", files, nowMs: 0 };
        for (const { path, text } of planMigrationFiles(options)) {
          await Deno.writeTextFile(join(folder, path), text!);
        }
        return [...open];
      },
    });
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs one statement after the other, each in a run that ends before the next one. */
async function migrateOneByOne(target: Lab["target"], last?: RegExp): Promise<void> {
  for (let isReached = false; !isReached;) {
    let statements = 0;
    try {
      await runMigrations({
        ...target,
        logger(line) {
          if (!/: statement \d+ of /.test(line) || ++statements < 2) return;
          isReached = last?.test(line) === true;
          throw new Error("the process ends here");
        },
      });
      assertEquals(last, undefined, "no such statement");
      return;
    } catch (error) {
      assertStringIncludes((error as Error).message, "the process ends here");
    }
  }
}

interface Values {
  text: string;
  status: string | null;
  count: number | null;
}

/** A statement of a release: what it does to the row, and its SQL for the release's columns. */
type Write = readonly [values: Partial<Values>, isInsert: boolean];

/** Column names of the releases. */
const NAMES = {
  old: { text: "body", status: "state", count: "n" },
  new: { text: "text", status: "status", count: "count" },
} as const;
type Release = keyof typeof NAMES;

function writeSql(release: Release, id: number, [values, isInsert]: Write): string {
  const names = NAMES[release];
  const quote = (value: unknown) => typeof value === "string" ? `'${value}'` : String(value);
  const pairs = Object.entries(values)
    .map(([key, value]) => [names[key as keyof Values], quote(value)] as const);
  if (!isInsert) {
    return `UPDATE notes SET ${pairs.map((pair) => pair.join(" = ")).join(", ")} WHERE id = ${id}`;
  }
  const columns = pairs.map(([column]) => column);
  return `INSERT INTO notes (id, ${columns}) VALUES (${id}, ${pairs.map(([, value]) => value)}) ` +
    `ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`)}`;
}

/** Creates a role that may read the key, and write its own columns and no others. */
async function grant(client: postgres.Sql, release: Release): Promise<void> {
  const columns = Object.values(NAMES[release]).join(", ");
  await client.unsafe(`CREATE ROLE ${release}_release LOGIN;
    GRANT SELECT (id, ${columns}), INSERT (id, ${columns}), UPDATE (${columns}) ON notes TO ${release}_release`);
}

async function readDifferent(client: postgres.Sql): Promise<number> {
  const [{ rows }] = await client.unsafe(`SELECT count(*)::int AS rows FROM notes
    WHERE (body, state, n) IS DISTINCT FROM (text, status, count)`);
  return rows;
}

Deno.test("generate migration --expand keeps both names equal while two releases write", async () => {
  const seed = testSeed;
  const { below: pick } = createRandom(seed);
  const write = (isInsert: boolean): Write => {
    const values: Partial<Values> = {};
    if (isInsert || pick(2) === 0) values.text = `text ${pick(1000)}`;
    if (pick(3) === 0) values.status = [null, "open", "done"][pick(3)];
    if (pick(4) === 0) values.count = pick(3) === 0 ? null : 1_000_000 + pick(1_000_000);
    return [Object.keys(values).length === 0 ? { status: null } : values, isInsert];
  };
  await withLab(async ({ url, client, target, write: writeFiles }) => {
    await writeFiles("first", before);
    await runMigrations(target);
    await client.unsafe(`INSERT INTO notes SELECT g, 'body ' || g,
      CASE g % 3 WHEN 0 THEN NULL WHEN 1 THEN 'open' ELSE 'done' END, g FROM generate_series(1, ${ROWS}) g`);
    await grant(client, "old");
    const open = await writeFiles("expand", after, EXPAND);
    assertEquals(open.length, 3);

    await migrateOneByOne(target, /statement 4 of 6/);
    await grant(client, "new");
    const releases = { old: connect(url, "old_release"), new: connect(url, "new_release") };
    const blocker = connect(url);
    const blocked = Promise.withResolvers<void>();
    let migrated: Promise<unknown> | undefined;
    try {
      const model = new Map<number, Values>();
      for (const row of await client.unsafe("SELECT id, body, state, n FROM notes")) {
        model.set(row.id, { text: row.body, status: row.state, count: row.n });
      }
      const held = Math.floor(ROWS / 2);
      const locked = Promise.withResolvers<void>();
      const blocking = blocker.begin(async (tx) => {
        await tx.unsafe(`SELECT FROM notes WHERE id = ${held} FOR UPDATE`);
        locked.resolve();
        await blocked.promise;
      });
      await locked.promise;
      migrated = runMigrations(target);
      for (let waiting = false; !waiting;) {
        [{ waiting }] = await client.unsafe(`SELECT count(*) > 0 AS waiting FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND query ILIKE '%UPDATE%notes%'`);
      }
      const used = new Set([...model.values()].map(({ count }) => count));
      for (let count = 0; count < WRITES; count++) {
        const release = pick(2) === 0 ? "old" : "new";
        const id = 1 + pick(ROWS + 200);
        // the batch of the held row has locked others
        if (Math.abs(id - held) <= 1000) continue;
        const change = write(!model.has(id) || pick(5) === 0);
        const [values] = change;
        if (used.has(values.count ?? null)) delete values.count;
        if (Object.keys(values).length === 0) continue;
        used.add(values.count ?? null);
        await releases[release].unsafe(writeSql(release, id, change));
        model.set(id, { text: "", status: "open", count: null, ...model.get(id), ...values });
      }
      const check = async () => {
        const rows = await client.unsafe("SELECT id, body, state, n FROM notes ORDER BY id");
        assertEquals(
          rows.map(({ id, body, state, n }) => [id, { text: body, status: state, count: n }]),
          [...model].sort(([a], [b]) => a - b),
          `seed ${seed}`,
        );
      };
      await check();
      blocked.resolve();
      await blocking;
      // both at once, until the migrations are done
      let isDone = false;
      const all = (["old", "new"] as const).map(async (release) => {
        for (let count = 0; !isDone || count < WRITES; count++) {
          const [values] = write(false);
          const kept: Partial<Values> = {
            text: values.text ?? "both",
            status: values.status ?? null,
          };
          const id = 1 + (count * 7919) % ROWS;
          await releases[release].unsafe(writeSql(release, id, [kept, false]));
          model.delete(id);
        }
      });
      await migrated;
      isDone = true;
      await Promise.all(all);
      assertEquals(await readDifferent(client), 0, `seed ${seed}`);
      const rows = await client.unsafe("SELECT id, body, state, n FROM notes");
      const seen = new Map(rows.map((row) => [row.id, row]));
      for (const [id, { text, status, count }] of model) {
        const row = seen.get(id)!;
        assertEquals([row.body, row.state, row.n], [text, status, count], `seed ${seed}, id ${id}`);
      }
      // the new name wins in a statement that gives both
      await client.unsafe(`INSERT INTO notes (id, body, text) VALUES (-1, 'old', 'new');
        UPDATE notes SET body = 'old', text = 'newer' WHERE id = 1`);
      assertEquals(
        [...await client.unsafe("SELECT body, text FROM notes WHERE id IN (-1, 1) ORDER BY id")],
        [{ body: "new", text: "new" }, { body: "newer", text: "newer" }],
      );
      const refused: readonly [Release, string, string][] = [
        ["new", "UPDATE notes SET count = 5000000000 WHERE id = 2", "22003"],
        ["new", "UPDATE notes SET text = repeat('x', 41) WHERE id = 2", "22001"],
        ["old", "UPDATE notes SET text = 'x' WHERE id = 2", "42501"],
      ];
      for (const [release, text, code] of refused) {
        const error = await assertRejects(() => releases[release].unsafe(text));
        assertEquals((error as { code?: string }).code, code, text);
      }
    } finally {
      blocked.resolve();
      await migrated?.catch(() => {});
      await Promise.all([...Object.values(releases), blocker].map((each) => each.end()));
    }
  });
});

function manifest(release: Release, migrations: readonly string[]): ReleaseManifest {
  const columns = Object.values(NAMES[release]).map((name) => `"${name}"`).join(", ");
  const [text] = Object.values(NAMES[release]);
  const statement = (name: string, text: string) => ({ name, place: "q.ts:1", sql: text });
  return {
    version: 1,
    migrations: [...migrations],
    functions: [{
      name: "Notes",
      role: `${release}_release`,
      grants: [
        `GRANT SELECT ("id", ${columns}), INSERT ("id", ${columns}), UPDATE (${columns}) ON "notes" ` +
        `TO "${release}_release"`,
      ],
      statements: [
        statement("list", `SELECT "id", ${columns} FROM "notes"`),
        statement("add", `INSERT INTO "notes" ("id", "${text}") VALUES ($1, $2)`),
        statement("set", `UPDATE "notes" SET "${text}" = $1 WHERE "id" = $2`),
      ],
      unchecked: [],
    }],
  };
}

Deno.test("each release works at every schema between expand and contract, and the way back is known", async () => {
  await withLab(async ({ client, folder, target, write }) => {
    const tags = () => readMigrationFolder(folder).files.map(({ tag }) => tag);
    const breaksOf = async (release: ReleaseManifest) =>
      (await checkRelease(release, folder)).breaks.map((each) =>
        `${each.statement}: ${each.reason}`
      );
    await write("first", before);
    await runMigrations(target);
    await client.unsafe("INSERT INTO notes (id, body, n) VALUES (1, 'one', 1), (2, 'two', 2)");
    const old = manifest("old", tags());
    await write("expand", after, EXPAND);
    assertEquals(tags(), ["0001_first", "0002_expand", "0003_expand_2"]);
    assertEquals(await breaksOf(old), []);

    // nothing is dropped by itself, and nothing is missing
    assertEquals(
      await write("nothing", after),
      [["body", "text"], ["state", "status"], ["n", "count"]].map(([from, to]) =>
        `notes.${from} and notes.${to} are kept equal by triggers. When no running release uses ` +
        `${from}, remove it: --drop notes.${from}`
      ),
    );
    assertEquals(tags().length, 3);
    const other = { ...EXPAND, isExpand: false, renames: [["notes.text", "content"]] as const };
    const content = pg.pgTable("notes", { id: pg.integer("id").primaryKey(), content: pg.text() });
    const { problems } = await planDifference({
      migrationsFolder: folder,
      exports: [content],
      decisions: other,
    });
    assertStringIncludes(problems.join(), "notes.body and notes.text are kept equal by triggers");

    // the expansion goes back and forth
    await migrateOneByOne(target);
    assertEquals((await findDrift(target)).differences, []);
    assertEquals((await planSquash(readMigrationFolder(folder).files)).problems, []);
    await client.unsafe("INSERT INTO notes (id, text) VALUES (3, 'three')");
    const back = await planDatabaseRollback(target, "0001_first");
    assertEquals(back.problems, []);
    await runMigrationFolder(target, () => back.folder);
    assertEquals([...await client.unsafe("SELECT body, state, n FROM notes ORDER BY id")], [
      { body: "one", state: "open", n: 1 },
      { body: "two", state: "open", n: 2 },
      { body: "three", state: "open", n: null },
    ]);
    await runMigrations(target);
    assertEquals(await readDifferent(client), 0);

    // the contraction breaks the old release, and not the new one
    const next = manifest("new", tags());
    assertEquals(await write("contract", after, CONTRACT), []);
    assertEquals(tags().slice(3), ["0004_contract"]);
    assertEquals(await breaksOf(next), []);
    assertEquals(await breaksOf({ ...old, migrations: tags().slice(0, 3) }), [
      'list: column "body" does not exist',
      'add: column "body" of relation "notes" does not exist',
      'set: column "body" of relation "notes" does not exist',
      'the grant of "notes": column "body" does not exist',
    ]);
    const kept = await keepInFolder(target);
    assertEquals(kept.problems, []);
    await runMigrationFolder(target, () => kept.folder);
    assertEquals((await findDrift(target)).differences, []);
    assertEquals(
      [
        ...await client.unsafe(
          "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'notes'::regclass ORDER BY 1",
        ),
      ],
      [{ name: "notes_n" }, { name: "notes_pkey" }],
    );
    const refused = await planDatabaseRollback(target, "0003_expand_2");
    assertStringIncludes(refused.problems.join("\n"), "--rename notes.text=body --expand");
  });
});

Deno.test("planExpand() refuses columns whose values the triggers cannot keep equal", async () => {
  await withMigrated([], async (database) => {
    await database.exec(`
      CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1';
      CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
      CREATE TABLE t (id int PRIMARY KEY, a text, key uuid DEFAULT gen_random_uuid(), own int DEFAULT own(),
        number serial, lower text GENERATED ALWAYS AS (lower(a)) STORED, b text, data json,
        filled json DEFAULT '{}', seen text, code text UNIQUE, at timestamptz DEFAULT now());
      CREATE TABLE others (code text REFERENCES t (code));
      CREATE VIEW v AS SELECT seen FROM t;
      CREATE TABLE keyless (a text);
      CREATE TABLE fired (id int PRIMARY KEY, a text);
      CREATE TRIGGER x BEFORE UPDATE ON fired FOR EACH ROW EXECUTE FUNCTION nothing();
      CREATE TABLE parents (id int PRIMARY KEY, a text); CREATE TABLE heirs () INHERITS (parents);
      CREATE TABLE parts (id int PRIMARY KEY, a text) PARTITION BY RANGE (id);`);
    const catalog = await readCatalog(database);
    const plan = async (path: string, changes: object = {}) => {
      const [name, column] = path.split(".");
      const table = catalog.tables.find((each) => each.name === name)!;
      const old = table.columns.find((each) => each.name === column)!;
      return await planExpand(database, { table, old, next: { ...old, name: "next", ...changes } });
    };
    const refused: readonly (readonly [path: string, reason: string, changes?: object])[] = [
      ["t.id", "constraint t_pkey on table t depends on it"],
      ["t.key", "its default gen_random_uuid() has another value for each row"],
      ["t.own", "its default public.own() has another value for each row"],
      ["t.number", "its values come from a sequence"],
      ["t.lower", "it is a generated column"],
      ["t.a", "default value for column lower of table t depends on it"],
      ["t.seen", "depends on it"],
      ["t.code", "constraint others_code_fkey on table others depends on it"],
      ["t.filled", "PostgreSQL cannot compare its values"],
      ["t.b", "its type changes too", { type: "integer" }],
      ["t.b", "its default and NOT NULL changes too", { default: "'x'::text", isRequired: true }],
      ["keyless.a", "has no primary key"],
      ["fired.a", "fired has a trigger x"],
      ["parents.a", "for the rows of tables that inherit"],
      ["parts.a", "is not an ordinary table"],
    ];
    for (const [path, reason, changes] of refused) {
      const planned = await plan(path, changes);
      assert(typeof planned === "string", path);
      assertStringIncludes(planned, `--expand cannot rename ${path}: `);
      assertStringIncludes(planned, reason);
    }
    for (const path of ["t.b", "t.data", "t.at"]) assert(Array.isArray(await plan(path)), path);
  });
});

Deno.test("the batches accept triggers of an expansion by what they do, and refuse all others", async () => {
  await withMigrated([], async (database) => {
    const run = async (text: string) => (await database.query<Record<string, unknown>>(text)).rows;
    await database.exec(
      "CREATE TABLE t (id int PRIMARY KEY, a text DEFAULT 'x', n int, u int UNIQUE)",
    );
    const { tables: [table] } = await readCatalog(database);
    const [, old] = table.columns;
    const steps = await planExpand(database, { table, old, next: { ...old, name: "b" } });
    assert(typeof steps !== "string");
    for (const { sql } of steps) await database.exec(sql);
    const [{ name }] = await readOpenExpands(database);
    const decide = async (text: string) => {
      const decision = await decideChange(text, run);
      return decision?.isBatchable === true ? "batches" : decision?.reason;
    };
    const fill = "UPDATE t SET b = a WHERE b IS NULL";
    assertEquals(await decide(fill), "batches");
    assertEquals(await decide("UPDATE t SET n = 1"), "batches");
    assertEquals(await decide("UPDATE t SET a = upper(a)"), "batches");
    const [{ body }] = await run(`SELECT pg_get_functiondef('${name}'::regproc) AS body`);
    const replace = (from: string, to: string) => {
      const text = String(body).replace(from, to);
      assert(text !== body, from);
      return text;
    };
    const changes: readonly string[] = [
      replace("RETURN NEW;", "NEW.n := (SELECT count(*) FROM t); RETURN NEW;"),
      replace("('x'::text)", "('x'::text) AND nextval('s') > 0"),
      replace('NEW."b" := NEW."a"', 'NEW."a" := NEW."b"'),
      replace("SET search_path TO 'pg_catalog'", ""),
      replace("LANGUAGE plpgsql", "LANGUAGE plpgsql SECURITY DEFINER"),
      `ALTER TABLE t DISABLE TRIGGER ${name}_old`,
      `DROP TRIGGER ${name}_old ON t`,
      `CREATE TRIGGER ${name}_more BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION ${name}('old')`,
      `DROP TRIGGER ${name}_old ON t;
       CREATE TRIGGER ${name}_old AFTER UPDATE OF a ON t FOR EACH ROW EXECUTE FUNCTION ${name}('old')`,
      `DROP TRIGGER ${name}_old ON t;
       CREATE TRIGGER ${name}_old BEFORE UPDATE OF a ON t FOR EACH ROW WHEN (NEW.id > 1) EXECUTE FUNCTION ${name}('old')`,
    ];
    for (const change of changes) {
      await database.exec("BEGIN");
      await database.exec(change);
      assertStringIncludes(await decide(fill) ?? "", `t has a trigger ${name}`, change);
      await database.exec("ROLLBACK");
    }
    // a change of one column changes the other
    await database.exec("CREATE UNIQUE INDEX ON t (b)");
    assertStringIncludes(await decide("UPDATE t SET a = upper(a)") ?? "", "unique index (b)");
  });
});

Deno.test("planExpand() quotes names, and names the schema of a type in its triggers", async () => {
  await withMigrated([], async (database) => {
    await database.exec(`CREATE SCHEMA "A b"; CREATE TYPE "A b".mood AS ENUM ('calm', 'glad');
      CREATE TABLE "A b"."T" (id int PRIMARY KEY, "o ""ld" "A b".mood NOT NULL DEFAULT 'calm');
      INSERT INTO "A b"."T" VALUES (1, 'glad')`);
    const { tables: [table] } = await readCatalog(database);
    const [, old] = table.columns;
    const steps = await planExpand(database, { table, old, next: { ...old, name: "NE'w" } });
    assert(typeof steps !== "string");
    for (const { sql } of steps) await database.exec(sql);
    const [open] = await readOpenExpands(database);
    assertEquals([open.schema, open.table, open.from, open.to], ["A b", "T", 'o "ld', "NE'w"]);
    await database.exec(`INSERT INTO "A b"."T" (id, "NE'w") VALUES (2, 'glad');
      INSERT INTO "A b"."T" (id, "o ""ld") VALUES (3, 'glad'); INSERT INTO "A b"."T" (id) VALUES (4)`);
    const { rows } = await database.query(
      `SELECT array_agg("o ""ld"::text ORDER BY id)::text AS old, array_agg("NE'w"::text ORDER BY id)::text AS next
        FROM "A b"."T"`,
    );
    assertEquals(rows, [{ old: "{glad,glad,glad,calm}", next: "{glad,glad,glad,calm}" }]);
    for (const { sql } of endExpand(open)) await database.exec(sql);
    assertEquals(await readOpenExpands(database), []);
  });
});
