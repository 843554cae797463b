// deno-lint-ignore-file no-console -- the figures are part of the result
import { assertEquals, assertGreater } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  DatabaseError,
  type DistSqlRetryOptions,
  executeRows,
  getDrizzleClient,
  withQueryMetrics,
  withTransaction,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { onEachEngine } from "../support/each_engine.ts";

/** `TRELLIS_FULL_TESTS=1` runs the long form. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";

// the signer of tokens keeps sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

/** What became of the writers' transactions. */
interface Outcome {
  committed: number;
  failed: number;
  conflicts: number;
  /** `attempts` of each failure. */
  attempts: number[];
  /** The row at the end. */
  n: number;
  ms: number;
}

interface Load {
  writers: number;
  increments: number;
  retry: DistSqlRetryOptions;
}

/** Has writers increment one row: each reads it and writes what it read and one more, in a transaction. */
async function increment(
  config: DatabaseConfig,
  { writers, increments, retry }: Load,
): Promise<Outcome> {
  const db = await getDrizzleClient({ ...config, maxConnections: writers });
  await db.execute(sql`CREATE TABLE IF NOT EXISTS counter (id int PRIMARY KEY, n int NOT NULL)`);
  await db.execute(sql`DELETE FROM counter`);
  await db.execute(sql`INSERT INTO counter VALUES (1, 0)`);
  const outcome: Outcome = { committed: 0, failed: 0, conflicts: 0, attempts: [], n: 0, ms: 0 };
  const onRetry = (): void => void outcome.conflicts++;
  function addOne(): Promise<void> {
    return withTransaction(db, async (tx) => {
      const [row] = await executeRows<{ n: number }>(tx, sql`SELECT n FROM counter WHERE id = 1`);
      // the value that was read is written: a lost conflict is a lost increment
      await tx.execute(sql`UPDATE counter SET n = ${row.n + 1} WHERE id = 1`);
    });
  }
  async function write(): Promise<void> {
    for (let i = 0; i < increments; i++) {
      try {
        await withQueryMetrics("addOne", addOne, { retry: { ...retry, onRetry } });
        outcome.committed++;
      } catch (error) {
        if (!(error instanceof DatabaseError) || error.sqlState !== "40001") throw error;
        outcome.failed++;
        outcome.attempts.push(error.attempts ?? 0);
      }
    }
  }
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: writers }, write));
  outcome.ms = performance.now() - startedAt;
  outcome.n = Number((await executeRows(db, sql`SELECT n FROM counter`))[0].n);
  await closeDrizzleClient({ ...config, maxConnections: writers });
  return outcome;
}

Deno.test(
  "withQueryMetrics() loses and repeats nothing when many writers increment one row and retry until they commit",
  options,
  async () => {
    await onEachEngine(async (name, config) => {
      const writers = isFull ? 64 : 6;
      // the stand-in parses each statement and keeps each connection's rows: a few commits a second
      const increments = !isFull ? 8 : config.provider === "distsql" ? 10 : 200;
      const retry = { maxRetries: 10_000, baseDelayMs: 2, maxDelayMs: 200 };
      const { committed, failed, conflicts, n, ms } = await increment(config, {
        writers,
        increments,
        retry,
      });
      console.log(
        `${name}, ${writers} x ${increments}: ${conflicts} conflicts, ${Math.round(ms)} ms`,
      );
      assertEquals([committed, failed, n], [writers * increments, 0, writers * increments], name);
      // without conflicts the sum would prove nothing
      assertGreater(conflicts, 0);
    });
  },
);

Deno.test(
  "withQueryMetrics() gives up after 4 attempts when 32 writers change one row, and the row counts what was committed",
  options,
  async () => {
    await onEachEngine(async (name, config) => {
      for (const writers of isFull ? [2, 4, 8, 16, 32, 64] : [32]) {
        const increments = isFull ? Math.max(10, Math.ceil(400 / writers)) : 2;
        const { committed, failed, conflicts, attempts, n, ms } = await increment(config, {
          writers,
          increments,
          retry: {},
        });
        const all = committed + failed;
        console.log(
          `${name}, ${writers} writers, ${all} transactions: ${failed} failed (${
            (failed / all * 100).toFixed(1)
          } %), ` +
            `${(conflicts / all).toFixed(2)} retries each, ${
              (committed / ms * 1000).toFixed(0)
            } commits a second`,
        );
        assertEquals([all, n], [writers * increments, committed], name);
        // PostgreSQL makes the second writer wait, so few fail there, or none
        if (config.provider === "distsql" && writers >= 32) assertGreater(failed, 0);
        // each failure says how often it was tried
        assertEquals(attempts.every((count) => count === 4), true, String(attempts));
        assertGreater(conflicts, 0);
      }
    });
  },
);
