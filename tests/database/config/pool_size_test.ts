import { assertEquals, assertGreater, assertLessOrEqual } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { getPoolSize } from "../../../database/config/pool_size.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";

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

/** When a query began and ended, by the server's clock. */
type Span = { readonly began: number; readonly ended: number };

/** Sends 64 queries of 20 ms at once; counts how many ran at the same time, and the connections that were open. */
async function run64(
  config: DatabaseConfig,
): Promise<{ overlapping: number; connections: number }> {
  const db = await getDrizzleClient(config);
  const spans = (await Promise.all(Array.from({ length: 64 }, () =>
    executeRows<Span>(
      db,
      sql`select extract(epoch from clock_timestamp())::float8 as began, pg_sleep(0.02),
        extract(epoch from clock_timestamp())::float8 as ended`,
    )))).flat();
  const countAt = (time: number) =>
    spans.filter(({ began, ended }) => began <= time && time < ended).length;
  const [{ n }] = await executeRows<{ n: number }>(
    db,
    sql`select count(*)::int as n from pg_stat_activity where application_name = 'pool_size'`,
  );
  await closeDrizzleClient(config);
  return { overlapping: Math.max(...spans.map(({ began }) => countAt(began))), connections: n };
}

Deno.test("64 invocations at once in one process share a pool that lets their queries overlap", async () => {
  await using postgres = await startPostgres();
  const connectionString = `${postgres.url}?application_name=pool_size`;
  const config: DatabaseConfig = { provider: "serverless-pg", connectionString, instrument: false };
  const alone = await run64(config);
  assertEquals(alone, { overlapping: 1, connections: 1 });
  await withEnv({ AWS_LAMBDA_MAX_CONCURRENCY: "64" }, async () => {
    const together = await run64(config);
    assertEquals(together.connections, 20);
    assertGreater(together.overlapping, 4);
    assertLessOrEqual(together.overlapping, 20);
    assertEquals((await run64({ ...config, maxConnections: 2 })).connections, 2);
  });
});
