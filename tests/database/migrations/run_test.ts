import type { DatabaseSettings } from "../../../database/config/config.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { getMigrationStatus, MigrationError } from "../../../database/migrate.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  markMigrationApplied,
  runMigrations,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import { startTcpProxy } from "../../support/tcp_proxy.ts";

interface Lab {
  folder: string;
  postgres: TestPostgres;
  write: (files: Record<string, string>) => Promise<void>;
  /** An empty database of the server. */
  fresh: () => Promise<DatabaseConfig>;
  rows: (database: DatabaseConfig, text: string) => Promise<Record<string, unknown>[]>;
}

async function withLab(test: (lab: Lab) => Promise<void>): Promise<void> {
  const postgres = await startPostgres();
  const folder = await Deno.makeTempDir();
  let count = 0;
  try {
    await test({
      folder,
      postgres,
      async write(files): Promise<void> {
        for (const [name, content] of Object.entries(files)) {
          await Deno.writeTextFile(`${folder}/${name}`, content);
        }
      },
      async fresh(): Promise<DatabaseConfig> {
        const connectionString = await postgres.createDatabase(`db${++count}`);
        return { provider: "serverless-pg", connectionString, instrument: false };
      },
      async rows(database, text): Promise<Record<string, unknown>[]> {
        const db = await getDrizzleClient(database);
        try {
          return await executeRows(db, sql.raw(text));
        } finally {
          await closeDrizzleClient(database);
        }
      },
    });
  } finally {
    await postgres.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("runMigrations() applies what is pending, and leaves nothing of a file that failed", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    await write({
      "0001_a.sql": "CREATE TABLE a (id int PRIMARY KEY);\nINSERT INTO a VALUES (1);",
    });
    const first = await runMigrations({ migrationsFolder, database });
    assertEquals([first.applied, first.migrations.map(({ tag }) => tag)], [1, ["0001_a"]]);
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 0);

    await write({
      "0002_b.sql": "INSERT INTO a VALUES (2);\nINSERT INTO a VALUES (1, 'marker-value');",
      "0003_c.sql": "SELECT 1",
    });
    const error = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
    );
    assertStringIncludes(error.message, "0002_b.sql:2 failed at statement 2 (SQLSTATE 42601");
    assertEquals([error.tag, error.statement], ["0002_b", 2]);
    assert(!error.message.includes("marker-value"));
    assertEquals(await rows(database, "SELECT id FROM a"), [{ id: 1 }]);

    await write({ "0002_b.sql": "INSERT INTO a VALUES (2)" });
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 2);
    await write({ "0001_a.sql": "CREATE TABLE a (id bigint PRIMARY KEY)" });
    const changed = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
    );
    assertStringIncludes(changed.message, "0001_a.sql changed after being applied");
    assertEquals((await getMigrationStatus({ migrationsFolder, database })).changed, ["0001_a"]);
  });
});

Deno.test("runMigrations() says how to record a file that another tool has applied", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh }) => {
    const database = await fresh();
    const db = await getDrizzleClient(database);
    await db.execute("CREATE TABLE a (id int PRIMARY KEY)");
    await write({ "0000_elite.sql": "CREATE TABLE a (id int PRIMARY KEY);\nSELECT 1;" });
    const error = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
    );
    assertStringIncludes(error.message, "(SQLSTATE 42P07");
    assertStringIncludes(error.message, "record it: trellis db mark-applied 0000_elite");
  });
});

Deno.test("runMigrations() with dryRun reports the plan and writes nothing", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    await write({
      "0001_a.sql": "CREATE TABLE a (id int);",
      "0002_b.sql": "CREATE INDEX CONCURRENTLY a_id ON a (id);",
    });
    const lines: string[] = [];
    const { applied, plan } = await runMigrations({
      migrationsFolder,
      database,
      dryRun: true,
      logger: (l) => lines.push(l),
    });
    assertEquals(applied, 0);
    assertEquals(plan?.map(({ tag, atomic, statements }) => [tag, atomic, statements]), [
      ["0001_a", true, ["CREATE TABLE a (id int)"]],
      ["0002_b", false, ["CREATE INDEX CONCURRENTLY a_id ON a (id)"]],
    ]);
    assert(lines.some((line) => line.includes("CREATE INDEX CONCURRENTLY")));
    assertEquals(
      await rows(database, "SELECT nspname FROM pg_namespace WHERE nspname = 'orm'"),
      [],
    );
    const onDistSql = {
      provider: "distsql",
      endpoint: "abc.dsql.eu-central-1.on.aws",
      isAdmin: true,
    } as const;
    await assertRejects(() =>
      runMigrations({ migrationsFolder, database: { ...onDistSql, username: "app" }, dryRun: true })
    );
  });
});

