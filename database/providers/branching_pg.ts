import type { Client } from "@neondatabase/serverless";
import { runtimeProcess } from "../../env/builtin_module.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config/config.ts";
import { getPoolSize } from "../config/pool_size.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import { createSessionClient } from "../session/client.ts";
import { runTransaction, toSqlDriver } from "./branching_pg_driver.ts";
import { createConnectRetry } from "./connect_retry.ts";
import { loadNeon } from "./load_neon.ts";
import { connectClient, createSender, NeonConnection, NeonPool } from "./neon_pool.ts";
import type { Connection, DedicatedSession, Invalidate } from "./provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import { getLimit } from "./statement_limit.ts";

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
  let isClosing = false;
  // without a listener, an idle connection that ends would crash the process
  pool.on("error", (error: unknown) => {
    if (!isClosing) invalidate("ended", error);
  });
  // the same for a connection in use; its statement is rejected separately
  pool.on("connect", (client: Client) => void client.on("error", () => {}));
  const send = createSender(neon.Client);
  const driver = toSqlDriver(new NeonPool(pool, send, connectRetry, getLimit(config)));
  const slots = new ConnectionSlots(maxConnections);
  return {
    async check(): Promise<void> {
      try {
        await driver.run({ text: "select 1", params: [], name: undefined });
      } catch (error) {
        isClosing = true;
        await pool.end();
        invalidate("refused", error);
        throw error;
      }
    },
    createClient: (schema) => createSessionClient(driver, slots, { schema }),
    async openSession(): Promise<DedicatedSession> {
      const client = await connectClient(() => connect(new neon.Client(settings)), connectRetry);
      const limit = getLimit(config);
      const connection = new NeonConnection(client, send, limit);
      const session = toSession(connection);
      const isShared = isPooled(config.connectionString);
      return {
        ...session,
        keepsSession: !isShared,
        isPooled: isShared,
        limitStatements: (ms) => void (limit.ms = ms),
        transaction: (fn) => runTransaction(connection, () => fn(session)),
        close: () => client.end(),
      };
    },
    async close(): Promise<void> {
      isClosing = true;
      await pool.end();
    },
  };
}

/** Connects a client, whose lost connection is reported by the next statement. */
async function connect(client: Client): Promise<Client> {
  client.on("error", () => {});
  await client.connect();
  return client;
}

/**
 * Checks for Neon's pooler, which gives a server session to another client after each transaction.
 */
function isPooled(connectionString: string | undefined): boolean {
  return /@[^/?@]*-pooler\./.test(connectionString ?? "");
}

function toSession(connection: NeonConnection): SqlSession {
  return {
    async query(text, params = []): Promise<Row[]> {
      return (await connection.run<Row>({ text, values: [...params] })).rows;
    },
    script: (statements) => connection.script(statements.join("\n;\n")),
  };
}
