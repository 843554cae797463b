// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseError,
  DatabaseOperation,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { openFaultLab } from "../support/fault_lab.ts";
import { AWS_ENV, DATA_API } from "../support/fault_targets.ts";
import { startFaultyProxy } from "../support/faulty_proxy.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { withEnv } from "../support/with_env.ts";
import { getAdminConfig, getCredentials } from "../support/distsql_server.ts";

const rounds = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 30 : 1;
// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };
const tables = [{ table: "ledger", operations: [DatabaseOperation.Insert] }];

/** The server has written to disk what it acknowledged. */
const DURABLE = ["synchronous_commit=on", "fsync=on", "full_page_writes=on"];

Deno.test(
  "a database that is killed in a query, a transaction or a COMMIT loses nothing that was acknowledged",
  options,
  async () => {
    const postgres = await startPostgres({ settings: DURABLE });
    const network = await startFaultyProxy(postgres.port);
    const lab = openFaultLab();
    const config = getDirectConfig(`postgres://postgres@127.0.0.1:${network.port}/postgres`);
    const { defineQuery } = createQueryFactory(() => getDrizzleClient(config));
    let tries = 0;
    const add = defineQuery(
      { tables, transaction: true },
      async function add(db, id: string, during?: () => Promise<void>) {
        tries++;
        await db.execute(sql`INSERT INTO ledger VALUES (${id})`);
        await during?.();
      },
    );
    // SIGKILL of one session makes the server end all of them and recover from its log, as after a crash
    async function kill(pid: unknown): Promise<void> {
      Deno.kill(Number(pid), "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 250)); // until the client hears of it
    }
    try {
      const client = () => getDrizzleClient(config);
      await (await client()).execute(sql`CREATE TABLE ledger (id text)`);
      const acknowledged: string[] = [];
      const failed: string[] = [];
      for (let round = 0; round < rounds; round++) {
        for (const when of ["in a query", "in a transaction", "in a COMMIT"] as const) {
          const id = `${when} ${round}`;
          tries = 0;
          const [{ pid }] = await executeRows(await client(), sql`SELECT pg_backend_pid() AS pid`);
          const seen = await lab.request(`killed ${when}`, async () => {
            if (when === "in a query") {
              return await Promise.all([
                executeRows(await client(), sql`SELECT pg_sleep(20)`),
                kill(pid),
              ]);
            }
            // what is sent after the work is COMMIT, by its name: its text was sent with an earlier one
            const killAtNext = () => network.onceSent("", () => Deno.kill(Number(pid), "SIGKILL"));
            return await add(
              id,
              when === "in a transaction" ? () => kill(pid) : () => Promise.resolve(killAtNext()),
            );
          });
          assertEquals(seen.status, 500, when);
          // the query runs without the factory, so its error is the driver's own
          const codes = {
            "in a query": "UNEXPECTED",
            "in a transaction": "DATABASE",
            "in a COMMIT": "COMMIT_OUTCOME_UNKNOWN",
          };
          assertEquals(seen.code, codes[when]);
          if (when !== "in a query") {
            // work whose end nobody knows is not done again by itself
            assertEquals(tries, 1, when);
            failed.push(id);
          }
          const next = `after ${id}`;
          // a server that recovers refuses connections: a new one is tried again as long as connectTimeout lets it
          const { status, ms } = await lab.request(`after killed ${when}`, () => add(next));
          assertEquals(status, 200);
          acknowledged.push(next);
          console.log(`killed ${when}: works again after ${ms} ms`);
        }
      }
      const stored = (await executeRows<{ id: string }>(await client(), sql`SELECT id FROM ledger`))
        .map(({ id }) => id);
      assertEquals(acknowledged.filter((id) => !stored.includes(id)), []);
      assertEquals(new Set(stored).size, stored.length, "nothing is there twice");
      assertEquals(
        failed.filter((id) => id.startsWith("in a transaction") && stored.includes(id)),
        [],
      );
    } finally {
      lab.close();
      await closeDrizzleClient(config);
      await network.stop();
      await postgres.stop();
    }
  },
);

Deno.test(
  "a pool that is exhausted fails the request at once or at its deadline, and the next one works",
  options,
  async () => {
    const postgres = await startPostgres();
    const lab = openFaultLab();
    try {
      for (const maxConnections of [1, 2]) {
        const config: DatabaseConfig = {
          provider: "serverless-pg",
          connectionString: postgres.url,
          maxConnections,
          instrument: false,
        };
        const db = await getDrizzleClient(config);
        const inside = Promise.withResolvers<void>();
        let holding = 0;
        const holdAll = (work: () => Promise<unknown>): Promise<unknown> =>
          Promise.all(Array.from({ length: maxConnections }, () =>
            withTransaction(db, async () => {
              if (++holding % maxConnections === 0) inside.resolve();
              await inside.promise;
              await work();
            })));
        const mistaken = await lab.request(
          `${maxConnections} connections held by transactions that want another`,
          () => holdAll(() => db.execute(sql`SELECT 1`)),
          800,
        );
        assertEquals([mistaken.status, mistaken.code], [500, "TRANSACTION_MISUSE"]);
        const waiting = await lab.request(
          `${maxConnections} connections held by transactions that never end`,
          () =>
            Promise.all([
              holdAll(() => new Promise(() => {})),
              inside.promise.then(() => db.execute(sql`SELECT 1`)),
            ]),
          800,
        );
        assertEquals([waiting.status, waiting.code], [504, "DEADLINE_EXCEEDED"]);
        const next = await lab.request(
          "after an exhausted pool",
          () => executeRows(db, sql`SELECT 1 AS one`),
        );
        assertEquals([next.status, next.body], [200, '[{"one":1}]']);
        await closeDrizzleClient(config);
      }
    } finally {
      lab.close();
      await postgres.stop();
    }
  },
);

Deno.test(
  "a name that is not found fails at once or by connectTimeout, for every provider, and is looked up again",
  options,
  async () => {
    const lab = openFaultLab();
    const host = "database.invalid";
    const configs: DatabaseConfig[] = [
      { provider: "serverless-pg", connectionString: `postgres://user:secret@${host}/db` },
      { provider: "serverless-pg", connectionString: DATA_API },
      { provider: "branching-pg", connectionString: `postgres://user:secret@${host}/db` },
      { provider: "distsql", endpoint: host, region: "eu-central-1", isAdmin: true },
    ];
    const { neonConfig } = await import("@neondatabase/serverless");
    neonConfig.wsProxy = () => `${host}/v2`;
    try {
      await withEnv({ ...AWS_ENV, AWS_ENDPOINT_URL_RDS_DATA: `http://${host}` }, async () => {
        for (const config of configs) {
          const failing = { ...config, connectTimeout: 2, instrument: false };
          for (const time of ["first", "second"]) {
            const seen = await lab.request(
              `${config.provider}, no such name, ${time} time`,
              () => getDrizzleClient(failing),
              5000,
            );
            assertEquals([seen.status, seen.error], [500, "Error"], config.provider);
          }
        }
      });
      assert(!JSON.stringify(lab.lines).includes("secret@"));
    } finally {
      lab.close();
    }
  },
);

Deno.test(
  "a clock that is 20 minutes off is named by distsql, and the next connection works once it is right",
  options,
  async () => {
    let offMs = 0;
    const postgres = await startPostgres();
    const server = await startDistSqlServer({
      backend: { url: postgres.url },
      now: () => Date.now() + offMs,
    });
    const config = getAdminConfig(server);
    const lab = openFaultLab();
    try {
      await withEnv(getCredentials(server), async () => {
        const select = async () =>
          await executeRows(await getDrizzleClient(config), sql`SELECT 1 AS one`);
        // the machine is 20 minutes behind the server: each token is older than its 15 minutes
        offMs = 20 * 60_000;
        const error = await assertRejects(() => getDrizzleClient(config), DatabaseError);
        assertStringIncludes(error.message, "the clock of this machine is wrong");
        assertEquals((await lab.request("clock 20 minutes behind", select)).code, "DATABASE");
        // ahead: tokens of the future
        offMs = -20 * 60_000;
        assertEquals((await lab.request("clock 20 minutes ahead", select)).code, "DATABASE");
        offMs = 0;
        assertEquals((await lab.request("clock right again", select)).status, 200);
        // a token matters while connecting alone: an open connection stays
        offMs = 20 * 60_000;
        assertEquals((await lab.request("open connection, token expired", select)).status, 200);
        server.closeIdleConnections();
        await new Promise((resolve) => setTimeout(resolve, 50));
        assertEquals((await lab.request("new connection, token expired", select)).status, 500);
        offMs = 0;
        assertEquals((await lab.request("new connection, clock right", select)).status, 200);
        // a cluster that wakes up refuses the first connections
        server.closeIdleConnections();
        await new Promise((resolve) => setTimeout(resolve, 50));
        const waking = server.inject({ fault: "waking", times: 2 });
        assertEquals((await lab.request("waking up, 2 connections refused", select)).status, 200);
        assertEquals(waking.remaining, 0);
      });
    } finally {
      lab.close();
      await closeDrizzleClient(config);
      await server.stop();
      await postgres.stop();
    }
  },
);
