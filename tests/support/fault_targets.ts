import { neonConfig } from "@neondatabase/serverless";
import { closeDrizzleClient, type DatabaseConfig } from "../../database/mod.ts";
import { startDistSqlServer } from "../../distsql/server/server.ts";
import { type FaultLab, openFaultLab } from "./fault_lab.ts";
import { type FaultyProxy, startFaultyProxy } from "./faulty_proxy.ts";
import { startNeonProxy } from "./neon_proxy.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { startRdsDataServer } from "./rds_data_server.ts";
import { withEnv } from "./with_env.ts";
import { getAdminConfig, getCredentials } from "./distsql_server.ts";

/** A database of a provider behind a network that can be made worse. */
export interface FaultTarget {
  /** The provider, and how it is reached. */
  readonly name: string;
  /** The database, through the network; connecting may take three seconds, for busy machines. */
  readonly config: DatabaseConfig;
  /** The network. */
  readonly network: FaultyProxy;
}

/** What the AWS clients sign with. */
export const AWS_ENV = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_SESSION_TOKEN: undefined,
};

const ARN = "arn:aws:rds:eu-central-1:123456789012:cluster:test";
const SECRET_ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:s";

/** Connects to a cluster of the Data API, wherever `AWS_ENDPOINT_URL_RDS_DATA` points to. */
export const DATA_API = `rds-data://${ARN}?secretArn=${SECRET_ARN}&database=postgres`;

/**
 * Starts the servers of every provider over one PostgreSQL, and a proxy before each.
 *
 * @param postgres The server that keeps the rows.
 * @param use Called for each provider in turn.
 */
export async function withFaultTargets(
  postgres: TestPostgres,
  use: (target: FaultTarget) => Promise<void>,
): Promise<void> {
  await withDirect(postgres, use);
  await withNeon(postgres, use);
  await withDataApi(postgres, use);
  await withDistSql(postgres, use);
}

/**
 * Starts a PostgreSQL, the servers of every provider over it, and a lab for requests.
 *
 * @param use Called for each provider in turn.
 */
export async function withFaultLab(
  use: (target: FaultTarget, lab: FaultLab) => Promise<void>,
): Promise<void> {
  const postgres = await startPostgres();
  const lab = openFaultLab();
  try {
    await withFaultTargets(postgres, (target) => use(target, lab));
  } finally {
    lab.close();
    await postgres.stop();
  }
}

async function run(
  name: string,
  port: number,
  use: (target: FaultTarget) => Promise<void>,
  configOf: (port: number) => DatabaseConfig,
): Promise<void> {
  const network = await startFaultyProxy(port);
  const config = { connectTimeout: 3, instrument: false, ...configOf(network.port) };
  try {
    await use({ name, config, network });
  } finally {
    await closeDrizzleClient(config);
    await network.stop();
  }
}

async function withDirect(
  postgres: TestPostgres,
  use: (target: FaultTarget) => Promise<void>,
): Promise<void> {
  await run("serverless-pg direct", postgres.port, use, (port) => ({
    provider: "serverless-pg",
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
  }));
}

async function withNeon(
  postgres: TestPostgres,
  use: (target: FaultTarget) => Promise<void>,
): Promise<void> {
  const proxy = startNeonProxy(postgres.port);
  Object.assign(neonConfig, {
    useSecureWebSocket: false,
    pipelineConnect: false,
    forceDisablePgSSL: true,
  });
  try {
    await run("branching-pg", proxy.port, use, (port) => {
      neonConfig.wsProxy = () => `127.0.0.1:${port}/v2`;
      return { provider: "branching-pg", connectionString: postgres.url };
    });
  } finally {
    proxy.cut();
    await proxy.stop();
  }
}

async function withDataApi(
  postgres: TestPostgres,
  use: (target: FaultTarget) => Promise<void>,
): Promise<void> {
  // answers to BEGIN are lost there by the dozen
  const server = startRdsDataServer(postgres.url, 2000);
  const { port } = new URL(server.url);
  try {
    await run("serverless-pg Data API", Number(port), async (target) => {
      await withEnv(
        { ...AWS_ENV, AWS_ENDPOINT_URL_RDS_DATA: `http://127.0.0.1:${target.network.port}` },
        () => use(target),
      );
    }, () => ({ provider: "serverless-pg", connectionString: DATA_API }));
  } finally {
    await server.stop();
  }
}

async function withDistSql(
  postgres: TestPostgres,
  use: (target: FaultTarget) => Promise<void>,
): Promise<void> {
  const server = await startDistSqlServer({ backend: { url: postgres.url } });
  try {
    await withEnv(getCredentials(server), () =>
      run("distsql", server.port, use, (port) => ({
        ...getAdminConfig(server),
        endpoint: `localhost:${port}`,
        instrument: true,
      })));
  } finally {
    await server.stop();
  }
}
