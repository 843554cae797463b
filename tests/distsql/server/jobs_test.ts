import { assertEquals, assertMatch } from "@std/assert";
import postgres from "postgres";
import { validateIndexSql } from "../../../distsql/server/ddl.ts";
import { createJobId, isJobId } from "../../../distsql/server/jobs.ts";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { startPostgres } from "../../support/postgres.ts";
import { connect, refusal } from "./connect.ts";

let server: DistSqlServer;
let sql: postgres.Sql;

Deno.test.beforeAll(async () => {
  server = await startDistSqlServer();
  sql = connect(server);
  await sql.unsafe("CREATE TABLE t (id int PRIMARY KEY, v text, n int)");
  await sql.unsafe("INSERT INTO t SELECT g, g % 3, g FROM generate_series(1, 10) g");
});

Deno.test.afterAll(async () => {
  await sql.end();
  await server.stop();
});

async function isValid(index: string): Promise<boolean | undefined> {
  const [row] = await sql`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${index})`;
  return row?.indisvalid;
}

async function job(jobId: string): Promise<Record<string, unknown>> {
  const [row] =
    await sql`SELECT status, details, job_type, object_name FROM sys.jobs WHERE job_id = ${jobId}`;
  return row;
}

async function waitFor(jobId: string): Promise<unknown> {
  const rows = await sql`CALL sys.wait_for_job(${jobId})`;
  return rows[0].succeeded;
}

Deno.test("createJobId() makes 26 characters of lower-case base32", () => {
  assertMatch(createJobId(), /^[a-z2-7]{26}$/);
  assertEquals(isJobId("qfzv5uemkrg2lbczil2fim3o2q"), true);
  assertEquals(isJobId("not a job"), false);
});

Deno.test("CREATE INDEX ASYNC answers with a job that makes the index valid", async () => {
  server.holdJobs();
  const [{ job_id: jobId }] = await sql`CREATE INDEX ASYNC t_v ON t (v)`;
  assertEquals(await isValid("t_v"), false);
  assertEquals(await job(jobId), {
    status: "submitted",
    details: null,
    job_type: "INDEX_BUILD",
    object_name: "public.t_v",
  });
  server.releaseJobs();
  assertEquals(await waitFor(jobId), true);
  assertEquals(await isValid("t_v"), true);
  assertEquals((await job(jobId)).status, "completed");
});

Deno.test("CREATE UNIQUE INDEX ASYNC leaves an invalid index when it meets duplicates", async () => {
  const [{ job_id: jobId }] = await sql.unsafe("CREATE UNIQUE INDEX ASYNC t_uv ON t (v)");
  assertEquals(await waitFor(jobId), false);
  assertEquals(await job(jobId), {
    status: "failed",
    details: "found duplicate key(s) while validating index uniqueness",
    job_type: "INDEX_BUILD",
    object_name: "public.t_uv",
  });
  assertEquals(await isValid("t_uv"), false);
  assertEquals(
    await refusal(sql.unsafe("ALTER TABLE t ADD CONSTRAINT t_uv UNIQUE USING INDEX t_uv")),
    {
      sqlstate: "55000",
      message: 'index "t_uv" is not valid',
    },
  );
  await sql.unsafe("DROP INDEX t_uv");
});

Deno.test("a unique index becomes a constraint once its job is done", async () => {
  server.holdJobs();
  const [{ job_id: jobId }] = await sql.unsafe(
    "CREATE UNIQUE INDEX ASYNC t_un ON t (n) WHERE n IS NOT NULL",
  );
  await sql.unsafe("DROP INDEX t_un");
  const [{ job_id: second }] = await sql.unsafe("CREATE UNIQUE INDEX ASYNC t_un ON t (n)");
  assertEquals(
    (await refusal(sql.unsafe("ALTER TABLE t ADD CONSTRAINT t_un UNIQUE USING INDEX t_un")))
      ?.sqlstate,
    "55000",
  );
  server.releaseJobs();
  assertEquals(await waitFor(second), true);
  await sql.unsafe("ALTER TABLE t ADD CONSTRAINT t_un UNIQUE USING INDEX t_un");
  assertEquals((await refusal(sql`INSERT INTO t VALUES (99, 'x', 1)`))?.sqlstate, "23505");
  // completed, though there is nothing left: only the catalog tells
  assertEquals(await job(jobId), {
    status: "completed",
    details: 'relation "public.t" does not exist',
    job_type: "INDEX_BUILD",
    object_name: "public.t_un",
  });
});

Deno.test("a unique index with NULLS NOT DISTINCT counts nulls", async () => {
  await sql.unsafe("CREATE TABLE nulls (a int)");
  await sql.unsafe("INSERT INTO nulls VALUES (NULL), (NULL)");
  const [{ job_id: distinct }] = await sql.unsafe("CREATE UNIQUE INDEX ASYNC ON nulls (a)");
  const [{ job_id: notDistinct }] = await sql.unsafe(
    "CREATE UNIQUE INDEX ASYNC ON nulls (a) NULLS NOT DISTINCT",
  );
  assertEquals([await waitFor(distinct), await waitFor(notDistinct)], [true, false]);
});

