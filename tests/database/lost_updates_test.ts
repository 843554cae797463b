import { assertEquals, assertGreater } from "@std/assert";
import {
  closeDrizzleClient,
  createQueryFactory,
  executeRows,
  getDrizzleClient,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { onEachEngine } from "../support/each_engine.ts";

const options = { sanitizeOps: false, sanitizeResources: false };
const WRITERS = 16, INCREMENTS = 4;

Deno.test(
  "a query with transaction loses no update that it read before, on both engines",
  options,
  async () => {
    await onEachEngine(async (name, base) => {
      const config = { ...base, maxConnections: WRITERS };
      const db = await getDrizzleClient(config);
      await db.execute(sql`CREATE TABLE accounts (id int PRIMARY KEY, n int NOT NULL)`);
      await db.execute(sql`INSERT INTO accounts VALUES (1, 0)`);
      const { defineQuery } = createQueryFactory(() => db);
      const addOne = defineQuery(
        { name: "addOne", transaction: true, retry: { maxRetries: 200, baseDelayMs: 2 } },
        async (tx) => {
          const [{ n }] = await executeRows<{ n: number }>(tx, sql`SELECT n FROM accounts`);
          await tx.execute(sql`UPDATE accounts SET n = ${n + 1}`);
        },
      );
      await Promise.all(Array.from({ length: WRITERS }, async () => {
        for (let i = 0; i < INCREMENTS; i++) await addOne();
      }));
      const [{ n }] = await executeRows<{ n: number }>(db, sql`SELECT n FROM accounts`);
      assertEquals(Number(n), WRITERS * INCREMENTS, name);
      await closeDrizzleClient(config);
    }, []);
  },
);

Deno.test("conflicts that outlast the retries are 503 with Retry-After", options, async () => {
  await onEachEngine(async (name, base) => {
    const config = { ...base, maxConnections: WRITERS };
    const db = await getDrizzleClient(config);
    await db.execute(sql`CREATE TABLE accounts2 (id int PRIMARY KEY, n int NOT NULL)`);
    await db.execute(sql`INSERT INTO accounts2 VALUES (1, 0)`);
    const { defineQuery } = createQueryFactory(() => db);
    const addOne = defineQuery(
      { name: "addOne", transaction: true, retry: false },
      async (tx) => {
        const [{ n }] = await executeRows<{ n: number }>(tx, sql`SELECT n FROM accounts2`);
        await tx.execute(sql`UPDATE accounts2 SET n = ${n + 1}`);
      },
    );
    const outcomes = await Promise.allSettled(Array.from({ length: WRITERS }, () => addOne()));
    const failed = outcomes.filter((each) => each.status === "rejected")
      .map(({ reason }) => [reason.statusCode, reason.headers?.["Retry-After"]]);
    assertGreater(failed.length, 0, name);
    assertEquals(failed, failed.map(() => [503, "1"]), name);
    await closeDrizzleClient(config);
  }, []);
});

Deno.test(
  "withTransaction() takes another isolation level where the server has it",
  options,
  async () => {
    const config = { provider: "embedded-pg", instrument: false } as const;
    const db = await getDrizzleClient(config);
    const read = (config?: Parameters<typeof withTransaction>[2]) =>
      withTransaction(db, async (tx) => {
        const [row] = await executeRows(tx, sql`SHOW transaction_isolation`);
        return row.transaction_isolation;
      }, config);
    assertEquals(await read(), "repeatable read");
    assertEquals(await read({ isolationLevel: "read committed" }), "read committed");
    assertEquals(await read({ accessMode: "read only" }), "repeatable read");
    await closeDrizzleClient(config);
  },
);
