import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config/config.ts";
import { getPoolSize } from "../config/pool_size.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import type { TransactionRules } from "../session/transaction_state.ts";
import { createSessionClient } from "../session/client.ts";
import { loadPostgres } from "./load_postgres.ts";
import { loadPostgresSession } from "./load_postgres_session.ts";
import {
  begin,
  type ConnectRetry,
  queryRows,
  runOnPool,
  ServerState,
  toSqlDriver,
} from "./postgres_js_driver.ts";
import { type PostgresOptions, PostgresPool } from "./postgres_js_pool.ts";
import type { Connection, DedicatedSession, Invalidate } from "./provider.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { getLimit } from "./statement_limit.ts";
import type { StatementRunner } from "./statement_runner.ts";

/** Differences between a provider's server and PostgreSQL. */
export interface ServerTraits {
  /**
   * Retry policy for refused connections.
   * @default none
   */
  connectRetry?: ConnectRetry;
  /**
   * A session's locks last as long as its connection.
   * @default true
   */
  keepsSession?: boolean;
  /** Adds advice to an error, if there is any. */
  explain?: (error: unknown) => unknown;
  /**
   * Finds out on a new connection whether a pooler in transaction mode is in front of the server.
   * Prepared statements and locks of a session are not used behind one.
   * @default there is none
   */
  isPooled?: (run: StatementRunner) => Promise<boolean>;
  /**
   * Limits of transactions.
   * @default those of PostgreSQL
   */
  rules?: TransactionRules;
}

function getCommonOptions(config: DatabaseSettings, options: PostgresOptions): PostgresOptions {
  return {
    max: getPoolSize(config),
    connect_timeout: config.connectTimeout ?? 10,
    idle_timeout: config.idleTimeout,
    max_lifetime: null,
    prepare: config.prepare !== false,
    // postgres.js would only query array types, which drizzle parses and formats itself
    fetch_types: false,
    onnotice: () => {},
    types: TEXT_TYPES,
    ...options,
  };
}

/**
 * Creates a pool of direct connections with postgres.js. Nothing is connected yet.
 *
 * @param config The database.
 * @param options Host, password, TLS and lifetimes, set by the provider.
 * @param invalidate Called when a connection ends.
 * @param traits Differences between the provider's server and PostgreSQL.
 * @returns The connection.
 */
export async function openPostgres(
  config: DatabaseSettings,
  options: PostgresOptions,
  invalidate: Invalidate,
  {
    connectRetry = () => undefined,
    keepsSession = true,
    explain = (error) => error,
    isPooled,
    rules,
  }: ServerTraits = {},
): Promise<Connection> {
  const { default: postgres } = await loadPostgres();
  const common = getCommonOptions(config, options);
  const pool = new PostgresPool(postgres, common, () => invalidate("ended"));
  const server = new ServerState(config.prepare !== false, findServer);
  const driver = toSqlDriver(pool, server, connectRetry, getLimit(config));
  const slots = new ConnectionSlots(Number(common.max));

  /** Runs the first statement: behind a pooler, nothing is prepared. */
  async function findServer(): Promise<void> {
    const run = runOnPool(pool, connectRetry, getLimit(config));
    try {
      if (isPooled === undefined) {
        await run((sql) => sql.unsafe("select 1"));
      } else if (await isPooled(run)) {
        assertMayStopPreparing(config);
        pool.stopPreparing();
        server.prepares = false;
      }
    } catch (error) {
      throw explain(error);
    }
  }
  return {
    async check(): Promise<void> {
      try {
        await server.check();
      } catch (error) {
        await pool.close();
        invalidate("refused", error);
        throw error;
      }
    },
    createClient(schema, limit): Promise<DrizzleClient> {
      const limited = limit === undefined ? driver : toSqlDriver(pool, server, connectRetry, limit);
      return Promise.resolve(createSessionClient(limited, slots, { schema, rules }));
    },
    async openSession(): Promise<DedicatedSession> {
      const { openDedicatedSession } = await loadPostgresSession();
      const limit = getLimit(config);
      return await openDedicatedSession({
        open(onEnd) {
          const own = new PostgresPool(postgres, { ...common, max: 1 }, onEnd);
          return {
            pool: own,
            run: runOnPool(own, connectRetry, limit),
            begin: (fn) => begin(own, connectRetry, limit, fn),
          };
        },
        query: queryRows,
        limit,
        explain,
        keepsSession,
        isPooled,
      });
    },
    close: () => pool.close(),
  };
}

/** Throws if statements must be prepared behind a pooler, where a prepared COMMIT can be lost. */
function assertMayStopPreparing({ prepare }: DatabaseSettings): void {
  if (prepare !== true) return;
  throw new ConfigurationError(
    "DatabaseConfig.prepare is true, but behind a pooler a prepared COMMIT can be lost: leave it " +
      'out, or set DatabaseConfig.pooler to "session" if it keeps sessions',
  );
}

/** Types that postgres.js would convert. All values are passed as text and parsed in one place. */
const TEXT_TYPES: PostgresOptions["types"] = {
  text: {
    to: 25,
    from: [16, 17, 21, 23, 26, 114, 700, 701, 1082, 1114, 1184, 3802],
    serialize: asText,
    parse: asText,
  },
} as never;

function asText(text: string): string {
  return text;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/;

/** Checks for an address of this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/**
 * Reads the TLS settings of a `postgres://` URL. Refuses `require`, `prefer` and `allow`, which
 * encrypt without verifying the server; accepts `disable`.
 *
 * @param url The URL; its `sslmode` is removed.
 * @param ca Certificate authorities to trust in addition to the runtime's.
 * @returns The `ssl` option of postgres.js.
 * @throws {ConfigurationError} If `sslmode` would not verify the server.
 */
export function readTls(url: URL, ca: string | undefined): PostgresOptions["ssl"] {
  const isLocal = isLoopback(url.hostname) && ca === undefined;
  // reading searchParams costs a new process 0.2 ms
  const given = url.search === "" ? null : url.searchParams.get("sslmode");
  if (given !== null) url.searchParams.delete("sslmode");
  const mode = given ?? (isLocal ? "disable" : "verify-full");
  if (mode === "disable") return false;
  if (mode !== "verify-full") {
    throw new ConfigurationError(
      `sslmode=${mode} in DatabaseConfig.connectionString does not verify the server: leave ` +
        "it out or use verify-full, and set DatabaseConfig.ca if the runtime does not know the " +
        "server's certificate authority",
    );
  }
  return ca === undefined ? true : { rejectUnauthorized: true, ca };
}
