import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { MigrationError } from "../../../database/migrate.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  runMigrations,
} from "../../../database/mod.ts";
import { systemClock } from "../../../core/async/clock.ts";
import { applyBatch, groupMigrations } from "../../../database/migrations/apply_batch.ts";
import type { MigrationContext } from "../../../database/migrations/context.ts";
import { nameTables } from "../../../database/migrations/history.ts";
import type { PlannedMigration } from "../../../database/migrations/steps.ts";
import { sql } from "../../../database/orm.ts";
import { countRoundTrips, type RoundTrips } from "../../support/round_trips.ts";
import { startPostgres } from "../../support/postgres.ts";

function planned(tag: string, more: { atomic?: boolean; sql?: string } = {}): PlannedMigration {
  const { atomic = true, sql = "SELECT 1" } = more;
  const file = { tag, path: `${tag}.sql`, hash: "", sql, statements: [] };
  return { file, steps: [], atomic, findings: [] };
}

Deno.test("groupMigrations() puts neighbours that are atomic into one group", () => {
  const cases: [what: string, canBatch: boolean, given: PlannedMigration[], expected: string[]][] =
    [
      ["all atomic", true, [planned("1"), planned("2"), planned("3")], ["1 2 3"]],
      ["one alone in the middle", true, [
        planned("1"),
        planned("2", { atomic: false }),
        planned("3"),
      ], ["1", "2", "3"]],
      ["a session that takes no batches", false, [planned("1"), planned("2")], ["1", "2"]],
      [
        "a file that changes how the rest of the message is read",
        true,
        [
          planned("1"),
          planned("2", { sql: "SET standard_conforming_strings = off" }),
          planned("3"),
          planned("4"),
        ],
        ["1", "2", "3 4"],
      ],
      ["large files", true, [
        planned("1"),
        planned("2", { sql: " ".repeat(999_999) }),
        planned("3"),
      ], ["1", "2", "3"]],
      ["nothing", true, [], []],
    ];
  for (const [what, canBatch, given, expected] of cases) {
    const groups = groupMigrations(given, canBatch).map((group) =>
      group.map(({ file }) => file.tag).join(" ")
    );
    assertEquals(groups, expected, what);
  }
  const many = Array.from({ length: 250 }, (_, n) => planned(String(n)));
  assertEquals(groupMigrations(many, true).map((group) => group.length), [100, 100, 50]);
});

interface Lab {
  migrationsFolder: string;
  database: DatabaseConfig;
  /** Times that the server was spoken to. */
  trips: () => number;
  rows: (text: string) => Promise<Record<string, unknown>[]>;
}

async function withFiles(
  tests: readonly [Record<string, string>, (lab: Lab) => Promise<void>][],
): Promise<void> {
  const postgres = await startPostgres();
  const proxy = await countRoundTrips(postgres.url);
  try {
    for (const [index, [files, test]] of tests.entries()) {
      const url = new URL(await postgres.createDatabase(`batch${index}`));
      url.host = new URL(proxy.url).host;
      await inFolder(
        files,
        { provider: "serverless-pg", connectionString: url.href, instrument: false },
        proxy,
        test,
      );
    }
  } finally {
    await proxy.stop();
    await postgres.stop();
  }
}

