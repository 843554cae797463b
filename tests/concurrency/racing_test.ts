import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  configureSessionAuth,
  createAuth,
  getConfiguredSessionAuth,
  resetSessionAuth,
} from "../../auth/mod.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { openFaultLab } from "../support/fault_lab.ts";
import { startFaultyProxy } from "../support/faulty_proxy.ts";
import { startPostgres } from "../support/postgres.ts";

const CALLERS = 200;
const AUTH = { secret: "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-test", baseURL: "http://localhost:3000" };

Deno.test("racing callers get one client and one auth instance, and a failed start is nobody's for ever", async (test) => {
  const postgres = await startPostgres();
  const network = await startFaultyProxy(postgres.port);
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: `postgres://postgres@127.0.0.1:${network.port}/postgres`,
    connectTimeout: 2,
    instrument: false,
  };
  const clients = () =>
    Promise.all(Array.from({ length: CALLERS }, () => getDrizzleClient({ ...config })));
  try {
    await test.step("getDrizzleClient() connects once for all of them", async () => {
      const all = await clients();
      for (const one of all) assertStrictEquals(one, all[0]);
      assertEquals(network.accepted, 1);
    });

    await test.step("closeDrizzleClient() at the same time as getDrizzleClient() leaves one client that works", async () => {
      const [before] = await clients();
      const [, , after] = await Promise.all([
        closeDrizzleClient(config),
        closeDrizzleClient(config),
        getDrizzleClient(config),
      ]);
      assertNotStrictEquals(before, after);
      assertEquals(await executeRows(after, sql`SELECT 1 AS one`), [{ one: 1 }]);
      assertStrictEquals(after, await getDrizzleClient(config));
      await closeDrizzleClient(config);
    });

    await test.step("closeDrizzleClient() while queries run lets them end, and refuses later ones", async () => {
      const db = await getDrizzleClient(config);
      const running = Array.from(
        { length: 5 },
        (_, n) => executeRows(db, sql`SELECT ${n}::int AS n FROM pg_sleep(0.05)`),
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
      const closing = closeDrizzleClient(config);
      assertEquals((await Promise.all(running)).flat(), [0, 1, 2, 3, 4].map((n) => ({ n })));
      await closing;
      await assertRejects(() => executeRows(db, sql`SELECT 1`));
      assertEquals(await executeRows(await getDrizzleClient(config), sql`SELECT 1 AS one`), [{
        one: 1,
      }]);
      await closeDrizzleClient(config);
    });

    await test.step("getDrizzleClient() fails for all while the database is away, and each may try again at once", async () => {
      network.set("refuse");
      const before = network.accepted;
      const failed = await Promise.allSettled(
        Array.from({ length: CALLERS }, () => getDrizzleClient(config)),
      );
      assert(failed.every(({ status }) => status === "rejected"));
      assertEquals(network.accepted - before, 1, "one try for all that race");
      // every caller tries again as soon as it hears of the failure, in the middle of the others
      let tries = 0, accepted = 0;
      const again = await Promise.all(Array.from({ length: CALLERS }, async () => {
        for (;;) {
          try {
            return await getDrizzleClient(config);
          } catch {
            if (++tries === CALLERS) {
              network.set("pass");
              accepted = network.accepted;
            }
            if (tries > 100 * CALLERS) throw new Error("it does not come back");
          }
        }
      }));
      for (const one of again) assertStrictEquals(one, again[0]);
      assertEquals(network.accepted - accepted, 1, "one connection for all");
    });

    await test.step("createAuth() and configureSessionAuth() give one instance, and ask for the client again after a failure", async () => {
      const db = await getDrizzleClient(config);
      const made = Array.from({ length: CALLERS }, () => createAuth(db, { ...AUTH }));
      for (const one of made) assertStrictEquals(one, made[0]);

      let asked = 0;
      configureSessionAuth(async () => {
        await Promise.resolve();
        if (++asked <= CALLERS) throw new Error("the database is away");
        return getDrizzleClient(config);
      }, AUTH);
      const away = await Promise.allSettled(
        Array.from({ length: CALLERS }, getConfiguredSessionAuth),
      );
      assert(away.every(({ status }) => status === "rejected"));
      const instances = await Promise.all(
        Array.from({ length: CALLERS }, getConfiguredSessionAuth),
      );
      for (const one of instances) assertStrictEquals(one, made[0]);
      resetSessionAuth();
    });

    await test.step("50 requests at once on 2 connections all get their own rows", async () => {
      await closeDrizzleClient(config);
      const wide = { ...config, maxConnections: 2 };
      const lab = openFaultLab();
      try {
        const seen = await Promise.all(
          Array.from(
            { length: 50 },
            (_, n) =>
              lab.request(
                "",
                async () => executeRows(await getDrizzleClient(wide), sql`SELECT ${n}::int AS n`),
              ),
          ),
        );
        assertEquals(
          seen.map(({ body }) => JSON.parse(body)[0].n),
          Array.from({ length: 50 }, (_, n) => n),
        );
      } finally {
        lab.close();
        await closeDrizzleClient(wide);
      }
    });
  } finally {
    resetSessionAuth();
    await closeDrizzleClient(config);
    await network.stop();
    await postgres.stop();
  }
});
