import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Command } from "../../../cli/terminal/command.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  executeRows,
  getDrizzleClient,
} from "../../../database/mod.ts";
import type { Row } from "../../../database/types.ts";
import { sql } from "../../../database/orm.ts";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { startPostgres } from "../../support/postgres.ts";
import { type CliResult, runInProcess } from "../fixtures/run.ts";
import { getAdminConfig } from "../../support/distsql_server.ts";

/** A folder without a project, for commands that need none. */
export const NO_PROJECT: string = fileURLToPath(new URL("../../support", import.meta.url));

/** Runs a command in this process. */
export function runCommand(command: Command, args: readonly string[]): Promise<CliResult> {
  return runInProcess([...command.name.split(" "), "--project", NO_PROJECT, ...args], {
    commands: [command],
  });
}

/** A database of a test's own server. */
export function pg(connectionString: string): DatabaseConfig {
  return { provider: "serverless-pg", connectionString, prepare: false, instrument: false };
}

/** Runs work on a client that is closed after it. */
export async function withClient<T>(
  config: DatabaseConfig,
  work: (db: DrizzleClient) => Promise<T>,
): Promise<T> {
  const own: DatabaseConfig = {
    ...config,
    instrument: false,
    ...config.provider === "embedded-pg" ? {} : { prepare: false },
  };
  const db = await getDrizzleClient(own);
  try {
    return await work(db);
  } finally {
    await closeDrizzleClient(own);
  }
}

/** Creates a database, runs statements in it, and returns its URL. */
export type CreateDatabase = (name: string, statements?: readonly string[]) => Promise<string>;

/** Runs a test with a server, which ends with the test. */
export async function withServer(
  test: (create: CreateDatabase, port: number) => Promise<void>,
): Promise<void> {
  await using postgres = await startPostgres();
  await test(async (name, statements = []) => {
    const url = await postgres.createDatabase(name);
    if (statements.length > 0) await runAll(pg(url), statements);
    return url;
  }, postgres.port);
}

/** Runs statements one by one. */
export async function runAll(
  config: DatabaseConfig,
  statements: readonly string[],
): Promise<Row[]> {
  return await withClient(config, async (db) => {
    let rows: Row[] = [];
    for (const statement of statements) rows = await executeRows(db, sql.raw(statement));
    return rows;
  });
}

/** A hash of all that some queries answer. */
export async function digest(
  config: DatabaseConfig,
  queries: readonly string[],
): Promise<string[]> {
  return await withClient(config, async (db) => {
    const hashes: string[] = [];
    for (const query of queries) {
      const rows = await executeRows(db, sql.raw(query));
      hashes.push(createHash("sha256").update(JSON.stringify(rows)).digest("hex"));
    }
    return hashes;
  });
}

/** A stand-in for the distributed provider, and its configuration. */
export interface StandIn {
  readonly server: DistSqlServer;
  readonly config: DatabaseConfig;
  /** Environment variables for a process that connects to it. */
  readonly env: Record<string, string>;
  /** Options of a command that name it. */
  options(side: "" | "from-" | "to-"): string[];
  stop(): Promise<void>;
}

/** Starts a stand-in on a new PostgreSQL database. */
export async function startStandIn(url: string): Promise<StandIn> {
  const server = await startDistSqlServer({ backend: { url } });
  const folder = await Deno.makeTempDir();
  const caFile = `${folder}/ca.pem`;
  await Deno.writeTextFile(caFile, server.ca);
  const config = getAdminConfig(server);
  const endpoint = config.endpoint!;
  return {
    server,
    config,
    env: {
      AWS_ACCESS_KEY_ID: server.principal.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.principal.secretAccessKey,
    },
    options: (side) => [
      ...[
        `--${side}endpoint`,
        endpoint,
        `--${side}region`,
        server.region,
        `--${side}ca-file`,
        caFile,
      ],
    ],
    async stop(): Promise<void> {
      await server.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