Deno.test("CREATE INDEX ASYNC IF NOT EXISTS does nothing when there is an index of the name", async () => {
  const rows = await sql.unsafe("CREATE INDEX ASYNC IF NOT EXISTS t_v ON t (n)");
  assertEquals(rows.length, 0);
  assertEquals((await refusal(sql.unsafe("CREATE INDEX ASYNC t_v ON t (n)")))?.sqlstate, "42P07");
});

Deno.test("ALTER TABLE ASYNC VALIDATE CONSTRAINT validates by a job", async () => {
  await sql.unsafe("ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0) NOT VALID");
  await sql.unsafe("ALTER TABLE t ADD CONSTRAINT small CHECK (n < 5) NOT VALID");
  const [{ job_id: good }] = await sql.unsafe("ALTER TABLE ASYNC t VALIDATE CONSTRAINT positive");
  const [{ job_id: bad }] = await sql.unsafe("ALTER TABLE ASYNC t VALIDATE CONSTRAINT small");
  assertEquals([await waitFor(good), await waitFor(bad)], [true, false]);
  const valid =
    await sql`SELECT conname, convalidated FROM pg_constraint WHERE conname IN ('positive', 'small') ORDER BY 1`;
  assertEquals([...valid], [{ conname: "positive", convalidated: true }, {
    conname: "small",
    convalidated: false,
  }]);
  assertEquals(
    (await job(bad)).details,
    'check constraint "small" of relation "t" is violated by some row',
  );
  await sql.unsafe("ALTER TABLE t DROP CONSTRAINT small");
});

Deno.test("a job appears with its transaction's COMMIT and never after a ROLLBACK", async () => {
  const before = (await sql`SELECT job_id FROM sys.jobs`).length;
  await refusal(sql.begin(async (tx) => {
    await tx.unsafe("CREATE INDEX ASYNC t_gone ON t (v)");
    throw new Error("no");
  }));
  assertEquals((await sql`SELECT job_id FROM sys.jobs`).length, before);
  assertEquals(await isValid("t_gone"), undefined);
  const results = await sql.unsafe("BEGIN; CREATE INDEX ASYNC t_kept ON t (v); COMMIT");
  const rows = results as unknown as { job_id: string }[][];
  assertEquals(await waitFor(rows[1][0].job_id), true);
});

Deno.test("CALL sys.wait_for_job() cannot run inside a transaction", async () => {
  const [{ job_id: jobId }] = await sql.unsafe("CREATE INDEX ASYNC t_w ON t (v)");
  assertEquals(
    (await refusal(sql.begin((tx) => tx`CALL sys.wait_for_job(${jobId})`)))?.sqlstate,
    "25001",
  );
  assertEquals((await sql.unsafe(`CALL sys.wait_for_job('${jobId}')`))[0].succeeded, true);
});

Deno.test("CALL sys.wait_for_job() waits while other clients work", async () => {
  server.holdJobs();
  const [{ job_id: jobId }] = await sql.unsafe("CREATE INDEX ASYNC t_other ON t (v)");
  const other = connect(server);
  const waiting = other`CALL sys.wait_for_job(${jobId})`.execute();
  assertEquals((await sql`SELECT count(*)::int AS n FROM t`)[0].n, 10);
  server.releaseJobs();
  assertEquals((await waiting)[0].succeeded, true);
  await other.end();
});

Deno.test("a dropped table leaves a DROP job", async () => {
  await sql.unsafe("CREATE TABLE gone (id int)");
  await sql.unsafe("DROP TABLE gone");
  const rows =
    await sql`SELECT status FROM sys.jobs WHERE job_type = 'DROP' AND object_name = 'public.gone'`;
  assertEquals([...rows], [{ status: "completed" }]);
});

Deno.test("inject() makes the next job fail", async () => {
  const fault = server.inject({ fault: "job-failed" });
  const [{ job_id: jobId }] = await sql.unsafe("CREATE INDEX ASYNC t_failed ON t (v)");
  assertEquals(await waitFor(jobId), false);
  assertEquals([(await job(jobId)).status, await isValid("t_failed"), fault.remaining], [
    "failed",
    false,
    0,
  ]);
});

Deno.test("a 25th index of a table is refused", async () => {
  await sql.unsafe("CREATE TABLE many (id int PRIMARY KEY, v int)");
  for (let index = 0; index < 23; index++) await sql.unsafe(`CREATE INDEX ASYNC ON many (v)`);
  assertEquals((await refusal(sql.unsafe("CREATE INDEX ASYNC ON many (v)")))?.sqlstate, "54000");
});

Deno.test("validateIndexSql() lets other sessions wait instead of failing", async () => {
  const databases = await startPostgres();
  const job = postgres(databases.url, { max: 1 });
  const client = postgres(databases.url, { max: 1 });
  try {
    await client.unsafe("CREATE TABLE w (id int PRIMARY KEY, v text); CREATE INDEX w_v ON w (v)");
    const [{ index }] = await client`SELECT 'w_v'::regclass::oid AS index`;
    await job.unsafe("BEGIN");
    await job.unsafe(validateIndexSql(index));
    const dropped = client.unsafe("DROP TABLE w").then(() => "dropped", String);
    while ((await job`SELECT FROM pg_locks WHERE NOT granted`).length === 0);
    await job.unsafe("COMMIT");
    assertEquals(await dropped, "dropped");
  } finally {
    await Promise.all([job.end(), client.end()]);
    await databases.stop();
  }
});
