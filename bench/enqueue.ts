/**
 * What an enqueue adds to a transaction of one insert: ours, beside postgres.js by hand with the same
 * row and with the cheapest second statement. Commits reach the disk. The database is reached by the
 * loopback interface, and by one that delays answers by 0.5 and 1 ms, as between a function and a
 * database of one region.
 *
 *   deno run -A bench/enqueue.ts [--calls 1000]
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import postgres, { type TransactionSql } from "postgres";
import * as z from "zod";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import type { DatabaseConfig } from "../database/config/config.ts";
import { sql } from "../database/orm.ts";
import { withTransaction } from "../database/session/transaction.ts";
import { defineJob, JOBS_MIGRATION_SQL } from "../jobs/mod.ts";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const { values } = parseArgs({ options: { calls: { type: "string" } } });
const calls = Number(values.calls ?? 1000);

const INSERT_EFFECT = "insert into effects values ($1)";
/** The row that `enqueue` inserts, as one would write it by hand. */
const INSERT_JOB =
  `insert into trellis_jobs (id, name, payload, shard, group_key, position, enqueued_at, run_at, due_at, correlation_id, trace_parent)
  values ($1, $2, $3, $4, $5, $6, now(), now() + $7::float8 * interval '1 second', now() + $8::float8 * interval '1 second', $9, $10)`;

type Work = (n: number) => Promise<unknown>;

async function startProxy(port: number, delayMs: number): Promise<{ port: number; stop(): void }> {
  const worker = new Worker(new URL("./lib/delaying_proxy.ts", import.meta.url), {
    type: "module",
  });
  const listening = new Promise<number>((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
  });
  worker.postMessage({ port, delayMs });
  return { port: await listening, stop: () => worker.terminate() };
}

function insertByHand(tx: TransactionSql, n: number): Promise<unknown> {
  const id = crypto.randomUUID();
  const row = [id, "insert", JSON.stringify({ n }), parseInt(id[0], 16), null, n, 0, 0, null, null];
  return tx.unsafe(INSERT_JOB, row, { prepare: true });
}

/** Runs each work in turn, so that all of them see the same load, and returns their medians. */
async function compare(works: Readonly<Record<string, Work>>): Promise<Map<string, number>> {
  const times = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
  for (let n = -50; n < calls; n++) {
    const order = Object.entries(works);
    for (const [name, work] of n % 2 === 0 ? order : order.toReversed()) {
      const startedAt = performance.now();
      await work(n);
      if (n >= 0) times.get(name)!.push(performance.now() - startedAt);
    }
  }
  return new Map(
    Array.from(times, ([name, all]) => [name, all.toSorted((a, b) => a - b)[all.length >> 1]]),
  );
}

async function measure(url: string, label: string): Promise<void> {
  const hand = postgres(url, { max: 1, onnotice: () => {} });
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: url,
    instrument: false,
    maxConnections: 1,
  };
  const db = await getDrizzleClient(config);
  const job = defineJob({ name: "insert", schema: z.object({ n: z.int() }) })(() => {});

  const byHand = (second?: (tx: TransactionSql, n: number) => Promise<unknown>): Work => (n) =>
    hand.begin(async (tx) => {
      await tx.unsafe(INSERT_EFFECT, [n], { prepare: true });
      // not awaited: it travels with COMMIT
      second?.(tx, n).catch(() => {});
    });
  const byUs = (withJob: boolean): Work => (n) =>
    withTransaction(db, async (tx) => {
      await tx.execute(sql`insert into effects values (${n})`);
      if (withJob) await job.enqueue(tx, { n });
    });

  const medians = await compare({
    "by hand": byHand(),
    "by hand, with select 1": byHand((tx) => tx.unsafe("select 1", [], { prepare: true })),
    "by hand, with the job's row": byHand(insertByHand),
    "ours": byUs(false),
    "ours, with enqueue": byUs(true),
  });
  const get = (name: string): number => medians.get(name)!;
  const ratio = (name: string, of: string): string => (get(name) / get(of)).toFixed(2);
  console.log([
    label,
    `${get("by hand").toFixed(2)} ms`,
    ratio("by hand, with select 1", "by hand"),
    ratio("by hand, with the job's row", "by hand"),
    `${get("ours").toFixed(2)} ms`,
    ratio("ours, with enqueue", "ours"),
  ].join(" | "));
  await hand.end();
  await closeDrizzleClient(config);
}

if (import.meta.main) {
  setLogOutput(() => {});
  const server = await startPostgres({
    settings: ["fsync=on", "full_page_writes=on", "synchronous_commit=on"],
  });
  const url = new URL(await server.createDatabase("bench"));
  const admin = postgres(url.href, { max: 1, onnotice: () => {} });
  await admin.unsafe("create table effects (n int)");
  for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await admin.unsafe(statement);
  }
  await admin.end();
  console.log("network | by hand | with select 1 | with the job's row | ours | ours, with enqueue");
  await measure(url.href, "loopback");
  for (const delayMs of [0.5, 1]) {
    const proxy = await startProxy(server.port, delayMs);
    url.port = String(proxy.port);
    await measure(url.href, `${delayMs} ms`);
    proxy.stop();
  }
  await server.stop();
}
