import { assert, assertEquals } from "@std/assert";
import type postgres from "postgres";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { connect, refusal, reserve } from "./connect.ts";

const OC000 = { sqlstate: "40001", message: "change conflicts with another transaction (OC000)" };
const OC001 = {
  sqlstate: "40001",
  message: "schema has been updated by another transaction, please retry: (OC001)",
};

let database: TestPostgres;
let server: DistSqlServer;
let clients: postgres.Sql[];
let one: postgres.ReservedSql;
let two: postgres.ReservedSql;

Deno.test.beforeAll(async () => {
  database = await startPostgres();
  server = await startDistSqlServer({ backend: { url: database.url } });
  clients = [connect(server), connect(server)];
  await clients[0].unsafe(
    "CREATE TABLE t (id int PRIMARY KEY, v int, n bigint GENERATED ALWAYS AS IDENTITY (CACHE 1))",
  );
  await clients[0].unsafe("CREATE TABLE parent (id int PRIMARY KEY, v int)");
  await clients[0].unsafe(
    "CREATE TABLE child (id int PRIMARY KEY, parent_id int REFERENCES parent (id))",
  );
  [one, two] = [await reserve(clients[0]), await reserve(clients[1])];
});

Deno.test.beforeEach(async () => {
  await one.unsafe("DELETE FROM child");
  await one.unsafe("DELETE FROM parent");
  await one.unsafe("DELETE FROM t");
  await one.unsafe("INSERT INTO t (id, v) VALUES (1, 0), (2, 0)");
  await one.unsafe("INSERT INTO parent VALUES (1, 0)");
});

Deno.test.afterAll(async () => {
  one.release();
  two.release();
  await Promise.all(clients.map((client) => client.end()));
  await server.stop();
  await database.stop();
});

/** Runs a statement of each client in its own transaction, commits the first, and gives the second's answer to COMMIT. */
async function race(
  first: string,
  second: string,
): Promise<{ sqlstate: string; message: string } | undefined> {
  await one`BEGIN`;
  await two`BEGIN`;
  await one.unsafe(first);
  await two.unsafe(second);
  await one`COMMIT`;
  return await refusal(two`COMMIT`);
}

Deno.test("two transactions conflict at COMMIT, and their statements succeed", async () => {
  const conflicting: [string, string][] = [
    ["UPDATE t SET v = 1 WHERE id = 1", "UPDATE t SET v = 2 WHERE id = 1"],
    ["UPDATE t SET v = 1 WHERE id = 1", "DELETE FROM t WHERE id = 1"],
    ["INSERT INTO t (id) VALUES (7)", "INSERT INTO t (id) VALUES (7)"],
    ["UPDATE t SET v = 1 WHERE id = 1", "SELECT * FROM t WHERE id = 1 FOR UPDATE"],
    ["UPDATE t SET v = 1 WHERE id = 1", "SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT"],
    ["DELETE FROM parent WHERE id = 1", "INSERT INTO child VALUES (1, 1)"],
  ];
  for (const [first, second] of conflicting) {
    assertEquals(await race(first, second), OC000, `${first} | ${second}`);
    await two`DELETE FROM t WHERE id = 7`;
    await two`INSERT INTO t (id, v) VALUES (1, 0) ON CONFLICT DO NOTHING`;
    await two`INSERT INTO parent VALUES (1, 0) ON CONFLICT DO NOTHING`;
  }
});

Deno.test("two transactions do not conflict over different rows, reads, or a parent's other columns", async () => {
  const harmless: [string, string][] = [
    ["UPDATE t SET v = 1 WHERE id = 1", "UPDATE t SET v = 2 WHERE id = 2"],
    ["UPDATE t SET v = 1 WHERE id = 1", "SELECT * FROM t"],
    ["UPDATE parent SET v = 1", "INSERT INTO child VALUES (1, 1)"],
  ];
  for (const [first, second] of harmless) {
    assertEquals(await race(first, second), undefined, `${first} | ${second}`);
  }
});

Deno.test("the transaction that will lose sees its own snapshot and changes", async () => {
  await one`BEGIN`;
  await two`BEGIN`;
  await one`UPDATE t SET v = 100 WHERE id = 1`;
  const updated = await two`UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v`;
  await one`COMMIT`;
  assertEquals([updated.count, updated[0].v], [1, 1]);
  assertEquals([...await two`SELECT v FROM t WHERE id = ${1}`], [{ v: 1 }]);
  assertEquals((await two`UPDATE t SET v = v + ${1} RETURNING v`).map((row) => row.v), [1, 2]);
  assertEquals(await refusal(two`COMMIT`), OC000);
  assertEquals([...await two`SELECT v FROM t ORDER BY id`], [{ v: 100 }, { v: 0 }]);
});

