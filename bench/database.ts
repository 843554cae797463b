/**
 * What the database package costs beside what it wraps: a prepared query with retry and metrics against the bare one, and
 * `runMigrations` against drizzle-orm's `migrate()` on the same PostgreSQL.
 *
 * `deno run -A bench/database.ts`
 */
// deno-lint-ignore-file no-console
import { eq, sql } from "drizzle-orm";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { DatabaseOperation } from "../database/queries/table_permission.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { readMigrationFiles } from "../database/migrations/folder.ts";
import { runMigrations } from "../database/migrations/run.ts";
import { createQueryFactory } from "../database/queries/query_factory.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { Invocation } from "../observability/invocation.ts";
import { enterInvocation } from "../observability/invocation_context.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const notes = pgTable("notes", { id: integer("id").primaryKey(), title: text("title") });
const start = {
  correlationId: "c",
  requestId: "r",
  traceId: undefined,
  operationName: "bench",
  functionName: "bench",
};

/** Microseconds per call, the best of several rounds, each an invocation of its own. */
async function measure(
  calls: number,
  rounds: number,
  work: () => Promise<unknown>,
): Promise<number> {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    await enterInvocation(new Invocation({ ...start, coldStart: false }), async () => {
      const startedAt = performance.now();
      for (let i = 0; i < calls; i++) await work();
      best = Math.min(best, (performance.now() - startedAt) / calls * 1000);
    });
  }
  return best;
}

async function benchQueries(database: DatabaseConfig): Promise<void> {
  const db = await getDrizzleClient(database);
  await db.execute(sql`CREATE TABLE notes (id int PRIMARY KEY, title text)`);
  await db.insert(notes).values({ id: 1, title: "Milk" });
  const empty = (): Promise<number> => Promise.resolve(1);
  const bare = await measure(20_000, 7, empty);
  const wrapped = await measure(20_000, 7, () => withQueryMetrics("findNote", empty));
  console.log(
    `an empty function: ${bare.toFixed(2)} µs; in withQueryMetrics: ${wrapped.toFixed(2)} µs`,
  );

  const prepared = db.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare(
    "find",
  );
  const { definePreparedQuery } = createQueryFactory(() => getDrizzleClient(database));
  const find = definePreparedQuery(
    { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
    (db, id: number) =>
      db.select().from(notes).where(eq(notes.id, sql.placeholder("id"))).prepare("find").execute({
        id,
      }),
  );
  const plain = await measure(2000, 7, () => prepared.execute({ id: 1 }));
  const defined = await measure(2000, 7, () => find(1));
  const select = await measure(2000, 5, () => db.select().from(notes).where(eq(notes.id, 1)));
  console.log(
    `drizzle .prepare(): ${plain.toFixed(0)} µs; definePreparedQuery: ${defined.toFixed(0)} µs; ` +
      `select without .prepare(): ${select.toFixed(0)} µs`,
  );
  await closeDrizzleClient(database);
}

async function writeFolder(files: number): Promise<string> {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/meta`);
  const entries = [];
  for (let n = 0; n < files; n++) {
    const tag = `${String(n).padStart(4, "0")}_file`;
    entries.push({ idx: n, version: "7", when: 1_700_000_000_000 + n, tag, breakpoints: true });
    await Deno.writeTextFile(
      `${folder}/${tag}.sql`,
      `CREATE TABLE t${n} (id int PRIMARY KEY, name text);\n--> statement-breakpoint\nCREATE INDEX t${n}_name ON t${n} (name);`,
    );
  }
  await Deno.writeTextFile(
    `${folder}/meta/_journal.json`,
    JSON.stringify({ version: "7", dialect: "postgresql", entries }),
  );
  return folder;
}

async function benchMigrations(createDatabase: (name: string) => Promise<string>): Promise<void> {
  const folder = await writeFolder(200);
  const [theirs, ours]: number[][] = [[], []];
  for (let round = 0; round < 5; round++) {
    const url = await createDatabase(`drizzle${round}`);
    let startedAt = performance.now();
    const client = postgres(url, { max: 1, onnotice: () => {} });
    await migrate(drizzle(client), { migrationsFolder: folder });
    await client.end();
    theirs.push(performance.now() - startedAt);

    const connectionString = await createDatabase(`trellis${round}`);
    startedAt = performance.now();
    await runMigrations({
      migrationsFolder: folder,
      database: { provider: "serverless-pg", connectionString, instrument: false },
    });
    ours.push(performance.now() - startedAt);
  }
  const [best, own] = [Math.min(...theirs), Math.min(...ours)];
  console.log(
    `200 files: drizzle migrate() ${best.toFixed(0)} ms, runMigrations ${own.toFixed(0)} ms, ${
      (own / best).toFixed(2)
    } x`,
  );
  await Deno.remove(folder, { recursive: true });
}

async function benchMemory(): Promise<void> {
  const folder = await writeFolder(2000);
  const before = Deno.memoryUsage().rss;
  const files = readMigrationFiles(folder);
  const grown = (Deno.memoryUsage().rss - before) / 1e6;
  console.log(
    `${files.length} files read: ${grown.toFixed(0)} MB more, ${
      (Deno.memoryUsage().rss / 1e6).toFixed(0)
    } MB in all`,
  );
  await Deno.remove(folder, { recursive: true });
}

for (const settings of [[], ["fsync=on", "synchronous_commit=on", "full_page_writes=on"]]) {
  const server = await startPostgres({ settings });
  console.log(settings.length === 0 ? "# fsync off" : "# fsync on");
  const restore = setLogOutput(() => {});
  await benchMigrations(server.createDatabase);
  if (settings.length === 0) {
    await benchQueries({
      provider: "serverless-pg",
      connectionString: server.url,
      instrument: false,
    });
  }
  restore();
  await server.stop();
}
await benchMemory();
