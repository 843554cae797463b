// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { startRestartablePostgres } from "../../bench/load/restartable_postgres.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { executeAgain, migrate, PHASES, runKilled, startKillingProxy } from "./killing_proxy.ts";

/** `TRELLIS_FULL_TESTS=1` kills at every message, and goes on until 20,000 jobs have run. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const JOBS = Number(Deno.env.get("TRELLIS_KILLED_JOBS") ?? 20_000);
const PROCESS = new URL("./killed_process.ts", import.meta.url);

const TABLES = `CREATE TABLE "orders" ("id" uuid PRIMARY KEY NOT NULL);
--> statement-breakpoint
CREATE TABLE "applied" ("id" uuid PRIMARY KEY NOT NULL, "order_id" uuid NOT NULL);
--> statement-breakpoint
CREATE TABLE "effects" ("id" uuid PRIMARY KEY NOT NULL, "order_id" uuid NOT NULL, "key" uuid NOT NULL);
--> statement-breakpoint
CREATE TABLE "listed" ("id" uuid PRIMARY KEY NOT NULL, "order_id" uuid NOT NULL, "group_name" text NOT NULL,
  "at" double precision NOT NULL, "listed_at" timestamp with time zone NOT NULL);
--> statement-breakpoint
CREATE TABLE "changed" ("key" text PRIMARY KEY NOT NULL, "n" integer NOT NULL);
--> statement-breakpoint
CREATE TABLE "indexed" ("job" text NOT NULL, "key" text NOT NULL, "n" integer NOT NULL, PRIMARY KEY ("job","key"));
`;
/** Jobs of each order: one with a transaction, one without, and one with a group. Those of the keys come on top. */
const JOBS_OF_ORDER = 3;

interface Target {
  /** Connects the test. */
  readonly config: DatabaseConfig;
  /** Connects the process that is killed, by a port. */
  readonly through: (port: number) => DatabaseConfig;
  readonly port: number;
  /** Restarts the server, if it can. */
  readonly restart?: () => Promise<void>;
}

interface Totals {
  orders: number;
  applied: number;
  effects: number;
  kills: number;
}

async function readTotals(config: DatabaseConfig): Promise<Omit<Totals, "kills">> {
  const db = await getDrizzleClient(config);
  const count = async (query: ReturnType<typeof sql>) =>
    Number((await executeRows<{ n: unknown }>(db, query))[0].n);
  return {
    orders: await count(sql`select count(*) as n from orders`),
    applied: await count(sql`select count(*) as n from applied`),
    effects: await count(sql`select count(*) as n from effects`),
  };
}

/** Time passes: the leases of the dead end. */
async function freeDead(config: DatabaseConfig): Promise<void> {
  const db = await getDrizzleClient(config);
  await executeAgain(db, sql`update trellis_jobs set due_at = now() where state = 'running'`);
}

/** Finishes what the killed processes left, and checks it. */
async function finishAndCheck(target: Target): Promise<Omit<Totals, "kills">> {
  const db = await getDrizzleClient(target.config);
  for (let round = 0; round < 5; round++) {
    await freeDead(target.config);
    const { wasKilled, output } = await runKilled(PROCESS, [target.config, 0]);
    assertEquals(wasKilled, false);
    assert(output.includes("done"), output);
    const [{ n }] = await executeRows<{ n: unknown }>(
      db,
      sql`select count(*) as n from trellis_jobs where state <> 'done'`,
    );
    if (Number(n) === 0) break;
    // failed attempts wait for the next one
    await executeAgain(
      db,
      sql`update trellis_jobs set due_at = now(), run_at = now() where state = 'queued'`,
    );
  }
  const states = await executeRows(
    db,
    sql`select state, last_error, count(*) as n from trellis_jobs where state <> 'done' group by state, last_error`,
  );
  assertEquals(states, []);
  const lost = await executeRows(
    db,
    sql`select id from orders o where not exists (select 1 from applied a where a.order_id = o.id)
      or not exists (select 1 from effects e where e.order_id = o.id)
      or not exists (select 1 from listed l where l.order_id = o.id)`,
  );
  assertEquals(lost, [], "orders whose jobs were lost");
  const invented = await executeRows(
    db,
    sql`select id from applied a where not exists (select 1 from orders o where a.order_id = o.id)`,
  );
  assertEquals(invented, [], "jobs of transactions that were rolled back");
  const twice = await executeRows(
    db,
    sql`select order_id from applied group by order_id having count(*) > 1
      union all select order_id from listed group by order_id having count(*) > 1`,
  );
  assertEquals(twice, [], "orders that were applied twice");
  const listed = await executeRows<{ group_name: string; at: unknown }>(
    db,
    sql`select group_name, at from listed order by group_name, listed_at`,
  );
  const early = listed.filter((row, n) =>
    row.group_name === listed[n - 1]?.group_name && Number(row.at) < Number(listed[n - 1].at)
  );
  assertEquals(early, [], "jobs of a group that ran before an earlier one");
  const old = await executeRows(
    db,
    sql`select j.job, c.key, c.n, i.n as indexed from changed c cross join (values ('debounced'), ('queued-once')) j (job)
      left join indexed i on i.job = j.job and i.key = c.key where i.n is distinct from c.n`,
  );
  assertEquals(old, [], "keys whose job has not run after their last change");
  return await readTotals(target.config);
}

