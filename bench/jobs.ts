/**
 * Jobs per second with 1, 4 and 16 workers, beside pg-boss and graphile-worker on the same
 * PostgreSQL. Each round measures all of them.
 *
 *   deno run -A bench/jobs.ts [--jobs 5000] [--rounds 3] [--finished 0] [--waiting 0]
 *
 * pg-boss and graphile-worker are loaded from npm by this script; the package does not depend on
 * them. Each job inserts a row. Ours does it in the transaction that ends the job (exactly once), and
 * also as a job without a transaction (at least once) like the others, with the same pool of node-postgres.
 * A worker of pg-boss fetches 20 jobs at once; ours does so with `batchSize`, and else leases a job when it can begin it.
 * `--finished` rows of finished jobs are in the tables of ours and of pg-boss; graphile-worker deletes them. `--waiting` jobs
 * that run in a day are in the tables of all three.
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import pg from "pg";
import * as z from "zod";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { sql } from "../database/orm.ts";
import { createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";

/** The parts of the peers that are used here. */
interface Boss {
  on(event: "error", listener: () => void): void;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(name: string, jobs: readonly { data: object; startAfter?: Date }[]): Promise<unknown>;
  fetch(
    name: string,
    options: { batchSize: number },
  ): Promise<{ id: string; data: { n: number } }[] | null>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
}

const PEERS = { boss: "npm:pg-boss@12.38.0", graphile: "npm:graphile-worker@0.18.0" } as const;
const WORKERS = [1, 4, 16] as const;
/** Jobs that a worker of pg-boss fetches at once, and that a batch of ours has. */
const BATCH = 20;
const INSERT_EFFECT = "insert into effects values ($1)";

const { values } = parseArgs({
  options: {
    jobs: { type: "string" },
    rounds: { type: "string" },
    finished: { type: "string" },
    waiting: { type: "string" },
  },
});
const jobs = Number(values.jobs ?? 5000);
const rounds = Number(values.rounds ?? 3);
const finished = Number(values.finished ?? 0);
const waiting = Number(values.waiting ?? 0);
const tomorrow = new Date(Date.now() + 86_400_000);
/** Jobs that are inserted at once. */
const FILL = 10_000;

/** A queue to measure. */
interface Subject {
  /** Enqueues the jobs and returns the milliseconds that running them takes. */
  run(): Promise<number>;
  close(): Promise<void>;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function openOurs(
  database: DatabaseConfig,
  pool: pg.Pool,
  workers: number,
  kind: "exactly once" | "at least once" | "batches",
): Promise<Subject> {
  const config = { ...database, maxConnections: workers + 2 };
  const db = await getDrizzleClient(config);
  const base = { name: "insert", schema: z.object({ n: z.int() }) };
  const job = {
    "exactly once": () =>
      defineJob({ ...base, transaction: true })(async ({ payload, tx }) => {
        await tx.execute(sql`insert into effects values (${payload.n})`);
      }),
    "at least once": () =>
      defineJob(base)(async ({ payload }) => {
        await pool.query(INSERT_EFFECT, [payload.n]);
      }),
    batches: () =>
      defineJob({ ...base, batchSize: BATCH })(async ({ jobs }) => {
        for (const { payload } of jobs) await pool.query(INSERT_EFFECT, [payload.n]);
      }),
  }[kind]();
  return {
    async run(): Promise<number> {
      await db.execute(sql`delete from trellis_jobs where finished_at > now() - interval '1 hour'`);
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
    },
    close: () => closeDrizzleClient(config),
  };
}

/** Adds the jobs that have finished and those that wait, once. */
async function fillBoss(boss: Boss, pool: pg.Pool): Promise<void> {
  for (let filled = 0; filled < finished; filled += FILL) {
    await boss.insert("insert", Array.from({ length: FILL }, (_, n) => ({ data: { n } })));
  }
  await pool.query("update pgboss.job set state = 'completed', completed_on = now()");
  const later = (_: unknown, n: number) => ({ data: { n }, startAfter: tomorrow });
  for (let filled = 0; filled < waiting; filled += FILL) {
    await boss.insert("insert", Array.from({ length: FILL }, later));
  }
  await pool.query("vacuum analyze pgboss.job");
}

async function openBoss(url: string, pool: pg.Pool, workers: number): Promise<Subject> {
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
  if (workers === WORKERS[0]) await fillBoss(boss, pool);
  async function work(): Promise<void> {
    for (;;) {
      const found = await boss.fetch("insert", { batchSize: BATCH }) ?? [];
      if (found.length === 0) return;
      for (const { data } of found) await pool.query(INSERT_EFFECT, [data.n]);
      await boss.complete("insert", found.map(({ id }) => id));
    }
  }
  return {
    async run(): Promise<number> {
      await boss.insert("insert", Array.from({ length: jobs }, (_, n) => ({ data: { n } })));
      return await timed(() => Promise.all(Array.from({ length: workers }, work)));
    },
    close: () => boss.stop({ graceful: false }),
  };
}

async function openGraphile(url: string, workers: number): Promise<Subject> {
  const graphile = await import(PEERS.graphile);
  const logger = new graphile.Logger(() => () => {});
  const pgPool = new pg.Pool({ connectionString: url, max: workers + 2 });
  const utils = await graphile.makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  if (workers === WORKERS[0]) {
    await pgPool.query(
      "select graphile_worker.add_job('insert', json_build_object('n', n), run_at => $2) from generate_series(1, $1) n",
      [waiting, tomorrow],
    );
    await pgPool.query("vacuum analyze");
  }
  return {
    async run(): Promise<number> {
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
          ) => void await helpers.query(INSERT_EFFECT, [n]),
        })
      );
    },
    async close(): Promise<void> {
      await utils.release();
      await pgPool.end();
    },
  };
}

