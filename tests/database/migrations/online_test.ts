import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { applyPending } from "../../../database/migrations/apply_pending.ts";
import type { MigrationContext } from "../../../database/migrations/context.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import { planOnline } from "../../../database/migrations/online.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import { type PlannedMigration, planSteps } from "../../../database/migrations/steps.ts";
import type { DatabaseConfig } from "../../../database/config/config.ts";
import { closeDrizzleClient, openShared } from "../../../database/providers/client.ts";
import type { SqlSession } from "../../../sql/session.ts";
import { startPostgres } from "../../support/postgres.ts";
import {
  connectionLost,
  type Intercept,
  type MigrationLab,
  serverError,
  withMigrationLab,
} from "./migration_support.ts";

/** `TRELLIS_FULL_TESTS=1` kills a run at each statement instead of at every fourth. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const TAG = "0002_change";
/** 1,500 rows of 1 kB, which is more than a table that is changed in place. */
const SETUP = [
  "CREATE TABLE owners (id int PRIMARY KEY)",
  "INSERT INTO owners VALUES (1)",
  "CREATE TABLE small (id int PRIMARY KEY)",
  "CREATE TABLE notes (id int PRIMARY KEY, owner_id int, n int, body text)",
  "INSERT INTO notes SELECT n, 1, n, repeat('x', 1000) FROM generate_series(1, 1500) AS n",
];

function plan(sql: string): PlannedMigration[] {
  const file = { tag: TAG, path: `${TAG}.sql`, hash: "h", sql, statements: [] };
  return planSteps([file], new Set([TAG]), "postgres", {});
}

async function toStatements({ context }: MigrationLab, sql: string): Promise<string[]> {
  const [{ steps, atomic }] = await planOnline(plan(sql), context.session, context.tables);
  return [...atomic ? ["one transaction"] : [], ...steps.map((step) => step.sql)];
}

const ADD = "ALTER TABLE notes ADD CONSTRAINT";

const forms: [sql: string, online: string[]][] = [
  ["CREATE INDEX notes_n ON notes (n)", ["CREATE INDEX CONCURRENTLY notes_n ON notes (n)"]],
  [
    "CREATE UNIQUE INDEX IF NOT EXISTS i ON public.notes (n) WHERE n > 1",
    ["CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON public.notes (n) WHERE n > 1"],
  ],
  [`${ADD} c CHECK (n > 0)`, [
    `${ADD} "c" CHECK (n > 0) NOT VALID`,
    'ALTER TABLE notes VALIDATE CONSTRAINT "c"',
  ]],
  [
    "ALTER TABLE notes ADD FOREIGN KEY (owner_id) REFERENCES owners ON DELETE CASCADE DEFERRABLE",
    [
      `${ADD} "notes_owner_id_fkey" FOREIGN KEY (owner_id) REFERENCES owners ON DELETE CASCADE DEFERRABLE NOT VALID`,
      'ALTER TABLE notes VALIDATE CONSTRAINT "notes_owner_id_fkey"',
    ],
  ],
  ["ALTER TABLE notes ALTER n SET NOT NULL", [
    `${ADD} "notes_n_is_not_null" CHECK ("n" IS NOT NULL) NOT VALID`,
    'ALTER TABLE notes VALIDATE CONSTRAINT "notes_n_is_not_null"',
    'ALTER TABLE notes ALTER COLUMN "n" SET NOT NULL;\nALTER TABLE notes DROP CONSTRAINT "notes_n_is_not_null"',
  ]],
  [`${ADD} u UNIQUE NULLS NOT DISTINCT (n, id) INCLUDE (owner_id) DEFERRABLE`, [
    'CREATE UNIQUE INDEX CONCURRENTLY "u" ON notes (n, id) INCLUDE (owner_id) NULLS NOT DISTINCT',
    `${ADD} "u" UNIQUE USING INDEX "u" DEFERRABLE`,
  ]],
  ["ALTER TABLE notes ADD COLUMN a int, ADD CONSTRAINT c CHECK (n > 0), ADD UNIQUE (n)", [
    'ALTER TABLE notes ADD COLUMN a int, ADD CONSTRAINT "c" CHECK (n > 0) NOT VALID',
    'ALTER TABLE notes VALIDATE CONSTRAINT "c"',
    'CREATE UNIQUE INDEX CONCURRENTLY "notes_n_key" ON notes (n)',
    'ALTER TABLE notes ADD CONSTRAINT "notes_n_key" UNIQUE USING INDEX "notes_n_key"',
  ]],
  [
    "UPDATE notes SET n = 1; DELETE FROM small; CREATE INDEX i ON notes (n); SELECT 1; SELECT 2",
    [
      "UPDATE notes SET n = 1;\nDELETE FROM small",
      "CREATE INDEX CONCURRENTLY i ON notes (n)",
      "SELECT 1;\nSELECT 2",
    ],
  ],
];

