import { assert, assertEquals } from "@std/assert";
import * as z from "zod";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { type PlainSql, sql as plain } from "../../database/session/plain_sql.ts";
import { runSqlRows } from "../../database/session/run_sql.ts";
import { withTransaction } from "../../database/session/transaction.ts";
import { JobClaimer } from "../../jobs/job_claimer.ts";
import {
  buildClaim,
  type ClaimOptions,
  seekName,
  selectBatches,
  selectByIds,
  selectJoining,
  selectNextOfGroup,
} from "../../jobs/claim.ts";
import { defineJob } from "../../jobs/define_job.ts";
import { buildInsert } from "../../jobs/enqueue.ts";
import { buildDead, buildFinish, buildRelease, buildRetry } from "../../jobs/finish.ts";
import { buildKeyWait, buildProbe, seekLimited, selectLimited } from "../../jobs/limits.ts";
import { createJobRow, JOB_SHARDS } from "../../jobs/job_row.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/migration.ts";
import { buildGauges, buildRemoveOld, buildTakeDue } from "../../jobs/relay.ts";
import { createFakeClock } from "../../testing/mod.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { createJobsTable } from "./jobs_database.ts";

const ROWS = 200_000;
const WAITING = 10_000;
const GROUPED = 500;
const FEW = 7;

const declare = (name: string) => defineJob({ name, schema: z.number() })(() => {});
const limited = defineJob({
  name: "limited",
  schema: z.number(),
  limit: { concurrency: 100, perKey: { key: String, concurrency: 2 } },
})(() => {});
const rated = defineJob({
  name: "limited",
  schema: z.number(),
  limit: { perKey: { key: String, rate: { count: 1, periodSeconds: 60 } } },
})(() => {});
const [job, few, none] = ["index", "few", "none"].map(declare);

/** Fills the table. */
async function fillTable(db: DrizzleClient): Promise<void> {
  /** Inserts rows; `state` and the times say what they are. */
  async function fill(
    count: number,
    state: string,
    dueAt: string,
    { group = "null", name = "index", shard = `n % ${JOB_SHARDS}`, key = "null" } = {},
  ): Promise<void> {
    const isFinished = ["done", "dead", "cancelled"].includes(state);
    await db.execute(sql.raw(
      `insert into trellis_jobs (id, name, payload, state, shard, group_key, position, enqueued_at, run_at,
        due_at, attempts, fence, finished_at, limit_key)
      select gen_random_uuid(), '${name}', '1', '${state}', ${shard}, ${group}, n, now(),
        now() - interval '1 minute', ${dueAt}, ${state === "queued" ? 0 : 1}, 1,
        ${isFinished ? "now()" : "null"}, ${key}
      from generate_series(1, ${count}) n`,
    ));
  }

  await fill(ROWS - WAITING, "done", "now() + interval '1 hour'");
  await fill(3000, "done", "now() - interval '1 hour'");
  await fill(50, "dead", "null");
  await fill(WAITING / 2, "queued", "now() - interval '1 second'");
  await fill(WAITING / 2, "queued", "now() + interval '1 hour'");
  await fill(20, "running", "now() + interval '1 minute'");
  await fill(GROUPED, "queued", "now() - interval '1 second'", { group: "'g'" });
  // a key whose places are taken has many jobs, and many keys have jobs that run later
  const full = { name: "limited", key: "md5('full')::uuid" };
  await fill(2, "running", "now() + interval '1 minute'", { ...full, shard: "21" });
  await fill(WAITING, "queued", "now()", { ...full, shard: "24" });
  const each = { name: "limited", key: "md5(n::text)::uuid" };
  await fill(WAITING, "queued", "now() + interval '1 hour'", { ...each, shard: "21" });
  await fill(FEW, "queued", "now()", { ...each, shard: "24" });
  // the last of all that are due
  await fill(FEW, "queued", "now()", { name: "few" });
  await db.execute(sql`analyze trellis_jobs`);
}

/** Node of `EXPLAIN (ANALYZE, FORMAT JSON)`, as far as it is read here. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Parent Relationship"?: string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly PlanNode[];
}

function listNodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(listNodes)];
}

/** Runs a statement, and undoes it. Returns the rows that it read of the table, and those that it is about. */
async function explain(
  db: DrizzleClient,
  statement: PlainSql,
): Promise<{ types: string[]; read: number; returned: number }> {
  let plan: PlanNode | undefined;
  await withTransaction(db, async (tx) => {
    const rows = await runSqlRows<Record<string, [{ Plan: PlanNode }]>>(
      tx,
      plain`explain (analyze, format json) ${statement}`,
    );
    plan = rows[0]["QUERY PLAN"][0].Plan;
    throw new Error("undone");
  }).catch((error) => {
    if (plan === undefined) throw error;
  });
  const scans = listNodes(plan!).filter((node) =>
    node["Relation Name"] === "trellis_jobs" && node["Node Type"].includes("Scan")
  );
  const read = scans.reduce(
    (sum, node) =>
      sum + node["Actual Loops"] * (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) +
          (node["Rows Removed by Index Recheck"] ?? 0)),
    0,
  );
  // a statement that writes is about the rows of the node below
  const source = plan!["Node Type"] === "ModifyTable"
    ? plan!.Plans!.find((node) => node["Parent Relationship"] === "Outer")
    : plan;
  return {
    types: [...new Set(scans.map((node) => node["Node Type"]))],
    read,
    returned: source!["Actual Rows"],
  };
}

