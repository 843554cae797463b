// deno-lint-ignore-file no-console
/**
 * Generated releases: `checkRelease` beside the execution of each statement before and after the migration. A statement
 * breaks if it fails, or if its rows have other names or values of other types. `checkRelease` must find them all. Beyond
 * them it may only name statements whose parameters or columns have another type: these values happen to fit.
 */
import { PGlite } from "@electric-sql/pglite";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { checkRelease } from "../../../cli/releases/check_release.ts";
import type { ReleaseManifest } from "../../../cli/releases/release_manifest.ts";
import { toSqlDriver } from "../../../database/providers/embedded_pg_driver.ts";
import { toQueryResult } from "../../../database/session/decode_rows.ts";
import { loadEmptySnapshot } from "../../../testing/embedded_snapshot.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const RELEASES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 500 : 4;
const STATEMENTS = 12;
const CHANGES = 5;

/** Columns of the table `t`: type, the values of its row, and whether an INSERT may leave it out. */
const COLUMNS: Readonly<Record<string, [type: string, value: string]>> = {
  id: ["int PRIMARY KEY", "1"],
  a: ["int NOT NULL", "2"],
  b: ["bigint DEFAULT 3", "3"],
  c: ["text NOT NULL", "x"],
  d: ["varchar(20)", "y"],
  e: ["boolean NOT NULL DEFAULT false", "t"],
  f: ["timestamptz", "2026-01-31 12:00:00+00"],
  g: ["numeric(10, 2)", "1.50"],
  h: ["mood DEFAULT 'sad'", "happy"],
  i: ["uuid", "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e"],
  j: ["jsonb", "{}"],
};
const NAMES = Object.keys(COLUMNS);
/** Values of the columns of a row that a statement inserts. */
const NEW: Readonly<Record<string, string>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, COLUMNS[name][1]])),
  id: "9",
  c: "z",
};
const BASE = `CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE TABLE t (${NAMES.map((name) => `${name} ${COLUMNS[name][0]}`).join(", ")});
CREATE UNIQUE INDEX t_c ON t (c);
CREATE TABLE u (id int PRIMARY KEY, t_id int NOT NULL REFERENCES t (id), note text);
CREATE VIEW v AS SELECT id, a AS aa FROM t;
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2';`;
const ROWS = `INSERT INTO t VALUES (${NAMES.map((name) => `'${COLUMNS[name][1]}'`).join(", ")});
INSERT INTO u VALUES (1, 1, 'n')`;

interface Query {
  readonly sql: string;
  readonly values: readonly string[];
}

function createQuery(random: Random): Query {
  const at = random.pick(NAMES);
  const compared = at === "j" ? "id" : at;
  const list = random.some(NAMES, 4).join(", ");
  const value = COLUMNS[compared][1];
  const required = ["id", "a", "c", ...random.some(NAMES, 4)];
  const given = NAMES.filter((name) => required.includes(name));
  const places = given.map((_, index) => `$${index + 1}`).join(", ");
  const insert = `INSERT INTO t (${given.join(", ")}) VALUES (${places})`;
  const row = given.map((name) => NEW[name]);
  const set = random.pick(NAMES.filter((name) => name !== "id"));
  return random.pick<Query>([
    { sql: `SELECT ${list} FROM t WHERE ${compared} = $1`, values: [value] },
    { sql: `SELECT * FROM (SELECT ${list} FROM t) s LIMIT 5`, values: [] },
    { sql: `SELECT t.${at}, u.note FROM u JOIN t ON t.id = u.t_id WHERE u.id = $1`, values: ["1"] },
    { sql: `SELECT count(*) AS n, max(a) AS m FROM t WHERE ${at} IS NOT NULL`, values: [] },
    { sql: `SELECT twice(a) AS n FROM t WHERE id = $1`, values: ["1"] },
    { sql: `SELECT aa FROM v WHERE id = $1`, values: ["1"] },
    { sql: insert, values: row },
    { sql: `${insert} RETURNING id, ${random.pick(given)}`, values: row },
    { sql: `${insert} ON CONFLICT (c) DO UPDATE SET a = excluded.a`, values: row },
    { sql: `UPDATE t SET ${set} = $1 WHERE id = $2`, values: [NEW[set], "1"] },
    { sql: `UPDATE t SET a = a + 1 WHERE h = 'happy' RETURNING ${at}`, values: [] },
    { sql: `DELETE FROM u WHERE id = $1`, values: ["1"] },
    { sql: `INSERT INTO u (id, t_id) VALUES ($1, $2)`, values: ["2", "1"] },
  ]);
}