/** Statements that stay as they are, in one transaction. */
const unchanged = [
  "CREATE INDEX i ON small (id)",
  "CREATE INDEX ON notes (n)",
  "CREATE INDEX i ON ONLY notes (n)",
  "ALTER TABLE notes ADD CHECK (n > 0)",
  `${ADD} c CHECK (n > 0) NOT VALID`,
  "ALTER TABLE notes ADD COLUMN a int REFERENCES owners",
  "ALTER TABLE notes DROP CONSTRAINT notes_pkey, ADD CONSTRAINT notes_pkey UNIQUE (id)",
  "ALTER TABLE notes RENAME TO old; CREATE TABLE notes (n int); CREATE INDEX i ON notes (n)",
  "BEGIN; CREATE INDEX i ON notes (n); COMMIT",
  "SET LOCAL search_path = public; CREATE INDEX i ON notes (n)",
  "LOCK TABLE owners; CREATE INDEX i ON notes (n)",
  "CREATE TEMP TABLE t (n int); CREATE INDEX i ON notes (n)",
];

Deno.test("planOnline() writes the online form of statements about filled tables", async () => {
  await withMigrationLab({ setup: SETUP }, async (lab) => {
    for (const [sql, online] of forms) assertEquals(await toStatements(lab, sql), online, sql);
    for (const sql of unchanged) {
      assertEquals((await toStatements(lab, sql))[0], "one transaction", sql);
    }
  });
});

/** Counts how often this session has read the rows of `notes`. */
async function countScans(session: SqlSession): Promise<number> {
  const sql = "SELECT pg_stat_get_xact_numscans('notes'::regclass)::int AS scans";
  return Number((await session.query(sql))[0].scans);
}

/** Runs a statement and returns the strong locks that it held while it read the rows of `notes`. */
async function locksWhileReading(
  { session }: MigrationContext,
  { sql, block = [{ sql }] }: { sql: string; block?: readonly { sql: string }[] },
): Promise<string[]> {
  return await session.transaction(async (tx) => {
    const before = await countScans(tx);
    for (const each of block) await tx.query(each.sql);
    const scans = await countScans(tx) - before;
    const locks = await tx.query(
      "SELECT DISTINCT mode FROM pg_locks WHERE relation = 'notes'::regclass AND mode IN " +
        "('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')",
    );
    return scans === 0 ? [] : locks.map(({ mode }) => String(mode));
  });
}

Deno.test("planOnline() leaves no statement that reads a filled table under a lock which others notice", async () => {
  const undone = [
    "ALTER TABLE notes DROP CONSTRAINT IF EXISTS c, DROP CONSTRAINT IF EXISTS u, ALTER n DROP NOT NULL",
  ];
  await withMigrationLab({ setup: SETUP }, async ({ context, rows }) => {
    for (
      const sql of [
        `${ADD} c CHECK (n > 0)`,
        `${ADD} c FOREIGN KEY (owner_id) REFERENCES owners`,
        "ALTER TABLE notes ALTER n SET NOT NULL",
        `${ADD} u UNIQUE (n)`,
      ]
    ) {
      const planned = plan(sql);
      assert((await locksWhileReading(context, planned[0].steps[0])).length > 0, sql);
      for (const text of undone) await rows(text);
      for (
        const step of (await planOnline(planned, context.session, context.tables))[0].steps
      ) {
        if (step.run === "standalone") await rows(step.sql);
        else assertEquals(await locksWhileReading(context, step), [], step.sql);
      }
      for (const text of undone) await rows(text);
    }
  });
});