Deno.test("a transaction that writes what was committed after its start conflicts", async () => {
  await two`BEGIN`;
  await two`SELECT 1`;
  await one`UPDATE t SET v = 5 WHERE id = 1`;
  assertEquals([...await two`SELECT v FROM t WHERE id = 1`], [{ v: 0 }]);
  assertEquals((await two`UPDATE t SET v = 6 WHERE id = 1`).count, 1);
  assertEquals(await refusal(two`COMMIT`), OC000);
});

Deno.test("a statement in autocommit commits first, and the open transaction loses", async () => {
  await one`BEGIN`;
  await one`UPDATE t SET v = 1 WHERE id = 1`;
  await two`UPDATE t SET v = 2 WHERE id = 1`;
  assertEquals(await refusal(one`COMMIT`), OC000);
  assertEquals([...await one`SELECT v FROM t WHERE id = 1`], [{ v: 2 }]);
});

Deno.test("a name with a schema conflicts at the statement", async () => {
  await one`BEGIN`;
  await two`BEGIN`;
  await one`UPDATE t SET v = 1 WHERE id = 1`;
  assertEquals(await refusal(two`UPDATE public.t SET v = 2 WHERE id = 1`), OC000);
  assertEquals((await refusal(two`SELECT 1`))?.sqlstate, "25P02");
  await two`ROLLBACK`;
  await one`COMMIT`;
});

Deno.test("a change of the schema ends the transaction that used the table with OC001", async () => {
  await one`BEGIN`;
  await one`UPDATE t SET v = 1 WHERE id = 1`;
  await two`ALTER TABLE t ADD COLUMN w int`;
  assertEquals(await refusal(one`SELECT 1`), OC001);
  assertEquals((await refusal(one`SELECT 1`))?.sqlstate, "25P02");
  assertEquals((await one`COMMIT`).command, "ROLLBACK");
});

Deno.test("a unique index is built beside open transactions", async () => {
  const [{ job_id: jobId }] = await two.unsafe("CREATE UNIQUE INDEX ASYNC t_v ON t (id, v)");
  assertEquals((await two`CALL sys.wait_for_job(${jobId})`)[0].succeeded, true);
  assertEquals([...await two`SELECT status, details FROM sys.jobs WHERE job_id = ${jobId}`], [{
    status: "completed",
    details: null,
  }]);
  assertEquals([...await two`SELECT indisvalid FROM pg_index WHERE indexrelid = 't_v'::regclass`], [
    {
      indisvalid: true,
    },
  ]);
});

Deno.test("no increment is lost or made twice, and conflicts do happen", async () => {
  const pool = connect(server, { max: 6 });
  const before = server.statistics.conflicts;
  let retries = 0;
  async function increment(): Promise<void> {
    for (;;) {
      const failed = await refusal(pool.begin(async (tx) => {
        const [{ v }] = await tx`SELECT v FROM t WHERE id = 2`;
        await tx`UPDATE t SET v = ${v + 1} WHERE id = 2`;
      }));
      if (!failed) return;
      assertEquals(failed, OC000);
      retries++;
    }
  }
  await Promise.all(Array.from({ length: 6 }, async () => {
    for (let round = 0; round < 10; round++) await increment();
  }));
  assertEquals((await pool`SELECT v FROM t WHERE id = 2`)[0].v, 60);
  assert(retries > 0);
  assertEquals(server.statistics.conflicts - before, retries);
  await pool.end();
});

Deno.test("a CancelRequest stops a statement", async () => {
  const sleeping = two`SELECT pg_sleep(60)`;
  const failed = refusal(sleeping);
  setTimeout(() => sleeping.cancel(), 50);
  assertEquals((await failed)?.sqlstate, "57014");
  assertEquals((await two`SELECT 1 AS a`)[0].a, 1);
});

Deno.test("COPY FROM STDIN counts its rows", async () => {
  const client = connect(server);
  const stream = await client`COPY parent (id, v) FROM STDIN`.writable();
  stream.end("5\t1\n6\t2\n");
  await new Promise((resolve) => stream.on("finish", resolve));
  await client.end();
  assertEquals((await two`SELECT count(*)::int AS n FROM parent`)[0].n, 3);
});

Deno.test("a server takes up the jobs and mappings that an earlier one left", async () => {
  const url = await database.createDatabase("restarted");
  const first = await startDistSqlServer({ backend: { url } });
  const before = connect(first);
  await before.unsafe("CREATE TABLE t (id int PRIMARY KEY)");
  first.holdJobs();
  await before.unsafe("CREATE INDEX ASYNC t_id ON t (id)");
  await before.end();
  await first.stop();
  const second = await startDistSqlServer({ backend: { url } });
  const after = connect(second);
  const [{ job_id: jobId }] = await after`SELECT job_id FROM sys.jobs`;
  assertEquals((await after`CALL sys.wait_for_job(${jobId})`)[0].succeeded, true);
  assertEquals([
    ...await after`SELECT indisvalid FROM pg_index WHERE indexrelid = 't_id'::regclass`,
  ], [{
    indisvalid: true,
  }]);
  await after.end();
  await second.stop();
});
