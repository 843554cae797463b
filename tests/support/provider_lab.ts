import { neonConfig } from "@neondatabase/serverless";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { createTestDatabase } from "../../testing/mod.ts";
import { DATA_API } from "./fault_targets.ts";
import { startNeonProxy } from "./neon_proxy.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { startTransactionPooler } from "./transaction_pooler.ts";
import { startRdsDataServer } from "./rds_data_server.ts";
import { getAdminConfig, getCredentials } from "./distsql_server.ts";

/** A database of a provider. */
export interface ProviderTarget {
  /** The provider, and how it is reached. */
  readonly name:
    | "embedded-pg"
    | "postgres"
    | "serverless-pg"
    | "branching-pg"
    | "data-api"
    | "distsql";
  /** A separate database; one connection. */
  readonly config: DatabaseConfig;
}

/** A database of each provider; all but the embedded one belong to one PostgreSQL. */
export interface ProviderLab {
  /** The server. */
  readonly postgres: TestPostgres;
  /** The databases. */
  readonly targets: readonly ProviderTarget[];
  /** Ends everything. */
  stop(): Promise<void>;
}

/** Tests that use the real clients of AWS and Neon, which keep sockets open, and a lab that several tests share. */
export const LAB_OPTIONS = { sanitizeOps: false, sanitizeResources: false };

/**
 * Starts a PostgreSQL and the servers of all providers over it when a test of the file first asks for them, and stops
 * them after the last test. Nothing is logged.
 *
 * @returns Gives the lab.
 */
export function shareProviders(): () => Promise<ProviderLab> {
  let lab: Promise<ProviderLab> | undefined;
  Deno.test.afterAll(async () => await (await lab)?.stop());
  return () => lab ??= startProviders();
}

async function startProviders(): Promise<ProviderLab> {
  const unmute = setLogOutput(() => {});
  const postgres = await startPostgres();
  const dataApi = startRdsDataServer(await postgres.createDatabase("data_api"));
  const neon = startNeonProxy(postgres.port);
  const distsql = await startDistSqlServer({
    backend: { url: await postgres.createDatabase("distsql") },
  });
  const embedded = await createTestDatabase();
  neonConfig.wsProxy = () => `127.0.0.1:${neon.port}/v2`;
  Object.assign(neonConfig, {
    useSecureWebSocket: false,
    pipelineConnect: false,
    forceDisablePgSSL: true,
  });
  const restoreEnv = setEnv({
    ...getCredentials(distsql),
    AWS_ENDPOINT_URL_RDS_DATA: dataApi.url,
  });
  const direct = await postgres.createDatabase("direct");
  const pooler = await startTransactionPooler(postgres.port);
  const pooled = (await postgres.createDatabase("pooled")).replace(
    `:${postgres.port}/`,
    `:${pooler.port}/`,
  );
  const targets: ProviderTarget[] = [
    { name: "embedded-pg", config: embedded.config },
    {
      // behind a pooler: without one, it is the same as serverless-pg
      name: "postgres",
      config: { provider: "postgres", connectionString: pooled, instrument: false },
    },
    {
      name: "serverless-pg",
      config: { provider: "serverless-pg", connectionString: direct, instrument: false },
    },
    {
      name: "branching-pg",
      config: {
        provider: "branching-pg",
        connectionString: await postgres.createDatabase("neon"),
        instrument: false,
      },
    },
    {
      name: "data-api",
      config: { provider: "serverless-pg", connectionString: DATA_API, instrument: false },
    },
    { name: "distsql", config: getAdminConfig(distsql) },
  ];
  return {
    postgres,
    targets,
    async stop(): Promise<void> {
      for (const { config } of targets) await closeDrizzleClient(config);
      await distsql.stop();
      await dataApi.stop();
      neon.cut();
      await neon.stop();
      await pooler.stop();
      await postgres.stop();
      restoreEnv();
      unmute();
    },
  };
}

function setEnv(variables: Readonly<Record<string, string | undefined>>): () => void {
  const former = Object.fromEntries(
    Object.keys(variables).map((name) => [name, Deno.env.get(name)]),
  );
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) Deno.env.delete(name);
    else Deno.env.set(name, value);
  }
  return () => void setEnv(former);
}

/**
 * Opens a client, and creates a table again.
 *
 * @param config The database.
 * @param ddl `CREATE TABLE <name> …`.
 * @returns The client.
 */
export async function openWithTables<TSchema extends Record<string, unknown>>(
  config: DatabaseConfig & { schema?: TSchema },
  ...ddl: string[]
): Promise<DrizzleClient<TSchema>> {
  const db = await getDrizzleClient(config);
  for (const statement of ddl) {
    const [, kind, name] = /^CREATE (TABLE|TYPE|DOMAIN) (\w+)/.exec(statement)!;
    await db.execute(sql.raw(`DROP ${kind} IF EXISTS ${name}`));
    await db.execute(sql.raw(statement));
  }
  return db;
}