const CHANGE = `
  ALTER TABLE notes ADD COLUMN slug text;
  UPDATE notes SET slug = 'n' || id, n = n + 1;
  ALTER TABLE notes ALTER COLUMN slug SET NOT NULL;
  CREATE INDEX notes_n ON notes (n);
  ALTER TABLE notes ADD CONSTRAINT notes_slug_key UNIQUE (slug);
  CREATE TABLE tags (id int PRIMARY KEY, note_id int REFERENCES notes (id));
  CREATE INDEX tags_note ON tags (note_id);
  ALTER TABLE notes ADD CONSTRAINT notes_owner FOREIGN KEY (owner_id) REFERENCES owners (id);
`;

/** All that the change defines, and how often its rows were changed. */
const STATE = `SELECT
  (SELECT string_agg(conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname)
    FROM pg_constraint WHERE conrelid IN ('notes'::regclass, 'tags'::regclass) AND contype <> 'n') AS constraints,
  (SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text)
    FROM pg_index WHERE indrelid IN ('notes'::regclass, 'tags'::regclass)) AS indexes,
  (SELECT string_agg(attname || ' ' || attnotnull, ', ') FROM pg_attribute WHERE attrelid = 'notes'::regclass AND attnum > 0) AS columns,
  (SELECT sum(n - id)::int FROM notes) AS changes, (SELECT count(*)::int FROM orm.__orm_migrations) AS applied,
  (SELECT count(*)::int FROM orm.__orm_migrations_steps) AS steps`;

async function apply({ context }: Pick<MigrationLab, "context">): Promise<void> {
  const planned = await planOnline(plan(CHANGE), context.session, context.tables);
  await applyPending(planned, context, true);
}

Deno.test("applyPending() continues a split file after a kill at each statement, and after each lost answer", async () => {
  let [left, isDead, answers] = [Infinity, false, false];
  // a killed process runs no further statement, and no retry
  const intercept: Intercept = async (_, run) => {
    if (isDead) throw connectionLost();
    isDead = --left <= 0;
    if (!isDead || answers) await run();
    if (isDead) throw connectionLost();
    return [];
  };
  const pass: Intercept = async (text, run, params) => {
    if (left === Infinity || /^(?:SELECT|WITH)/.test(text)) return isDead ? await fail() : run();
    return await intercept(text, run, params);
  };
  const fail = (): Promise<never> => Promise.reject(connectionLost());
  await withMigrationLab({ setup: SETUP, intercept: pass }, async (lab) => {
    const reset = ["DROP TABLE IF EXISTS tags", "DROP TABLE notes, owners, small", ...SETUP];
    const empty = ["DELETE FROM orm.__orm_migrations", "DELETE FROM orm.__orm_migrations_steps"];
    await apply(lab);
    const [expected] = await lab.rows(STATE);
    assertEquals([expected.changes, expected.applied, expected.steps], [1500, 1, 0]);
    let kills = 0;
    for (answers of [false, true]) {
      for (let boundary = 1;; boundary += isFull ? 1 : 4) {
        for (const sql of [...reset, ...empty]) await lab.rows(sql);
        left = boundary;
        const died = await apply(lab).then(() => false, () => true);
        [left, isDead] = [Infinity, false];
        if (!died) break;
        kills++;
        await apply(lab);
        assertEquals((await lab.rows(STATE))[0], expected, `${boundary} ${answers}`);
      }
    }
    assert(kills > (isFull ? 40 : 10), String(kills));
  });
});

Deno.test("applyPending() removes what a refused validation added, so that the file can be changed", async () => {
  await withMigrationLab({ setup: SETUP }, async ({ context, rows }) => {
    const run = async (sql: string): Promise<unknown> =>
      await applyPending(
        await planOnline(plan(sql), context.session, context.tables),
        context,
        true,
      );
    for (
      const sql of [
        `${ADD} c CHECK (n < 1500)`,
        `${ADD} u UNIQUE (owner_id)`,
        "UPDATE notes SET owner_id = NULL WHERE id = 1; ALTER TABLE notes ALTER owner_id SET NOT NULL",
      ]
    ) {
      const error = await assertRejects(() => run(sql), MigrationError);
      assertMatch(error.message, /SQLSTATE 23/);
      const [{ left }] = await rows(
        "SELECT (SELECT count(*) FROM pg_constraint WHERE conrelid = 'notes'::regclass AND contype IN ('c', 'u')) " +
          "+ (SELECT count(*) FROM pg_index WHERE indrelid = 'notes'::regclass) AS left",
      );
      assertEquals(Number(left), 1, sql);
    }
    // the first statement of the last file is done, and its other form goes on after it
    await run("UPDATE notes SET owner_id = NULL WHERE id = 1; SELECT 1");
  });
});

