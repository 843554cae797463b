import { PGlite } from "@electric-sql/pglite";
import { drizzle, type PgliteDatabase } from "drizzle-orm/pglite";
import * as schema from "../../auth/tables/schema.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/rate_limits/migration.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import "../support/embedded_pool.ts";

/** An embedded database with the auth tables, for one test file. */
export interface AuthTestDatabase {
  /** The server. */
  readonly pglite: PGlite;
  /** A client with the auth tables and their relations in its schema. */
  readonly db: PgliteDatabase<typeof schema>;
  /** The statements that the client has sent. */
  readonly queries: string[];
  /** Empties the tables. */
  reset(): Promise<void>;
}

const TABLES = schema.AUTH_MIGRATION_SQL + RATE_LIMIT_MIGRATION_SQL;

/**
 * Opens a database with the auth tables. The metrics of queries are kept out of the tests' output.
 */
export async function openAuthDatabase(): Promise<AuthTestDatabase> {
  setLogOutput(() => {});
  const loadDataDir = await loadEmptySnapshot("openAuthDatabase()");
  const pglite = await PGlite.create({ loadDataDir });
  await pglite.exec(TABLES);
  const queries: string[] = [];
  return {
    pglite,
    db: drizzle({
      client: pglite,
      schema,
      logger: { logQuery: (query) => void queries.push(query) },
    }),
    queries,
    async reset(): Promise<void> {
      await pglite.exec("TRUNCATE users, sessions, accounts, verification, rate_limits");
      queries.length = 0;
    },
  };
}

/**
 * Runs a function with a stopped clock, also for the auth library, which takes no clock.
 *
 * @param nowMs What `Date.now()` and `new Date()` give.
 * @param run The function.
 * @returns What it returns.
 */
export async function atTime<T>(nowMs: number, run: () => T | Promise<T>): Promise<T> {
  const RealDate = globalThis.Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values) =>
      Reflect.construct(target, values.length === 0 ? [nowMs] : values),
    get: (target, name) => name === "now" ? () => nowMs : Reflect.get(target, name),
  });
  try {
    return await run();
  } finally {
    globalThis.Date = RealDate;
  }
}

/** A secret for tests. */
export const SECRET = "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-test";