Deno.test("markMigrationApplied() records without running, and refuses what does not fit", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    await write({
      "0001_a.sql": "CREATE TABLE a (id int);",
      "0002_b.sql": "CREATE TABLE b (id int);",
    });
    const marked = await markMigrationApplied({ migrationsFolder, database, tag: "0001_a.sql" });
    assertEquals([marked.tag, marked.alreadyApplied], ["0001_a", false]);
    assertEquals(
      (await markMigrationApplied({ migrationsFolder, database, tag: "0001_a" })).alreadyApplied,
      true,
    );
    assertEquals(
      (await runMigrations({ migrationsFolder, database })).migrations.map(({ tag }) => tag),
      ["0002_b"],
    );
    assertEquals(await rows(database, "SELECT to_regclass('a') IS NULL AS gone"), [{ gone: true }]);
    const status = await getMigrationStatus({ migrationsFolder, database });
    assertEquals(status.applied.map(({ tag, executed }) => [tag, executed]), [["0001_a", false], [
      "0002_b",
      true,
    ]]);
    const unknown = await assertRejects(
      () => markMigrationApplied({ migrationsFolder, database, tag: "0009_x" }),
      MigrationError,
    );
    assertStringIncludes(unknown.message, "0009_x.sql");
    await write({ "0001_a.sql": "SELECT 1" });
    await assertRejects(
      () => markMigrationApplied({ migrationsFolder, database, tag: "0001_a" }),
      MigrationError,
      "a different content",
    );
  });
});

Deno.test("runMigrations() goes on at the statement that failed in a file of single statements", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    const start =
      "-- trellis: no-transaction\nCREATE TABLE a (id int);\nINSERT INTO a VALUES (1);\n";
    await write({
      "0001_a.sql": `${start}INSERT INTO a SELECT n / 0 FROM generate_series(1, 2) AS n;`,
    });
    const error = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
    );
    assertEquals(error.statement, 3);
    assertEquals(await rows(database, "SELECT count(*)::int AS n FROM a"), [{ n: 1 }]);
    // the statement that failed has not run: it may be mended, what ran before it may not
    await write({ "0001_a.sql": `${start}INSERT INTO a VALUES (3);` });
    const lines: string[] = [];
    assertEquals(
      (await runMigrations({ migrationsFolder, database, logger: (l) => lines.push(l) })).applied,
      1,
    );
    assertStringIncludes(lines[0], "continues at statement 3");
    assertEquals(await rows(database, "SELECT id FROM a ORDER BY id"), [{ id: 1 }, { id: 3 }]);
    assertEquals(
      await rows(database, "SELECT count(*)::int AS n FROM orm.__orm_migrations_steps"),
      [{ n: 0 }],
    );
  });
});

Deno.test("runMigrations() asks the catalog about an interrupted statement, and stops if it does not decide", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const { planSteps } = await import("../../../database/migrations/steps.ts");
    const { readMigrationFiles } = await import("../../../database/mod.ts");
    const prepare =
      "CREATE TABLE p (id int, t text); CREATE INDEX p_id ON p (id); CREATE TYPE mood AS ENUM ('a')";
    const cases: [statement: string, done: string, expected: "skipped" | "run" | "asks"][] = [
      ["CREATE INDEX CONCURRENTLY i ON p (id)", "CREATE INDEX i ON p (id)", "skipped"],
      ["CREATE INDEX CONCURRENTLY i ON p (id)", "SELECT 1", "run"],
      ["DROP INDEX CONCURRENTLY p_id", "DROP INDEX p_id", "skipped"],
      ["ALTER TYPE mood ADD VALUE 'b'", "ALTER TYPE mood ADD VALUE 'b'", "skipped"],
      ["ALTER TYPE mood ADD VALUE 'b'", "SELECT 1", "run"],
      ["VACUUM p", "SELECT 1", "run"],
      ["CREATE UNIQUE INDEX CONCURRENTLY ON p (id)", "SELECT 1", "asks"],
    ];
    for (const [statement, done, expected] of cases) {
      const database = await fresh();
      await write({ "0001_a.sql": statement });
      for (const text of [...prepare.split("; "), done]) await rows(database, text);
      await runMigrations({ migrationsFolder: await Deno.makeTempDir(), database });
      const [planned] = planSteps(
        readMigrationFiles(migrationsFolder),
        new Set(["0001_a"]),
        "serverless-pg",
        {},
      );
      await rows(database, "CREATE SCHEMA IF NOT EXISTS orm");
      await rows(
        database,
        `CREATE TABLE orm.__orm_migrations_steps (tag text, step int, hash text, state text, job_id text,
        watermark text, owner text, updated_at timestamptz DEFAULT now(), PRIMARY KEY (tag, step))`,
      );
      await rows(
        database,
        `INSERT INTO orm.__orm_migrations_steps VALUES ('0001_a', 0, '${
          planned.steps[0].hash
        }', 'running', NULL, NULL, 'x')`,
      );
      if (expected === "asks") {
        const error = await assertRejects(
          () => runMigrations({ migrationsFolder, database }),
          MigrationError,
        );
        assertStringIncludes(error.message, "onUndecided");
        const asked: unknown[] = [];
        await runMigrations({
          migrationsFolder,
          database,
          onUndecided: (s) => (asked.push(s), "done"),
        });
        assertEquals(asked, [{ tag: "0001_a", statement: 1, sql: statement }]);
        continue;
      }
      const lines: string[] = [];
      assertEquals(
        (await runMigrations({ migrationsFolder, database, logger: (l) => lines.push(l) })).applied,
        1,
        statement,
      );
      assertStringIncludes(
        lines.join("\n"),
        `the catalog says ${expected === "skipped" ? "done" : "run"}`,
        statement,
      );
    }
  });
});

