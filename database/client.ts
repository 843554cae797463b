import { SingleFlight } from "../core/mod.ts";
import { metrics, MetricUnit } from "../observability/mod.ts";
import { checkDatabaseConfig, clientKeyOf, connectionKeyOf, type DatabaseConfig } from "./config.ts";
import { announceInvalidation } from "./connection_events.ts";
import type { Connection, DrizzleClient, Invalidate } from "./providers/provider.ts";
import { guardTransactions } from "./transaction_guard.ts";

interface OpenClient {
  connection: Connection;
  client: DrizzleClient;
}

/** Clients that differ in their schema alone share a connection: an embedded database cannot be opened twice. */
const connections: SingleFlight<string, Connection> = new SingleFlight();
const clients: SingleFlight<string, OpenClient> = new SingleFlight();
const configs: Map<string, DatabaseConfig> = new Map();

/**
 * The client of a configuration: made by the first call, the same one afterwards, as long as the process lives. Calls
 * that race get one client, and a start that failed is tried again by the next call.
 *
 * @param config Where the database is. Two configurations with the same values and the same schema object are one.
 * @returns drizzle's client.
 * @throws {ConfigurationError} When the configuration is wrong, before anything is opened.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`select 1`);
 * await closeDrizzleClient();
 * ```
 */
export async function getDrizzleClient<TSchema extends Record<string, unknown> = Record<string, unknown>>(
  config: DatabaseConfig & { schema?: TSchema },
): Promise<DrizzleClient<TSchema>> {
  const { client } = await clients.get(clientKeyOf(checkDatabaseConfig(config)), async function openClient() {
    const connection = await openShared(config);
    const isPostgres = config.provider !== "distsql";
    const client = guardTransactions(connection.createClient(config.schema), {
      savepoints: isPostgres,
      settings: isPostgres,
    });
    return { connection, client };
  });
  return client as unknown as DrizzleClient<TSchema>;
}

/**
 * The open connection of a configuration, shared with its clients.
 *
 * @param config A checked configuration.
 */
export function openShared(config: DatabaseConfig): Promise<Connection> {
  const key = connectionKeyOf(config);
  const known = configs.get(key);
  if (known === undefined) configs.set(key, config);
  const opening = connections.get(key, () => openConnection(config));
  // the first configuration that failed must not become the default
  opening.catch(() => configs.delete(key));
  return opening;
}

/**
 * Closes a connection that was opened for a piece of work, unless a client uses it by now.
 *
 * @param config A checked configuration.
 */
export async function closeUnused(config: DatabaseConfig): Promise<void> {
  const key = connectionKeyOf(config);
  if (!clients.keys().some((clientKey) => clientKey.startsWith(`${key}#`))) await closeDrizzleClient(config);
}

async function openConnection(config: DatabaseConfig): Promise<Connection> {
  const startedAt = performance.now();
  let failed = true;
  const invalidate: Invalidate = (reason, error) => announceInvalidation({ provider: config.provider, reason, error });
  try {
    const connection = await open(config, invalidate);
    failed = false;
    return connection;
  } finally {
    if (config.instrument !== false) {
      metrics.addMetricsWithDimensions({ provider: config.provider }, [
        ["DatabaseConnectDuration", MetricUnit.Milliseconds, performance.now() - startedAt],
        ["DatabaseConnectErrors", MetricUnit.Count, failed ? 1 : 0],
      ]);
    }
  }
}

/** Each provider's file, and with it its driver, is loaded when it is first needed. */
async function open(config: DatabaseConfig, invalidate: Invalidate): Promise<Connection> {
  switch (config.provider) {
    case "distsql":
      return (await import("./providers/distsql.ts")).openDistSql(config, invalidate);
    case "serverless-pg":
      return (await import("./providers/serverless_pg.ts")).openServerlessPg(config, invalidate);
    case "branching-pg":
      return (await import("./providers/branching_pg.ts")).openBranchingPg(config, invalidate);
    case "embedded-pg":
      return (await import("./providers/embedded_pg.ts")).openEmbeddedPg(config);
  }
}

/**
 * Closes a client and its connection, for a graceful shutdown: afterwards nothing of it keeps the process alive, and
 * the next `getDrizzleClient` opens a new one. Clients that differ from it in their schema alone share its connection
 * and are closed with it. Closing what is not open does nothing.
 *
 * @param config The configuration that the client was made with; the default client, the one opened first, when left
 * out.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient } from "@trellis/fn/database";
 *
 * await closeDrizzleClient(); // nothing is open: nothing happens
 * ```
 */
export async function closeDrizzleClient(config?: DatabaseConfig): Promise<void> {
  const key = config === undefined ? configs.keys().next().value : connectionKeyOf(config);
  if (key === undefined) return;
  const known = configs.get(key);
  configs.delete(key);
  for (const clientKey of clients.keys()) {
    if (clientKey.startsWith(`${key}#`)) clients.take(clientKey);
  }
  // a start that fails has nothing to close, and its error belongs to whoever asked for the client
  const connection = await connections.take(key)?.catch(() => undefined);
  if (connection === undefined) return;
  await connection.close();
  if (known !== undefined) announceInvalidation({ provider: known.provider, reason: "closed" });
}
