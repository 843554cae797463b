import type { DatabaseConfig } from "../../database/mod.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { withEnv } from "./with_env.ts";

/** Runs work on PostgreSQL with snapshots, and on the stand-in for the distributed provider over it. */
export async function onEachEngine(
  work: (name: string, config: DatabaseConfig) => Promise<void>,
  settings: readonly string[] = ["default_transaction_isolation=repeatable read"],
): Promise<void> {
  const postgres: TestPostgres = await startPostgres({ settings });
  const restore = setLogOutput(() => {});
  try {
    const direct = {
      provider: "serverless-pg",
      connectionString: postgres.url,
      instrument: false,
    } as const;
    await work("PostgreSQL", direct);
    const server = await startDistSqlServer({
      backend: { url: await postgres.createDatabase("distsql") },
    });
    const { accessKeyId, secretAccessKey } = server.principal;
    const env = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: undefined,
    };
    const { port, region, ca } = server;
    const endpoint = `localhost:${port}`;
    const config = {
      provider: "distsql",
      endpoint,
      region,
      ca,
      isAdmin: true,
      instrument: false,
    } as const;
    await withEnv(env, () => work("distsql stand-in", config)).finally(() => server.stop());
  } finally {
    restore();
    await postgres.stop();
  }
}