async function killEverywhere(name: string, target: Target): Promise<void> {
  const random = createRandom(testSeed).next;
  const proxy = await startKillingProxy(target.port);
  const config = target.through(proxy.port);
  let kills = 0;
  try {
    await migrate(target.config, [JOBS_MIGRATION_SQL, TABLES]);
    proxy.arm(undefined);
    const whole = await runKilled(PROCESS, [config, 2]);
    assert(whole.output.includes("done"), whole.output);
    const messages = proxy.count();
    // each message of a run with two orders, then messages by chance of runs with many
    const moments = Array.from(
      { length: messages * PHASES.length },
      (_, n) => ({ message: 1 + Math.floor(n / PHASES.length), phase: PHASES[n % PHASES.length] }),
    );
    const chosen = isFull
      ? moments
      : Array.from({ length: 6 }, () => moments[Math.floor(random() * moments.length)]);
    for (const moment of chosen) {
      const { wasKilled } = await runKilled(
        PROCESS,
        [config, 2],
        (kill) => proxy.arm({ ...moment, kill }),
      );
      if (wasKilled) kills++;
    }
    let { orders } = await readTotals(target.config);
    let rounds = 0;
    while (isFull && orders * JOBS_OF_ORDER < JOBS) {
      const moment = {
        message: 1 + Math.floor(random() * 1500),
        phase: PHASES[Math.floor(random() * PHASES.length)],
      };
      const running = runKilled(PROCESS, [config, 250], (kill) => proxy.arm({ ...moment, kill }));
      if (++rounds % 5 === 0 && target.restart !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, 500 + random() * 1000));
        await target.restart();
      }
      if ((await running).wasKilled) kills++;
      await freeDead(target.config);
      orders = (await readTotals(target.config)).orders;
    }
    const totals = await finishAndCheck(target);
    assert(kills > 0, "no process was killed");
    console.log(
      `${name}: ${kills} kills, ${
        totals.orders * JOBS_OF_ORDER
      } jobs, 0 lost, 0 applied twice, groups in order, ${
        totals.effects - totals.orders
      } effects repeated`,
    );
  } finally {
    await closeDrizzleClient(target.config);
    await proxy.stop();
  }
}

Deno.test("jobs survive SIGKILL at every message to PostgreSQL", async () => {
  const postgres = isFull ? await startRestartablePostgres() : await startPostgres();
  try {
    const through = (port: string): DatabaseConfig => {
      const url = new URL(postgres.url);
      url.port = port;
      return {
        provider: "serverless-pg",
        connectionString: url.href,
        maxConnections: 4,
        instrument: false,
      };
    };
    const { port } = new URL(postgres.url);
    await killEverywhere("PostgreSQL", {
      config: through(port),
      through: (other) => through(String(other)),
      port: Number(port),
      restart: "restart" in postgres ? () => postgres.restart("immediate", 100) : undefined,
    });
  } finally {
    await postgres.stop();
  }
});

Deno.test("jobs survive SIGKILL at every message to the distributed provider", async () => {
  await withDistSqlLab(async (lab) => {
    await killEverywhere("distributed provider", {
      config: lab.config,
      through: (port) => ({ ...lab.config, endpoint: `localhost:${port}`, maxConnections: 4 }),
      port: lab.server.port,
    });
  });
});
