import { explainMissing } from "../../core/optional_package.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseConfig } from "../config.ts";
import { getPoolSize } from "../pool_size.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import { Dialect } from "../session/dialect.ts";
import { createSessionClient } from "../session/session.ts";
import {
  type ConnectRetry,
  type SessionState,
  toDedicatedSession,
  toSqlDriver,
} from "./postgres_js_driver.ts";
import { type PostgresOptions, PostgresPool } from "./postgres_js_pool.ts";
import type { Connection, DrizzleClient, Invalidate } from "./provider.ts";
import { getLimit } from "./statement_limit.ts";

/** How a provider's server differs from PostgreSQL. */
export interface ServerTraits {
  /**
   * Which refused connections are tried again.
   * @default none
   */
  connectRetry?: ConnectRetry;
  /**
   * Whether a session's locks last as long as its connection.
   * @default true
   */
  keepsSession?: boolean;
  /** Says of an error what is to be done about it, where that is known. */
  explain?: (error: unknown) => unknown;
}

/**
 * Makes a pool of direct connections with postgres.js. Nothing is connected yet.
 *
 * @param config The database.
 * @param options What the provider decides: host, password, TLS, lifetimes.
 * @param invalidate Told of connections that end.
 * @param manners How the provider's server differs.
 * @returns The connection.
 */
export async function openPostgres(
  config: DatabaseConfig,
  options: PostgresOptions,
  invalidate: Invalidate,
  { connectRetry = () => undefined, keepsSession = true, explain = (error) => error }:
    ServerTraits = {},
): Promise<Connection> {
  const postgres = await loadPostgres();
  const common: PostgresOptions = {
    max: getPoolSize(config),
    connect_timeout: config.connectTimeout ?? 10,
    idle_timeout: config.idleTimeout,
    max_lifetime: null,
    // arrays are the only types that it would ask the server for; drizzle reads and writes those itself
    fetch_types: false,
    onnotice: () => {},
    ...options,
  };
  const pool = new PostgresPool(
    postgres,
    { ...common, types: TEXT_TYPES },
    () => invalidate("ended"),
  );
  const prepare = config.prepare !== false;
  const driver = toSqlDriver(pool, prepare, connectRetry, getLimit(config));
  const slots = new ConnectionSlots(Number(common.max));
  return {
    async check(): Promise<void> {
      try {
        await driver.run({ text: "select 1", params: [], name: undefined });
      } catch (error) {
        await pool.close();
        invalidate("refused", error);
        throw explain(error);
      }
    },
    createClient(schema, limit): Promise<DrizzleClient> {
      const limited = limit === undefined
        ? driver
        : toSqlDriver(pool, prepare, connectRetry, limit);
      return Promise.resolve(createSessionClient(limited, slots, new Dialect(), schema));
    },
    openSession(): ReturnType<Connection["openSession"]> {
      const state: SessionState = { hasWorked: false, isLost: false };
      const own = new PostgresPool(postgres, { ...common, max: 1 }, () => {
        // one that was never had had locked nothing
        if (keepsSession && state.hasWorked) state.isLost = true;
      });
      return Promise.resolve({
        ...toDedicatedSession(own, connectRetry, state, explain, getLimit(config)),
        keepsSession,
      });
    },
    close: () => pool.close(),
  };
}

/** Types that postgres.js would read and write by itself: all values go as texts, and are read in one place. */
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

/**
 * TLS settings of a `postgres://` URL. `require`, `prefer` and `allow` encrypt without looking whom they talk to, so
 * they are refused; `disable` is taken at its word.
 *
 * @param url The URL; its `sslmode` is taken out.
 * @param ca Certificate authorities to trust beside the runtime's.
 * @returns What postgres.js takes as `ssl`.
 * @throws {ConfigurationError} When `sslmode` would not verify the server.
 */
export function readTls(url: URL, ca: string | undefined): PostgresOptions["ssl"] {
  const isLocal = LOOPBACK.test(url.hostname) && ca === undefined;
  // asking a URL for its parameters costs a fresh process 0.2 ms
  const given = url.search === "" ? null : url.searchParams.get("sslmode");
  if (given !== null) url.searchParams.delete("sslmode");
  const mode = given ?? (isLocal ? "disable" : "verify-full");
  if (mode === "disable") return false;
  if (mode !== "verify-full") {
    throw new ConfigurationError(
      `sslmode=${mode} in DatabaseConfig.connectionString does not verify the server: leave it out or give verify-full, ` +
        "with the server's certificate authority in DatabaseConfig.ca where the runtime does not know it",
    );
  }
  return ca === undefined ? true : { rejectUnauthorized: true, ca };
}

async function loadPostgres(): Promise<typeof import("postgres")> {
  try {
    // inside of `try`, bundlers leave a package out that is not installed
    return (await import("postgres")).default;
  } catch (error) {
    return explainMissing("postgres", "A connection to PostgreSQL or Aurora DSQL")(error);
  }
}
