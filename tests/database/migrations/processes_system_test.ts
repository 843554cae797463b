// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { getDirectConfig, startPostgres } from "../../support/postgres.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { runAndKill } from "../../support/kill.ts";
import { withDistSqlServer } from "../../support/distsql_server.ts";

/** `TRELLIS_FULL_TESTS=1` kills a run at each boundary instead of at a few. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("../../support/migrate_process.ts", import.meta.url).pathname;

/** Another lock file for the processes than the project's, such as `--lock=…`. */
const LOCK = Deno.env.get("TRELLIS_TEST_LOCK")?.split(" ") ?? [];

interface Ended {
  signal: Deno.Signal | null;
  lines: string[];
}

async function migrate(config: object, dieAt?: number): Promise<Ended> {
  return await ended(start(config, dieAt));
}

/** Ends the process some time after it wrote so many lines; tells whether it was still running. */
async function migrateAndKill(config: object, lines: number, plusMs: number): Promise<boolean> {
  const { isKilled, code, errors } = await runAndKill(
    [...LOCK, PROCESS, JSON.stringify(config)],
    plusMs,
    (text) => text.split("\n").length > lines,
  );
  if (code !== 0 && !isKilled) throw new Error(errors);
  return isKilled;
}

function start(config: object, dieAt?: number): Deno.ChildProcess {
  const args = [
    "run",
    "-A",
    "--no-check",
    ...LOCK,
    PROCESS,
    JSON.stringify(config),
    ...(dieAt === undefined ? [] : [String(dieAt)]),
  ];
  return new Deno.Command(Deno.execPath(), { args, stdout: "piped", stderr: "piped" }).spawn();
}

async function ended(child: Deno.ChildProcess): Promise<Ended> {
  const { signal, stdout, stderr, code } = await child.output();
  if (code !== 0 && signal === null) throw new Error(new TextDecoder().decode(stderr));
  return { signal, lines: new TextDecoder().decode(stdout).trim().split("\n") };
}

/** Thirty statements: files that are transactions, a file of single statements, one with indexes built concurrently. */
async function writeFolder(): Promise<string> {
  const folder = await Deno.makeTempDir();
  const log = (n: number): string => `INSERT INTO log VALUES (${n})`;
  const files: Record<string, string[]> = {
    "0001_start": [
      "CREATE TABLE log (n int)",
      "CREATE TABLE big (id int PRIMARY KEY, t text)",
      log(1),
    ],
    "0002_rows": ["INSERT INTO big SELECT n, 'x' FROM generate_series(1, 500) AS n", log(2)],
    "0003_single": [
      "-- trellis: no-transaction\nALTER TABLE big ADD COLUMN a int",
      ...Array.from({ length: 9 }, (_, at) => log(10 + at)),
    ],
    "0004_indexes": [
      "CREATE INDEX CONCURRENTLY big_a ON big (a)",
      log(30),
      "CREATE UNIQUE INDEX CONCURRENTLY big_t ON big (id, t)",
      log(31),
      "DROP INDEX CONCURRENTLY big_a",
      log(32),
      "VACUUM big",
    ],
    "0005_end": ["ALTER TABLE big RENAME COLUMN t TO text", log(40), log(41)],
    "0006_one": [log(50)],
    "0007_two": [log(51), log(52)],
    "0008_three": [log(53), "DROP TABLE big"],
  };
  for (const [tag, statements] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${tag}.sql`, statements.join(";\n") + ";\n");
  }
  assertEquals(Object.values(files).flat().length, 30);
  return folder;
}

const EXPECTED = [1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30, 31, 32, 40, 41, 50, 51, 52, 53];

async function readLog(
  database: DatabaseConfig,
): Promise<{ log: unknown[]; tags: number; big: unknown }> {
  const db = await getDrizzleClient(database);
  try {
    const log = (await executeRows(db, sql`SELECT n FROM log ORDER BY n`)).map(({ n }) => n);
    const [{ tags }] = await executeRows(
      db,
      sql`SELECT count(*)::int AS tags FROM orm.__orm_migrations`,
    );
    const [{ big }] = await executeRows(db, sql`SELECT to_regclass('big') AS big`);
    return { log, tags: Number(tags), big };
  } finally {
    await closeDrizzleClient(database);
  }
}

Deno.test("runMigrations() finishes what a killed process began: nothing is applied twice, nothing is lost", async () => {
  const postgres = await startPostgres();
  const migrationsFolder = await writeFolder();
  try {
    const boundaries = isFull ? Array.from({ length: 40 }, (_, at) => at + 1) : [1, 5, 13, 16, 24];
    let killed = 0;
    for (const boundary of boundaries) {
      const connectionString = await postgres.createDatabase(`kill${boundary}`);
      const database = getDirectConfig(connectionString);
      const first = await migrate({ migrationsFolder, database }, boundary);
      if (first.signal === null) break;
      assertEquals(first.signal, "SIGKILL");
      killed++;
      const second = await migrate({ migrationsFolder, database });
      assertEquals(
        await readLog(database),
        { log: EXPECTED, tags: 8, big: null },
        `killed at boundary ${boundary}`,
      );
      assert(JSON.parse(second.lines.at(-1)!).applied > 0 || boundary > 20);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    console.log(`killed at ${killed} boundaries`);
    assertEquals(killed, isFull ? 25 : boundaries.length);
  } finally {
    await postgres.stop();
    await Deno.remove(migrationsFolder, { recursive: true });
  }
});

/** Thirty statements of all kinds that the distributed provider treats apart. */
async function writeDistSqlFolder(): Promise<string> {
  const folder = await Deno.makeTempDir();
  const files: Record<string, string[]> = {
    "0001_start": [
      "CREATE TABLE log (id int PRIMARY KEY, n int)",
      "CREATE TABLE owners (id int PRIMARY KEY)",
      "CREATE TABLE notes (id int PRIMARY KEY, owner_id int, title text)",
      "INSERT INTO owners VALUES (1)",
      "INSERT INTO notes SELECT n, 1, 'n' || n FROM generate_series(1, 1200) AS n",
      "CREATE INDEX notes_owner ON notes (owner_id)",
    ],
    "0002_rows": Array.from({ length: 12 }, (_, at) => `INSERT INTO log VALUES (${at}, ${at})`),
    "0003_change": [
      "ALTER TABLE notes ADD COLUMN done boolean DEFAULT false NOT NULL",
      "ALTER TABLE notes ADD CONSTRAINT notes_owner_fk FOREIGN KEY (owner_id) REFERENCES owners (id)",
      "UPDATE notes SET title = title || '!'",
      "ALTER TABLE notes ADD CONSTRAINT notes_title UNIQUE (title)",
      "ALTER TABLE notes RENAME COLUMN title TO name",
      "DROP INDEX notes_owner",
    ],
    "0004_end": Array.from(
      { length: 6 },
      (_, at) => `INSERT INTO log VALUES (${20 + at}, ${20 + at})`,
    ),
  };
  for (const [tag, statements] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${tag}.sql`, statements.join(";\n") + ";\n");
  }
  assertEquals(Object.values(files).flat().length, 30);
  return folder;
}

