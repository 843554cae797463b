/**
 * Jobs per second with 1, 4 and 16 workers, beside pg-boss and graphile-worker on the same
 * PostgreSQL, and what an enqueue adds to a transaction.
 *
 *   deno run -A bench/jobs.ts [--jobs 5000] [--rounds 3]
 *
 * pg-boss and graphile-worker are loaded from npm by this script; the package does not depend on
 * them. Each job inserts a row. Ours does it in the transaction that ends the job (exactly once), and
 * also as a job without a transaction (at least once), like the others.
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import pg from "pg";
import * as z from "zod";
import { closeDrizzleClient, getDrizzleClient } from "../database/client.ts";
import type { DatabaseConfig } from "../database/config.ts";
import { sql } from "../database/orm.ts";
import type { DrizzleClient } from "../database/providers/provider.ts";
import { withTransaction } from "../database/transaction.ts";
import { createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";

/** The parts of the peers that are used here. */
interface Boss {
  on(event: "error", listener: () => void): void;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>;
  fetch(
    name: string,
    options: { batchSize: number },
  ): Promise<{ id: string; data: { n: number } }[] | null>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
}

const PEERS = { boss: "npm:pg-boss@12.38.0", graphile: "npm:graphile-worker@0.18.0" } as const;
const WORKERS = [1, 4, 16] as const;
/** Jobs that a worker of pg-boss fetches at once. */
const BATCH = 20;
/** Transactions of one measurement of enqueue. */
const CALLS = 150;

const { values } = parseArgs({
  options: { jobs: { type: "string" }, rounds: { type: "string" } },
});
const jobs = Number(values.jobs ?? 5000);
const rounds = Number(values.rounds ?? 3);

/** Runs a measurement several times and returns the median of jobs per second. */
async function measure(work: () => Promise<number>): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(jobs / (await work()) * 1000);
  return Math.round(rates.toSorted((a, b) => a - b)[Math.floor(rounds / 2)]);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function measureOurs(
  database: DatabaseConfig,
  workers: number,
  transaction: boolean,
): Promise<number> {
  const config = { ...database, maxConnections: workers + 2 };
  const db = await getDrizzleClient(config);
  const job = transaction
    ? defineJob({ name: "insert", schema: z.object({ n: z.int() }), transaction: true })(
      async ({ payload, tx }) => {
        await tx.execute(sql`insert into effects values (${payload.n})`);
      },
    )
    : defineJob({ name: "insert", schema: z.object({ n: z.int() }) })(async ({ payload }) => {
      await db.execute(sql`insert into effects values (${payload.n})`);
    });
  const rate = await measure(async () => {
    await db.execute(sql`truncate trellis_jobs`);
    await job.enqueueMany(db, Array.from({ length: jobs }, (_, n) => ({ n })));
    await db.execute(sql`analyze trellis_jobs`);
    const worker = createJobWorker({
      getDb: () => db,
      jobs: [job],
      concurrency: workers,
      // as quiet as the others
      logging: { level: "SILENT", summary: false },
      metrics: false,
    });
    return await timed(() => worker.runDue());
  });
  await closeDrizzleClient(config);
  return rate;
}

async function measureBoss(url: string, workers: number): Promise<number> {
  const { PgBoss } = await import(PEERS.boss) as {
    PgBoss: new (options: object) => Boss;
  };
  const boss = new PgBoss({
    connectionString: url,
    max: workers + 2,
    supervise: false,
    schedule: false,
  });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("insert");
  const pool = new pg.Pool({ connectionString: url, max: workers });
  async function work(): Promise<void> {
    for (;;) {
      const found = await boss.fetch("insert", { batchSize: BATCH }) ?? [];
      if (found.length === 0) return;
      for (const { data } of found) await pool.query("insert into effects values ($1)", [data.n]);
      await boss.complete("insert", found.map(({ id }) => id));
    }
  }
  const rate = await measure(async () => {
    await boss.insert("insert", Array.from({ length: jobs }, (_, n) => ({ data: { n } })));
    return await timed(() => Promise.all(Array.from({ length: workers }, work)));
  });
  await boss.stop({ graceful: false });
  await pool.end();
  return rate;
}

async function measureGraphile(url: string, workers: number): Promise<number> {
  const graphile = await import(PEERS.graphile);
  const logger = new graphile.Logger(() => () => {});
  const pgPool = new pg.Pool({ connectionString: url, max: workers + 2 });
  const utils = await graphile.makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const rate = await measure(async () => {
    await utils.withPgClient((client: pg.PoolClient) =>
      client.query(
        "select graphile_worker.add_job('insert', json_build_object('n', n)) from generate_series(1, $1) n",
        [jobs],
      )
    );
    return await timed(() =>
      graphile.runOnce({ pgPool, logger, concurrency: workers, noHandleSignals: true }, {
        insert: async (
          { n }: { n: number },
          helpers: { query: (text: string, values: unknown[]) => Promise<unknown> },
        ) => void await helpers.query("insert into effects values ($1)", [n]),
      })
    );
  });
  await utils.release();
  await pgPool.end();
  return rate;
}

/** Compares a transaction of an insert with one that also enqueues a job. */
async function measureEnqueue(db: DrizzleClient, label: string): Promise<void> {
  const job = defineJob({ name: "insert", schema: z.object({ n: z.int() }) })(() => {});
  const run = async (withJob: boolean): Promise<number> => {
    const startedAt = performance.now();
    for (let n = 0; n < CALLS; n++) {
      await withTransaction(db, async (tx) => {
        await tx.execute(sql`insert into effects values (${n})`);
        if (withJob) await job.enqueue(tx, { n });
      });
    }
    return (performance.now() - startedAt) / CALLS;
  };
  await run(true);
  const pairs: { bare: number; withJob: number }[] = [];
  for (let round = 0; round < 9; round++) {
    pairs.push({ bare: await run(false), withJob: await run(true) });
  }
  const ratios = pairs.map(({ bare, withJob }) => withJob / bare).toSorted((a, b) => a - b);
  const bare = Math.min(...pairs.map((pair) => pair.bare));
  console.log(
    `an enqueue in a transaction of one insert, ${label}: ${ratios[4].toFixed(2)} times ` +
      `(${bare.toFixed(3)} ms without)`,
  );
}

if (import.meta.main) {
  setLogOutput(() => {});
  // as on a server that keeps what it acknowledged
  const postgres = await startPostgres({
    settings: ["fsync=on", "full_page_writes=on"],
  });
  const url = await postgres.createDatabase("bench");
  const database: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: url,
    instrument: false,
    maxConnections: 2,
  };
  const db = await getDrizzleClient(database);
  await db.execute(sql`create table effects (n int)`);
  for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
  await measureEnqueue(db, "commits in memory");
  await db.execute(sql`alter database bench set synchronous_commit = on`);
  await closeDrizzleClient(database);
  await measureEnqueue(await getDrizzleClient(database), "commits on disk");
  console.log(`${jobs} jobs, median of ${rounds} rounds, jobs per second`);
  console.log("workers | ours, exactly once | ours, at least once | pg-boss | graphile-worker");
  for (const workers of WORKERS) {
    const rates = [
      await measureOurs(database, workers, true),
      await measureOurs(database, workers, false),
      await measureBoss(url, workers),
      await measureGraphile(url, workers),
    ];
    console.log([workers, ...rates].join(" | "));
  }
  await closeDrizzleClient(database);
  await postgres.stop();
}
