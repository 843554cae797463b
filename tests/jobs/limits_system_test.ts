// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  executeRows,
  getDrizzleClient,
  withDistSqlRetry,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { migrate } from "./killing_proxy.ts";
import { call, rated, RATES } from "./limits_process.ts";

/** `TRELLIS_FULL_TESTS=1` runs 64 lanes in 8 processes, and kills 20 of them. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESSES = isFull ? 8 : 2;
const LANES = isFull ? 8 : 4;
const KILLS = isFull ? 20 : 1;
const TENANTS = 7;
const SCRIPT = new URL("./limits_process.ts", import.meta.url).pathname;

const TABLES =
  `CREATE TABLE "runs" ("id" uuid PRIMARY KEY NOT NULL, "job_id" uuid NOT NULL, "job" text NOT NULL, "pid" integer NOT NULL,
  "tenant" text NOT NULL, "n" integer NOT NULL, "group_name" text, "leased_at" timestamp with time zone NOT NULL,
  "started_at" timestamp with time zone NOT NULL, "ended_at" timestamp with time zone);
`;

function start(config: DatabaseConfig): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", SCRIPT, JSON.stringify(config), String(LANES)],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

async function count(db: DrizzleClient, query: ReturnType<typeof sql>): Promise<number> {
  return Number((await executeRows<{ n: unknown }>(db, query))[0].n);
}

/** Runs a statement again while it conflicts with workers. */
const execute = (db: DrizzleClient, query: ReturnType<typeof sql>) =>
  withDistSqlRetry(() => db.execute(query), { maxRetries: 20 });

/** Kills a process. Its leases end, and what it ran has ended. */
async function kill(db: DrizzleClient, child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await child.status;
  await execute(
    db,
    sql`update runs set ended_at = clock_timestamp() where pid = ${child.pid} and ended_at is null`,
  );
  // the leases of jobs that the process had not begun end too: no other process has them
  await execute(
    db,
    sql`update trellis_jobs set due_at = now() where state = 'running' and id in
    (select job_id from runs where pid = ${child.pid})`,
  );
}

/** Enqueues jobs of several tenants, runs them in processes of which some are killed, and checks the limits. */
async function checkLimits(
  name: string,
  config: DatabaseConfig,
  fullJobs: number,
): Promise<void> {
  const jobs = isFull ? fullJobs : 120;
  const ratedJobs = jobs / 6;
  await migrate(config, [JOBS_MIGRATION_SQL, TABLES]);
  const db = await getDrizzleClient(config);
  const children = Array.from({ length: PROCESSES }, () => start(config));
  try {
    // most jobs are those of one tenant; the jobs of two tenants are in order
    const list = (length: number) =>
      Array.from({ length }, (_, n) => ({ tenant: `t${n % 2 === 0 ? 0 : n % TENANTS}`, n }));
    await call.enqueueMany(db, list(jobs - ratedJobs), {
      group: ({ tenant }) => tenant === "t1" || tenant === "t2" ? tenant : undefined,
    });
    await rated.enqueueMany(db, list(ratedJobs));
    let kills = 0;
    for (let left = jobs; left > 0;) {
      const done = jobs - left;
      if (kills < KILLS && done > (kills + 1) * jobs / (KILLS + 2)) {
        await kill(db, children.shift()!);
        children.push(start(config));
        kills++;
      }
      // a job that was leased and had not begun when its process was killed
      await execute(
        db,
        sql`update trellis_jobs j set due_at = now() where state = 'running' and due_at < now() + interval '30 seconds'
        and not exists (select 1 from runs r where r.job_id = j.id and r.ended_at is null)`,
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
      left = await count(
        db,
        sql`select count(*) as n from trellis_jobs where state in ('queued', 'running')`,
      );
    }
    assertEquals(kills, KILLS);
    const most = await executeRows<{ at_once: unknown; of_tenant: unknown }>(
      db,
      sql`select max(at_once) as at_once, max(of_tenant) as of_tenant from (
        select count(*) as at_once, count(case when o.tenant = r.tenant then 1 end) as of_tenant
        from runs r join runs o on o.started_at <= r.started_at and o.ended_at > r.started_at
        where r.job = 'call' and o.job = 'call' group by r.id) c`,
    );
    const atOnce = Number(most[0].at_once);
    assert(atOnce <= 4, `${atOnce} jobs ran at the same time`);
    assertEquals(Number(most[0].of_tenant), 1);
    const [begun] = await executeRows<{ of_all: unknown; of_tenant: unknown }>(
      db,
      sql`select max(of_all) as of_all, max(of_tenant) as of_tenant from (
        select count(*) as of_all, count(case when o.tenant = r.tenant then 1 end) as of_tenant
        from runs r join runs o on o.leased_at <= r.leased_at and o.leased_at > r.leased_at - interval '1 second'
        where r.job = 'rated' and o.job = 'rated' group by r.id) c`,
    );
    assert(Number(begun.of_all) <= RATES.all, `${begun.of_all} attempts began in a second`);
    assert(Number(begun.of_tenant) <= RATES.tenant, `${begun.of_tenant} of a tenant`);
    const early = await executeRows(
      db,
      sql`select r.group_name, r.n, o.n as earlier from runs r join runs o on o.group_name = r.group_name
        and o.n < r.n and o.started_at >= r.started_at`,
    );
    assertEquals(early, [], "jobs of a group that ran before an earlier one");
    const states = await executeRows<{ state: string; n: unknown }>(
      db,
      sql`select state, count(*) as n from trellis_jobs where state <> 'limit' group by state`,
    );
    assertEquals(states.map(({ state, n }) => [state, Number(n)]), [["done", jobs]]);
    const runs = await count(db, sql`select count(*) as n from runs`);
    console.log(
      `${name}: ${jobs} jobs, ${runs} attempts, ${kills} kills, at most ${atOnce} at once, ${begun.of_all} in a second`,
    );
  } finally {
    for (const child of children) {
      child.kill("SIGKILL");
      await child.status;
    }
    await closeDrizzleClient(config);
  }
}

Deno.test("limits hold on PostgreSQL while workers are killed", async () => {
  const postgres = await startPostgres();
  try {
    await checkLimits("PostgreSQL", {
      provider: "serverless-pg",
      connectionString: postgres.url,
      maxConnections: LANES + 2,
      instrument: false,
    }, 3000);
  } finally {
    await postgres.stop();
  }
});

Deno.test("limits hold on the distributed provider while workers are killed", async () => {
  await withDistSqlLab(async (lab) => {
    await checkLimits("distributed provider", {
      ...lab.config,
      maxConnections: LANES + 2,
      instrument: false,
    }, 600);
  });
});
