import { closeDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { type DistSqlServer, startDistSqlServer } from "../../distsql/server/server.ts";
import type { DistSqlServerOptions } from "../../distsql/server/server_options.ts";
import { withEnv } from "./with_env.ts";

/** How a client connects to the local Aurora DSQL server. */
export type DistSqlConfig = Extract<DatabaseConfig, { provider: "distsql" }>;

/** Returns how the admin of a server connects to it. */
export function getAdminConfig(server: DistSqlServer): DistSqlConfig {
  return {
    provider: "distsql",
    endpoint: `localhost:${server.port}`,
    region: server.region,
    isAdmin: true,
    ca: server.ca,
    instrument: false,
  };
}

/** Returns the environment variables with the credentials that a server accepts. */
export function getCredentials({ principal }: DistSqlServer): Record<string, string | undefined> {
  return {
    AWS_ACCESS_KEY_ID: principal.accessKeyId,
    AWS_SECRET_ACCESS_KEY: principal.secretAccessKey,
    AWS_SESSION_TOKEN: undefined,
  };
}

/**
 * Starts a local Aurora DSQL server for a test, and sets its credentials meanwhile. The client of the configuration is
 * closed afterwards.
 *
 * @param options Options of the server.
 * @param test Gets the configuration of the admin, and the server.
 */
export async function withDistSqlServer(
  options: DistSqlServerOptions,
  test: (config: DistSqlConfig, server: DistSqlServer) => Promise<void>,
): Promise<void> {
  const server = await startDistSqlServer(options);
  const config = getAdminConfig(server);
  try {
    await withEnv(getCredentials(server), () => test(config, server));
  } finally {
    await closeDrizzleClient(config);
    await server.stop();
  }
}