Deno.test("runMigrations() takes over a lease that ran out, and a runner that lost it writes no more", async () => {
  await withLab(async ({ fresh, rows }) => {
    const { openShared } = await import("../../../database/providers/client.ts");
    const { takeLease } = await import("../../../database/migrations/lock.ts");
    const { nameTables } = await import("../../../database/migrations/history.ts");
    const database = await fresh();
    const connection = await openShared(database);
    const [one, two] = [await connection.openSession(), await connection.openSession()];
    const messages: string[] = [];
    const slow = {
      timeoutMs: 20_000,
      ttlMs: 60_000,
      logger: (message: string) => void messages.push(message),
      clock: {
        now: () => Date.now(),
        sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms / 10)),
      },
      openSession: () => connection.openSession(),
    };
    const tables = nameTables();
    const first = await takeLease(one, tables, slow);
    await first.check();
    const refused = await assertRejects(
      () => takeLease(two, tables, { ...slow, timeoutMs: 1 }),
      MigrationError,
    );
    assertStringIncludes(refused.message, "lockTimeoutSeconds");
    // the first runner's machine stops: no sign of life until its time is over
    await rows(
      database,
      "UPDATE orm.__orm_migrations_lease SET expires_at = now() - interval '1 second'",
    );
    const second = await takeLease(two, tables, slow);
    assertEquals((await one.query(first.fence!)).length, 0);
    assertEquals((await two.query(second.fence!)).length, 1);
    await assertRejects(() => first.check(), MigrationError, "took over");
    await first.release();
    await second.check();
    await second.release();
    await one.close();
    await two.close();
    await closeDrizzleClient(database);
  });
});

Deno.test("runMigrations() reads the status after it got the lock, because another run may have ended in between", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    await write({ "0001_a.sql": "CREATE TABLE a (id int); INSERT INTO a VALUES (1);" });
    const direct = await fresh();
    const address = new URL((direct as DatabaseSettings).connectionString!);
    // the second run's request for the lock waits until the first run has ended
    const first = Promise.withResolvers<void>();
    const proxy = await startTcpProxy(Number(address.port), () => ({
      onSent(pass, data) {
        if (!new TextDecoder("latin1").decode(data).includes("pg_try_advisory_lock")) return pass();
        void runMigrations({ migrationsFolder, database: direct }).then(() => {
          first.resolve();
          pass();
        });
      },
      onAnswered: (pass) => pass(),
    }));
    address.port = String(proxy.port);
    const database = { ...direct, connectionString: address.href };
    try {
      const messages: string[] = [];
      const second = await runMigrations({
        migrationsFolder,
        database,
        logger: (message) => void messages.push(message),
      });
      await first.promise;
      assertEquals([second.applied, second.appliedElsewhere], [0, ["0001_a"]]);
      assertEquals(messages.filter((message) => message.startsWith("waiting")), []);
      assertEquals(await rows(direct, "SELECT count(*)::int AS count FROM a"), [{ count: 1 }]);
    } finally {
      await closeDrizzleClient(database);
      await proxy.stop();
    }
  });
});

