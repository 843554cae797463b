import { PGlite } from "@electric-sql/pglite";
import { drizzle, type PgliteDatabase } from "drizzle-orm/pglite";
import * as schema from "../../auth/tables/schema.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/rate_limits/migration.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import { emptyDatabase } from "../support/empty_database.ts";

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

/** Databases that tests have closed. */
const closed: Set<PGlite> = new Set();

/**
 * Opens a database with the auth tables. Files that share an isolate share databases: one that a
 * test has closed is emptied and opened again, because a new one takes much more time. The metrics
 * of queries are kept out of the tests' output.
 */
export async function openAuthDatabase(): Promise<AuthTestDatabase> {
  setLogOutput(() => {});
  const pglite = await openClosed() ?? await openNew();
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

async function openNew(): Promise<PGlite> {
  const loadDataDir = await loadEmptySnapshot("openAuthDatabase()");
  const pglite = await PGlite.create({ loadDataDir });
  pglite.close = () => {
    closed.add(pglite);
    return Promise.resolve();
  };
  return pglite;
}

async function openClosed(): Promise<PGlite | undefined> {
  for (const pglite of closed) {
    closed.delete(pglite);
    const query = async (text: string) => (await pglite.query(text)).rows;
    if (await emptyDatabase(query).catch(() => false)) return pglite;
    await PGlite.prototype.close.call(pglite);
  }
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
