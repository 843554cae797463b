// deno-lint-ignore-file no-console -- the seed and the number of kills are part of the result
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { getMigrationStatus, MigrationPlanError } from "../../../database/migrate.ts";
import {
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  runMigrations,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { startPostgres } from "../../support/postgres.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { runAndKill } from "../../support/kill.ts";
import { withDistSqlServer } from "../../support/distsql_server.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("../../support/migrate_process.ts", import.meta.url).pathname;

interface Lab {
  database: DatabaseConfig;
  /** Runs statements outside of the migrations. */
  rows: (text: string) => Promise<Record<string, unknown>[]>;
  /** Writes a folder of migrations, its files numbered from where the last folder ended. */
  folder: (...files: string[]) => Promise<string>;
}

async function withStandIn(
  url: string | undefined,
  test: (lab: Lab) => Promise<void>,
): Promise<void> {
  const folders: string[] = [];
  let number = 0;
  try {
    await withDistSqlServer(url === undefined ? {} : { backend: { url } }, (database) =>
      test({
        database,
        async rows(text) {
          return await executeRows(await getDrizzleClient(database), sql.raw(text));
        },
        async folder(...files) {
          const path = await Deno.makeTempDir();
          folders.push(path);
          for (const file of files) {
            await Deno.writeTextFile(`${path}/${String(++number).padStart(4, "0")}_f.sql`, file);
          }
          return path;
        },
      }));
  } finally {
    for (const path of folders) await Deno.remove(path, { recursive: true });
  }
}

/** `n` rows, at most 2,900 to a statement. */
function fill(table: string, count: number, values = "n, n, n / 2"): string {
  const statements: string[] = [];
  for (let from = 1; from <= count; from += 2900) {
    const to = Math.min(count, from + 2899);
    statements.push(
      `INSERT INTO ${table} SELECT ${values} FROM generate_series(${from}, ${to}) AS n`,
    );
  }
  return `${statements.join(";\n")};\n`;
}

const CREATE = "CREATE TABLE t (id int PRIMARY KEY, a int, k int);\n";

const RULE = "unbatchable-change";
const INDEX = "CREATE INDEX t_k ON t (k);\n";

/** Statements that see what earlier batches wrote, and a number that tells what one transaction leaves of 1,000 rows. */
const SAMPLES: [change: string, reason: string, check: string, expected: number][] = [
  [
    "UPDATE t SET a = a * 1000 / (SELECT sum(a) FROM t)",
    "it has a subquery",
    "SELECT max(a) AS v FROM t",
    1,
  ],
  [
    "UPDATE t SET a = a + (SELECT max(a) FROM t)",
    "it has a subquery",
    "SELECT max(a) AS v FROM t",
    2000,
  ],
  [
    "DELETE FROM t WHERE (SELECT count(*) FROM t x WHERE x.k = t.k) > 1",
    "it has a subquery",
    "SELECT count(*)::int AS v FROM t",
    2,
  ],
  [
    "UPDATE t SET a = -1 WHERE NOT EXISTS (SELECT 1 FROM t x WHERE x.a = -1)",
    "it has a subquery",
    "SELECT count(*)::int AS v FROM t WHERE a = -1",
    1000,
  ],
  ["UPDATE t SET id = id + 1000", "the primary key of t", "SELECT min(id) AS v FROM t", 1001],
];

Deno.test({
  name:
    "runMigrations() on distsql refuses changes that read what they change before anything runs",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withStandIn(undefined, async ({ database, rows, folder }) => {
      const refuse = async (migrationsFolder: string, reasons: string[]): Promise<void> => {
        const error = await assertRejects(
          () => runMigrations({ migrationsFolder, database }),
          MigrationPlanError,
        );
        const found = error.findings.filter(({ severity }) => severity === "error");
        assertEquals(
          found.map(({ rule, table, line }) => [rule, table, line]),
          reasons.map(() => [RULE, "t", 2]),
        );
        for (const [place, { message }] of found.entries()) {
          assertStringIncludes(message, reasons[place]);
        }
        assertEquals((await rows("SELECT to_regclass('before') AS v"))[0].v, null);
      };
      const before = "CREATE TABLE before (id int PRIMARY KEY);\n";
      const first = `SELECT 1;\n${SAMPLES[0][0]}`;
      // the rows come in the same run: how many there will be is worked out
      await refuse(await folder(before + CREATE + fill("t", 3100), first), [SAMPLES[0][1]]);
      await runMigrations({
        migrationsFolder: await folder(CREATE + INDEX + fill("t", 3100)),
        database,
      });
      const all = await folder(before, ...SAMPLES.map(([change]) => `SELECT 1;\n${change}`));
      await refuse(all, SAMPLES.map(([, reason]) => reason));
      const status = await getMigrationStatus({ migrationsFolder: all, database });
      assertEquals(status.findings.filter(({ rule }) => rule === RULE).length, SAMPLES.length);
      const [{ v }] = await rows("SELECT sum(a)::int AS v FROM t");
      assertEquals(v, 3100 * 3101 / 2);
    });
  },
});

