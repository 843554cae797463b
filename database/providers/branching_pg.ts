import type { Client } from "@neondatabase/serverless";
import { runtimeProcess } from "../../env/builtin_module.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config.ts";
import { getPoolSize } from "../pool_size.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import { createSessionClient } from "../session/client.ts";
import { createRunner, type NeonRunner, toSqlDriver } from "./branching_pg_driver.ts";
import { createConnectRetry } from "./connect_retry.ts";
import { loadNeon } from "./load_neon.ts";
import type { ConnectRetry } from "./postgres_js_driver.ts";
import { limitStatements, rejectWithErrors, toError, watchPool } from "./neon_pool.ts";
import type { Connection, DedicatedSession, Invalidate } from "./provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import { getLimit, type StatementLimit } from "./statement_limit.ts";

/**
 * Opens Neon with its own driver: PostgreSQL's protocol in a WebSocket, with a connection pool and
 * interactive transactions.
 *
 * @param config `connectionString` is `postgres://…`.
 * @param invalidate Called when a connection ends.
 * @returns The connection; nothing is connected yet.
 * @throws {ConfigurationError} If the runtime has no WebSocket.
 */
export async function openBranchingPg(
  config: DatabaseSettings,
  invalidate: Invalidate,
): Promise<Connection> {
  const neon = await loadNeon();
  if (
    neon.neonConfig.webSocketConstructor === undefined &&
    typeof globalThis.WebSocket === "undefined"
  ) {
    throw new ConfigurationError(
      "Provider branching-pg needs WebSocket, which " +
        `${runtimeProcess?.release?.name ?? "this runtime"} ` +
        `${runtimeProcess?.version} lacks: use a runtime that has it (Node 22 or later, Deno, ` +
        "Bun), or set neonConfig.webSocketConstructor of @neondatabase/serverless to the one " +
        "of the package ws",
    );
  }
  const connectMs = (config.connectTimeout ?? 10) * 1000;
  const settings = {
    connectionString: config.connectionString,
    connectionTimeoutMillis: connectMs,
  };
  const maxConnections = getPoolSize(config);
  const pool = new neon.Pool({
    ...settings,
    max: maxConnections,
    // 0: connections stay open until the server closes them
    idleTimeoutMillis: (config.idleTimeout ?? 0) * 1000,
  });
  const connectRetry = createConnectRetry(config);
  watchPool(pool, connectRetry, getLimit(config));
  let isClosing = false;
  // without a listener, an idle connection that ends would crash the process
  pool.on("error", (error: unknown) => {
    if (!isClosing) invalidate("ended", error);
  });
  // the same for a connection in use; its statement is rejected separately
  pool.on("connect", (client: Client) => void client.on("error", () => {}));
  const run = createRunner(neon.Client);
  const driver = toSqlDriver(pool, run);
  const slots = new ConnectionSlots(maxConnections);
  return {
    async check(): Promise<void> {
      try {
        await pool.query("select 1");
      } catch (error) {
        isClosing = true;
        await pool.end();
        invalidate("refused", error);
        throw error;
      }
    },
    createClient: (schema) => Promise.resolve(createSessionClient(driver, slots, { schema })),
    async openSession(): Promise<DedicatedSession> {
      const client = await connectClient(() => new neon.Client(settings), connectRetry);
      return toDedicatedSession(client, run, isPooled(config.connectionString), getLimit(config));
    },
    async close(): Promise<void> {
      isClosing = true;
      await pool.end();
    },
  };
}

/**
 * Checks for Neon's pooler, which gives a server session to another client after each transaction.
 */
function isPooled(connectionString: string | undefined): boolean {
  return /@[^/?@]*-pooler\./.test(connectionString ?? "");
}

function toSession(client: Client, run: NeonRunner): SqlSession {
  return {
    async query(text, params = []): Promise<Row[]> {
      return (await run<Row>(client, { text, values: [...params] })).rows;
    },
    async script(statements): Promise<void> {
      await client.query(statements.join("\n;\n"));
    },
  };
}

/** Connects a client, and discards it on failure. */
async function connectClient(
  createClient: () => Client,
  connectRetry: ConnectRetry,
): Promise<Client> {
  const startedAt = performance.now();
  for (let attempt = 1;; attempt++) {
    const client = createClient();
    // a lost connection is reported by the next statement
    client.on("error", () => {});
    try {
      await client.connect();
      return client;
    } catch (thrown) {
      const error = toError(thrown);
      const delayMs = connectRetry(error, attempt, performance.now() - startedAt);
      if (delayMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

function toDedicatedSession(
  client: Client,
  run: NeonRunner,
  isPooled: boolean,
  limit: StatementLimit,
): DedicatedSession {
  limitStatements(client, limit);
  rejectWithErrors(client);
  const session = toSession(client, run);
  return {
    ...session,
    keepsSession: !isPooled,
    isPooled,
    limitStatements: (ms) => void (limit.ms = ms),
    async transaction(fn): Promise<never> {
      await session.query("begin");
      let result: unknown;
      try {
        result = await fn(session);
      } catch (error) {
        await session.query("rollback").catch(() => {});
        throw error;
      }
      await session.query("commit");
      return result as never;
    },
    close: () => client.end(),
  };
}
