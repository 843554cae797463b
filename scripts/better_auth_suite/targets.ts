import process from "node:process";
import postgres from "postgres";
import type { AuthDatabase } from "../../auth/better_auth/better_auth_types.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { setEmbeddedSnapshot } from "../../database/providers/embedded_snapshot.ts";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import { type DistSqlServer, startDistSqlServer } from "../../distsql/server/server.ts";

/** An open database. */
interface Target {
  readonly db: AuthDatabase;
  close(): Promise<void>;
}

/** How to connect to a new database, and what to stop after the connection. */
interface NewDatabase {
  readonly config: DatabaseConfig;
  stop(): Promise<void>;
}

const target = process.env.SUITE_TARGET;
const serverUrl = process.env.SUITE_POSTGRES ?? "";
let last = 0;

/** Creates the tables in a new database, and connects to it with the provider of the run. */
export async function openTarget(
  statements: readonly string[],
  schema: Record<string, unknown>,
): Promise<Target> {
  const { config, stop } = await createDatabase(statements);
  const db = await getDrizzleClient({ ...config, schema, instrument: false });
  if (target === "embedded") {
    for (const statement of statements) await db.execute(statement);
  }
  return {
    db: db as unknown as AuthDatabase,
    async close(): Promise<void> {
      await closeDrizzleClient(config);
      await stop();
    },
  };
}

async function createDatabase(statements: readonly string[]): Promise<NewDatabase> {
  if (target === "embedded") {
    setEmbeddedSnapshot(() => loadEmptySnapshot("The suite"));
    const connectionString = `memory://${++last}`;
    return { config: { provider: "embedded-pg", connectionString }, stop: () => Promise.resolve() };
  }
  const connectionString = await createPostgresDatabase(statements);
  const stop = () => Promise.resolve();
  if (target === "postgres") return { config: { provider: "postgres", connectionString }, stop };
  if (target === "distsql") return await startStandIn(connectionString);
  await useProxy();
  return { config: { provider: "branching-pg", connectionString }, stop };
}

async function createPostgresDatabase(statements: readonly string[]): Promise<string> {
  const name = `suite_${crypto.randomUUID().replaceAll("-", "")}`;
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const owner = postgres(url.href, { max: 1, onnotice: () => {} });
  await owner.unsafe(statements.join("\n"));
  await owner.end();
  return url.href;
}

async function startStandIn(url: string): Promise<NewDatabase> {
  const server: DistSqlServer = await startDistSqlServer({ backend: { url } });
  const owner = postgres(url, { max: 1, onnotice: () => {} });
  await owner.unsafe("GRANT ALL ON ALL TABLES IN SCHEMA public TO admin");
  await owner.end();
  process.env.AWS_ACCESS_KEY_ID = server.principal.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = server.principal.secretAccessKey;
  const { region, ca } = server;
  const endpoint = `localhost:${server.port}`;
  return {
    config: { provider: "distsql", endpoint, region, isAdmin: true, ca },
    stop: () => server.stop(),
  };
}

/** Connects Neon's driver to the proxy of the run. */
async function useProxy(): Promise<void> {
  const { neonConfig } = await import("@neondatabase/serverless");
  neonConfig.wsProxy = () => `${process.env.SUITE_NEON}/v2`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineConnect = false;
  neonConfig.forceDisablePgSSL = true;
  if (globalThis.WebSocket === undefined) {
    const { WebSocket } = await import("ws");
    neonConfig.webSocketConstructor = WebSocket as unknown as typeof globalThis.WebSocket;
  }
}