Deno.test("runMigrations() twice at once in one process applies each file once on the embedded database", async () => {
  const migrationsFolder = await Deno.makeTempDir();
  const database: DatabaseConfig = {
    provider: "embedded-pg",
    connectionString: "memory://twice",
    instrument: false,
  };
  try {
    await Deno.writeTextFile(`${migrationsFolder}/0001_a.sql`, "CREATE TABLE a (id int)");
    await Deno.writeTextFile(`${migrationsFolder}/0002_b.sql`, "CREATE INDEX ASYNC a_id ON a (id)");
    const results = await Promise.all(
      [1, 2, 3].map(() => runMigrations({ migrationsFolder, database })),
    );
    assertEquals(results.map(({ applied }) => applied).sort(), [0, 0, 2]);
    assertEquals(results.filter(({ appliedElsewhere }) => appliedElsewhere.length === 2).length, 2);
  } finally {
    await closeDrizzleClient(database);
    await Deno.remove(migrationsFolder, { recursive: true });
  }
});

Deno.test("runMigrations() cleans up after a failed statement, so that it can be fixed", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    await write({
      "0001_a.sql": "CREATE TABLE a (id int); INSERT INTO a VALUES (1), (1);",
      "0002_b.sql": "CREATE UNIQUE INDEX CONCURRENTLY a_id ON a (id);",
    });
    const error = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
    );
    assertStringIncludes(error.message, "0002_b.sql:1 failed at statement 1 (SQLSTATE 23505");
    assertEquals(await rows(database, "SELECT to_regclass('a_id') IS NULL AS gone"), [{
      gone: true,
    }]);
    await write({ "0002_b.sql": "CREATE INDEX CONCURRENTLY a_id ON a (id);" });
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 1);
    assertEquals(
      await rows(database, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_id'::regclass"),
      [
        { indisvalid: true },
      ],
    );
  });
});

Deno.test("runMigrations() stops at the same moment when the machine's clock is set while it runs", async () => {
  const HOUR_MS = 3_600_000;
  for (const [budgetMs, offsetMs] of [[60_000, HOUR_MS], [60_000, -HOUR_MS], [300, -HOUR_MS]]) {
    await withLab(async ({ folder: migrationsFolder, write, fresh }) => {
      const database = await fresh();
      await write({
        "0001_log.sql": "CREATE TABLE log (n int PRIMARY KEY);",
        "0002_slow.sql": "-- trellis: no-transaction\nSELECT pg_sleep(0.4);",
        "0003_late.sql": "INSERT INTO log VALUES (1);",
      });
      const { isComplete } = await withSteppedClock((setMs) => {
        const stopAtMs = Date.now() + budgetMs;
        const running = runMigrations({ migrationsFolder, database, stopAtMs });
        setMs(offsetMs);
        return running;
      });
      assertEquals(isComplete, budgetMs > 400);
    });
  }
});

Deno.test("runMigrations() begins nothing after stopAtMs, and a later run continues; errors have the line", async () => {
  await withLab(async ({ folder: migrationsFolder, write, fresh, rows }) => {
    const database = await fresh();
    await write({
      "0001_log.sql": "CREATE TABLE log (n int PRIMARY KEY);",
      "0002_single.sql":
        "-- trellis: no-transaction\nINSERT INTO log VALUES (1);\nINSERT INTO log VALUES (2);\n" +
        "-- the last one\nINSERT INTO log VALUES (3);",
      "0003_failing.sql": "INSERT INTO log VALUES (4);\n\n/* twice */ INSERT INTO log\nVALUES (4);",
    });
    let nowMs = 0;
    const clock = { now: () => nowMs, sleep: () => Promise.resolve() };
    const stopped = await runMigrations({
      migrationsFolder,
      database,
      stopAtMs: 1,
      clock,
      logger(message): void {
        if (message.startsWith("0002_single: statement 2")) nowMs = 1;
      },
    });
    assertEquals([stopped.applied, stopped.isComplete], [1, false]);
    assertEquals(await rows(database, "SELECT n FROM log"), [{ n: 1 }, { n: 2 }]);
    const [unfinished] = (await getMigrationStatus({ migrationsFolder, database })).unfinished!;
    assertEquals([unfinished.tag, unfinished.statementsDone], ["0002_single", 2]);

    const error = await assertRejects(
      () => runMigrations({ migrationsFolder, database }),
      MigrationError,
      "0003_failing.sql:3 failed at statement 2",
    );
    assertEquals([error.tag, error.statement, error.line], ["0003_failing", 2, 3]);
    assertEquals(await rows(database, "SELECT n FROM log"), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
});
