// deno-lint-ignore-file no-console -- the figures are part of the result
import { assertEquals, assertGreater } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  withDistSqlRetry,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { startPostgres } from "../support/postgres.ts";

/** `TRELLIS_FULL_TESTS=1` runs the long form. */
const [writers, increments] = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? [64, 200] : [8, 20];

Deno.test(`withDistSqlRetry() loses and repeats nothing when ${writers} writers increment one row ${increments} times each`, async () => {
  const postgres = await startPostgres({
    settings: ["default_transaction_isolation=repeatable read"],
  });
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: postgres.url,
    maxConnections: writers,
    instrument: false,
  };
  try {
    const db = await getDrizzleClient(config);
    await db.execute(sql`CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)`);
    await db.execute(sql`INSERT INTO counter VALUES (1, 0)`);
    let conflicts = 0;
    let attempts = 0;
    const startedAt = performance.now();
    const write = async (): Promise<void> => {
      for (let i = 0; i < increments; i++) {
        await withDistSqlRetry(() =>
          withTransaction(db, async (tx) => {
            attempts++;
            const [row] = await executeRows<{ n: number }>(
              tx,
              sql`SELECT n FROM counter WHERE id = 1`,
            );
            // the value that was read is written: a lost conflict is a lost increment
            await tx.execute(sql`UPDATE counter SET n = ${row.n + 1} WHERE id = 1`);
          }), {
          maxRetries: 10_000,
          baseDelayMs: 2,
          maxDelayMs: 200,
          onRetry: () => void conflicts++,
        });
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
    const ms = Math.round(performance.now() - startedAt);
    const [{ n }] = await executeRows(db, sql`SELECT n FROM counter`);
    console.log(
      `${writers} x ${increments}: ${conflicts} conflicts, ${attempts} attempts, ${ms} ms`,
    );
    assertEquals(n, writers * increments);
    assertEquals(attempts, writers * increments + conflicts);
    // without conflicts the sum would prove nothing
    assertGreater(conflicts, 0);
  } finally {
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});
