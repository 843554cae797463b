import { assert, assertArrayIncludes, assertEquals, assertThrows } from "@std/assert";
import type postgres from "postgres";
import { type DistSqlFault, FaultRegistry } from "../../../distsql/server/faults.ts";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { connect, refusal, reserve } from "./connect.ts";

let server: DistSqlServer;

Deno.test.beforeAll(async () => {
  server = await startDistSqlServer();
  const sql = connect(server);
  await sql.unsafe("CREATE TABLE t (id int PRIMARY KEY)");
  await sql.unsafe("CREATE TABLE u (id int PRIMARY KEY)");
  await sql.end();
});

Deno.test.afterAll(() => server.stop());

const OC000 = { sqlstate: "40001", message: "change conflicts with another transaction (OC000)" };
const OC001 = {
  sqlstate: "40001",
  message: "schema has been updated by another transaction, please retry: (OC001)",
};

async function withClient<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = connect(server);
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

Deno.test("FaultRegistry.take() injects faults as often, as late and where configured", () => {
  const faults = new FaultRegistry();
  const strikes = (
    injection: Parameters<FaultRegistry["inject"]>[0],
    occasions: [string, string][],
  ): boolean[] => {
    const fault = faults.inject(injection);
    const found = occasions.map(([user, text]) =>
      faults.take(["OC000"], { user, texts: [text] }) !== undefined
    );
    fault.remove();
    return found;
  };
  const [a, b]: [string, string][] = [["admin", "UPDATE a"], ["app", "UPDATE b"]];
  assertEquals(strikes({ fault: "OC000" }, [a, b]), [true, false]);
  assertEquals(strikes({ fault: "OC000", times: 2 }, [a, b, a]), [true, true, false]);
  assertEquals(strikes({ fault: "OC000", times: Infinity, skip: 1 }, [a, b, a]), [
    false,
    true,
    true,
  ]);
  assertEquals(strikes({ fault: "OC000", user: "app" }, [a, b, b]), [false, true, false]);
  assertEquals(strikes({ fault: "OC000", match: /\bb$/g, times: 2 }, [a, b, b]), [
    false,
    true,
    true,
  ]);
  assertEquals(strikes({ fault: "OC000", match: "UPDATE b" }, [a, b]), [false, true]);
  assertEquals(strikes({ fault: "OC001" }, [a, b]), [false, false]);
});

Deno.test("FaultRegistry.inject() refuses what makes no sense", () => {
  const faults = new FaultRegistry();
  assertThrows(() => faults.inject({ fault: "OC002" as DistSqlFault }), RangeError, 'got "OC002"');
  assertThrows(
    () => faults.inject({ fault: "OC000", times: 0 }),
    RangeError,
    "times must be a whole number from 1 up, got 0",
  );
  assertThrows(
    () => faults.inject({ fault: "OC000", skip: 1.5 }),
    RangeError,
    "skip must be a whole number from 0 up, got 1.5",
  );
});

Deno.test("inject() OC000 fails COMMIT, not the statements before", () =>
  withClient(async (sql) => {
    server.inject({ fault: "OC000" });
    const steps: string[] = [];
    const work = (): Promise<unknown> =>
      sql.begin(async (tx) => {
        await tx`INSERT INTO t VALUES (1)`;
        steps.push("inserted");
      });
    assertEquals(await refusal(work()), OC000);
    assertEquals(await refusal(work()), undefined);
    assertEquals(steps, ["inserted", "inserted"]);
    await sql`DELETE FROM t`;
  }));

Deno.test("inject() OC000 fails a statement in autocommit, and no read", () =>
  withClient(async (sql) => {
    server.inject({ fault: "OC000" });
    assertEquals(await refusal(sql`SELECT 1`), undefined);
    assertEquals(await refusal(sql`INSERT INTO t VALUES (1)`), OC000);
    assertEquals(await sql`SELECT * FROM t`.then((rows) => rows.length), 0);
  }));

Deno.test("inject() OC000 with match strikes a transaction that touches the table", () =>
  withClient(async (sql) => {
    server.inject({ fault: "OC000", match: "INTO u" });
    assertEquals(await refusal(sql.begin((tx) => tx`INSERT INTO t VALUES (1)`)), undefined);
    assertEquals(await refusal(sql.begin((tx) => tx`INSERT INTO u VALUES (1)`)), OC000);
    await sql`DELETE FROM t`;
  }));

Deno.test("inject() OC001 fails any statement, reads too, and aborts the transaction", () =>
  withClient(async (sql) => {
    server.inject({ fault: "OC001", match: "one" });
    assertEquals(await refusal(sql`SELECT 1 AS one`), OC001);
    assertEquals(await refusal(sql`SELECT 1 AS one`), undefined);
    server.inject({ fault: "OC001", skip: 2 });
    const tx = await reserve(sql);
    await tx`BEGIN`;
    assertEquals(await refusal(tx`SELECT 2`), OC001);
    assertEquals((await refusal(tx`SELECT 2`))?.sqlstate, "25P02");
    await tx`ROLLBACK`;
    tx.release();
  }));