function createChange(random: Random): string {
  const name = random.pick(NAMES.filter((each) => each !== "id"));
  return random.pick([
    "ALTER TABLE t ADD COLUMN k text",
    "ALTER TABLE t ADD COLUMN k int NOT NULL DEFAULT 1",
    "ALTER TABLE u ADD COLUMN k int",
    "ALTER TABLE u ADD COLUMN k int NOT NULL DEFAULT 0; ALTER TABLE u ALTER k DROP DEFAULT",
    `ALTER TABLE t DROP COLUMN ${name} CASCADE`,
    `ALTER TABLE t RENAME ${name} TO k`,
    `ALTER TABLE t RENAME ${name} TO k; ALTER TABLE t RENAME k TO ${name}`,
    `ALTER TABLE t ALTER ${name} DROP DEFAULT`,
    `ALTER TABLE t ALTER ${name} DROP NOT NULL`,
    "ALTER TABLE t ALTER b TYPE numeric",
    "ALTER TABLE t ALTER d TYPE text",
    "ALTER TABLE t ALTER c TYPE varchar",
    "ALTER TABLE t ALTER g TYPE numeric(12, 2)",
    "ALTER TABLE t ALTER f TYPE timestamp",
    "ALTER TABLE t ALTER i TYPE text",
    "ALTER TABLE t ALTER j TYPE text",
    "DROP VIEW v; ALTER TABLE t ALTER a TYPE bigint",
    "ALTER TABLE t RENAME TO old",
    "ALTER TABLE t RENAME TO old; CREATE VIEW t AS SELECT * FROM old",
    "DROP TABLE u",
    "DROP VIEW v",
    "CREATE OR REPLACE VIEW v AS SELECT id, a AS aa, c FROM t",
    "DROP INDEX t_c",
    "CREATE INDEX t_a ON t (a)",
    "ALTER TYPE mood ADD VALUE 'calm'",
    "DROP FUNCTION twice",
    "CREATE OR REPLACE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n + n'",
    "CREATE TABLE w (id int)",
    "ALTER TABLE t ADD CHECK (a >= 0)",
  ]);
}

/** Executes a statement and undoes it. Returns the names of its columns with the types of their values. */
async function execute(database: PGlite, { sql, values }: Query): Promise<string> {
  await database.exec("SAVEPOINT before");
  try {
    const result = await toSqlDriver(database).run({ text: sql, params: values, name: undefined });
    const { rows, fields } = toQueryResult(result);
    const typed = rows.map((row) =>
      Object.entries(row).map(([name, value]) => `${name} ${describeValue(value)}`)
    );
    return JSON.stringify([fields.map(({ name }) => name), typed]);
  } catch (error) {
    return `fails: ${(error as Error).message}`;
  } finally {
    await database.exec("ROLLBACK TO before");
  }
}

function describeValue(value: unknown): string {
  return value === null ? "null" : `${Object.getPrototypeOf(value).constructor.name} ${value}`;
}

/** What came of the changes of a release. */
interface Outcome {
  /** The changes that PostgreSQL accepted, one after the other. */
  readonly applied: readonly string[];
  /** Indexes of the statements that one of them breaks. */
  readonly broken: ReadonlySet<number>;
}

async function applyChanges(
  database: PGlite,
  changes: readonly string[],
  queries: readonly Query[],
): Promise<Outcome> {
  const applied: string[] = [];
  const broken = new Set<number>();
  await database.exec("BEGIN");
  try {
    await database.exec(BASE);
    await database.exec(ROWS);
    const before: string[] = [];
    for (const query of queries) before.push(await execute(database, query));
    assertEquals(before.filter((result) => result.startsWith("fails")), []);
    for (const change of changes) {
      await database.exec("SAVEPOINT change");
      try {
        await database.exec(change);
      } catch {
        // it does not fit what an earlier one left
        await database.exec("ROLLBACK TO change");
        continue;
      }
      applied.push(change);
      for (const [at, query] of queries.entries()) {
        if (await execute(database, query) !== before[at]) broken.add(at);
      }
    }
  } finally {
    await database.exec("ROLLBACK");
  }
  return { applied, broken };
}

Deno.test(`checkRelease() finds what breaks in ${RELEASES} generated releases, and nothing else`, async () => {
  const random = createRandom(testSeed);
  const database = await PGlite.create({ loadDataDir: await loadEmptySnapshot("a test") });
  let broken = 0;
  let cautious = 0;
  try {
    for (let release = 0; release < RELEASES; release++) {
      const queries = Array.from({ length: STATEMENTS }, () => createQuery(random));
      const changes = Array.from({ length: CHANGES }, () => createChange(random));
      const manifest: ReleaseManifest = {
        version: 1,
        migrations: ["0001_base"],
        functions: [{
          name: "F",
          role: null,
          grants: [],
          statements: queries.map(({ sql }, at) => ({ name: String(at), place: "q.ts:1", sql })),
          unchecked: [],
        }],
      };
      const expected = await applyChanges(database, changes, queries);
      const files = Object.fromEntries(
        [BASE, ...expected.applied.map((change) => `BEGIN;${change};COMMIT`)].map((sql, at) => [
          `m/${String(at + 1).padStart(4, "0")}_${at === 0 ? "base" : "next"}.sql`,
          sql,
        ]),
      );
      await withTempFolder(files, async (root) => {
        const { breaks, unchecked } = await checkRelease(manifest, join(root, "m"));
        const found = new Map(breaks.map(({ statement, reason }) => [Number(statement), reason]));
        const what = `seed ${testSeed}, release ${release}: ${expected.applied.join("; ")}`;
        assertEquals(unchecked, [
          `the grants of ${manifest.functions[0].name}: it has no permission file`,
        ], what);
        for (const [at, { sql }] of queries.entries()) {
          const reason = found.get(at) ?? "not found";
          if (expected.broken.has(at) === found.has(at)) continue;
          assertMatch(reason, /^its parameter |^it gives \S+ .* instead of /, `${what}: ${sql}`);
          cautious++;
        }
        broken += expected.broken.size;
      });
    }
  } finally {
    await database.close();
  }
  assert(broken > RELEASES, `${broken} statements broke`);
  console.log(`${broken} statements broke, and ${cautious} more were named for a type`);
});