/** Runs all subjects in each round, and returns the median of each in jobs per second. */
async function compare(subjects: readonly Subject[]): Promise<number[]> {
  const rates = subjects.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, subject] of subjects.entries()) {
      rates[at].push(jobs / (await subject.run()) * 1000);
    }
  }
  return rates.map((all) => Math.round(all.toSorted((a, b) => a - b)[all.length >> 1]));
}

if (import.meta.main) {
  setLogOutput(() => {});
  // as on a server that keeps what it acknowledged
  const postgres = await startPostgres({
    settings: ["fsync=on", "full_page_writes=on", "synchronous_commit=on"],
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
  await db.execute(
    sql`insert into trellis_jobs (id, name, payload, state, shard, position, enqueued_at, run_at,
    due_at, attempts, fence, finished_at)
    select gen_random_uuid(), 'insert', '{"n":1}', 'done', n % 16, n, now(), now(),
      now() + interval '1 day', 1, 1, now() - interval '2 hours'
    from generate_series(1, ${finished}::int) n`,
  );
  await db.execute(
    sql`insert into trellis_jobs (id, name, payload, shard, position, enqueued_at, run_at, due_at)
    select gen_random_uuid(), 'insert', '{"n":1}', n % 16, n, now(), ${tomorrow.toISOString()}, ${tomorrow.toISOString()}
    from generate_series(1, ${waiting}::int) n`,
  );
  await db.execute(sql`vacuum analyze trellis_jobs`);
  await closeDrizzleClient(database);
  console.log(
    `${jobs} jobs, ${finished} finished ones, ${waiting} that wait, median of ${rounds} rounds, jobs per second`,
  );
  console.log(
    "workers | ours, exactly once | ours, at least once | ours, batchSize 20 | pg-boss, batchSize 20 | graphile-worker",
  );
  for (const workers of WORKERS) {
    const pool = new pg.Pool({ connectionString: url, max: workers });
    const subjects = [
      await openOurs(database, pool, workers, "exactly once"),
      await openOurs(database, pool, workers, "at least once"),
      await openOurs(database, pool, workers, "batches"),
      await openBoss(url, pool, workers),
      await openGraphile(url, workers),
    ];
    console.log([workers, ...await compare(subjects)].join(" | "));
    for (const subject of subjects) await subject.close();
    await pool.end();
  }
  await postgres.stop();
}
