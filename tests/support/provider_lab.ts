import { neonConfig } from "@neondatabase/serverless";
import { closeDrizzleClient, type DatabaseConfig } from "../../database/mod.ts";
import { startDistSqlServer } from "../../testing/distsql/server.ts";
import { DATA_API } from "./fault_targets.ts";
import { startNeonProxy } from "./neon_proxy.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { startRdsDataServer } from "./rds_data_server.ts";
import { withEnv } from "./with_env.ts";

/** A database of a provider. */
export interface ProviderTarget {
  /** The provider, and how it is reached. */
  readonly name: "embedded-pg" | "serverless-pg" | "branching-pg" | "data-api" | "distsql";
  /** An empty database of its own. */
  readonly config: DatabaseConfig;
}

/** A database of each provider; all but the embedded one belong to one PostgreSQL. */
export interface ProviderLab {
  /** The server. */
  readonly postgres: TestPostgres;
  /** The databases. */
  readonly targets: readonly ProviderTarget[];
}

/** Options of {@link withProviders}. */
export interface ProviderLabOptions {
  /**
   * Connections of each client, where the provider has a pool.
   * @default 1
   */
  maxConnections?: number;
}

let labs = 0;

/**
 * Starts a PostgreSQL and the servers of all providers over it.
 *
 * @param use Called with a database of each provider.
 * @param options Settings of the clients.
 */
export async function withProviders(
  use: (lab: ProviderLab) => Promise<void>,
  { maxConnections }: ProviderLabOptions = {},
): Promise<void> {
  const postgres = await startPostgres();
  const dataApi = startRdsDataServer(await postgres.createDatabase("data_api"));
  const neon = startNeonProxy(postgres.port);
  const distsql = await startDistSqlServer({ backend: { url: await postgres.createDatabase("distsql") } });
  neonConfig.wsProxy = () => `127.0.0.1:${neon.port}/v2`;
  Object.assign(neonConfig, { useSecureWebSocket: false, pipelineConnect: false, forceDisablePgSSL: true });
  const pool = { instrument: false, maxConnections };
  const targets: ProviderTarget[] = [
    {
      name: "embedded-pg",
      config: { provider: "embedded-pg", connectionString: `memory://lab${++labs}`, instrument: false },
    },
    {
      name: "serverless-pg",
      config: { provider: "serverless-pg", connectionString: await postgres.createDatabase("direct"), ...pool },
    },
    {
      name: "branching-pg",
      config: { provider: "branching-pg", connectionString: await postgres.createDatabase("neon"), ...pool },
    },
    { name: "data-api", config: { provider: "serverless-pg", connectionString: DATA_API, instrument: false } },
    {
      name: "distsql",
      config: {
        provider: "distsql",
        endpoint: `localhost:${distsql.port}`,
        region: distsql.region,
        isAdmin: true,
        ca: distsql.ca,
        ...pool,
      },
    },
  ];
  const { accessKeyId, secretAccessKey } = distsql.principal;
  try {
    await withEnv({
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: undefined,
      AWS_ENDPOINT_URL_RDS_DATA: dataApi.url,
    }, () => use({ postgres, targets }));
  } finally {
    for (const { config } of targets) await closeDrizzleClient(config);
    await distsql.stop();
    await dataApi.stop();
    neon.cut();
    await neon.stop();
    await postgres.stop();
  }
}
