/**
 * Statements while workflows sleep, the time until all that wake at once are done, and statements per step.
 *
 *   deno run -A bench/workflows.ts [--sleeping 10000] [--waking 1000] [--lanes 8]
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import * as z from "zod";
import type { DatabaseConfig } from "../database/config/config.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import { executeRows } from "../database/session/execute.ts";
import { sql } from "../database/orm.ts";
import { createJobWorker, JOBS_MIGRATION_SQL } from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { defineWorkflow, WORKFLOWS_MIGRATION_SQL } from "../workflows/mod.ts";

const { values } = parseArgs({
  options: { sleeping: { type: "string" }, waking: { type: "string" }, lanes: { type: "string" } },
});
const sleeping = Number(values.sleeping ?? 10_000);
const waking = Number(values.waking ?? 1000);
const concurrency = Number(values.lanes ?? 8);
const POLLS = 20;

setLogOutput(() => {});
const postgres = await startPostgres();
const config: DatabaseConfig = {
  provider: "postgres",
  connectionString: await postgres.createDatabase("workflows"),
  instrument: false,
  maxConnections: concurrency + 2,
};
const db = await getDrizzleClient(config);
for (const migration of [JOBS_MIGRATION_SQL, WORKFLOWS_MIGRATION_SQL]) {
  for (const statement of migration.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
}
await db.execute(sql`create table effects (n int)`);

const sleeper = defineWorkflow({ name: "sleeper", input: z.number() })(
  async ({ step, sleep, input }) => {
    await step(
      "before",
      (tx) => tx.execute(sql`insert into effects values (${input})`).then(() => {}),
    );
    await sleep(30 * 86_400);
    await step(
      "after",
      (tx) => tx.execute(sql`insert into effects values (${input})`).then(() => {}),
    );
  },
);
const worker = createJobWorker({
  getDb: () => db,
  jobs: [sleeper.job],
  concurrency,
  logging: { level: "SILENT", summary: false },
  metrics: false,
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** Counts statements and rows by the statistics of the server. */
async function readCounts(): Promise<{ rows: number; transactions: number }> {
  await db.execute(sql`select pg_stat_force_next_flush()`).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const [row] = await executeRows<{ rows: string; transactions: string }>(
    db,
    sql`select (select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) from pg_stat_user_tables) as rows,
    xact_commit as transactions from pg_stat_database where datname = current_database()`,
  );
  return { rows: Number(row.rows), transactions: Number(row.transactions) };
}

const startSeconds = await timed(async () => {
  const pending = Array.from({ length: sleeping }, (_, n) => n);
  await Promise.all(Array.from({ length: concurrency }, async () => {
    for (let n = pending.pop(); n !== undefined; n = pending.pop()) await sleeper.start(db, n);
  }));
});
const fallSeconds = await timed(() => worker.runDue());
await db.execute(sql`analyze`);
console.log(
  `${sleeping} workflows started in ${
    startSeconds.toFixed(1)
  } s, one step and asleep after another ` +
    `${fallSeconds.toFixed(1)} s (${(sleeping / fallSeconds).toFixed(0)}/s)`,
);
const before = await readCounts();
const pollSeconds = await timed(async () => {
  for (let n = 0; n < POLLS; n++) await worker.runDue();
});
const after = await readCounts();
console.log(
  `${POLLS} looks at the table while they sleep: ${
    (pollSeconds * 1000 / POLLS).toFixed(2)
  } ms each, ` +
    `${after.rows - before.rows} rows read`,
);
await db.execute(
  sql`update trellis_jobs set run_at = now(), due_at = now() where id in (
    select id from trellis_jobs where state = 'queued' and payload like '%timer%' limit ${waking})`,
);
const wakeSeconds = await timed(() => worker.runDue());
const [{ n }] = await executeRows<{ n: number }>(
  db,
  sql`select count(*)::int as n from trellis_workflows where state = 'done'`,
);
console.log(`${n} workflows that wake at once are done after ${wakeSeconds.toFixed(1)} s`);
await closeDrizzleClient(config);
await postgres.stop();