async function inFolder(
  files: Record<string, string>,
  database: DatabaseConfig,
  proxy: RoundTrips,
  test: (lab: Lab) => Promise<void>,
): Promise<void> {
  const migrationsFolder = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${migrationsFolder}/${name}`, text);
    }
    const before = proxy.count();
    await test({
      migrationsFolder,
      database,
      trips: () => proxy.count() - before,
      async rows(text): Promise<Record<string, unknown>[]> {
        try {
          return await executeRows(await getDrizzleClient(database), sql.raw(text));
        } finally {
          await closeDrizzleClient(database);
        }
      },
    });
  } finally {
    await Deno.remove(migrationsFolder, { recursive: true });
  }
}

function manyFiles(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from(
      { length: count },
      (_, n) => [`${String(n).padStart(4, "0")}_t.sql`, `CREATE TABLE t${n} (id int);`],
    ),
  );
}

Deno.test("runMigrations() sends many files in few messages, each a recorded transaction", async () => {
  await withFiles([[manyFiles(60), async ({ migrationsFolder, database, trips, rows }) => {
    const lines: string[] = [];
    const result = await runMigrations({
      migrationsFolder,
      database,
      logger: (line) => lines.push(line),
    });
    assertEquals([result.applied, result.migrations.length], [60, 60]);
    assert(trips() < 20, `${trips()} round trips`);
    assertEquals(lines.filter((line) => line.includes(": applied in ")).length, 60);
    assertStringIncludes(lines[0], "0000_t to 0059_t: 60 migrations in one message");
    const [seen] = await rows(
      "SELECT count(*)::int AS files, count(DISTINCT xmin::text)::int AS transactions, count(DISTINCT applied_at)::int AS times, " +
        "min(duration_ms) AS least FROM orm.__orm_migrations",
    );
    assertEquals([seen.files, seen.transactions, seen.times], [60, 60, 60]);
    assert(Number(seen.least) >= 0);
    const [order] = await rows(
      "SELECT array_agg(tag ORDER BY tag) = array_agg(tag ORDER BY applied_at) AS kept FROM orm.__orm_migrations",
    );
    assertEquals(order.kept, true);
    const before = trips();
    assertEquals((await runMigrations({ migrationsFolder, database })).applied, 0);
    assert(trips() - before <= 6, `${trips() - before} round trips with nothing to do`);
  }]]);
});

Deno.test("runMigrations() keeps what came before a file that failed in a message, and names its statement", async () => {
  const failures: [what: string, sql: string, message: string][] = [
    [
      "a statement",
      "CREATE TABLE bad (id int);\nSELECT nothing FROM bad;",
      "0003_bad.sql:2 failed at statement 2",
    ],
    [
      "the text itself",
      "CREATE TABLE bad (id int);\nCREATE TABEL wrong (id int);",
      "0003_bad.sql:2 failed at statement 2",
    ],
    [
      "the commit",
      "CREATE TABLE bad (id int UNIQUE DEFERRABLE INITIALLY DEFERRED);\nINSERT INTO bad VALUES (1), (1);",
      "0003_bad.sql:2 failed at statement 2",
    ],
  ];
  await withFiles(failures.map(([what, text, message]) => [
    { ...manyFiles(3), "0003_bad.sql": text, "0004_after.sql": "CREATE TABLE after_bad (id int);" },
    async ({ migrationsFolder, database, rows }) => {
      const error = await assertRejects(
        () => runMigrations({ migrationsFolder, database }),
        MigrationError,
      );
      assertEquals([error.code, error.tag, error.statement], ["MIGRATION", "0003_bad", 2], what);
      assertStringIncludes(error.message, message, what);
      const tags = await rows("SELECT tag FROM orm.__orm_migrations ORDER BY tag");
      assertEquals(tags.map(({ tag }) => tag), ["0000_t", "0001_t", "0002_t"], what);
      const [left] = await rows(
        "SELECT to_regclass('bad') AS bad, to_regclass('after_bad') AS after",
      );
      assertEquals([left.bad, left.after], [null, null], what);
      await Deno.writeTextFile(`${migrationsFolder}/0003_bad.sql`, "CREATE TABLE good (id int);");
      const again = await runMigrations({ migrationsFolder, database });
      assertEquals(again.migrations.map(({ tag }) => tag), ["0003_bad", "0004_after"], what);
    },
  ]));
});

function fakeContext(script: (statements: readonly string[]) => Promise<void>): MigrationContext {
  return {
    session: { script, query: () => Promise.resolve([]) },
    tables: nameTables(),
    clock: systemClock,
  } as unknown as MigrationContext;
}

Deno.test("applyBatch() waits for the disk with its last commit alone", async () => {
  let sent: readonly string[] = [];
  const context = fakeContext((statements) => Promise.resolve(void (sent = statements)));
  await applyBatch([planned("1"), planned("2"), planned("3")], context);
  const settings = sent.filter((statement) => !statement.startsWith("INSERT"));
  const off = "SET LOCAL synchronous_commit TO off";
  assertEquals(settings, ["BEGIN", off, "COMMIT", "BEGIN", off, "COMMIT", "BEGIN", "COMMIT"]);
});

Deno.test("applyBatch() says that the connection was lost when the server gave no word", async () => {
  const lost = Object.assign(new Error("gone"), { code: "CONNECTION_CLOSED" });
  const context = fakeContext(() => Promise.reject(lost));
  const error = await assertRejects(
    () => applyBatch([planned("0001_a"), planned("0002_b")], context),
    MigrationError,
  );
  assertEquals([error.code, error.tag], ["MIGRATION", "0001_a"]);
  assertStringIncludes(error.message, "The connection was lost while 0001_a.sql to 0002_b.sql ran");
});
