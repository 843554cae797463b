/**
 * `runMigrations` on PostgreSQL beside drizzle's `migrate()`: 200 files on an empty database, and a second run with nothing
 * to do; round trips counted by a proxy. Runs in a copy of the harness: see ../side_by_side.ts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import { runner } from "node-pg-migrate";
import postgres from "postgres";
import { runMigrations } from "@trellis/fn/database";
import { countRoundTrips, startPostgres } from "../lib/pg.mjs";
import { median, shuffle, spread, table } from "../lib/stats.mjs";

const COUNT = 200;
const FLOOR = "drizzle-orm migrate()";

/** The same statements as the harness: a table, an index, a column, three rows, again and again. */
const statementOf = (i) => {
  const t = Math.floor(i / 4);
  return [
    `create table t${t} (id bigint generated always as identity primary key, name text not null, created_at timestamptz not null default now());\n`,
    `create index t${t}_name on t${t} (name);\n`,
    `alter table t${t} add column note text;\n`,
    `insert into t${t} (name) values ('a'), ('b'), ('c');\n`,
  ][i % 4];
};

const writeFolders = () => {
  const root = mkdtempSync(`${os.tmpdir()}/trellis-migrations-`);
  const entries = [];
  mkdirSync(`${root}/drizzle/meta`, { recursive: true });
  mkdirSync(`${root}/node-pg-migrate`);
  for (let i = 0; i < COUNT; i++) {
    const tag = `${String(i).padStart(4, "0")}_step`;
    writeFileSync(`${root}/drizzle/${tag}.sql`, statementOf(i));
    writeFileSync(`${root}/node-pg-migrate/${1700000000000 + i}_step.sql`, statementOf(i));
    entries.push({ idx: i, version: "7", when: 1700000000000 + i, tag, breakpoints: true });
  }
  writeFileSync(`${root}/drizzle/meta/_journal.json`, JSON.stringify({ version: "7", dialect: "postgresql", entries }));
  return root;
};

const RUNNERS = {
  [FLOOR]: async (url, root) => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    try {
      await migrate(drizzle(sql), { migrationsFolder: `${root}/drizzle` });
    } finally {
      await sql.end();
    }
  },
  "runMigrations": (url, root) =>
    runMigrations({
      migrationsFolder: `${root}/drizzle`,
      database: { provider: "serverless-pg", connectionString: url, instrument: false },
    }),
  "node-pg-migrate, one transaction": (url, root) =>
    runner({
      databaseUrl: url,
      dir: `${root}/node-pg-migrate`,
      direction: "up",
      migrationsTable: "applied",
      singleTransaction: true,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    }),
};

export const run = async ({ quick = false, log = () => {} } = {}) => {
  const server = await startPostgres();
  const root = writeFolders();
  const admin = postgres(server.url(), { max: 1, onnotice: () => {} });
  const names = Object.keys(RUNNERS);
  const first = Object.fromEntries(names.map((name) => [name, []]));
  const again = Object.fromEntries(names.map((name) => [name, []]));
  const trips = {};
  try {
    for (let round = 0; round < (quick ? 5 : 15); round++) {
      log(`round ${round}`);
      for (const [i, name] of shuffle(names).entries()) {
        const database = `m_${round}_${i}`;
        await admin.unsafe(`create database ${database}`);
        const start = performance.now();
        await RUNNERS[name](server.url(database), root);
        first[name].push(performance.now() - start);
        for (let n = 0; n < 3; n++) {
          const startAgain = performance.now();
          await RUNNERS[name](server.url(database), root);
          again[name].push(performance.now() - startAgain);
        }
        const check = postgres(server.url(database), { max: 1 });
        const [{ n }] =
          await check`select count(*)::int as n from pg_tables where schemaname = 'public' and tablename ~ '^t[0-9]+$'`;
        await check.end();
        if (n !== COUNT / 4) throw new Error(`${name}: ${n} tables`);
        await admin.unsafe(`drop database ${database}`);
      }
    }
    log("round trips");
    const proxy = await countRoundTrips(server.port);
    for (const [i, name] of names.entries()) {
      await admin.unsafe(`create database c_${i}`);
      const before = proxy.count();
      await RUNNERS[name](proxy.url(`c_${i}`), root);
      const between = proxy.count();
      await RUNNERS[name](proxy.url(`c_${i}`), root);
      trips[name] = [between - before, proxy.count() - between];
    }
    await proxy.stop();
  } finally {
    await admin.end();
    await server.stop();
    rmSync(root, { recursive: true, force: true });
  }
  const ratio = (times, name) => median(times[name].map((ms, i) => ms / times[FLOOR][i]));
  return {
    version: server.version,
    rows: names.map((name) => ({
      name,
      first: median(first[name]),
      spread: spread(first[name]),
      ratio: ratio(first, name),
      trips: trips[name][0],
      again: median(again[name]),
      ratioAgain: ratio(again, name),
      tripsAgain: trips[name][1],
    })),
  };
};

export const report = ({ version, rows }) =>
  table([
    [`${COUNT} files, PostgreSQL ${version}, fsync on`, "name"],
    ["first run ms", "first", 0],
    ["± %", (r) => r.spread * 100, 0],
    ["× drizzle", "ratio", 2],
    ["round trips", "trips", 0],
    ["nothing to do ms", "again", 1],
    ["× drizzle", "ratioAgain", 2],
    ["round trips", "tripsAgain", 0],
  ], rows);
