import { assert, assertEquals, assertGreater, assertRejects } from "@std/assert";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { findInCauseChain } from "../../errors/mod.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { openFaultLab } from "../support/fault_lab.ts";
import { AWS_ENV, DATA_API } from "../support/fault_targets.ts";
import { startNeonProxy } from "../support/neon_proxy.ts";
import { getDirectConfig, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { startRdsDataServer } from "../support/rds_data_server.ts";
import { withEnv } from "../support/with_env.ts";
import { neonConfig } from "@neondatabase/serverless";
import postgres from "postgres";
import { getAdminConfig, getCredentials } from "../support/distsql_server.ts";

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

const tables = [{
  table: "ledger",
  operations: [DatabaseOperation.Insert, DatabaseOperation.Select],
}];

function defineQueries(config: DatabaseConfig) {
  const { defineQuery } = createQueryFactory(() => getDrizzleClient(config));
  return {
    read: defineQuery({ tables }, async function read(db) {
      return (await executeRows(db, sql`SELECT count(*)::int AS n FROM ledger`))[0].n;
    }),
    insert: defineQuery({ tables }, async function insert(db) {
      await db.execute(sql`INSERT INTO ledger VALUES (1)`);
    }),
    insertTwo: defineQuery({ tables, transaction: true }, async function insertTwo(db) {
      await db.execute(sql`INSERT INTO ledger VALUES (2)`);
      await db.execute(sql`INSERT INTO ledger VALUES (3)`);
    }),
  };
}

function getCode(error: unknown): string | undefined {
  return getSqlState(findInCauseChain(error, (link) => getSqlState(link) !== undefined));
}

Deno.test(
  "distsql tries refused connections again, for reads and writes alike, and then answers 503",
  options,
  async () => {
    const server = await startDistSqlServer();
    const config: DatabaseConfig = { ...getAdminConfig(server), instrument: true };
    const lab = openFaultLab();
    const { read, insert, insertTwo } = defineQueries(config);
    const refusals = () =>
      lab.lines.flatMap((line) => line.DatabaseConnectionsRefused ?? []).length;
    /** The next statement needs a new connection. */
    async function closeConnections(): Promise<void> {
      server.closeIdleConnections();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    try {
      await withEnv(getCredentials(server), async () => {
        await (await getDrizzleClient(config)).execute(sql`CREATE TABLE ledger (n int)`);
        let rows = 0;
        for (const fault of ["too-many-connections", "connection-rate", "waking"] as const) {
          for (const [work, more] of [[read, 0], [insert, 1], [insertTwo, 2]] as const) {
            await closeConnections();
            const before = refusals();
            const injected = server.inject({ fault, times: 3 });
            const { status } = await lab.request(`${fault}, 3 connections refused`, work);
            assertEquals([status, injected.remaining, refusals() - before], [200, 0, 3], fault);
            rows += more;
          }
          await closeConnections();
          const injected = server.inject({ fault, times: Infinity });
          const seen = await lab.request(`${fault}, all connections refused`, insert, 2000);
          assertEquals([seen.status, seen.code], [503, "SERVICE_UNAVAILABLE"]);
          assert(
            seen.retryAfterSeconds! >= 1 && seen.retryAfterSeconds! <= 5,
            String(seen.retryAfterSeconds),
          );
          // after the deadline the answer would be 504; and the time was used
          assertGreater(seen.ms, 100);
          injected.remove();
          assertEquals((await lab.request("after it", read)).body, String(rows));
        }
        // outside of an invocation the error is the server's own
        await closeConnections();
        await closeDrizzleClient(config);
        const injected = server.inject({ fault: "too-many-connections", times: Infinity });
        const error = await assertRejects(() =>
          getDrizzleClient({ ...config, connectTimeout: 0.5 })
        );
        assertEquals(getCode(error), "53300");
        injected.remove();
        // a role that may not connect is told at once
        await closeDrizzleClient(config);
        server.inject({ fault: "access-denied" });
        const denied = await lab.request("access denied", read);
        assertEquals([denied.status, denied.code], [500, "DATABASE"]);
      });
    } finally {
      lab.close();
      await closeDrizzleClient(config);
      await server.stop();
    }
  },
);

/** A role that may have one connection, which is taken until the function that is given is called. */
async function takeOnlyConnection(server: TestPostgres): Promise<() => Promise<void>> {
  const holder = postgres(server.url.replace("postgres@", "app@"), { max: 1, onnotice: () => {} });
  // the server may not have heard yet that the client before has closed its connection
  for (let attempt = 1;; attempt++) {
    try {
      await holder`SELECT 1`;
      break;
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return () => holder.end();
}

Deno.test(
  "a connection that PostgreSQL has no room for is tried again until it has, or answered with 503",
  options,
  async () => {
    const server = await startPostgres();
    const proxy = startNeonProxy(server.port);
    Object.assign(neonConfig, {
      useSecureWebSocket: false,
      pipelineConnect: false,
      forceDisablePgSSL: true,
    });
    neonConfig.wsProxy = () => `127.0.0.1:${proxy.port}/v2`;
    const admin = postgres(server.url, { max: 1, onnotice: () => {} });
    const lab = openFaultLab();
    const connectionString = server.url.replace("postgres@", "app@");
    try {
      await admin`CREATE ROLE app LOGIN CONNECTION LIMIT 1`;
      await admin`CREATE TABLE ledger (n int)`;
      await admin`GRANT ALL ON ledger TO app`;
      for (const provider of ["serverless-pg", "branching-pg"] as const) {
        const config: DatabaseConfig = { provider, connectionString, instrument: false };
        const { insert, insertTwo } = defineQueries(config);
        for (const work of [insert, insertTwo]) {
          const release = await takeOnlyConnection(server);
          const timer = setTimeout(release, 400);
          const seen = await lab.request(`${provider}, no room for 400 ms`, work);
          assertEquals(seen.status, 200, provider);
          assertGreater(seen.ms, 300);
          clearTimeout(timer);
          await closeDrizzleClient(config);
        }
        const release = await takeOnlyConnection(server);
        const seen = await lab.request(`${provider}, no room`, insert, 2000);
        assertEquals([seen.status, seen.code], [503, "SERVICE_UNAVAILABLE"], provider);
        await release();
        await closeDrizzleClient(config);
      }
      assertEquals((await admin`SELECT count(*)::int AS n FROM ledger`)[0].n, 6);
    } finally {
      lab.close();
      await admin.end();
      proxy.cut();
      await proxy.stop();
      await server.stop();
    }
  },
);

Deno.test(
  "a refused connection of the Data API is tried again, and a request that was sent is not",
  options,
  async () => {
    const server = await startPostgres();
    const api = startRdsDataServer(server.url);
    const lab = openFaultLab();
    const config = getDirectConfig(DATA_API);
    const { insert, read } = defineQueries(config);
    try {
      await withEnv({ ...AWS_ENV, AWS_ENDPOINT_URL_RDS_DATA: api.url }, async () => {
        await (await getDrizzleClient(config)).execute(sql`CREATE TABLE ledger (n int)`);
        const refusals = [
          {
            name: "DatabaseErrorException",
            message: "FATAL: sorry, too many clients already; SQLState: 53300",
          },
          {
            name: "DatabaseErrorException",
            message: "FATAL: the database system is starting up; SQLState: 57P03",
          },
          { name: "DatabaseResumingException" },
          { name: "ThrottlingException" },
        ];
        for (const refusal of refusals) {
          api.fail({ ...refusal, times: 3 });
          assertEquals((await lab.request(`${refusal.name}, 3 times`, insert)).status, 200);
          api.fail({ ...refusal, times: Infinity });
          const seen = await lab.request(`${refusal.name}, always`, insert, 2000);
          assertEquals([seen.status, seen.code], [503, "SERVICE_UNAVAILABLE"]);
          api.fail({ ...refusal, times: 1 });
          await lab.request("", read);
        }
        // the same SQLSTATE from a statement that ran: a temporary file over its limit
        api.requests.length = 0;
        api.fail({
          name: "DatabaseErrorException",
          message: "ERROR: temporary file size exceeds temp_file_limit (1kB); SQLState: 53400",
        });
        assertEquals((await lab.request("a statement over its limit", insert)).status, 500);
        assertEquals(api.requests.length, 1);
        assertEquals((await lab.request("", read)).body, String(refusals.length));
      });
    } finally {
      lab.close();
      await closeDrizzleClient(config);
      await api.stop();
      await server.stop();
    }
  },
);

Deno.test(
  "an error of a statement is not taken for a refused connection, whatever its SQLSTATE",
  options,
  async () => {
    const server = await startPostgres();
    const config = getDirectConfig(server.url);
    const lab = openFaultLab();
    try {
      const db = await getDrizzleClient(config);
      await db.execute(sql`CREATE SEQUENCE runs`);
      for (const code of ["53300", "53400", "57P03"]) {
        const raise = sql.raw(
          `DO $$ BEGIN PERFORM nextval('runs'); RAISE SQLSTATE '${code}'; END $$`,
        );
        const { defineQuery } = createQueryFactory(() => getDrizzleClient(config));
        const fail = defineQuery(
          { tables: [], name: "fail" },
          (client) => Promise.resolve(client.execute(raise)),
        );
        const failInTransaction = () => db.transaction((tx) => tx.execute(raise));
        assertEquals((await lab.request(code, fail)).status, 500);
        assertEquals(getCode(await assertRejects(failInTransaction)), code);
      }
      // a sequence counts what was rolled back too
      assertEquals((await executeRows(db, sql`SELECT last_value::int AS n FROM runs`))[0].n, 6);
      // and a server that restarts refuses connections by the network
      await server.stop();
      const seen = await lab.request("nobody listens", () => executeRows(db, sql`SELECT 1`), 5000);
      assertEquals([seen.status, seen.code], [503, "SERVICE_UNAVAILABLE"]);
    } finally {
      lab.close();
      await closeDrizzleClient(config);
    }
  },
);
