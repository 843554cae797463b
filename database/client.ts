import { SingleFlight } from "../core/async/single_flight.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { metrics } from "../observability/metrics.ts";
import {
  checkDatabaseConfig,
  type DatabaseConfig,
  getClientKey,
  getConnectionKey,
} from "./config.ts";
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
const checks: WeakMap<Connection, Promise<void>> = new WeakMap();

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
export async function getDrizzleClient<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  config: DatabaseConfig & { schema?: TSchema },
): Promise<DrizzleClient<TSchema>> {
  const { client } = await clients.get(getKey(config), async function openClient() {
    const connection = await openShared(config);
    const isPostgres = config.provider !== "distsql";
    const client = guardTransactions(
      await runOutsideInvocation(() => connection.createClient(config.schema)),
      {
        savepoints: isPostgres,
        settings: isPostgres,
      },
    );
    return { connection, client };
  });
  return client as unknown as DrizzleClient<TSchema>;
}

/** What was asked for last, field by field: checking it and making its key take longer than most of a query's way. */
let lastAsked: { fields: Record<string, unknown>; size: number; key: string } | undefined;

function getKey(config: DatabaseConfig): string {
  if (lastAsked !== undefined && hasFields(config, lastAsked)) return lastAsked.key;
  const key = getClientKey(checkDatabaseConfig(config));
  lastAsked = { fields: { ...config }, size: Object.keys(config).length, key };
  return key;
}

function hasFields(config: object, { fields, size }: NonNullable<typeof lastAsked>): boolean {
  let seen = 0;
  for (const field in config) {
    if ((config as Record<string, unknown>)[field] !== fields[field]) return false;
    seen++;
  }
  return seen === size;
}

/** How {@link openShared} opens. */
export interface OpenOptions {
  /**
   * Make sure that the database answers. For work on a session of its own it would be one connection more.
   * @default true
   */
  check?: boolean;
}

/**
 * The open connection of a configuration, shared with its clients.
 *
 * @param config A checked configuration.
 * @param options Whether it must have been tried.
 */
export async function openShared(
  config: DatabaseConfig,
  { check = true }: OpenOptions = {},
): Promise<Connection> {
  const key = getConnectionKey(config);
  if (!configs.has(key)) configs.set(key, config);
  const opening = connections.get(key, () => openConnection(config, check));
  try {
    const connection = await opening;
    if (check) await checkOnce(connection);
    return connection;
  } catch (error) {
    // what failed must not be met by the next caller, nor its configuration become the default; another caller that heard of
    // it first may have begun anew already, and that is not to be forgotten
    if (connections.get(key, () => opening) === opening) {
      connections.evict(key);
      configs.delete(key);
    }
    throw error;
  }
}

/** A connection that was opened without being tried is tried by the first client on it. */
function checkOnce(connection: Connection): Promise<void> {
  let checking = checks.get(connection);
  if (checking === undefined) checks.set(connection, checking = connection.check());
  return checking;
}

/**
 * Closes a connection that was opened for a piece of work, unless a client uses it by now.
 *
 * @param config A checked configuration.
 */
export async function closeUnused(config: DatabaseConfig): Promise<void> {
  const key = getConnectionKey(config);
  if (!clients.keys().some((clientKey) => clientKey.startsWith(`${key}#`))) {
    await closeDrizzleClient(config);
  }
}

async function openConnection(config: DatabaseConfig, check: boolean): Promise<Connection> {
  const startedAt = performance.now();
  let failed = true;
  const invalidate: Invalidate = (reason, error) =>
    announceInvalidation({ provider: config.provider, reason, error });
  try {
    // it outlives the request that happens to be the first
    const connection = await runOutsideInvocation(() => open(config, invalidate));
    if (check) await checkOnce(connection);
    failed = false;
    return connection;
  } finally {
    // without the check nothing was connected that could be measured
    if (config.instrument !== false && (check || failed)) {
      metrics.addMetricsWithDimensions({ provider: config.provider }, [
        ["DatabaseConnectDuration", "Milliseconds", performance.now() - startedAt],
        ["DatabaseConnectErrors", "Count", failed ? 1 : 0],
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
  const key = config === undefined ? configs.keys().next().value : getConnectionKey(config);
  if (key === undefined) return;
  const known = configs.get(key);
  configs.delete(key);
  for (const clientKey of clients.keys()) {
    if (clientKey.startsWith(`${key}#`)) clients.evict(clientKey);
  }
  // a start that fails has nothing to close, and its error belongs to whoever asked for the client
  const connection = await connections.evict(key)?.catch(() => undefined);
  if (connection === undefined) return;
  await connection.close();
  if (known !== undefined) announceInvalidation({ provider: known.provider, reason: "closed" });
}
