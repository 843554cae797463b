import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/migration.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../database/mod.ts";
import { createTestDatabase, type TestDatabase } from "../../testing/database.ts";
import { startPostgres } from "../support/postgres.ts";

/** Row of the table of jobs, as far as tests look at it. */
export interface JobRow extends Record<string, unknown> {
  id: string;
  name: string;
  state: string;
  attempts: number;
  fence: number;
  last_error: string | null;
  correlation_id: string | null;
}

/** Creates the table of jobs. */
export async function createJobsTable(db: DrizzleClient): Promise<void> {
  for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
}

/**
 * Opens a database of a PostgreSQL server with the table of jobs, and closes both after the tests of the file.
 *
 * @param name Name of the database.
 */
export async function openServerJobs(name: string, maxConnections: number): Promise<DrizzleClient> {
  const postgres = await startPostgres();
  const database = {
    provider: "serverless-pg",
    connectionString: await postgres.createDatabase(name),
    instrument: false,
    maxConnections,
  } as const;
  const db = await getDrizzleClient(database);
  await createJobsTable(db);
  Deno.test.afterAll(async () => {
    await closeDrizzleClient(database);
    await postgres.stop();
  });
  return db;
}

/** Reads all jobs in the order in which they were enqueued. */
export function listRows(db: DrizzleClient): Promise<JobRow[]> {
  return executeRows<JobRow>(
    db,
    sql`select * from trellis_jobs order by enqueued_at, position`,
  );
}

/** Runs a test with an embedded database that has the table of jobs. */
export async function withJobs(
  test: (db: DrizzleClient, database: TestDatabase<Record<string, unknown>>) => Promise<void>,
): Promise<void> {
  const database = await createTestDatabase();
  try {
    await createJobsTable(database.db);
    await test(database.db, database);
  } finally {
    await database.close();
  }
}
