/**
 * Jobs per second, the time of a claim that finds nothing, and the pick-up of a single job, with
 * 0, 100,000 and 1,000,000 finished rows in the table.
 *
 *   deno run -A bench/finished_jobs.ts [--finished 0,100000,1000000] [--jobs 2000] [--lanes 1,4,16]
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import * as z from "zod";
import type { DatabaseConfig } from "../database/config/config.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import { sql } from "../database/orm.ts";
import { createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const { values } = parseArgs({
  options: { finished: { type: "string" }, jobs: { type: "string" }, lanes: { type: "string" } },
});
const readNumbers = (text: string) => text.split(",").map(Number);
const sizes = readNumbers(values.finished ?? "0,100000,1000000");
const lanes = readNumbers(values.lanes ?? "1,4,16");
const jobs = Number(values.jobs ?? 2000);
const QUIET = { logging: { level: "SILENT", summary: false }, metrics: false } as const;
const CLAIMS = 20;

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1];

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

setLogOutput(() => {});
// as on a server that keeps what it acknowledged
const postgres = await startPostgres({
  settings: ["fsync=on", "full_page_writes=on", "synchronous_commit=on"],
});
console.log(
  `finished rows | idle poll, ms | ${
    lanes.map((n) => `jobs/s, ${n} lanes, at least once | exactly once`).join(" | ")
  } | statement of removal, ms`,
);
for (const size of sizes) {
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: await postgres.createDatabase(`finished_${size}`),
    instrument: false,
    maxConnections: 18,
  };
  const db = await getDrizzleClient(config);
  for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
  await db.execute(sql`create table effects (n int)`);
  await db.execute(
    sql`insert into trellis_jobs (id, name, payload, state, shard, position, enqueued_at, run_at,
    due_at, attempts, fence, finished_at)
    select gen_random_uuid(), 'insert', '{"n":1}', 'done', n % 16, n, now(), now(),
      now() + interval '1 hour', 1, 1, now() from generate_series(1, ${size}::int) n`,
  );
  await db.execute(sql`vacuum analyze trellis_jobs`);
  const input = z.object({ n: z.int() });
  const once = defineJob({ name: "insert", schema: input })(async ({ payload }) => {
    await db.execute(sql`insert into effects values (${payload.n})`);
  });
  const exact = defineJob({ name: "exact", schema: input, transaction: true })(
    async ({ payload, tx }) => {
      await tx.execute(sql`insert into effects values (${payload.n})`);
    },
  );
  const work = (concurrency: number) =>
    createJobWorker({ getDb: () => db, jobs: [once, exact], concurrency, ...QUIET }).runDue();
  await work(1);
  const idle: number[] = [];
  for (let n = 0; n < CLAIMS; n++) idle.push(await timed(() => work(1)));
  const rates: number[] = [];
  for (const concurrency of lanes) {
    for (const job of [once, exact]) {
      await job.enqueueMany(db, Array.from({ length: jobs }, (_, n) => ({ n })));
      rates.push(Math.round(jobs / (await timed(() => work(concurrency))) * 1000));
    }
  }
  await db.execute(sql`update trellis_jobs set due_at = now() where id in
    (select id from trellis_jobs where state = 'done' limit 20000)`);
  const { buildRemoveOld } = await import("../jobs/relay.ts");
  const { runSql } = await import("../database/session/run_sql.ts");
  const removals: number[] = [];
  for (let n = 0; n < 5; n++) {
    removals.push(await timed(async () => await runSql(db, buildRemoveOld(1000, undefined))));
  }
  console.log(
    [size, median(idle).toFixed(2), ...rates, removals.map((ms) => ms.toFixed(0)).join(" ")]
      .join(" | "),
  );
  await closeDrizzleClient(config);
}
await postgres.stop();
