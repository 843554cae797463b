import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import {
  closeDrizzleClient,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { openPostgres } from "../../database/providers/postgres_js.ts";
import { withFaultLab } from "../support/fault_targets.ts";
import { holdTimers } from "../support/held_timers.ts";
import { startFaultyProxy } from "../support/faulty_proxy.ts";
import { startPostgres } from "../support/postgres.ts";

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

/** Time in which an idle connection must answer before it is used again. */
const CHECK_MS = 1000;

/** As a sandbox between two invocations: time goes on and nothing runs. */
function freeze(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
}

/** Lets the clock tell a later time from now on. */
function skip(ms: number): Disposable {
  const { now } = Date;
  Date.now = () => now() + ms;
  return { [Symbol.dispose]: () => void (Date.now = now) };
}

Deno.test(
  "a connection that ended while the process was frozen costs no request",
  options,
  async () => {
    await withFaultLab(async ({ name, config, network }, lab) => {
      const db = await getDrizzleClient(config);
      for (let round = 0; round < 3; round++) {
        await executeRows(db, sql`SELECT 1 AS one`);
        network.cut();
        freeze();
        const seen = await lab.request(
          `${name}, after a freeze`,
          () => executeRows(db, sql`SELECT 1 AS one`),
        );
        assertEquals([seen.status, seen.body], [200, '[{"one":1}]'], name);
      }
    });
  },
);

Deno.test(
  "connections that a gateway forgot during a long pause cost no request, and no statement",
  options,
  async () => {
    await withFaultLab(async ({ name, config: one, network }, lab) => {
      const config = { ...one, maxConnections: 2 };
      const db = await getDrizzleClient(config);
      await executeRows(db, sql`CREATE TABLE pause (name text)`);
      // two connections
      await Promise.all(
        [1, 2].map(() => withTransaction(db, (tx) => tx.execute(sql`SELECT pg_sleep(0.1)`))),
      );
      const before = network.accepted;
      network.forget();
      using _later = skip(61_000);
      const seen = await lab.request(
        `${name}, after a long pause`,
        () =>
          Promise.all(
            [1, 2].map(() =>
              executeRows(db, sql`INSERT INTO pause VALUES (${name}) RETURNING 1 AS one`)
            ),
          ),
      );
      assertEquals([seen.status, seen.body], [200, '[[{"one":1}],[{"one":1}]]'], name);
      assertEquals(await executeRows(db, sql`SELECT count(*)::int AS n FROM pause`), [{ n: 2 }]);
      await executeRows(db, sql`DROP TABLE pause`);
      assertGreaterOrEqual(network.accepted, before + 1);
      await closeDrizzleClient(config);
    });
  },
);

Deno.test("a connection that answers after a long pause is kept", options, async () => {
  await withFaultLab(async ({ name, config, network }) => {
    if (name.includes("Data API")) return;
    const db = await getDrizzleClient(config);
    await executeRows(db, sql`SELECT 1 AS one`);
    const before = network.accepted;
    using _later = skip(61_000);
    // an answer to the check that comes late, on a busy machine, is an answer too
    using _timers = holdTimers(CHECK_MS);
    await executeRows(db, sql`SELECT 1 AS one`);
    assertEquals(network.accepted, before, name);
  });
});

Deno.test(
  "a session whose connection ended while the process was frozen does not go on with another one",
  options,
  async () => {
    const server = await startPostgres();
    const network = await startFaultyProxy(server.port);
    const connection = await openPostgres(
      { provider: "serverless-pg" },
      { host: "127.0.0.1", port: network.port, username: "postgres", connect_timeout: 5 },
      () => {},
      { connectRetry: () => undefined, explain: (error) => error },
    );
    const session = await connection.openSession();
    try {
      await session.query("SELECT pg_advisory_lock(1)");
      network.cut();
      freeze();
      let hasRun = false;
      const results = await Promise.allSettled([
        session.query("SELECT 1"),
        session.script(["SELECT 1"]),
        session.transaction(() => Promise.resolve(hasRun = true)),
      ]);
      assertEquals(
        results.map((result) => result.status === "rejected" && String(result.reason.message)),
        Array(3).fill("The session's connection was lost"),
      );
      assertEquals(hasRun, false);
    } finally {
      await session.close();
      await network.stop();
      await server.stop();
    }
  },
);