async function findIds(db: DrizzleClient, condition: string): Promise<string[]> {
  const rows = await executeRows<{ id: string }>(
    db,
    sql.raw(`select id from trellis_jobs where ${condition} order by position, id limit 20`),
  );
  return rows.map(({ id }) => id);
}

/** Checks that each statement of the engine reads no more than it needs from a table of 200,000 rows. */
async function checkPlans(test: Deno.TestContext, config: DatabaseConfig): Promise<void> {
  const db = await getDrizzleClient(config);
  await fillTable(db);
  const waiting = await findIds(db, "state = 'queued' and due_at < now() and group_key is null");
  const jobs = [job, few, none];
  const [ofIndex, ofFew, ofNone] = await Promise.all(
    jobs.map(({ jobName }) => seekName(jobName, 1)),
  );
  const names = [ofIndex, ofFew];
  const claim: ClaimOptions = { names, limit: 10, clock: undefined, withGroups: true };
  const worker = { jobs, clock: undefined };
  /** Leases due jobs. */
  const lease = (first: number, options: Partial<ClaimOptions> = {}, batchSize = 1) =>
    buildClaim(selectBatches(first, { ...claim, ...options }, batchSize), worker);
  const past = createFakeClock({ nowMs: 0 });
  const take = { limit: 200, graceSeconds: 60, clock: undefined };
  const running = await findIds(db, "state = 'running'");
  const held = { id: running[0], fence: 1 };
  const inserted = await Promise.all(
    Array.from({ length: 10 }, (_, n) => createJobRow("index", job.schema, n, { key: `k${n}` })),
  );

  /** Statements of the engine, and the number of rows that each one is about. */
  const statements: readonly [name: string, statement: PlainSql, rows: number][] = [
    ["leasing due jobs", lease(0, { withGroups: false }), 10],
    ["leasing one due job", lease(5, { limit: 1 }), 1],
    ["leasing when no job is due", lease(0, { clock: past }), 0],
    ["leasing whole batches", lease(0, { limit: 4 }, 20), 80],
    [
      "leasing jobs that join one",
      buildClaim(selectJoining(3, { ...claim, limit: 50 }), worker),
      50,
    ],
    [
      "leasing the few jobs of a name beside many of another",
      lease(0, { names: [ofFew] }),
      FEW,
    ],
    ["leasing when no job of a name is due", lease(0, { names: [ofNone] }), 0],
    ["leasing jobs by their ids", buildClaim(selectByIds(waiting, claim), worker), 10],
    ["leasing the next job of a group", buildClaim(selectNextOfGroup("g", claim), worker), 1],
    ["taking due jobs", buildTakeDue(names, { ...take, first: 0 }), 200],
    ["removing old jobs", buildRemoveOld(1000, undefined), 1000],
    [
      "marking jobs as done",
      buildFinish({ ids: running, fence: 1, keepSeconds: 60 }, undefined),
      20,
    ],
    ["ending an attempt", buildRetry(held, { delaySeconds: 1, error: "error" }, undefined), 1],
    ["ending the last attempt", buildDead(held, "error", undefined), 1],
    ["giving jobs back", buildRelease({ ids: running, fence: 1 }, undefined), 20],
    [
      "adding jobs",
      buildInsert(inserted, { clock: undefined, mayExist: true }),
      0,
    ],
  ];

  for (const [name, statement, rows] of statements) {
    await test.step(name, async () => {
      const { types, read, returned } = await explain(db, statement);
      assertEquals(types.filter((type) => type === "Seq Scan"), []);
      if (rows > 0) assertEquals(returned, rows);
      assert(read <= 3 * Math.max(returned, 1), `${read} rows read, ${returned} returned`);
    });
  }
  const sought = await seekLimited(limited);
  const soughtRated = await seekLimited(rated);
  const claimLimited = (before: boolean, name = sought) =>
    buildClaim(
      selectLimited(name, {
        ...claim,
        nowMs: Date.now(),
        before,
        from: "80000000-0000-0000-0000-000000000000",
      }),
      { jobs: [limited], clock: undefined },
    );
  /** Statements of limits. They read a few rows for each key: of the jobs of a full one only the first. */
  const ofLimits: readonly [name: string, statement: PlainSql][] = [
    ["leasing jobs of keys with a free place", claimLimited(false)],
    ["leasing jobs of the other keys", claimLimited(true)],
    ["looking for names with a free place", buildProbe([sought], undefined)],
  ];
  let found = 0;
  const ofRates: typeof ofLimits = [
    ["leasing jobs of keys whose rate allows it", claimLimited(false, soughtRated)],
    ["reading when the rate of a key allows the next job", buildKeyWait(soughtRated, undefined)],
  ];
  for (const [name, statement] of [...ofLimits, ...ofRates]) {
    await test.step(name, async () => {
      const { types, read, returned } = await explain(db, statement);
      assertEquals(types.filter((type) => type === "Seq Scan"), []);
      assert(read <= 10 * FEW, `${read} rows read`);
      if (!statement.text.includes("overlay(")) found += returned;
    });
  }
  assertEquals(found, FEW + 1);
  await test.step("the gauges read the jobs that wait longest and the dead ones", async () => {
    const { types, read } = await explain(db, buildGauges(names, undefined));
    assertEquals(types.filter((type) => type === "Seq Scan"), []);
    assert(read <= 30 * 20 * names.length + 50, `${read} rows read`);
  });
  await closeDrizzleClient(config);
}

