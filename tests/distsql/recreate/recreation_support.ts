import type { PlainSql } from "../../../database/session/plain_sql.ts";
import { toDrizzle } from "../../../database/session/run_sql.ts";
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { drizzle } from "drizzle-orm/postgres-js";
import { sql } from "drizzle-orm";
import { applyAlterToSchema } from "../../../distsql/recreate/alter.ts";
import type { RecreationOptions, RecreationResult } from "../../../distsql/recreate/execute.ts";
import {
  executeRecreation,
  getEstimatedRowCount,
  introspectTable,
} from "../../../database/migrations/recreation.ts";
import { generateRecreationPlan } from "../../../distsql/recreate/plan.ts";
import type { RecreationPlan } from "../../../distsql/recreate/recreation_plan.ts";
import { executeRows } from "../../../database/session/execute.ts";
import type { DrizzleClient } from "../../../database/session/drizzle_client.ts";
import type { Row } from "../../../sql/session.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";

/** A drizzle client on a real PostgreSQL. */
export interface TestClient {
  db: DrizzleClient;
  /** Runs SQL of several statements. */
  script(text: string): Promise<void>;
  /** Runs one statement and gives its rows. */
  rows(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

/** Connects to a PostgreSQL. */
export async function openClient(url: string): Promise<TestClient> {
  const { default: postgres } = await import("postgres");
  const client = postgres(url, { max: 1, onnotice: () => {} });
  const db = drizzle({ client }) as unknown as DrizzleClient;
  return {
    db,
    async script(text): Promise<void> {
      await client.unsafe(text);
    },
    rows: (text) => executeRows(db, sql.raw(text)),
    close: () => client.end(),
  };
}

let postgres: Promise<TestPostgres> | undefined;

/** Runs a test with a database of its own, of one server for the file, which {@link stopServer} stops. */
export async function withDatabase(
  test: (client: TestClient, url: string) => Promise<void>,
): Promise<void> {
  const server = await (postgres ??= startPostgres());
  const url = await server.createDatabase(`recreation_${crypto.randomUUID()}`);
  const client = await openClient(url);
  try {
    await test(client, url);
  } finally {
    await client.close();
  }
}

/** Stops the server of {@link withDatabase}. */
export async function stopServer(): Promise<void> {
  await (await postgres)?.stop();
  postgres = undefined;
}

/** Reads a table, changes it and plans. */
export async function planFor(
  db: DrizzleClient,
  table: string,
  statement: string,
): Promise<RecreationPlan> {
  const current = await introspectTable(db, table);
  const rows = await getEstimatedRowCount(db, table);
  return generateRecreationPlan(current, applyAlterToSchema(current, statement), rows);
}

/** The whole way, as a script of a user would go it. */
export async function recreate(
  db: DrizzleClient,
  table: string,
  statement: string,
  options: RecreationOptions = {},
): Promise<RecreationResult> {
  return await executeRecreation(db, await planFor(db, table, statement), undefined, options);
}

/** What a statement does: reads may be told from what changes something by its first word. */
export function isWrite(text: string): boolean {
  return !/^\s*SELECT\b/i.test(text);
}

/**
 * A client that calls `before` ahead of each statement, with its text.
 *
 * @param before May throw, which is how a test lets a run die.
 */
export function watch(
  db: DrizzleClient,
  before: (text: string) => void | Promise<void>,
): DrizzleClient {
  return new Proxy(db, {
    get(target, property): unknown {
      // without its session, statements of the package are sent by `execute`
      if (property === "_") return undefined;
      const value = Reflect.get(target, property, target);
      if (property !== "execute") return typeof value === "function" ? value.bind(target) : value;
      return async function execute(statement: PlainSql): Promise<unknown> {
        await before(statement.text);
        return await target.execute(toDrizzle(statement));
      };
    },
  });
}

/** Names of relations that a recreation leaves behind while it runs. */
export const LEFTOVERS =
  "SELECT relname::text AS name FROM pg_class WHERE relname LIKE '%trellis%' ORDER BY 1";

/**
 * Lets a process of its own recreate the table `notes`.
 *
 * @param database A URL of a PostgreSQL, or a configuration as JSON.
 * @param statement What is changed.
 * @param dieAt The change before which the process kills itself, from 1; -1 for none.
 * @returns Whether it was killed.
 */
export async function isKilled(
  database: string,
  statement: string,
  dieAt: number,
): Promise<boolean> {
  const child = fileURLToPath(new URL("killed_process.ts", import.meta.url));
  const args = [
    "run",
    "-A",
    "--frozen",
    "--cached-only",
    child,
    database,
    "notes",
    statement,
    String(dieAt),
  ];
  const { code, signal, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    stdout: "null",
    stderr: "piped",
  })
    .output();
  if (signal === "SIGKILL") return true;
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return false;
}