Deno.test({
  name:
    "runMigrations() on distsql runs the same changes in one transaction while the table is small",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withStandIn(undefined, async ({ database, rows, folder }) => {
      // a table for each
      const named = (text: string, at: number): string => text.replace(/\bt\b/g, `t${at}`);
      const files = SAMPLES.flatMap((
        [change],
        at,
      ) => [named(CREATE, at) + fill(`t${at}`, 1000), named(change, at)]);
      await runMigrations({ migrationsFolder: await folder(...files), database });
      for (const [at, [change, , check, expected]] of SAMPLES.entries()) {
        assertEquals((await rows(named(check, at)))[0].v, expected, change);
      }
    });
  },
});

Deno.test({
  name:
    "runMigrations() on distsql adds columns with a default in batches, but not to a large table without a key",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withStandIn(undefined, async ({ database, rows, folder }) => {
      await runMigrations({
        database,
        migrationsFolder: await folder(
          `CREATE TABLE small (a int, b int, c int);\n${fill("small", 10)}`,
          `CREATE TABLE large (a int, b int, c int);\n${fill("large", 4000)}`,
          `CREATE TABLE keyed (a int, b int NOT NULL, c int, UNIQUE (b));\n${fill("keyed", 4000)}`,
        ),
      });
      const lines: string[] = [];
      const add = (table: string): string =>
        `ALTER TABLE ${table} ADD COLUMN state text DEFAULT 'new' NOT NULL, ADD COLUMN at timestamptz DEFAULT now();\n`;
      const refused = await assertRejects(
        async () => runMigrations({ database, migrationsFolder: await folder(add("large")) }),
        MigrationPlanError,
      );
      assertStringIncludes(refused.message, "large has no primary key");
      const migrationsFolder = await folder(add("small") + add("keyed"));
      await runMigrations({ migrationsFolder, database, logger: (line) => void lines.push(line) });
      for (const [table, count] of [["small", 10], ["keyed", 4000]] as const) {
        assertEquals(
          await rows(
            `SELECT count(*)::int AS n, count(DISTINCT at)::int AS moments FROM ${table} WHERE state = 'new'`,
          ),
          [{ n: count, moments: 1 }],
          table,
        );
      }
      assertEquals(
        lines.filter((line) => line.includes("in batches of")),
        ["keyed", "keyed"].map((table) => `${table}: changed in batches of up to 1000 rows`),
      );
    });
  },
});

Deno.test({
  name: "runMigrations() on distsql changes each row once, however often its process is killed",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const seed = testSeed;
    const random = createRandom(seed);
    const postgres = await startPostgres();
    let kills = 0;
    try {
      for (let round = 0; round < (isFull ? 10 : 1); round++) {
        await withStandIn(
          await postgres.createDatabase(`kill${round}`),
          async ({ database, rows, folder }) => {
            await runMigrations({
              database,
              migrationsFolder: await folder(CREATE + fill("t", 9000)),
            });
            const migrationsFolder = await folder(
              "UPDATE t SET a = a + 1, k = CASE WHEN k < 100 THEN 5000 ELSE 0 END WHERE k <> 7",
            );
            for (let tries = 0; tries < (isFull ? 6 : 3); tries++) {
              if (
                await migrateAndKill(
                  { migrationsFolder, database, lockTtlSeconds: 1 },
                  random.next() * 120,
                )
              ) kills++;
            }
            await runMigrations({ migrationsFolder, database });
            const [seen] = await rows(
              "SELECT count(*) FILTER (WHERE a = id + 1 AND k = CASE WHEN id / 2 < 100 THEN 5000 ELSE 0 END)::int AS once, " +
                "count(*) FILTER (WHERE a = id AND k = 7)::int AS never FROM t",
            );
            assertEquals(seen, { once: 8998, never: 2 });
          },
        );
      }
    } finally {
      await postgres.stop();
    }
    console.log(`killed ${kills} times, TRELLIS_SEED=${seed}`);
    assert(kills > 0);
  },
});

/** Ends the process some time after its first batch began; tells whether it was still running. */
async function migrateAndKill(config: object, afterMs: number): Promise<boolean> {
  const { isKilled, code, errors } = await runAndKill(
    [PROCESS, JSON.stringify(config)],
    afterMs,
    (text) => text.includes("in batches of"),
  );
  if (code !== 0 && !isKilled) throw new Error(errors);
  return isKilled;
}
