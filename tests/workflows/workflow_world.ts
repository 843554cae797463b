import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { configureJobs, createJobWorker } from "../../jobs/mod.ts";
import { createTestDatabase } from "../../testing/database.ts";
import { createFakeClock, type FakeClock } from "../../testing/clock.ts";
import { type AnyWorkflow, WORKFLOWS_MIGRATION_SQL } from "../../workflows/mod.ts";
import { createJobsTable } from "../jobs/jobs_database.ts";

/** A database with the tables of workflows, a clock, and a worker. */
export interface WorkflowWorld extends AsyncDisposable {
  readonly db: DrizzleClient;
  readonly clock: FakeClock;
  /** Runs what is due, also what that enqueues. */
  run(...workflows: readonly AnyWorkflow[]): Promise<void>;
  /** Returns the values of the table `applied`, in the order of their insertion. */
  applied(): Promise<string[]>;
  /** Removes all rows. */
  clear(): Promise<void>;
}

/** Creates the tables of workflows, and one for their steps. */
export async function createWorkflowTables(db: DrizzleClient): Promise<void> {
  await createJobsTable(db);
  for (const statement of WORKFLOWS_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
  await db.execute(sql`create table applied (n serial, value text not null)`);
}

/** Opens an embedded database for workflows. */
export async function openWorkflowWorld(): Promise<WorkflowWorld> {
  const { db, close } = await createTestDatabase();
  await createWorkflowTables(db);
  const clock = createFakeClock();
  const restore = configureJobs({ clock });
  return {
    db,
    clock,
    async run(...workflows) {
      const jobs = workflows.map(({ job }) => job);
      const options = { getDb: () => db, jobs, clock, metrics: false };
      await createJobWorker({ ...options, logging: { level: "SILENT" } }).runDue();
    },
    async applied() {
      const rows = await executeRows<{ value: string }>(
        db,
        sql`select value from applied order by n`,
      );
      return rows.map(({ value }) => value);
    },
    async clear() {
      await db.execute(
        sql`truncate trellis_jobs, trellis_workflows, trellis_workflow_entries, applied`,
      );
    },
    async [Symbol.asyncDispose]() {
      restore();
      await close();
    },
  };
}
