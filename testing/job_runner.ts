import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import type { AnyJob } from "../jobs/define_job.ts";
import type { JobCounts } from "../jobs/job_lanes.ts";
import { createFakeClock } from "./clock.ts";

/** Options of {@link createJobRunner}. */
export interface JobRunnerOptions {
  /** Database with the tables of jobs, and of workflows if there are any. */
  db: DrizzleClient;
  /** The jobs, those of workflows too: `[indexNote, onboard.job]`. */
  jobs: readonly AnyJob[];
  /**
   * Time at the start, in milliseconds since 1970.
   * @default 2026-01-01T00:00:00Z
   */
  nowMs?: number;
}

/** Runs jobs and workflows on a clock that only moves when a test moves it. */
export interface TestJobRunner {
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /**
   * Runs the jobs that are due, and those that they enqueue.
   *
   * @returns What was done.
   */
  run(): Promise<JobCounts>;
  /**
   * Moves the clock forward, and runs each job at its time: two weeks take milliseconds.
   *
   * @param seconds Seconds.
   */
  advance(seconds: number): Promise<void>;
  /** Stops the worker: `await using runner = await createJobRunner({ db, jobs });`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a worker for tests with its own clock, which jobs that are enqueued meanwhile use too.
 *
 * @param options Database and jobs.
 * @returns The worker. Dispose it at the end of the test.
 *
 * @example
 * ```ts
 * import { JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { defineWorkflow, WORKFLOWS_MIGRATION_SQL } from "@trellis/fn/workflows";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createJobRunner, createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of (JOBS_MIGRATION_SQL + "--> statement-breakpoint" + WORKFLOWS_MIGRATION_SQL).split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const trial = defineWorkflow({ name: "trial", input: z.string() })(async ({ sleep, now }) => {
 *   await sleep(14 * 86400);
 *   return now().toISOString();
 * });
 *
 * const runner = await createJobRunner({ db, jobs: [trial.job] });
 * const id = await trial.start(db, "Acme");
 * await runner.advance(14 * 86400);
 * console.log((await trial.get(db, id))?.output); // 2026-01-15T00:00:00.000Z
 * await runner[Symbol.asyncDispose]();
 * await close();
 * ```
 */
export async function createJobRunner(
  { db, jobs, nowMs }: JobRunnerOptions,
): Promise<TestJobRunner> {
  const [{ createJobWorker }, { configureJobs, getJobsConfig }, { runSqlRows }, { sql }] =
    await Promise.all([
      import("../jobs/worker.ts"),
      import("../jobs/job_settings.ts"),
      import("../database/session/run_sql.ts"),
      import("../database/session/plain_sql.ts"),
    ]);
  const clock = createFakeClock({ nowMs });
  const restore = configureJobs({ ...getJobsConfig(), clock });
  const worker = createJobWorker({
    getDb: () => db,
    jobs,
    clock,
    logging: { level: "SILENT" },
    metrics: false,
  });

  /** Returns the time of the next job until a time. */
  async function findNext(untilMs: number): Promise<number | undefined> {
    const [row] = await runSqlRows<{ at: number | string | null }>(
      db,
      sql`select extract(epoch from min("run_at")) * 1000 as at from "trellis_jobs"
      where "state" in ('queued', 'limit')
      and "run_at" > ${new Date(clock.now()).toISOString()}::timestamptz
      and "run_at" <= ${new Date(untilMs).toISOString()}::timestamptz`,
    );
    return row.at === null ? undefined : Math.ceil(Number(row.at));
  }

  return {
    now: clock.now,
    run: () => worker.runDue(),
    async advance(seconds) {
      const untilMs = clock.now() + seconds * 1000;
      await worker.runDue();
      for (let at = await findNext(untilMs); at !== undefined; at = await findNext(untilMs)) {
        await clock.advance(Math.min(at, untilMs) - clock.now());
        await worker.runDue();
      }
      await clock.advance(untilMs - clock.now());
    },
    [Symbol.asyncDispose](): Promise<void> {
      restore();
      return worker.stop();
    },
  };
}
