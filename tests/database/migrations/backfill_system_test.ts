// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertMatch } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { closeDrizzleClient, type DatabaseConfig, runMigrations } from "../../../database/mod.ts";
import { freePort } from "../../support/free_port.ts";
import { startPostgres } from "../../support/postgres.ts";
import { findPostgresBin, makeServerFolder, SERVER_USER } from "../../support/postgres_files.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { runAndKill } from "../../support/kill.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("../../support/migrate_process.ts", import.meta.url).pathname;
const BACKFILL = "-- trellis: backfill\nUPDATE notes SET times = times + 1, slug = 'n' || id";

async function writeFolder(rows: number): Promise<string> {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${folder}/0001_start.sql`,
    "CREATE TABLE notes (id int PRIMARY KEY, times int NOT NULL DEFAULT 0, slug text, seen int NOT NULL DEFAULT 0);\n" +
      `INSERT INTO notes (id) SELECT n FROM generate_series(1, ${rows}) AS n`,
  );
  return folder;
}

function toConfig(connectionString: string): DatabaseConfig {
  return { provider: "postgres", connectionString, maxConnections: 2, instrument: false };
}

/** Runs the migrations in a process; returns its messages, and whether it was killed. */
async function migrate(
  config: object,
  killAfterMs?: number,
): Promise<{ isKilled: boolean; lines: string[] }> {
  const { isKilled, code, text, errors } = await runAndKill(
    [PROCESS, JSON.stringify(config)],
    killAfterMs ?? 0,
    (text) => killAfterMs !== undefined && text.includes("changed in batches"),
  );
  if (code !== 0 && !isKilled) throw new Error(errors);
  return { isKilled, lines: text.trim().split("\n") };
}

Deno.test("a backfill that is killed at any moment changes each row once, beside writers", async () => {
  const server = await startPostgres();
  const rows = IS_FULL ? 200_000 : 40_000;
  const folder = await writeFolder(rows);
  const random = createRandom(testSeed).next;
  let kills = 0;
  try {
    for (let round = 0; round < (IS_FULL ? 5 : 1); round++) {
      const url = await server.createDatabase(`backfill${round}`);
      const database = toConfig(url);
      await Deno.remove(`${folder}/0002_fill.sql`).catch(() => {});
      await runMigrations({ migrationsFolder: folder, database });
      await closeDrizzleClient(database);
      await Deno.writeTextFile(`${folder}/0002_fill.sql`, BACKFILL);
      const sql = postgres(url, { max: 1, onnotice: () => {} });
      let [isOpen, written] = [true, 0];
      const writer = (async () => {
        while (isOpen) {
          await sql`UPDATE notes SET seen = seen + 1 WHERE id = ${1 + Math.floor(random() * rows)}`;
          written++;
          await new Promise((done) => setTimeout(done, 5));
        }
      })();
      const config = { migrationsFolder: folder, database, backfillBatchMs: 20 };
      for (let tries = 0; tries < (IS_FULL ? 10 : 2); tries++) {
        if ((await migrate(config, random() * (rows / 200))).isKilled) kills++;
      }
      const { lines } = await migrate(config);
      isOpen = false;
      await writer;
      assertEquals(JSON.parse(lines.at(-1)!).isComplete, true);
      const [state] = await sql`SELECT count(*)::int AS rows, min(times) AS min, max(times) AS max,
        sum(seen)::int AS seen, count(*) FILTER (WHERE slug = 'n' || id)::int AS slugs,
        (SELECT count(*)::int FROM orm.__orm_migrations) AS tags FROM notes`;
      await sql.end();
      assertEquals({ ...state }, { rows, min: 1, max: 1, seen: written, slugs: rows, tags: 2 });
    }
    console.log(`killed ${kills} times, TRELLIS_SEED=${testSeed}`);
    assert(kills > 0);
  } finally {
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
});

/** Starts a hot standby of a server; its replay can be paused. */
async function startStandby(
  bin: string,
  primary: string,
): Promise<{ port: number; stop(): Promise<void> }> {
  const folder = await makeServerFolder();
  const data = join(folder, "data");
  const { uid = null, gid = null } = SERVER_USER;
  await Deno.chown(folder, uid, gid);
  const env = { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C", HOME: folder };
  const common = { cwd: folder, clearEnv: true, env, ...SERVER_USER };
  const copy = await new Deno.Command(join(bin, "pg_basebackup"), {
    ...common,
    args: ["-D", data, "-R", "-c", "fast", "-d", `${primary}?application_name=west`],
  }).output();
  if (!copy.success) throw new Error(new TextDecoder().decode(copy.stderr));
  const port = freePort();
  const child = new Deno.Command(join(bin, "postgres"), {
    ...common,
    args: ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1"]
      .concat(["-c", `unix_socket_directories=${data}`, "-c", "max_connections=200"])
      .concat(["-c", "fsync=off", "-c", "wal_receiver_status_interval=1"]),
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    port,
    async stop(): Promise<void> {
      child.kill("SIGQUIT");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await check().catch(() => false)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`not in 15 s: ${what}`);
}

Deno.test("a backfill waits for a real replica and for locked rows, and names both", async () => {
  const server = await startPostgres();
  const folder = await writeFolder(20_000);
  const database = toConfig(await server.createDatabase("load"));
  const sql = postgres(`postgres://postgres@127.0.0.1:${server.port}/load`, { max: 3 });
  const bin = await findPostgresBin();
  // the PostgreSQL of npm has no pg_basebackup
  const hasTools = existsSync(join(bin, "pg_basebackup"));
  const standby = hasTools ? await startStandby(bin, server.url) : undefined;
  const replica = standby === undefined
    ? undefined
    : postgres(`postgres://postgres@127.0.0.1:${standby.port}/postgres`, { max: 1 });
  const lines: string[] = [];
  const config = { migrationsFolder: folder, database, maxReplicationLagMs: 300 };
  try {
    await runMigrations(config);
    await Deno.writeTextFile(`${folder}/0002_fill.sql`, BACKFILL);
    if (replica !== undefined) {
      await until("the standby streams", async () => {
        const [{ n }] = await sql`SELECT count(*)::int AS n FROM pg_stat_replication WHERE
          application_name = 'west' AND state = 'streaming' AND replay_lsn IS NOT NULL`;
        return n === 1;
      });
      await replica`SELECT pg_wal_replay_pause()`;
    }
    const other = await sql.reserve();
    await other`BEGIN`;
    await other`UPDATE notes SET seen = 7 WHERE id = 12345`;
    const run = runMigrations({
      ...config,
      logger(line): void {
        lines.push(line);
        if (line.includes("locked by")) void other`COMMIT`.execute();
        if (line.includes("behind")) {
          void replica?.unsafe("SELECT pg_wal_replay_resume()").execute();
        }
      },
    });
    assertEquals((await run).applied, 1);
    other.release();
    const [state] = await sql`SELECT min(times) AS min, max(times) AS max, sum(seen)::int AS seen
      FROM notes`;
    assertEquals({ ...state }, { min: 1, max: 1, seen: 7 });
    const waits = lines.filter((line) => line.includes("waiting")).join("\n");
    assertMatch(
      waits,
      /^notes: waiting: "notes" is locked by process \d+ \(idle in transaction for \d+ s\): UPDATE notes SET seen = …/m,
    );
    if (hasTools) {
      assertMatch(waits, /the replica west is \d\.\d s behind, and the limit is 0\.3 s$/m);
    }
  } finally {
    await replica?.end();
    await sql.end();
    await closeDrizzleClient(database);
    await standby?.stop();
    await server.stop();
    await Deno.remove(folder, { recursive: true });
  }
});