Deno.test("applyPending() names the line of a statement that fails in a split file, and what stays", async () => {
  await withMigrationLab({ setup: SETUP }, async ({ context, rows }) => {
    const run = async (sql: string): Promise<unknown> =>
      await applyPending(
        await planOnline(plan(sql), context.session, context.tables),
        context,
        true,
      );
    const file = (fourth: string) =>
      `ALTER TABLE notes ADD a int;
CREATE INDEX notes_n ON notes (n);
ALTER TABLE notes ADD b int;
${fourth};
ALTER TABLE notes ADD c int;`;
    const error = await assertRejects(() => run(file("SELECT 1 / 0")), MigrationError);
    assertEquals(
      error.message,
      "0002_change.sql:4 failed at statement 3 (SQLSTATE 22012: division by zero). What ran before it " +
        "stays: fix the rows, or this and later statements of the file, and run the migrations again",
    );
    assertEquals(error.line, 4);
    await run(file("SELECT 1"));
    assertEquals((await rows("SELECT a, b, c FROM notes LIMIT 1")).length, 1);
  });
});

Deno.test("applyPending() changes the rows of a backfill in batches, each exactly once after a kill", async () => {
  let left = Infinity;
  const intercept: Intercept = async (text, run) => {
    if (text.startsWith("UPDATE") || text === "COMMIT") left--;
    if (left === 0) await run();
    if (left <= 0) throw connectionLost();
    return await run();
  };
  const sql =
    "ALTER TABLE notes ADD COLUMN m int;\n-- trellis: backfill\nUPDATE notes SET n = n + 1";
  await withMigrationLab({ setup: SETUP, intercept }, async ({ context, rows, lines }) => {
    const changes = "SELECT count(*)::int AS n FROM notes WHERE n = id + 1";
    left = 4; // the column, and the first batch, whose answer is lost
    await assertRejects(() => applyPending(plan(sql), context, true));
    assertEquals(await rows(changes), [{ n: 1000 }]);
    left = Infinity;
    await applyPending(plan(sql), context, true);
    assertEquals(await rows(changes), [{ n: 1500 }]);
    assert(lines.some((line) => line.includes("continues at statement 2 of 2")), lines.join("\n"));
    // a run whose time is over leaves the rest to the next one
    await rows("DELETE FROM orm.__orm_migrations");
    let calls = 0;
    const short = { ...context, isOver: () => ++calls > 3 };
    const change = plan("-- trellis: backfill\nUPDATE notes SET n = n - 1");
    assertEquals(await applyPending(change, short, true), []);
    assertEquals(await rows(changes), [{ n: 500 }]);
    assertEquals((await applyPending(change, context, true)).length, 1);
    assertEquals(await rows(changes), [{ n: 0 }]);
    // what cannot be split is refused before a row changes
    await rows("DELETE FROM orm.__orm_migrations");
    const whole = "-- trellis: backfill\nUPDATE notes SET n = (SELECT max(n) FROM notes)";
    const error = await assertRejects(
      () => applyPending(plan(whole), context, true),
      MigrationError,
    );
    assertMatch(
      error.message,
      /^0002_change\.sql:\d+: statement 1 is marked as a backfill, and cannot/,
    );
    assertEquals(await rows(changes), [{ n: 0 }]);
  });
  for (
    const refused of [
      "-- trellis: backfill\nINSERT INTO notes SELECT 1",
      "BEGIN;\n-- trellis: backfill\nUPDATE notes SET n = 1;\nCOMMIT",
    ]
  ) assertEquals(plan(refused)[0].findings.map(({ rule }) => rule), ["migration-backfill"]);
});

