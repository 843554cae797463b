import { PGlite } from "@electric-sql/pglite";
import { drizzle, type PgliteDatabase } from "drizzle-orm/pglite";
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as schema from "../../auth/schema.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/rate_limits/migration.ts";
import { setLogOutput } from "../../observability/mod.ts";

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
 * Opens the database from a snapshot, which is made once on a machine: a first start costs seconds. The metrics of queries
 * are kept out of the tests' output.
 */
export async function openAuthDatabase(): Promise<AuthTestDatabase> {
  setLogOutput(() => {});
  const digest = createHash("sha256").update(`0.5.16 ${TABLES}`).digest("hex")
    .slice(0, 16);
  const file = join(tmpdir(), `trellis-auth-${digest}.tar.gz`);
  const stored = await readFile(file).catch(() => undefined);
  const pglite = new PGlite(stored ? { loadDataDir: new Blob([new Uint8Array(stored)]) } : {});
  if (stored === undefined) {
    await pglite.exec(TABLES);
    const snapshot = await pglite.dumpDataDir("gzip");
    const partial = `${file}.${crypto.randomUUID()}`;
    await writeFile(partial, new Uint8Array(await snapshot.arrayBuffer()));
    await rename(partial, file);
  }
  const queries: string[] = [];
  return {
    pglite,
    db: drizzle(pglite, { schema, logger: { logQuery: (query) => void queries.push(query) } }),
    queries,
    async reset(): Promise<void> {
      await pglite.exec("TRUNCATE users, sessions, accounts, verification, rate_limits");
      queries.length = 0;
    },
  };
}

/**
 * Runs a function while the clock stands still, for the auth library too, which takes no clock.
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
