/**
 * The queues that `bench/jobs.ts` compares: ours, pg-boss and graphile-worker, each with a database of its own on one
 * server. pg-boss and graphile-worker are loaded from npm; the package does not depend on them.
 *
 * @module
 */
import pg from "pg";
import * as z from "zod";
import { closeDrizzleClient, getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { sql } from "../../database/orm.ts";
import {
  configureJobs,
  createJobWorker,
  createNotifyDelivery,
  defineJob,
  JOBS_MIGRATION_SQL,
} from "../../jobs/mod.ts";

/** Rows that are in the table before the measurement. */
export interface Fill {
  /** Jobs that have finished; graphile-worker deletes them. */
  readonly finished: number;
  /** Jobs that run in a day. */
  readonly waiting: number;
}

/** A queue to measure. Each of its jobs inserts a row. */
export interface JobQueue {
  readonly name: string;
  /** Enqueues one job with its own statement. */
  enqueue(n: number): Promise<void>;
  /** Enqueues jobs with as few statements as the queue offers. */
  enqueueMany(count: number): Promise<void>;
  /** Removes the jobs that have ended since the rows were filled in: our three ways share a table. */
  clear?(): Promise<void>;
  /** Runs all jobs that are due. */
  run(lanes: number): Promise<void>;
  /** Starts a worker that is notified of jobs, and returns the function that stops it. */
  start(onJob: (n: number) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Jobs that a worker of pg-boss fetches at once, and that a batch of ours has. */
export const BATCH = 20;
/** Connections of each queue. */
const CONNECTIONS = 18;
/** Jobs that are filled in at once. */
const FILL = 10_000;
const PEERS = { boss: "npm:pg-boss@12.38.0", graphile: "npm:graphile-worker@0.18.0" } as const;
const INSERT_EFFECT = "insert into effects values ($1)";
const QUIET = { logging: { level: "SILENT", summary: false }, metrics: false } as const;

const list = (count: number) => Array.from({ length: count }, (_, n) => n);
const tomorrow = new Date(Date.now() + 86_400_000);

async function createPool(url: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  await pool.query("create table if not exists effects (n int)");
  return pool;
}

/** Ways in which our jobs run. */
export const KINDS = ["exactly once", "at least once", `batches of ${BATCH}`] as const;

/**
 * Opens our queue in each way that jobs run, on one table.
 *
 * @param url The database.
 * @param fill Rows to begin with.
 */
export async function openOurs(url: string, { finished, waiting }: Fill): Promise<JobQueue[]> {
  const pool = await createPool(url);
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: url,
    instrument: false,
    maxConnections: CONNECTIONS,
    // that of node-postgres, which the peers use; without it all connections stay open
    idleTimeout: 10,
  };
  const db = await getDrizzleClient(config);
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
  let onJob: ((n: number) => void) | undefined;
  async function insert(n: number): Promise<void> {
    onJob?.(n);
    await pool.query(INSERT_EFFECT, [n]);
  }
  const base = { name: "insert", schema: z.object({ n: z.int() }) };
  const jobs = {
    "exactly once": defineJob({ ...base, transaction: true })(async ({ payload, tx }) => {
      await tx.execute(sql`insert into effects values (${payload.n})`);
    }),
    "at least once": defineJob(base)(({ payload }) => insert(payload.n)),
    [KINDS[2]]: defineJob({ ...base, batchSize: BATCH })(async ({ jobs }) => {
      for (const { payload } of jobs) await insert(payload.n);
    }),
  };
  return KINDS.map((kind): JobQueue => {
    const job = jobs[kind];
    return {
      name: `ours, ${kind}`,
      enqueue: async (n) => void await job.enqueue(db, { n }),
      enqueueMany: async (count) => void await job.enqueueMany(db, list(count).map((n) => ({ n }))),
      clear: async () =>
        void await pool.query(
          "delete from trellis_jobs where finished_at > now() - interval '1 hour'",
        ),
      async run(concurrency): Promise<void> {
        await createJobWorker({ getDb: () => db, jobs: [job], concurrency, ...QUIET }).runDue();
      },
      start(listener): Promise<() => Promise<void>> {
        onJob = listener;
        const restore = configureJobs({ delivery: createNotifyDelivery() });
        const worker = createJobWorker({ getDb: () => db, jobs: [job], ...QUIET });
        worker.start();
        return Promise.resolve(async () => {
          await worker.stop();
          restore();
          onJob = undefined;
        });
      },
      async close(): Promise<void> {
        if (kind !== KINDS[0]) return;
        await closeDrizzleClient(config);
        await pool.end();
      },
    };
  });
}

/** The parts of pg-boss that are used here. */
interface Boss {
  on(event: "error", listener: () => void): void;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string, options: { notify: boolean }): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: readonly { data: object; startAfter?: Date }[]): Promise<unknown>;
  fetch(
    name: string,
    options: { batchSize: number },
  ): Promise<{ id: string; data: { n: number } }[] | null>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
  work(name: string, handler: (jobs: { data: { n: number } }[]) => Promise<void>): Promise<unknown>;
  offWork(name: string): Promise<void>;
}

