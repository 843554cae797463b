import type { DatabaseConfig } from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { getDirectConfig, startPostgres, type TestPostgres } from "./postgres.ts";
import { withDistSqlServer } from "./distsql_server.ts";

/** Runs work on PostgreSQL with snapshots, and on the stand-in for the distributed provider over it. */
export async function onEachEngine(
  work: (name: string, config: DatabaseConfig) => Promise<void>,
  settings: readonly string[] = ["default_transaction_isolation=repeatable read"],
): Promise<void> {
  const postgres: TestPostgres = await startPostgres({ settings });
  const restore = setLogOutput(() => {});
  try {
    const direct = getDirectConfig(postgres.url);
    await work("PostgreSQL", direct);
    const backend = { url: await postgres.createDatabase("distsql") };
    await withDistSqlServer({ backend }, (config) => work("distsql stand-in", config));
  } finally {
    restore();
    await postgres.stop();
  }
}
