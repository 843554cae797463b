import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { getPoolSize } from "../../database/pool_size.ts";
import { startPostgres } from "../support/postgres.ts";
import { withEnv } from "../support/with_env.ts";

const CASES: [
  provider: DatabaseConfig["provider"],
  concurrency: string | undefined,
  size: number,
][] = [
  ["distsql", undefined, 1],
  ["distsql", "", 1],
  ["distsql", "1", 1],
  ["distsql", "16", 16],
  ["distsql", "64", 50],
  ["distsql", "1600", 50],
  ["distsql", "0", 1],
  ["distsql", "-4", 1],
  ["distsql", "2.5", 1],
  ["distsql", "many", 1],
  ["serverless-pg", "16", 16],
  ["serverless-pg", "64", 20],
  ["branching-pg", "64", 20],
  ["embedded-pg", "64", 1],
];

for (const [provider, concurrency, size] of CASES) {
  Deno.test(`getPoolSize() is ${size} for ${provider} with AWS_LAMBDA_MAX_CONCURRENCY ${concurrency}`, async () => {
    await withEnv({ AWS_LAMBDA_MAX_CONCURRENCY: concurrency }, () => {
      assertEquals(getPoolSize({ provider }), size);
      for (const maxConnections of [1, 7, 200]) {
        assertEquals(getPoolSize({ provider, maxConnections }), maxConnections);
      }
    });
  });
}

const QUERY_MS = 20;

/** The longest of 64 queries of 20 ms that are sent at once, and the connections that were open. */
async function run64(config: DatabaseConfig): Promise<{ longestMs: number; connections: number }> {
  const db = await getDrizzleClient(config);
  const startedAt = performance.now();
  const tookMs = await Promise.all(Array.from({ length: 64 }, async () => {
    await db.execute(sql`select pg_sleep(${QUERY_MS / 1000})`);
    return performance.now() - startedAt;
  }));
  const [{ n }] = await executeRows<{ n: number }>(
    db,
    sql`select count(*)::int as n from pg_stat_activity where application_name = 'pool_size'`,
  );
  await closeDrizzleClient(config);
  return { longestMs: Math.max(...tookMs), connections: n };
}

Deno.test("64 invocations at once in one process share a pool that lets their queries overlap", async () => {
  const postgres = await startPostgres();
  const connectionString = `${postgres.url}?application_name=pool_size`;
  const config: DatabaseConfig = { provider: "serverless-pg", connectionString, instrument: false };
  try {
    const alone = await run64(config);
    assertEquals(alone.connections, 1);
    await withEnv({ AWS_LAMBDA_MAX_CONCURRENCY: "64" }, async () => {
      const together = await run64(config);
      assertEquals(together.connections, 20);
      // 64 queries one after the other take 64 times 20 ms; on 20 connections 4 rounds and the time to connect
      assert(alone.longestMs >= 64 * QUERY_MS, String(alone.longestMs));
      assert(
        together.longestMs < alone.longestMs / 2,
        `${together.longestMs} of ${alone.longestMs}`,
      );
      assertEquals((await run64({ ...config, maxConnections: 2 })).connections, 2);
    });
  } finally {
    await postgres.stop();
  }
});
