import type { DatabaseConfig } from "../database/config/config.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";

/** Options of {@link createTestDatabase}. */
export interface TestDatabaseOptions<TSchema extends Record<string, unknown>> {
  /**
   * Folder of migrations to apply first. They run once for their contents: the migrated database is
   * then kept as a snapshot in the temporary folder.
   */
  migrationsFolder?: string;
  /**
   * Address in memory, such as `memory://tests`. Functions that read `DATABASE_URL` when they are
   * imported use one address for all tests of a file, one test after the other.
   * @default A new address
   */
  connectionString?: string;
  /** Tables and relations for `db.query`. */
  schema?: TSchema;
}

/** A database for one test. */
export interface TestDatabase<TSchema extends Record<string, unknown>> {
  /** Configuration for `getDrizzleClient` and `createQueryFactory`. */
  readonly config: Extract<DatabaseConfig, { provider: "embedded-pg" }> & { schema?: TSchema };
  /** Client of the database. */
  readonly db: DrizzleClient<TSchema>;
  /** Closes the database and discards its data. */
  close(): Promise<void>;
  /** Closes the database at the end of a block with `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates an empty embedded PostgreSQL in memory. Initializing PGlite takes seconds of CPU time, so
 * the database starts from a snapshot that is made once per machine and kept in the temporary
 * folder.
 *
 * drizzle and PGlite are loaded on the first call.
 *
 * @param options Migrations and schema.
 * @returns The database. Close it at the end of the test: an open database keeps the process
 * running.
 * @throws {ConfigurationError} If the address is not in memory, or a database is open there.
 *
 * @example
 * ```ts
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * await using database = await createTestDatabase();
 * await database.db.execute(sql`create table notes (id int)`);
 * ```
 */
export async function createTestDatabase<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  options: TestDatabaseOptions<TSchema> = {},
): Promise<TestDatabase<TSchema>> {
  const { openTestDatabase } = await import("./embedded_database.ts");
  return await openTestDatabase(options);
}
