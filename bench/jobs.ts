/**
 * Our jobs beside pg-boss and graphile-worker on one PostgreSQL: enqueueing one and many, jobs per second with 1, 4 and
 * 16 lanes, the pick-up of a job that `NOTIFY` announces, and what a worker costs at rest. Each round measures all queues.
 *
 *   deno run -A bench/jobs.ts [--jobs 5000] [--rounds 3] [--finished 0] [--waiting 0] [--lanes 1,4,16]
 *     [--only jobs] [--idle 30]
 *
 * Each job inserts a row. Ours does it in the transaction that ends the job (exactly once), and also as a job without a
 * transaction (at least once) like the others, with the same pool of node-postgres. A worker of pg-boss fetches 20 jobs
 * at once; ours does so with `batchSize`, and else leases a job when it can begin it. `--finished` jobs that have ended
 * are in the tables of ours and of pg-boss; graphile-worker deletes them. `--waiting` jobs that run in a day are in
 * all tables.
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { parseArgs } from "node:util";
import postgres from "postgres";
import { setLogOutput } from "../observability/output.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { type JobQueue, openBoss, openGraphile, openOurs } from "./lib/job_queues.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string" },
    rounds: { type: "string" },
    finished: { type: "string" },
    waiting: { type: "string" },
    lanes: { type: "string" },
    only: { type: "string" },
    idle: { type: "string" },
  },
});
const jobs = Number(values.jobs ?? 5000);
const rounds = Number(values.rounds ?? 3);
const fill = { finished: Number(values.finished ?? 0), waiting: Number(values.waiting ?? 0) };
const lanes = (values.lanes ?? "1,4,16").split(",").map(Number);
const idleSeconds = Number(values.idle ?? 30);
/** Jobs that are enqueued one after the other, and whose pick-up is measured. */
const SINGLES = 200;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function percentile(all: readonly number[], part: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(part * (all.length - 1))];
}

/** Measures all queues in each round, and prints the median of each. */
async function compare(
  label: string,
  queues: readonly JobQueue[],
  measure: (queue: JobQueue) => Promise<number>,
): Promise<void> {
  const all = queues.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, queue] of queues.entries()) {
      await queue.clear?.();
      all[at].push(await measure(queue));
    }
  }
  print(label, all.map((values) => Math.round(percentile(values, 0.5))));
}

function print(label: string, figures: readonly (number | string)[]): void {
  console.log([label, ...figures].join(" | "));
}

/** Milliseconds between the call that enqueues a job and its handler, for jobs one after the other. */
async function measurePickUp(queue: JobQueue): Promise<number[]> {
  let begin: (n: number) => void = () => {};
  const stop = await queue.start((n) => begin(n));
  const times: number[] = [];
  for (let n = 0; n < SINGLES + 5; n++) {
    const begun = new Promise<number>((resolve) => begin = () => resolve(performance.now()));
    const startedMs = performance.now();
    await queue.enqueue(n);
    const ms = await begun - startedMs;
    // the first ones wait for the listener
    if (n >= 5) times.push(ms);
    await pause(5 + 20 * Math.random());
  }
  await stop();
  return times;
}

interface Activity {
  readonly transactions: number;
  readonly connections: number;
}

async function readActivity(admin: postgres.Sql, database: string): Promise<Activity> {
  const [row] =
    await admin`select xact_commit + xact_rollback as transactions, numbackends as connections
    from pg_stat_database where datname = ${database}`;
  return { transactions: Number(row.transactions), connections: Number(row.connections) };
}

/** Transactions per second and connections of a worker at rest. */
async function measureRest(
  queue: JobQueue,
  admin: postgres.Sql,
  database: string,
): Promise<string> {
  const stop = await queue.start(() => {});
  // the server writes the statistics of a connection at rest after 10 seconds
  await pause(12_000);
  const before = await readActivity(admin, database);
  await pause(idleSeconds * 1000);
  const after = await readActivity(admin, database);
  await stop();
  return `${
    ((after.transactions - before.transactions) / idleSeconds).toFixed(2)
  } (${after.connections})`;
}

if (import.meta.main) {
  setLogOutput(() => {});
  // as on a server that keeps what it acknowledged
  const server = await startPostgres({
    settings: ["fsync=on", "full_page_writes=on", "synchronous_commit=on"],
  });
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  const ours = await openOurs(await server.createDatabase("ours"), fill);
  const boss = await openBoss(await server.createDatabase("boss"), fill);
  const graphile = await openGraphile(await server.createDatabase("graphile"), fill);
  const queues = [...ours, boss, graphile];
  const single = [ours[1], boss, graphile];
  await admin`checkpoint`;
  console.log(
    `${jobs} jobs, ${fill.finished} finished ones, ${fill.waiting} that wait, median of ${rounds} rounds`,
  );
  const isMeasured = (what: string) => values.only === undefined || values.only === what;
  if (isMeasured("jobs")) {
    print("jobs per second", queues.map(({ name }) => name));
    for (const count of lanes) {
      await compare(`${count} lanes`, queues, async (queue) => {
        await queue.enqueueMany(jobs);
        return jobs / (await timed(() => queue.run(count))) * 1000;
      });
    }
  }
  print("", single.map(({ name }) => name));
  if (isMeasured("enqueue")) {
    await compare("enqueued one by one, per second", single, async (queue) => {
      const ms = await timed(async () => {
        for (let n = 0; n < SINGLES; n++) await queue.enqueue(n);
      });
      await queue.run(4);
      return SINGLES / ms * 1000;
    });
    await compare(`enqueued ${jobs} at once, per second`, single, async (queue) => {
      const ms = await timed(() => queue.enqueueMany(jobs));
      await queue.run(4);
      return jobs / ms * 1000;
    });
  }
  if (isMeasured("pickup")) {
    const all: number[][] = single.map(() => []);
    for (let round = 0; round < rounds; round++) {
      for (const [at, queue] of single.entries()) all[at].push(...await measurePickUp(queue));
    }
    const show = (part: number) => all.map((times) => percentile(times, part).toFixed(1));
    print("pick-up p50, ms", show(0.5));
    print("pick-up p99, ms", show(0.99));
  }
  if (isMeasured("idle")) {
    const databases = ["ours", "boss", "graphile"];
    const rest: string[] = [];
    for (const [at, queue] of single.entries()) {
      rest.push(await measureRest(queue, admin, databases[at]));
    }
    print("statements per second at rest (connections)", rest);
  }
  for (const queue of queues) await queue.close();
  await admin.end();
  await server.stop();
}
