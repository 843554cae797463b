// deno-lint-ignore-file no-console -- the figures are the result
import { assert, assertEquals } from "@std/assert";
import postgres from "postgres";
import type { DatabaseConfig } from "../../../database/mod.ts";
import { startPostgres } from "../../support/postgres.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("../../support/migrate_process.ts", import.meta.url).pathname;
const ROWS = Number(Deno.env.get("TRELLIS_TRAFFIC_ROWS") ?? 400_000);
/** Statements in a second: half of them read, half of them write. */
const PER_SECOND = 400;

const SETUP = [
  "CREATE TABLE owners (id int PRIMARY KEY)",
  "INSERT INTO owners SELECT generate_series(1, 100)",
  "CREATE TABLE notes (id int PRIMARY KEY, owner_id int NOT NULL, code text, body text, extra text, n int NOT NULL, slug text)",
  `INSERT INTO notes SELECT n, 1 + n % 100, 'c' || n, 'Body of the note ' || n, 'x', n, NULL
   FROM generate_series(1, ${ROWS}) AS n`,
  "CREATE INDEX notes_n ON notes (n)",
  "ANALYZE",
];

/** The changes of the guide, in the words of a user. */
const ONLINE: readonly string[] = [
  "CREATE INDEX notes_owner ON notes (owner_id)",
  "CREATE UNIQUE INDEX notes_code ON notes (code)",
  "ALTER TABLE notes ADD CONSTRAINT notes_n_check CHECK (n >= 0)",
  "ALTER TABLE notes ADD CONSTRAINT notes_owner_fk FOREIGN KEY (owner_id) REFERENCES owners (id)",
  "ALTER TABLE notes ALTER COLUMN body SET NOT NULL",
  "ALTER TABLE notes ADD CONSTRAINT notes_code_key UNIQUE (code)",
  "ALTER TABLE notes ADD COLUMN done boolean NOT NULL DEFAULT false",
  "ALTER TABLE notes DROP COLUMN extra",
  "ALTER TABLE notes ALTER COLUMN n DROP NOT NULL",
  "DROP INDEX notes_n",
  "-- trellis: backfill\nUPDATE notes SET slug = lower(body)",
];

/** What the plan warns of, with what to write instead. */
const WARNED: readonly string[] = [
  "ALTER TABLE notes ALTER COLUMN n TYPE bigint",
  "ALTER TABLE notes ADD COLUMN at timestamptz DEFAULT clock_timestamp()",
  "UPDATE notes SET slug = lower(body)",
];

interface Traffic {
  statements: number;
  failed: string[];
  longestMs: number;
}

/** Sends statements at a fixed rate until the work has ended; the wait of each begins when it is due. */
async function withTraffic(url: string, work: () => Promise<void>): Promise<Traffic> {
  const sql = postgres(url, { max: 32, onnotice: () => {} });
  await Promise.all(Array.from({ length: 16 }, () => sql`SELECT 1`));
  const seen: Traffic = { statements: 0, failed: [], longestMs: 0 };
  const open: Promise<void>[] = [];
  let isOpen = true;

  async function send(id: number, isWrite: boolean): Promise<void> {
    const began = performance.now();
    try {
      await (isWrite
        ? sql`UPDATE notes SET body = body || '!' WHERE id = ${id}`
        : sql`SELECT body FROM notes WHERE id = ${id}`);
    } catch (error) {
      seen.failed.push((error as Error).message);
    }
    seen.statements++;
    seen.longestMs = Math.max(seen.longestMs, performance.now() - began);
  }
  const sending = (async () => {
    const began = performance.now();
    for (let sent = 0; isOpen;) {
      const due = Math.floor((performance.now() - began) * PER_SECOND / 1000);
      for (; sent < due; sent++) {
        open.push(send(1 + Math.floor(Math.random() * ROWS), sent % 2 === 0));
      }
      await new Promise((done) => setTimeout(done, 2));
    }
  })();
  try {
    await work();
  } finally {
    isOpen = false;
    await sending;
    await Promise.all(open);
    await sql.end();
  }
  return seen;
}

Deno.test({
  name: "no statement of readers and writers fails during the changes of the guide",
  ignore: !IS_FULL,
  async fn() {
    const server = await startPostgres({ settings: ["checkpoint_timeout=1h", "max_wal_size=4GB"] });
    const folder = await Deno.makeTempDir();
    try {
      const base = postgres(await server.createDatabase("base"), { max: 1, onnotice: () => {} });
      for (const statement of SETUP) await base.unsafe(statement);
      await base.end();
      const admin = postgres(server.url, { max: 1, onnotice: () => {} });
      console.log("| change | seconds | statements | failed | longest wait, ms |");
      console.log("|---|---:|---:|---:|---:|");
      for (const [index, change] of ["", ...ONLINE, ...WARNED].entries()) {
        await admin.unsafe(`CREATE DATABASE traffic${index} TEMPLATE base`);
        const connectionString = server.url.replace(/postgres$/, `traffic${index}`);
        const database: DatabaseConfig = {
          provider: "postgres",
          connectionString,
          instrument: false,
        };
        await Deno.writeTextFile(`${folder}/0001_change.sql`, change);
        const began = performance.now();
        const traffic = await withTraffic(connectionString, async () => {
          // without a change, the figures of the machine
          if (change === "") return await new Promise((done) => setTimeout(done, 5000));
          const config = JSON.stringify({ migrationsFolder: folder, database });
          const args = ["run", "-A", "--no-check", PROCESS, config];
          const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
          assert(success, new TextDecoder().decode(stderr));
        });
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        const title = change === "" ? "none" : change.replace(/^--.*\n/, "backfill: ");
        console.log(
          `| ${title} | ${seconds} | ${traffic.statements} | ${traffic.failed.length} | ${
            Math.round(traffic.longestMs)
          } |`,
        );
        if (!WARNED.includes(change)) assertEquals(traffic.failed, [], change);
        await admin.unsafe(`DROP DATABASE traffic${index}`);
      }
      await admin.end();
    } finally {
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
