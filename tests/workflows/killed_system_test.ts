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
import { WORKFLOWS_MIGRATION_SQL } from "../../workflows/mod.ts";
import {
  executeAgain,
  migrate,
  PHASES,
  runKilled,
  startKillingProxy,
} from "../jobs/killing_proxy.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";

/** `TRELLIS_FULL_TESTS=1` kills often, until as many workflows have been started. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const WORKFLOWS = Number(Deno.env.get("TRELLIS_KILLED_WORKFLOWS") ?? 5000);
const PROCESS = new URL("./killed_process.ts", import.meta.url);

const TABLES = `CREATE TABLE "orders" ("id" uuid PRIMARY KEY NOT NULL);
--> statement-breakpoint
CREATE TABLE "applied" ("id" uuid PRIMARY KEY NOT NULL, "order_id" uuid NOT NULL, "step" text NOT NULL);
--> statement-breakpoint
CREATE TABLE "effects" ("id" uuid PRIMARY KEY NOT NULL, "order_id" uuid NOT NULL);
`;

/** Steps of an order that is done, and of one that failed and was taken back. */
const DONE = "first,left,pack,paid yes,right";
const FAILED = "first,left,pack,paid yes,right,undo first";

/** Finishes what the killed processes left, and checks it. */
async function finishAndCheck(
  config: DatabaseConfig,
): Promise<{ orders: number; effects: number }> {
  const db = await getDrizzleClient(config);
  for (let round = 0; round < 30; round++) {
    // time passes: the leases of the dead end, and failed attempts are due
    await executeAgain(
      db,
      sql`update trellis_jobs set due_at = now(), run_at = now() where finished_at is null
      and payload not like '%remove%' and run_at < now() + interval '1 hour'`,
    );
    const { wasKilled, output } = await runKilled(PROCESS, [config, 0]);
    assertEquals(wasKilled, false);
    assert(output.includes("done"), output);
    const open = await executeRows(
      db,
      sql`select id from trellis_workflows where finished_at is null`,
    );
    if (open.length === 0) break;
  }
  const wrong = await executeRows(
    db,
    sql`select name, state, mode, error from trellis_workflows
    where state not in ('done', 'failed') or state = 'failed' and error <> 'Error: The order fails'`,
  );
  assertEquals(wrong, [], "workflows that did not end");
  const orders = await executeRows<{ id: string; steps: string; effects: number }>(
    db,
    sql`select o.id, (select string_agg(a.step, ',' order by a.step) from applied a where a.order_id = o.id)
      as steps, (select count(*)::int from effects e where e.order_id = o.id) as effects from orders o`,
  );
  for (const { id, steps, effects } of orders) {
    assert(steps === DONE || steps === FAILED, `order ${id}: ${steps}`);
    assert(effects > 0, `order ${id} has no effect`);
  }
  const [{ n }] = await executeRows<{ n: number }>(
    db,
    sql`select count(*)::int as n from trellis_workflows where name = 'order'`,
  );
  assertEquals(n, orders.length, "each order has one workflow");
  return { orders: orders.length, effects: orders.reduce((sum, each) => sum + each.effects, 0) };
}

async function killEverywhere(
  name: string,
  port: number,
  direct: DatabaseConfig,
  through: (port: number) => DatabaseConfig,
): Promise<void> {
  const random = createRandom(testSeed).next;
  const proxy = await startKillingProxy(port);
  const config = through(proxy.port);
  let kills = 0;
  try {
    await migrate(direct, [JOBS_MIGRATION_SQL, WORKFLOWS_MIGRATION_SQL, TABLES]);
    proxy.arm(undefined);
    const whole = await runKilled(PROCESS, [config, 2]);
    assert(whole.output.includes("done"), whole.output);
    const messages = proxy.count();
    const db = await getDrizzleClient(direct);
    for (let started = 0, runs = 0; isFull ? started * 2 < WORKFLOWS : runs < 6; runs++) {
      const orders = isFull ? 20 : 2;
      const message = 1 + Math.floor(random() * messages * orders / 2);
      const phase = PHASES[Math.floor(random() * PHASES.length)];
      const { wasKilled } = await runKilled(
        PROCESS,
        [config, orders],
        (kill) => proxy.arm({ message, phase, kill }),
      );
      if (wasKilled) kills++;
      if (!isFull) continue;
      await executeAgain(
        db,
        sql`update trellis_jobs set due_at = now() where state = 'running' and finished_at is null`,
      );
      started = (await executeRows(db, sql`select id from orders`)).length;
    }
    const { orders, effects } = await finishAndCheck(direct);
    assert(kills > 0, "no process was killed");
    console.log(
      `${name}: ${kills} kills, ${orders * 2} workflows, 0 lost, 0 steps twice, ${
        effects - orders
      } effects repeated`,
    );
  } finally {
    await closeDrizzleClient(direct);
    await proxy.stop();
  }
}

Deno.test("workflows survive SIGKILL at any message to PostgreSQL", async () => {
  const postgres = await startPostgres();
  try {
    const through = (port: string): DatabaseConfig => {
      const url = new URL(postgres.url);
      url.port = port;
      const connectionString = url.href;
      return { provider: "postgres", connectionString, maxConnections: 4, instrument: false };
    };
    const { port } = new URL(postgres.url);
    await killEverywhere(
      "PostgreSQL",
      Number(port),
      through(port),
      (other) => through(String(other)),
    );
  } finally {
    await postgres.stop();
  }
});

Deno.test("workflows survive SIGKILL at any message to the distributed provider", async () => {
  await withDistSqlLab(async (lab) => {
    await killEverywhere("distributed provider", lab.server.port, lab.config, (port) => ({
      ...lab.config,
      endpoint: `localhost:${port}`,
      maxConnections: 4,
    }));
  });
});