/** Runs a test on a stand-in of its own, and looks at the end whether everything was applied once. */
async function onDistSql(
  databaseUrl: string,
  test: (database: DatabaseConfig) => Promise<void>,
): Promise<void> {
  await withDistSqlServer({ backend: { url: databaseUrl } }, async (database) => {
    await test(database);
    const db = await getDrizzleClient(database);
    const [row] = await executeRows(
      db,
      sql`SELECT (SELECT count(*)::int FROM log) AS log,
        (SELECT count(*)::int FROM notes WHERE name LIKE '%!' AND name NOT LIKE '%!!' AND NOT done) AS notes,
        (SELECT count(*)::int FROM orm.__orm_migrations) AS tags,
        (SELECT count(*)::int FROM pg_constraint WHERE conrelid = 'notes'::regclass AND NOT convalidated) AS open`,
    );
    assertEquals(row, { log: 18, notes: 1200, tags: 4, open: 0 });
  });
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "runMigrations() on distsql finishes what a process began that was killed at a boundary",
  unsanitized,
  async () => {
    const migrationsFolder = await writeDistSqlFolder();
    const postgres = await startPostgres();
    const boundaries = isFull ? Array.from({ length: 60 }, (_, at) => at + 1) : [8, 21];
    let killed = 0;
    for (let isOver = false; !isOver && killed < boundaries.length;) {
      const boundary = boundaries[killed];
      await onDistSql(await postgres.createDatabase(`dsql${boundary}`), async (database) => {
        const first = await migrate({ migrationsFolder, database, lockTtlSeconds: 1 }, boundary);
        isOver = first.signal === null;
        if (isOver) return;
        killed++;
        await migrate({ migrationsFolder, database, lockTtlSeconds: 1 });
      });
    }
    await postgres.stop();
    console.log(`killed at ${killed} boundaries`);
    assert(isFull ? killed >= 30 : killed === boundaries.length, String(killed));
    await Deno.remove(migrationsFolder, { recursive: true });
  },
);

Deno.test(
  "runMigrations() on distsql finishes what processes began that were killed at any moment",
  unsanitized,
  async () => {
    const migrationsFolder = await writeDistSqlFolder();
    const postgres = await startPostgres();
    const seed = testSeed;
    const random = createRandom(seed).next;
    let kills = 0;
    for (let round = 0; round < (isFull ? 12 : 1); round++) {
      await onDistSql(await postgres.createDatabase(`moment${round}`), async (database) => {
        for (let tries = 0; tries < (isFull ? 6 : 2); tries++) {
          const config = { migrationsFolder, database, lockTtlSeconds: 0.5 };
          if (await migrateAndKill(config, 1 + Math.floor(random() * 12), random() * 30)) kills++;
        }
        await migrate({ migrationsFolder, database, lockTtlSeconds: 0.5 });
      });
    }
    await postgres.stop();
    console.log(`killed ${kills} times, TRELLIS_SEED=${seed}`);
    assert(kills > 0);
    await Deno.remove(migrationsFolder, { recursive: true });
  },
);

Deno.test("runMigrations() in eight processes at once: one does the work, the others report it", async () => {
  const postgres = await startPostgres();
  const migrationsFolder = await writeFolder();
  // holds the processes until all are there
  await Deno.writeTextFile(`${migrationsFolder}/0000_wait.sql`, "SELECT pg_sleep(2);");
  const database = getDirectConfig(postgres.url);
  try {
    const ended = await Promise.all(
      Array.from({ length: 8 }, () => migrate({ migrationsFolder, database })),
    );
    const results = ended.map(({ lines }) => JSON.parse(lines.at(-1)!));
    assertEquals(results.map(({ applied }) => applied).sort(), [0, 0, 0, 0, 0, 0, 0, 9]);
    const others = results.filter(({ applied }) => applied === 0);
    assert(
      others.filter(({ appliedElsewhere }) => appliedElsewhere.length === 9).length >= 5,
      JSON.stringify(others),
    );
    assertEquals(await readLog(database), { log: EXPECTED, tags: 9, big: null });
  } finally {
    await postgres.stop();
    await Deno.remove(migrationsFolder, { recursive: true });
  }
});