Deno.test("the statements of jobs read no more than they need from 200,000 rows of PostgreSQL", async (test) => {
  await withPostgres(async (config) => {
    await createJobsTable(await getDrizzleClient(config));
    await checkPlans(test, config);
  });
});

Deno.test("the statements of jobs read no more than they need from 200,000 rows of the distributed provider's server", async (test) => {
  await withDistSqlLab(async (lab) => {
    await lab.migrate([JOBS_MIGRATION_SQL]);
    // the database behind the server, with the indexes that it has made
    const [{ url }] = await lab.backing<{ url: string }[]>`
      SELECT format('postgres://postgres@127.0.0.1:%s/%s', current_setting('port'), current_database()) AS url`;
    await checkPlans(test, { provider: "serverless-pg", connectionString: url, instrument: false });
  });
});

Deno.test("leasing forgets the plan that was made when the table was small", async () => {
  await withPostgres((config) => checkRenewal({ ...config, maxConnections: 1 }));
});

Deno.test("PostgreSQL plans a claim once, and not each time", async () => {
  await withPostgres(async (config) => {
    const single = { ...config, maxConnections: 1 };
    const db = await getDrizzleClient(single);
    await createJobsTable(db);
    await job.enqueueMany(db, Array.from({ length: 5000 }, (_, n) => n));
    await db.execute(sql`vacuum analyze trellis_jobs`);
    const jobs = [job, few];
    const claimer = new JobClaimer({
      getDb: () => db,
      jobs,
      clock: undefined,
      random: Math.random,
    });
    for (let n = 0; n < 200; n++) await claimer.claimDue(() => 2);
    const [{ kept, made }] = await executeRows<{ kept: unknown; made: unknown }>(
      db,
      sql`select sum(generic_plans) as kept, sum(custom_plans) as made from pg_prepared_statements
        where statement like 'update /* plan%'`,
    );
    assert(Number(kept) > Number(made), `${kept} plans kept, ${made} made`);
    await closeDrizzleClient(single);
  });
});

/** Runs a test with a database of PostgreSQL. */
async function withPostgres(test: (config: DatabaseConfig) => Promise<void>): Promise<void> {
  const postgres = await startPostgres();
  try {
    const connectionString = await postgres.createDatabase("plans");
    await test({ provider: "serverless-pg", connectionString, instrument: false });
  } finally {
    await postgres.stop();
  }
}

/** Checks that claims read less than the whole table once it has grown. */
async function checkRenewal(small: DatabaseConfig): Promise<void> {
  const smallDb = await getDrizzleClient(small);
  await createJobsTable(smallDb);
  await smallDb.execute(sql`vacuum analyze trellis_jobs`);
  const claimer = new JobClaimer({
    getDb: () => smallDb,
    jobs: [job],
    clock: undefined,
    random: () => 0,
  });
  async function countScans(claims: number): Promise<number> {
    for (let n = 0; n < claims; n++) await claimer.claimDue(() => 1);
    await smallDb.execute(sql`select pg_stat_force_next_flush()`);
    const [{ scans }] = await executeRows<{ scans: unknown }>(
      smallDb,
      sql`select seq_scan as scans from pg_stat_user_tables where relname = 'trellis_jobs'`,
    );
    return Number(scans);
  }
  const empty = await countScans(20);
  assert(empty > 0, "a small table is read as a whole");
  await smallDb.execute(sql`insert into trellis_jobs (id, name, payload, state, shard, position,
    enqueued_at, run_at, due_at, finished_at)
    select gen_random_uuid(), 'index', '1', 'done', n % 16, n, now(), now(), now(), now()
    from generate_series(1, 20000) n`);
  // the next plan is made after twice as many claims of the process, which other tests share
  let scans = await countScans(20);
  let isRenewed = false;
  for (let round = 0; round < 200 && !isRenewed; round++) {
    const next = await countScans(20);
    isRenewed = next === scans;
    scans = next;
  }
  assert(isRenewed, "claims read the whole table, although it has grown");
  await closeDrizzleClient(small);
}
