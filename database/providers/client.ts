import { SingleFlight } from "../../core/async/single_flight.ts";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import { checkDatabaseConfig } from "../config/check_config.ts";
import {
  type DatabaseConfig,
  type DatabaseSettings,
  getClientKey,
  getConnectionKey,
} from "../config/config.ts";
import { announceInvalidation } from "./connection_events.ts";
import { openProvider } from "./open_provider.ts";
import type { Connection, DedicatedSession, Invalidate } from "./provider.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { isRecording } from "../../env/recording.ts";
import { assertDrizzleVersion } from "../session/drizzle_version.ts";

/**
 * Connections by key. Clients that differ only in their schema share one, because an embedded
 * database cannot be opened twice.
 */
const connections: SingleFlight<string, Connection> = new SingleFlight();
const clients: SingleFlight<string, DrizzleClient> = new SingleFlight();
const configs: Map<string, DatabaseSettings> = new Map();
const checks: WeakMap<Connection, Promise<void>> = new WeakMap();

/** Checks the configuration of a client; throws to refuse it. */
export type CheckClient = (config: DatabaseSettings) => void;

let redirected: DatabaseSettings | CheckClient | undefined;

/**
 * Lets every configuration lead to one database, for tests: functions read theirs when they are
 * imported, and must not reach another one.
 *
 * @param target The database, or a function that refuses configurations; `undefined` for the
 * configured ones.
 */
export function redirectClients(target: DatabaseSettings | CheckClient | undefined): void {
  redirected = target;
}

function redirect<C extends DatabaseSettings>(config: C): C {
  if (typeof redirected === "function") redirected(config);
  return typeof redirected === "object" ? { ...redirected, schema: config.schema } as C : config;
}

/**
 * Returns the client of a configuration. The first call opens it, later calls return the same
 * client for the life of the process. Concurrent calls share one client, and a failed start is not
 * cached.
 *
 * @param given The database. Two configurations with equal values and the same schema object get
 * the same client.
 * @returns drizzle's client.
 * @throws {ConfigurationError} If the configuration is invalid; nothing is opened.
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
export function getDrizzleClient<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  given: DatabaseConfig & { schema?: TSchema },
): Promise<DrizzleClient<TSchema>> {
  if (isRecording()) return refuse();
  let config: typeof given;
  let key: string;
  try {
    config = redirect(given);
    assertDrizzleVersion("getDrizzleClient");
    key = getKey(config);
  } catch (error) {
    return Promise.reject(error);
  }
  const client: Promise<unknown> = clients.get(key, () => openClient(config));
  return client as Promise<DrizzleClient<TSchema>>;
}

/** Refuses to connect while the program is only loaded; an unawaited promise is no error. */
function refuse(): Promise<never> {
  const refused = Promise.reject(
    new ConfigurationError(
      "getDrizzleClient() was called while the module was loaded. Call it in a function",
    ),
  );
  refused.catch(() => {});
  return refused;
}

/** The fields of the last configuration: `getDb()` runs for each statement, and mostly with the same one. */
let last: { readonly fields: Readonly<Record<string, unknown>>; readonly key: string } | undefined;

/** Checks a configuration and returns the key of its client; both were done for the fields of the last one. */
function getKey(config: DatabaseSettings): string {
  if (last === undefined || !hasFields(config, last.fields)) {
    last = { key: getClientKey(checkDatabaseConfig(config)), fields: { ...config } };
  }
  return last.key;
}

function hasFields(config: object, fields: Readonly<Record<string, unknown>>): boolean {
  const entries = Object.entries(config ?? {});
  return entries.length === Object.keys(fields).length &&
    entries.every(([name, value]) => Object.hasOwn(fields, name) && fields[name] === value);
}

async function openClient(config: DatabaseSettings): Promise<DrizzleClient> {
  const connection = await openShared(config);
  return runOutsideInvocation(() => connection.createClient(config.schema));
}

/** Options of {@link openShared}. */
export interface OpenOptions {
  /**
   * Check that the database answers. Turn it off for work in a dedicated session, where the check
   * would open an extra connection.
   * @default true
   */
  check?: boolean;
}

/**
 * Opens the connection of a configuration, or returns the open one. Its clients share it.
 *
 * @param config A checked configuration.
 * @param options Whether to check that the database answers.
 */
export async function openShared(
  config: DatabaseSettings,
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
    // A failed connection must not be returned to the next caller or become the default. Compare
    // first: a concurrent caller may have replaced it already.
    if (connections.get(key, () => opening) === opening) {
      connections.evict(key);
      configs.delete(key);
    }
    throw error;
  }
}

/** Checks a connection that was opened with `check: false`, when its first client is created. */
function checkOnce(connection: Connection): Promise<void> {
  let checking = checks.get(connection);
  if (checking === undefined) checks.set(connection, checking = connection.check());
  return checking;
}

/**
 * Closes a connection that was opened for one task, unless a client uses it.
 *
 * @param config A checked configuration.
 */
export async function closeUnused(config: DatabaseSettings): Promise<void> {
  const key = getConnectionKey(config);
  if (!clients.keys().some((clientKey) => clientKey.startsWith(`${key}#`))) {
    await closeConnection(key);
  }
}

async function openConnection(config: DatabaseSettings, check: boolean): Promise<Connection> {
  const startedAt = performance.now();
  let failed = true;
  const invalidate: Invalidate = (reason, error) =>
    announceInvalidation({ provider: config.provider, reason, error });
  try {
    // the connection outlives the request that opens it
    const connection = await runOutsideInvocation(() => openProvider(config, invalidate));
    if (check) await checkOnce(connection);
    failed = false;
    return connection;
  } finally {
    // without the check no connection time was measured
    if (config.instrument !== false && (check || failed)) {
      addOccurrences({ provider: config.provider }, [
        ["DatabaseConnectDuration", "Milliseconds", performance.now() - startedAt],
        ["DatabaseConnectErrors", "Count", failed ? 1 : 0],
      ]);
    }
  }
}

/**
 * Closes a client and its connection, for a graceful shutdown. The process can then exit, and the
 * next `getDrizzleClient` opens a new client. Clients that share the connection are closed too.
 * Does nothing if the client is not open.
 *
 * @param config The client's configuration. If omitted, closes the client that was opened first.
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
  if (key !== undefined) await closeConnection(key);
}

async function closeConnection(key: string): Promise<void> {
  const known = configs.get(key);
  configs.delete(key);
  for (const clientKey of clients.keys()) {
    if (clientKey.startsWith(`${key}#`)) clients.evict(clientKey);
  }
  // a failed start has nothing to close, and the caller of getDrizzleClient gets its error
  const connection = await connections.evict(key)?.catch(() => undefined);
  if (connection === undefined) return;
  await connection.close();
  if (known !== undefined) announceInvalidation({ provider: known.provider, reason: "closed" });
}

/**
 * Runs work in a dedicated session. A connection to a server is opened for the work and closed
 * afterwards. An embedded database stays open, because closing it would lose data in memory.
 *
 * @param given The database.
 * @param fn The work.
 * @returns The result of the work.
 */
export async function withSession<T>(
  given: DatabaseSettings,
  fn: (session: DedicatedSession) => Promise<T>,
): Promise<T> {
  const database = redirect(given);
  const connection = await openShared(checkDatabaseConfig(database), { check: false });
  const session = await connection.openSession();
  try {
    return await fn(session);
  } finally {
    await session.close();
    if (database.provider !== "embedded-pg") await closeUnused(database);
  }
}