/**
 * Opens pg-boss, whose workers fetch {@link BATCH} jobs at once.
 *
 * @param url The database.
 * @param fill Rows to begin with.
 */
export async function openBoss(url: string, { finished, waiting }: Fill): Promise<JobQueue> {
  const pool = await createPool(url);
  const { PgBoss } = await import(PEERS.boss) as { PgBoss: new (options: object) => Boss };
  const boss = new PgBoss({
    connectionString: url,
    max: CONNECTIONS,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("insert", { notify: true });
  const enqueueMany = async (count: number) =>
    void await boss.insert("insert", list(count).map((n) => ({ data: { n } })));
  if (finished > 0) {
    await enqueueMany(FILL);
    await pool.query("update pgboss.job set state = 'completed', completed_on = now()");
    const { rows: [{ columns }] } = await pool.query(
      `select string_agg(format('%I', column_name), ', ') as columns from information_schema.columns
        where table_schema = 'pgboss' and table_name = 'job' and column_name <> 'id' and is_generated = 'NEVER'`,
    );
    await pool.query(
      `insert into pgboss.job (id, ${columns}) select gen_random_uuid(), ${columns}
        from pgboss.job, generate_series(2, $1)`,
      [finished / FILL],
    );
  }
  const later = list(FILL).map((n) => ({ data: { n }, startAfter: tomorrow }));
  for (let filled = 0; filled < waiting; filled += FILL) await boss.insert("insert", later);
  await pool.query("vacuum analyze");
  async function work(): Promise<void> {
    for (;;) {
      const found = await boss.fetch("insert", { batchSize: BATCH }) ?? [];
      if (found.length === 0) return;
      for (const { data } of found) await pool.query(INSERT_EFFECT, [data.n]);
      await boss.complete("insert", found.map(({ id }) => id));
    }
  }
  return {
    name: `pg-boss, batches of ${BATCH}`,
    enqueue: async (n) => void await boss.send("insert", { n }),
    enqueueMany,
    run: async (lanes) => void await Promise.all(list(lanes).map(work)),
    async start(onJob): Promise<() => Promise<void>> {
      await boss.work("insert", async (jobs) => {
        for (const { data } of jobs) {
          onJob(data.n);
          await pool.query(INSERT_EFFECT, [data.n]);
        }
      });
      return () => boss.offWork("insert");
    },
    async close(): Promise<void> {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

/** The parts of the helpers of graphile-worker's tasks that are used here. */
interface Helpers {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/**
 * Opens graphile-worker.
 *
 * @param url The database.
 * @param fill Rows to begin with; it deletes finished jobs.
 */
export async function openGraphile(url: string, { waiting }: Fill): Promise<JobQueue> {
  const pgPool = await createPool(url);
  const graphile = await import(PEERS.graphile);
  const logger = new graphile.Logger(() => () => {});
  const utils = await graphile.makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const enqueueMany = async (count: number, runAt?: Date) =>
    void await utils.addJobs(
      list(count).map((n) => ({ identifier: "insert", payload: { n }, runAt })),
    );
  for (let filled = 0; filled < waiting; filled += FILL) await enqueueMany(FILL, tomorrow);
  await pgPool.query("vacuum analyze");
  let onJob: ((n: number) => void) | undefined;
  const tasks = {
    async insert({ n }: { n: number }, { query }: Helpers): Promise<void> {
      onJob?.(n);
      await query(INSERT_EFFECT, [n]);
    },
  };
  const options = { pgPool, logger, noHandleSignals: true };
  return {
    name: "graphile-worker",
    enqueue: async (n) => void await utils.addJob("insert", { n }),
    enqueueMany,
    run: async (concurrency) => void await graphile.runOnce({ ...options, concurrency }, tasks),
    async start(listener): Promise<() => Promise<void>> {
      onJob = listener;
      const runner = await graphile.run({ ...options, concurrency: 1, taskList: tasks });
      return async () => {
        await runner.stop();
        onJob = undefined;
      };
    },
    async close(): Promise<void> {
      await utils.release();
      await pgPool.end();
    },
  };
}