Deno.test("applyPending() tries again when a lock is not free in time, and gives up after lockMaxAttempts", async () => {
  let refusals = 2;
  const limits = { timeoutMs: 70, maxAttempts: 3 };
  const settings: string[] = [];
  const intercept: Intercept = (text, run) => {
    if (text.startsWith("SET LOCAL")) settings.push(text);
    const isLocked = text.startsWith("ALTER TABLE small") && refusals-- > 0;
    return isLocked ? Promise.reject(serverError("55P03")) : run();
  };
  const options = { setup: SETUP, intercept, lockLimits: limits };
  const sql = "INSERT INTO small VALUES (1); ALTER TABLE small ADD a int; DO $$ BEGIN END $$";
  await withMigrationLab(options, async ({ context, lines, rows }) => {
    await applyPending(plan(sql), context, true);
    assertEquals((await rows("SELECT * FROM small")).length, 1);
    assertEquals(lines.filter((line) => line.includes("waiting")), [
      "0002_change: waiting: another transaction holds a lock",
      "0002_change: waiting: another transaction holds a lock",
    ]);
    assertEquals(settings.slice(-2), [
      "SET LOCAL lock_timeout TO 70",
      "SET LOCAL lock_timeout TO DEFAULT",
    ]);
    refusals = 9;
    await rows("DELETE FROM orm.__orm_migrations");
    await rows("DELETE FROM small");
    await rows("ALTER TABLE small DROP a");
    const error = await assertRejects(() => applyPending(plan(sql), context, true), MigrationError);
    assertMatch(error.message, /0002_change\.sql did not get its locks within 3 attempts of 70 ms/);
    assertEquals(refusals, 6);
    // a file with its own setting is not tried again
    const own = plan(`SET LOCAL lock_timeout = 5; ${sql}`);
    const once = await assertRejects(() => applyPending(own, context, true), MigrationError);
    assertMatch(once.message, /failed at statement 3 \(SQLSTATE 55P03/);
    assertEquals(refusals, 5);
  });
});

Deno.test("runMigrations() keeps no reader or writer waiting behind an old transaction, and names it", async () => {
  const postgres = await startPostgres();
  const folder = await Deno.makeTempDir();
  const database: DatabaseConfig = {
    provider: "postgres",
    connectionString: await postgres.createDatabase("traffic"),
    maxConnections: 4,
    instrument: false,
  };
  await Deno.writeTextFile(`${folder}/0001_start.sql`, SETUP.join(";\n"));
  await runMigrations({ migrationsFolder: folder, database });
  await Deno.writeTextFile(`${folder}/${TAG}.sql`, CHANGE);
  const connection = await openShared(database);
  const [old, reader, writer, watcher] = await Promise.all(
    [1, 2, 3, 4].map(() => connection.openSession()),
  );
  const config = { migrationsFolder: folder, database, lockTimeoutMs: 100 };
  try {
    await old.query("BEGIN");
    await old.query("SELECT body FROM notes WHERE body <> 'secret' LIMIT 1");
    await old.query("SELECT pg_sleep(0.2)");
    await old.query("SELECT body FROM notes WHERE body <> 'secret' LIMIT 1");
    const error = await assertRejects(
      () => runMigrations({ ...config, lockMaxAttempts: 2 }),
      MigrationError,
    );
    assertMatch(
      error.message,
      /notes is locked by process \d+ \(idle in transaction for \d+ s\): SELECT body FROM notes WHERE body <> …/,
    );
    assert(!error.message.includes("secret"));

    const waits: string[] = [];
    let isOpen = true;
    const run = runMigrations({
      ...config,
      logger(message): void {
        if (!message.includes("waiting: notes is locked")) return;
        waits.push(message);
        if (waits.length === 2) void old.query("COMMIT");
      },
    }).finally(() => isOpen = false);
    let [reads, writes, behind] = [0, 0, 0];
    const traffic = async (): Promise<void> => {
      while (isOpen) {
        await reader.query("SELECT count(*) FROM notes WHERE id < 10");
        reads++;
        await writer.query("UPDATE notes SET body = body WHERE id = 1");
        writes++;
        const [{ queued }] = await watcher.query(
          "SELECT count(*)::int AS queued FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' " +
            "AND relation = 'notes'::regclass",
        );
        if (waits.length < 2) behind += Number(queued);
      }
    };
    const [result] = await Promise.all([run, traffic()]);
    assertEquals([result.applied, behind, waits.length >= 2], [1, 0, true]);
    assert(reads > 0 && writes > 0);
    const [state] = await watcher.query(STATE);
    assertEquals([state.changes, state.applied, state.steps], [1500, 2, 0]);
    assert(!String(state.constraints).includes("false"), String(state.constraints));
  } finally {
    for (const session of [old, reader, writer, watcher]) await session.close();
    await closeDrizzleClient(database);
    await postgres.stop();
    await Deno.remove(folder, { recursive: true });
  }
});