Deno.test("inject() cuts the connection at a statement", () =>
  withClient(async (sql) => {
    server.inject({ fault: "cut-at-statement", match: "INSERT" });
    assertEquals((await refusal(sql`INSERT INTO t VALUES (1)`))?.sqlstate, "CONNECTION_CLOSED");
    assertEquals((await sql`DELETE FROM t`).count, 0);
  }));

Deno.test("inject() cuts the connection before or after COMMIT", async () => {
  const cases: [DistSqlFault, number][] = [["cut-before-commit", 0], ["cut-after-commit", 1]];
  for (const [fault, rows] of cases) {
    await withClient(async (sql) => {
      await sql`SELECT 1`;
      server.inject({ fault, match: "INSERT" });
      const lost = await refusal(sql.begin((tx) => tx`INSERT INTO t VALUES (1)`));
      assertEquals(lost?.sqlstate, "CONNECTION_CLOSED", fault);
      assertEquals((await sql`DELETE FROM t`).count, rows, fault);
    });
  }
});

Deno.test("inject() answers COMMIT with XX000, whose outcome only the database knows", async () => {
  const cases: [DistSqlFault, number][] = [["unavailable-before-commit", 0], [
    "unavailable-after-commit",
    1,
  ]];
  for (const [fault, rows] of cases) {
    await withClient(async (sql) => {
      server.inject({ fault });
      const failed = await refusal(sql.begin((tx) => tx`INSERT INTO t VALUES (1)`));
      assertEquals(failed, { sqlstate: "XX000", message: "server unavailable" }, fault);
      assertEquals((await sql`DELETE FROM t`).count, rows, fault);
    });
  }
});

Deno.test("inject() refuses connections as a waking cluster does", async () => {
  const cases: [DistSqlFault, string, string][] = [
    ["waking", "57P03", "waking up cluster, please retry later"],
    ["access-denied", "28000", "unable to accept connection, access denied"],
    ["too-many-connections", "53300", "unable to accept connection, too many connections"],
    ["connection-rate", "53400", "unable to accept connection, rate exceeded"],
  ];
  for (const [fault, sqlstate, message] of cases) {
    server.inject({ fault });
    await withClient(async (sql) => {
      assertEquals(await refusal(sql`SELECT 1`), { sqlstate, message });
      assertEquals(await refusal(sql`SELECT 1`), undefined);
    });
  }
});

Deno.test("closeIdleConnections() closes who is in no transaction, and the client comes back", () =>
  withClient(async (sql) => {
    await sql.begin(async (tx) => {
      await tx`SELECT 1`;
      assertEquals(server.closeIdleConnections(), 0);
    });
    // the client hears of the end of its transaction before the session has come to rest
    while (server.closeIdleConnections() === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const first = await refusal(sql`SELECT 1`);
    assertArrayIncludes([undefined, "CONNECTION_CLOSED", "ECONNRESET", "EPIPE"], [first?.sqlstate]);
    assertEquals((await sql`SELECT 1 AS a`)[0].a, 1);
  }));

Deno.test("sessionLifetimeMs ends a connection that rests, and lets a transaction finish", async () => {
  const short = await startDistSqlServer({ sessionLifetimeMs: 700 });
  const sql = connect(short);
  const steps: string[] = [];
  // a fresh connection may be near its end already on a busy machine: the transaction is tried again then
  for (let attempt = 0; attempt < 5 && !steps.includes("outlived"); attempt++) {
    await refusal(sql.begin(async (tx) => {
      await tx`SELECT 1`;
      await new Promise((resolve) => setTimeout(resolve, 800));
      if ((await tx`SELECT 2 AS a`)[0].a === 2) steps.push("outlived");
    }));
  }
  assertEquals(steps, ["outlived"]);
  const before = short.statistics.connections;
  for (let attempt = 0; attempt < 20 && short.statistics.connections === before; attempt++) {
    await refusal(sql`SELECT 3`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert(short.statistics.connections > before);
  await sql.end({ timeout: 1 });
  await short.stop();
});

Deno.test("catalogConflicts rejects every other session with OC001 once after a change of the catalog", async () => {
  const strict = await startDistSqlServer({ catalogConflicts: true });
  const [one, two] = [connect(strict), connect(strict)];
  await two`SELECT 1`;
  await one.unsafe("CREATE TABLE t (id int)");
  assertEquals(await refusal(one`SELECT 1`), undefined);
  assertEquals(await refusal(two`SELECT 1`), OC001);
  assertEquals(await refusal(two`SELECT 1`), undefined);
  const [{ job_id: jobId }] = await one.unsafe("CREATE INDEX ASYNC i ON t (id)");
  // the job changes the catalog too, before or while it is waited for
  const answers = [
    await refusal(one`CALL sys.wait_for_job(${jobId})`),
    await refusal(one`SELECT 1`),
  ];
  assertEquals(answers.filter((answer) => answer !== undefined), [OC001]);
  await Promise.all([one.end(), two.end()]);
  await strict.stop();
});
