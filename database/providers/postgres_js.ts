import type { Sql, TransactionSql } from "postgres";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config/config.ts";
import { getPoolSize } from "../config/pool_size.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import type { TransactionRules } from "../session/transaction_state.ts";
import { createSessionClient } from "../session/client.ts";
import type { ConnectRetry } from "./connect_retry.ts";
import { loadPostgres } from "./load_postgres.ts";
import {
  begin,
  createRowQuery,
  readRows,
  runOnPool,
  ServerState,
  type StatementRunner,
  toSqlDriver,
} from "./postgres_js_driver.ts";
import { type PostgresOptions, PostgresPool } from "./postgres_js_pool.ts";
import type { StatementGate } from "./postgres_js_transaction.ts";
import type { Connection, DedicatedSession, Invalidate } from "./provider.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { getLimit, type StatementLimit } from "./statement_limit.ts";
import type { Row, SqlSession } from "../../sql/session.ts";

/** Differences between a provider's server and PostgreSQL. */
export interface ServerTraits {
  /** Retry policy for refused connections. */
  connectRetry: ConnectRetry;
  /**
   * A session's locks last as long as its connection.
   * @default true
   */
  keepsSession?: boolean;
  /** Adds advice to an error, if there is any. */
  explain: (error: unknown) => unknown;
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
  { connectRetry, keepsSession = true, explain, isPooled, rules }: ServerTraits,
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
    createClient(schema, limit): DrizzleClient {
      const limited = limit === undefined ? driver : toSqlDriver(pool, server, connectRetry, limit);
      return createSessionClient(limited, slots, { schema, rules });
    },
    async openSession(): Promise<DedicatedSession> {
      const traits = { explain, keepsSession, isPooled, limit: getLimit(config) };
      const createPool = (onEnd: () => void) =>
        new PostgresPool(postgres, { ...common, max: 1 }, onEnd);
      return await openDedicatedSession(createPool, connectRetry, traits);
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

/** Properties of a dedicated session. */
interface SessionTraits extends Required<Pick<ServerTraits, "explain" | "keepsSession">> {
  readonly isPooled: ServerTraits["isPooled"];
  /** Maximum duration of a statement, which the session may change. */
  readonly limit: StatementLimit;
}

/**
 * Opens a dedicated session, for migrations.
 *
 * @param createPool Creates the session's own pool of one connection.
 * @param connectRetry Retry policy for refused connections.
 * @param traits Properties of the session.
 * @returns The session.
 */
async function openDedicatedSession(
  createPool: (onEnd: () => void) => PostgresPool,
  connectRetry: ConnectRetry,
  { explain, keepsSession, isPooled, limit }: SessionTraits,
): Promise<DedicatedSession> {
  let isKept = keepsSession;
  let hasWorked = false;
  let isLost = false;
  const pool = createPool(() => {
    // a connection that never worked held no locks
    if (isKept && hasWorked) isLost = true;
  });
  const run = runOnPool(pool, connectRetry, limit);
  const isShared = await isPooled?.(run).catch(async (error) => {
    await pool.close();
    throw explain(error);
  });
  if (isShared) {
    isKept = false;
    pool.stopPreparing();
  }

  /** Returns the connection, unless it replaced a lost one. */
  function own<T extends Sql | TransactionSql>(sql: T): T {
    if (!isLost) return sql;
    throw Object.assign(new Error("The session's connection was lost"), {
      code: "CONNECTION_CLOSED",
    });
  }
  async function explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      hasWorked = true;
      return result;
    } catch (error) {
      throw explain(error);
    }
  }
  function toTransactionSession(tx: TransactionSql, gate: StatementGate): SqlSession {
    return {
      async query(text, params): Promise<Row[]> {
        return readRows(await gate.run(() => createRowQuery(tx, text, params)));
      },
      async script(statements): Promise<void> {
        await gate.run(() => tx.unsafe(joinStatements(statements)));
      },
    };
  }
  return {
    async query(text, params): Promise<Row[]> {
      return readRows(await explained(() => run((sql) => createRowQuery(own(sql), text, params))));
    },
    async script(statements): Promise<void> {
      await explained(() => run((sql) => own(sql).unsafe(joinStatements(statements))));
    },
    transaction: (fn) =>
      explained(() =>
        begin(pool, connectRetry, limit, (tx, gate) => fn(toTransactionSession(own(tx), gate)))
      ),
    keepsSession: isKept,
    isPooled: isShared,
    limitStatements: (ms) => void (limit.ms = ms),
    close: () => pool.close(),
  };
}

/** Joins statements by newlines, because a statement may end in a comment. */
function joinStatements(statements: readonly string[]): string {
  return statements.join("\n;\n");
}
