import { sql } from "../../database/orm.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import {
  type AnyJob,
  createJobWorker,
  type JobCounts,
  JOBS_MIGRATION_SQL,
} from "../../jobs/mod.ts";
import { createTestDatabase } from "../../testing/mod.ts";

/** Database with the table of jobs. */
export interface Outbox {
  readonly db: DrizzleClient;
  /** Runs the jobs that are due. */
  run(...jobs: AnyJob[]): Promise<JobCounts>;
}

/** Runs a test with an outbox. */
export async function withOutbox(test: (outbox: Outbox) => Promise<void>): Promise<void> {
  const { db, close } = await createTestDatabase();
  try {
    for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
      await db.execute(sql.raw(statement));
    }
    await test({
      db,
      run: (...jobs) =>
        createJobWorker({ getDb: () => db, jobs, logging: { level: "SILENT" }, metrics: false })
          .runDue(),
    });
  } finally {
    await close();
  }
}
