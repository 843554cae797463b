import type { JobDelivery } from "./job_settings.ts";
import type { JobWorker } from "./worker.ts";

/**
 * Creates the delivery that runs jobs in this process right after COMMIT, for tests and for servers
 * of one process. The transaction's promise resolves when its jobs have run once; a job that is not
 * due yet, or that failed, is left to `worker.runDue()`.
 *
 * @param getWorker Returns the worker; called with the first jobs.
 * @returns The delivery for `configureJobs`.
 *
 * @example
 * ```ts
 * import { configureJobs, createInProcessDelivery, createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const greet = defineJob({ name: "greet", schema: z.string() })(({ payload }) => console.log(payload));
 * const worker = createJobWorker({ getDb: () => db, jobs: [greet] });
 * const restore = configureJobs({ delivery: createInProcessDelivery(() => worker) });
 *
 * await greet.enqueue(db, "hello"); // hello
 * restore();
 * await close();
 * ```
 */
export function createInProcessDelivery(getWorker: () => JobWorker): JobDelivery {
  return {
    graceSeconds: 0,
    async deliver(jobs): Promise<void> {
      await getWorker().runIds(jobs.map(({ id }) => id));
    },
  };
}
